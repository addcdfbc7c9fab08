"""Kernel files, weights and a runner of commands for the tests of commands that take kernels."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from perfmodel.calibration import recommended
from perfmodel.errors import NoDeviceError
from perfmodel.predicting.model import fit
from tests.cli.program import invoke
from tests.fitting.test_weights_file import measurements

SCALE = '''
import loopy as lp
import numpy as np


def scale(text, group):
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        text,
        [lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 128 = 0",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", group, outer_tag="g.0", inner_tag="l.0")
'''
VARIANTS = SCALE + '''

def variants():
    return {
        "small": scale("out[i] = a[i] + 1", 64),
        "large": scale("out[i] = a[i] + 1", 128),
        "product": scale("out[i] = 3*a[i]", 128),
    }
'''
OFFSETS = SCALE.replace('shape="n")', 'shape="n", offset=lp.auto), lp.ValueArg("p", np.float32)') + '''

def kernel():
    return scale("out[i] = a[i] + p", 128)
'''
KERNEL = SCALE + '''

def kernel():
    return scale("out[i] = a[i] + 1", 128)
'''


@cache
def weights() -> str:
    """Weights for these kernel files, as text: fitted once for all tests of a process."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "weights.json")
        fit(measurements()).save(path)
        document = json.loads(path.read_text())
    for name in ("global_store_32_stride1", "global_minloadstore_32_stride1"):
        document["weights"][name] = {"value": 1e-10, "unit": "s/access"}
    document["features"] = sorted(document["weights"])
    return json.dumps(document)


def no_device(selector=None):
    raise NoDeviceError("no OpenCL device was found")


@pytest.fixture
def perfmodel(tmp_path, monkeypatch):
    """A runner of commands beside kernel files and weights, where weights find no device to compare theirs with."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recommended, "identify", no_device)
    Path("kernel.py").write_text(KERNEL)
    Path("variants.py").write_text(VARIANTS)
    Path("weights.json").write_text(weights())
    return invoke
