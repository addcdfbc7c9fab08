"""``perfmodel tune``: the lines as it goes, the table, JSON, CSV, the code of the best, and what it refuses."""

import csv
import io
import json
from pathlib import Path

import pytest

from perfmodel.display import csv_text
from perfmodel.kernels.files import load_kernel_file
from perfmodel.predicting.model import load
from perfmodel.tuning.tuned import COLUMNS
from perfmodel.tuning.tuning import tune as search
from tests.cli.program import invoke, ran, refused
from tests.tuning.test_anchoring import model

pytestmark = pytest.mark.device
KERNEL = '''
import loopy as lp
import numpy as np


def kernel(group, repeats):
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i < n and 0 <= j < %d}" % repeats, "out[i] = sum(j, a[i]) / %d.0" % repeats,
        [lp.GlobalArg("out, a", np.float64, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 64 = 0", lang_version=(2018, 2))
    return lp.split_iname(t_unit, "i", group, outer_tag="g.0", inner_tag="l.0")


def space():
    return {"group": (32, 64), "repeats": (16, 2000)}


def allowed(group, repeats):
    return group == 64 or repeats == 16
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = tmp_path_factory.mktemp("tune")
    (found / "mine.py").write_text(KERNEL)
    model().save(found / "weights.json")
    weights = json.loads((found / "weights.json").read_text())
    prices = {"launches": (1e-5, "s/launch"), "op_float64_add": (1e-9, "s/operation")}
    changed = {name: {"value": value, "unit": unit} for name, (value, unit) in prices.items()}
    (found / "weights.json").write_text(json.dumps({**weights, "weights": changed, "features": sorted(changed)}))
    return found


def tune(folder: Path, *options: str):
    return invoke("tune", folder / "mine.py", "--weights", folder / "weights.json", *options)


def test_lines_as_it_goes_and_a_table_in_the_end(folder):
    done = ran(tune(folder, "-p", "n=32Ki", "--code", str(folder / "best.cl")))
    head, first, *_ = done.stdout.splitlines()
    assert head.split() == ["run", "took", "expected", "best", "known", "variant"]
    assert first.split()[0] == "1"
    assert "repeats=16" in first
    assert "best: group=" in done.stdout
    assert "of 3 variants were tried in" in done.stdout
    assert "__kernel void" in (folder / "best.cl").read_text()


def test_documents_hold_every_variant_and_a_search_goes_on(folder):
    keep = folder / "kept"
    loaded = load_kernel_file(folder / "mine.py")
    most = {"model": load(folder / "weights.json"), "most": 1, "keep": keep, "kernel": "mine"}
    first = search(loaded.space, {"n": 2**15}, **most)
    done = ran(tune(folder, "-p", "n=32Ki", "--json", "--keep", str(keep), "--budget", "0"))
    found = json.loads(done.stdout)
    assert (found["schema"], found["sizes"], len(found["variants"])) == ("perfmodel.tuning/1", {"n": 2**15}, 3)
    assert [one["status"] for one in found["variants"]] == ["ok", "skipped", "skipped"]
    assert found["best"] == found["variants"][0]["variant"]
    assert list(found["variants"][0]) == list(COLUMNS)
    rows = list(csv.DictReader(io.StringIO(csv_text(COLUMNS, first.records()))))
    assert list(rows[0]) == list(COLUMNS)
    assert [one["status"] for one in rows] == ["ok", "skipped", "skipped"]
    assert float(rows[0]["seconds"]) == found["seconds"]


@pytest.mark.parametrize(("options", "message"), [
    (("-p", "n=100"), "no variant can be predicted (n=100 breaks the kernel's assumption"),
    ((), "size parameter 'n' is missing"), (("-p", "m=8"), "size parameter 'n' is missing, and 'm' is unknown"),
    (("-p", "n=64,128"), "-p gives 2 sizes of 'n'; give one size here"),
    (("-p", "n=64", "--variant", "group=8"), "no variant 'group=8'"),
])  # fmt: skip
def test_what_it_refuses(folder, options, message):
    assert message in " ".join(refused(tune(folder, *options)).split())
