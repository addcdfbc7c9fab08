"""Predictions at a size and at an array of sizes go different ways; on committed rows both give the same."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import perfmodel as pm
from perfmodel import store
from tests.recorded import INTEL, PROBED, SIMULATED

EVERY = 43
FAMILIES = ("bottleneck", "roofline", "stevens_kloeckner_2016", "mwp_cwp")


def numbers(prediction: pm.Prediction, place: Any = ()) -> list[float]:
    """Seconds, terms and bounds, of one of the sizes."""
    columns = [prediction.seconds, *prediction.terms.values(), *(prediction.interval or ())]
    return [float(np.broadcast_to(column, np.shape(prediction.seconds))[place]) for column in columns]


@pytest.mark.parametrize("folder", [INTEL, PROBED[1], SIMULATED], ids=lambda folder: folder.name)
def test_a_size_alone_and_in_an_array_have_the_same_prediction(folder: Path) -> None:
    tests = store.read(folder / store.TESTS_FILE)
    for name in FAMILIES:
        model = pm.load(folder / f"{name}.json")
        for row in list(tests)[::EVERY]:
            counts = tests.counts[row.counts_hash]
            sizes = [{name: factor * size for name, size in row.parameters.items()} for factor in (1, 2)]
            arrays = {size: np.array([at[size] for at in sizes]) for size in row.parameters}
            many = model.predict(counts, arrays, allow_unmeasured=True)
            for place, at in enumerate(sizes):
                one = model.predict(counts, at, allow_unmeasured=True)
                assert pytest.approx(numbers(one), rel=1e-12, abs=1e-300) == numbers(many, place), (row.kernel, at)
                assert list(one.terms) == list(many.terms)
