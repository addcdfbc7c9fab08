"""Arguments of wrong types: public functions raise a PerfModelError that names the allowed types."""

import numpy as np
import pandas as pd
import pytest

import perfmodel as pm
from perfmodel import store
from perfmodel.errors import PerfModelError, SizeError
from tests.cli.conftest import KERNEL
from tests.fitting.test_weights_file import measurements
from tests.fuzz.battery import no_devices

namespace: dict = {}
exec(KERNEL, namespace)
UNIT = namespace["kernel"]()
COUNTS = pm.count(UNIT)
LOADS = COUNTS.accesses(array="a")
WRONG = (
    None, 1, -1.5, "x", b"x", [], [1], {1: 2}, (), object(), np.zeros(3), np.float64(2), len, iter([1]), True,
    Exception(), int, float("nan"), range(3), pd.Series([1]), {None: UNIT}, [None],
)  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return pm.fit(measurements(), "stevens_kloeckner_2016")


CALLS = {
    "count": lambda value, model: pm.count(value),
    "count statistics": lambda value, model: pm.count(UNIT, statistics=value),
    "count budget": lambda value, model: pm.count(UNIT, budget=value),
    "count sub-groups": lambda value, model: pm.count(UNIT, subgroup_size=value),
    "count_all": lambda value, model: pm.count_all(value, jobs=1),
    "count_all jobs": lambda value, model: pm.count_all({"a": UNIT}, jobs=value),
    "fit": lambda value, model: pm.fit(value),
    "fit family": lambda value, model: pm.fit(measurements(), "no family" if value is None else value),
    "load": lambda value, model: pm.load(value), "load family": lambda value, model: pm.load("missing", value),
    "predict": lambda value, model: model.predict(value, n=1024),
    "predict size": lambda value, model: model.predict(COUNTS, m=value),
    "predict level": lambda value, model: model.predict(COUNTS, n=1024, level=value),
    "rank": lambda value, model: pm.rank(value, model, n=1024),
    "rank model": lambda value, model: pm.rank({"a": UNIT}, value, n=1024),
    "tune": lambda value, model: pm.tune(value, model=model, n=1024),
    "anchor": lambda value, model: pm.anchor(model, value, n=1024),
    "anchor model": lambda value, model: pm.anchor(value, UNIT, n=1024),
    "measure": lambda value, model: pm.measure([value], None, "store"),
    "measure device": lambda value, model: pm.measure([], value, "store"),
    "measure store": lambda value, model: pm.measure([], None, value),
    "from_expression": lambda value, model: pm.Family.from_expression(value),
    "save": lambda value, model: model.save(value), "read": lambda value, model: store.read(value),
    "lines": lambda value, model: COUNTS.lines("a", line_bytes=value), "size": lambda value, model: LOADS(n=value),
}  # fmt: skip
#: Values of the list above that a call takes.
TAKEN = {
    "count statistics": (WRONG[0],), "count budget": (WRONG[1], WRONG[11]), "count sub-groups": (WRONG[1], True),
    "count_all": (WRONG[20],), "count_all jobs": (WRONG[1],), "load": (WRONG[0],), "load family": (WRONG[0],),
    "measure device": (WRONG[0], WRONG[3]), "measure store": (WRONG[3],), "save": (WRONG[3],),
    "lines": (WRONG[1], True), "size": (WRONG[1],),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore::perfmodel.errors.UnknownStatisticWarning")
def test_arguments_of_wrong_types_are_refused(call, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for value in WRONG:
        if any(value is one for one in TAKEN.get(call, ())):
            continue
        with no_devices(), pytest.raises(PerfModelError) as found:  # of which another machine has others
            CALLS[call](value, model)
        assert "; " in str(found.value), value  # what was found; what to do
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("sizes", [
    [128, 256], (128, 256), range(128, 384, 128), pd.Series([128, 256], index=[5, 9]), pd.Index([128, 256]),
    np.array([128.0, 256.0]), np.ma.masked_array([128, 256], [False, False]), pd.array([128, 256], dtype="Int64"),
])  # fmt: skip
def test_several_sizes_of_any_kind(sizes, model):
    """One load of `a` for each of n work-items."""
    assert [128.0, 256.0] == LOADS.evaluate({"n": sizes}).tolist()
    single = [model.predict(COUNTS, n=n, allow_unmeasured=True).seconds for n in (128, 256)]
    assert single == pytest.approx(model.predict(COUNTS, n=sizes, allow_unmeasured=True).seconds.tolist(), rel=1e-12)


@pytest.mark.parametrize(("sizes", "said"), [
    (np.ma.masked_array([128, 256, 384], [False, True, False]), "has 1 masked entry of 3"),
    (np.ma.masked_all(2, dtype=int), "has 2 masked entries of 2"), (np.ma.masked, "has 1 masked entry of 1"),
    (pd.Series([128, None]), "type float64"), ([[128, 256], [384]], "not an array"),
    (np.array([True, False]), "type bool"), (np.array(["128"]), "type <U3"), (np.True_, "True"),
])  # fmt: skip
def test_refused_sizes(sizes, said, model):
    for call in (lambda: LOADS.evaluate({"n": sizes}), lambda: model.predict(COUNTS, n=sizes)):
        with pytest.raises(SizeError, match="'n'") as found:
            call()
        assert said in str(found.value) or "type bool" in str(found.value)
