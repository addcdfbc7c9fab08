"""What the oracle computes against what a device computes, for every corpus kernel."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import perfmodel.opencl as rooms
from tests.corpus import CorpusKernel, kernels
from tests.oracle import run
from tests.oracle.device import device_memory, oracle_memory
from tests.oracle.source import program

pytestmark = [pytest.mark.device, pytest.mark.slow]


@pytest.fixture(scope="module")
def queue() -> Any:
    return rooms.find(None).context()[1]


@pytest.mark.parametrize("kernel", kernels(), ids=lambda kernel: kernel.name)
def test_same_results_as_the_device(kernel: CorpusKernel, queue: Any) -> None:
    parameters = kernel.cases[-1]
    unit, arrays = kernel.build(), kernel.contents(parameters)
    executed, memory = run(unit, parameters, arrays=arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = device_memory(queue, program(unit), parameters, arrays, executed)
    for name, values in expected.items():
        actual = oracle_memory(memory, name, len(values))
        np.testing.assert_allclose(actual, values, rtol=2e-3, atol=1e-4, err_msg=name)
