"""The experiments of the papers, as values: what a paper claims, what is measured, and what was found here.

:mod:`scripts.lab.study_runs` measures them; ``scripts/papers`` runs them.
"""

from __future__ import annotations

from scripts.lab.studies.claim import Claim, claims_text
from scripts.lab.studies.study import Findings, Study, StudyData

__all__ = ["Claim", "Findings", "Study", "StudyData", "claims_text"]
