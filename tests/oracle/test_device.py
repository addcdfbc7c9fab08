"""What the oracle computes against what a device computes: each eighth corpus kernel, and all of them nightly."""

import warnings
from typing import Any

import numpy as np
import pytest

from tests.corpus import CorpusKernel, kernels
from tests.corpus.made import executed, unit
from tests.machine import device
from tests.oracle.device import device_memory, oracle_memory
from tests.oracle.source import program

pytestmark = [pytest.mark.device, pytest.mark.slow]

EVERY = 8  # of the corpus in an ordinary run: a device takes 0.2 s to compile a kernel


@pytest.fixture(scope="module")
def queue() -> Any:
    return device().context()[1]


@pytest.mark.parametrize("kernel", [
    pytest.param(kernel, marks=[] if place % EVERY == 0 else pytest.mark.nightly, id=kernel.name)
    for place, kernel in enumerate(kernels())
])
def test_same_results_as_the_device(kernel: CorpusKernel, queue: Any) -> None:
    parameters = kernel.cases[-1]
    arrays = kernel.contents(parameters)
    done, memory = executed(kernel, parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = device_memory(queue, program(unit(kernel)), parameters, arrays, done)
    for name, values in expected.items():
        actual = oracle_memory(memory, name, len(values))
        np.testing.assert_allclose(actual, values, rtol=2e-3, atol=1e-4, err_msg=name)
