"""The experiments of the papers, as values: what a paper claims, what is measured, and what was found here.

:mod:`scripts.lab.study_runs` measures them; ``scripts/papers`` runs them.
"""

from __future__ import annotations

from scripts.lab.studies.claim import UNSHOWN, VERDICTS, Claim, claims_text, verdict_of_all
from scripts.lab.studies.study import Findings, Study, StudyData

__all__ = ["UNSHOWN", "VERDICTS", "Claim", "Findings", "Study", "StudyData", "claims_text", "verdict_of_all"]
