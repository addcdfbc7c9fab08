"""What is found of the paper's claims, on the paper's own device with times that are made up."""

from __future__ import annotations

import math
from functools import cache

import pytest

from perfmodel.counts import count
from perfmodel.facts.documents import published
from perfmodel.store import Measurements
from perfmodel.studies import StudyData
from perfmodel.studies.apsp import configurations
from perfmodel.studies.apsp_claims import memory_claim, outliers_claim
from scripts.experiments.apsp import STUDY
from tests.compare.test_comparison import compare  # noqa: F401 -- to be removed
from tests.recorded import SIMULATED
from tests.standins import Row, Rows
from tests.studies.test_apsp import KERNEL
