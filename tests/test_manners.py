"""Manners in a notebook: every value says in a short line what it is, and ``dir`` shows what there is."""

import subprocess
import sys
from pathlib import Path

import pytest

import perfmodel as pm
from perfmodel import store
from perfmodel.compare import Contender, compare, evaluate
from perfmodel.facts import DeviceFacts
from perfmodel.opencl import Device
from perfmodel.predicting.model import fit
from tests.compare.test_contenders import contenders
from tests.compare.test_protocols import MEASURED, TESTS
from tests.fitting.test_weights_file import KERNELS
from tests.predicting.test_model import MODEL
from tests.recorded import POCL
from tests.test_display import Cells

LONG = "a very long name " * 20
FACTS = DeviceFacts(LONG, LONG, "1", ())


def values():
    measured = store.read(POCL / "test.jsonl")
    counts = next(counts for counts in measured.counts.values() if counts.operation_table)
    at = dict.fromkeys(counts.parameters, 1024)
    row = compare(MODEL, MEASURED)[0]
    return [
        counts, *(each.count for each in counts.access_table), counts.operation_table[0].count,
        MODEL, MODEL.fitted, MODEL.family, *pm.families().values(), MODEL.predict(KERNELS["add"], n=64),
        pm.rank({LONG: KERNELS["add"], "b": KERNELS["add"]}, MODEL, n=64), pm.RankedVariant(LONG, 1.0),
        row, compare(MODEL, MEASURED), *evaluate(MEASURED, TESTS, protocols=("A",), level=None),
        contenders(), *contenders(), Contender(LONG, LONG, problem=LONG), measured, measured.rows[0], measured.facts,
        FACTS, Device(3, FACTS), pm.Prediction(1.0, {}, kernel=LONG, sizes=at), pm.Count.from_text("[n] -> { n }"),
    ]  # fmt: skip


def test_a_repr_is_one_short_line_with_the_class():
    for value in values():
        text = repr(value)
        assert len(text) < 120, text
        assert "\n" not in text
        assert text.startswith((f"<{type(value).__name__} ", f"<{type(value).__name__}:")), text


def test_tables_are_escaped():
    """Names are a user's own: none of them ends up as a tag."""
    evil = "<b>x</b>"
    shown = Cells(pm.rank({evil: KERNELS["add"]}, MODEL, n=64)._repr_html_())
    assert evil == shown.rows[1][0]
    assert "b" not in shown.tags


@pytest.mark.parametrize(("make", "rows", "head"), [
    (lambda: compare(fit(MEASURED), TESTS), len(TESTS.rows), ("kernel", "variant", "sizes")),
    (lambda: MODEL, len(MODEL.weights), ("weight", "value", "std. error", "unit", "marks")),
    (lambda: evaluate(MEASURED, TESTS, protocols=("B",), level=None)[0], len(TESTS.rows), ("kernel", "variant")),
], ids=["comparisons", "model", "evaluation"])  # fmt: skip
def test_a_table_and_a_frame_have_the_same_rows(make, rows, head):
    value = make()
    shown = Cells(value._repr_html_())
    assert (rows, 1 + rows) == (len(value.to_frame()), len(shown.rows))
    assert list(head) == shown.rows[0][:len(head)]


def test_dir_shows_everything_public():
    assert {*pm.__all__} <= {*dir(pm)}
    assert not {"import_module", "suppress", "Any", "annotations"} & {*dir(pm)}
    assert sorted(dir(pm)) == dir(pm)
    for name in pm.__all__:
        assert getattr(pm, name) is not None


@pytest.mark.parametrize(("used", "heavy"), [
    ("dir(pm)", {"numpy", "matplotlib", "loopy", "pandas"}),
    # scikit-learn imports pandas itself
    ("[getattr(pm.plot, name) for name in pm.plot.__all__]", {"matplotlib"}),
])  # fmt: skip
def test_libraries_are_imported_when_they_are_needed(used, heavy):
    code = f"import sys, perfmodel as pm; {used}; print(sorted({heavy} & {{*sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(pm.__path__[0]).parent)
    assert "[]\n" == run.stdout
