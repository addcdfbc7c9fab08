"""Families side by side on planted times, as objects, tables and CSV; and on the folder of a device."""

import csv
import json
from contextlib import suppress
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from perfmodel.compare import contenders as module
from perfmodel.compare.contenders import Contenders, families_table, records
from perfmodel.compare.protocols import RECORDED, folds_of
from perfmodel.display import csv_text
from perfmodel.errors import FactsError, UnknownNameError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting.family_fits import FamilyFits, Refits
from perfmodel.fitting.weights_file import FitOptions
from perfmodel.models import Family, find_family
from perfmodel.models.model import Weight
from perfmodel.store import Measurements
from tests.compare.test_protocols import ADDED, MEASURED, RECORDS, TESTS
from tests.test_display import Cells

EXACT = find_family("stevens_kloeckner_2016")
BLIND = Family("blind", "takes only launches and groups", ("launches", "work_groups"))
NEEDY = Family(
    "needy", "needs a fact that nobody gave",
    quantities=lambda case: {"speed": case.fact("unheard_of")}, units={"speed": ""},
    weights=(Weight("w_a", "s"),), expression="w_a * speed",
)  # fmt: skip


def judged(measured, tests, families):
    return [module.contender_of(FamilyFits(measured, one, FitOptions(), tests, folds_of(tests))) for one in families]


def contenders():
    return module.on_common_cases(judged(MEASURED, TESTS, (EXACT, BLIND, NEEDY)))


def test_without_a_case_there_is_no_figure_and_the_fit_is_timed():
    (found,) = judged(MEASURED, Measurements((), {}), (EXACT,))
    assert ("", True) == (found.problem, found.predict_s > 0)
    for row in families_table([found]).splitlines()[1:5]:
        assert ["-"] * 5 == [cell for cell in row.split() if cell == "-"][:5], row
        assert "nan" not in row


def test_every_family_is_judged_on_the_cases_that_all_of_them_predict():
    exact, blind, _ = contenders()
    assert (0, 5) == (exact.withheld, len(exact.by("A").rows))
    # By B the exact family withholds both additions (test_compare.py), and so nobody is judged on them.
    cases = [(row.kernel, row.sizes) for row in exact.by("B").rows]
    assert [("copying", "n=32"), ("copying", "n=512"), ("other", "n=8")] == cases
    assert cases == [(row.kernel, row.sizes) for row in blind.by("B").rows]


def test_figures_and_weights():
    exact, blind, needy = contenders()
    # Four of five are exact (and count as 0.1 %), the fifth was planted twice as slow.
    assert pytest.approx((1e-3**4 * 0.5) ** 0.2) == exact.figures("A").error
    assert pytest.approx((1e-3 * 0.5) ** 0.5) == exact.figures("A", "adding").error
    assert blind.figures("A").error > exact.figures("A").error
    assert 2 == blind.weights
    assert exact.weights > blind.weights
    assert () == needy.evaluations
    assert "unheard_of" in needy.problem
    assert all(one.fit_s > 0 and one.predict_s > 0 for one in (exact, blind))


def test_families_side_by_side_as_a_table_and_a_frame_and_none_that_was_fitted():
    found = contenders()
    shown = Cells(found._repr_html_())
    assert ["family", "stevens_kloeckner_2016", "blind"] == [row[0] for row in shown.rows]  # the better one first
    assert "5 cases that every family predicts" in shown.caption
    assert shown.notes[0].startswith("not fitted: needy: ")
    frame = found.to_frame()
    own = frame[(frame["family"] == "blind") & (frame["protocol"] == "A") & (frame["kernel"] == "all")]
    assert [found[1].figures("A").error] == own["error"].tolist()
    (needy,) = none = Contenders(contenders()[2:])
    assert () == none.judged
    assert "no family was fitted" in Cells(none._repr_html_()).caption
    assert [needy.problem] == [row["problem"] for row in records(none)]
    assert [needy.problem] == none.to_frame()["problem"].tolist()


def test_the_table_marks_the_best_of_each_column_and_shows_who_could_not_be_fitted():
    text = families_table(contenders())
    head, *rows = text.splitlines()[:5]
    assert ["family", "by", "adding", "copying", "other", "all"] == head.split()[:6]
    assert [["stevens_kloeckner_2016", "A"], ["stevens_kloeckner_2016", "B"], ["blind", "A"], ["blind", "B"]] == [
        row.split()[:2] for row in rows
    ]
    exact_a, exact_b, blind_a, blind_b = rows
    assert 2 <= exact_a.count("%*") > blind_a.count("%*")
    for by_a, by_b in ((exact_a, exact_b), (blind_a, blind_b)):
        assert "-" in by_b.split()  # no case of "adding" is left by B
        assert "-" not in by_a.split()
    assert "not fitted: needy: " in text
    assert "5 by A, 3 by B" in text


def test_csv_has_a_row_for_each_kernel_and_one_over_all_and_records_are_json_without_nan():
    rows = list(csv.DictReader(StringIO(csv_text(module.COLUMNS, records(contenders())))))
    own = [(row["protocol"], row["kernel"], row["cases"]) for row in rows if row["family"] == "blind"]
    assert [
        ("A", "adding", "2"), ("A", "copying", "2"), ("A", "other", "1"), ("A", "all", "5"),
        ("B", "copying", "2"), ("B", "other", "1"), ("B", "all", "3"),
    ] == own  # fmt: skip
    (needy,) = (row for row in rows if row["family"] == "needy")
    assert ("", "unheard_of" in needy["problem"]) == (needy["error"], True)
    found = json.loads(json.dumps(list(records(contenders())), allow_nan=False))
    # Kernels and all of them together: four rows by A and three by B of both families, and one of the failed one.
    assert 2 * (4 + 3) + 1 == len(found)


def test_without_test_kernels_families_are_judged_by_kernels_left_out_next_to_a_random_choice():
    found = Contenders(judged(RECORDS, None, (ADDED,)))
    head, *rows = families_table(found).splitlines()
    added, random = rows[:3], rows[3:6]
    assert ["family", "by", "all", "factor", "-", "1", "regret", "top-1", "tau", "inside", "width"] == head.split()[:11]
    assert [["added", protocol] for protocol in RECORDED] == [row.split()[:2] for row in added]
    # The two variants of both kernels take t and 2 t: at random the regret is sqrt(2).
    for row, protocol in zip(random, RECORDED, strict=True):
        assert ["random", "choice", protocol, "-", "-", "1.414", "50.0", "%", "0.00"] == row.split()[:9]
    assert "family, error, groups, error, kernels, error, variants, factor - 1, groups" in ", ".join(found.header)
    assert "6 cases that every family predicts" in found._repr_html_()
    assert set(RECORDED) == {record["protocol"] for record in records(found)}


PLAIN = Family("plain", "by hand", ("launches", "work_groups", "op_*", "global_*", "local_*"))
WAITING = Family(
    "waiting", "by hand", sums={"busy": PLAIN.features},
    weights=(Weight("w_wait", "s", start=1e-6, fact="launch_s"),), expression="busy + w_wait", additive=False,
)  # fmt: skip
FOUND = DeviceFacts.from_mapping("stand-in", "none", "0", {"launch_s": Fact(2e-6, "s", "measured")})


@pytest.fixture
def given(monkeypatch):
    """Planted measurements instead of a folder; of facts only that of a launch can be measured."""
    monkeypatch.setattr(module, "recorded_folder", lambda folder: (MEASURED, TESTS, None))
    monkeypatch.setattr(module, "with_measured_facts", lambda rows, family: rows.with_facts(FOUND))
    known = {family.name: family for family in (PLAIN, WAITING, NEEDY)}
    monkeypatch.setattr(module, "families", lambda: known)
    monkeypatch.setattr(module, "find_family", lambda name: known[name])
    message: list = []
    return message, SimpleNamespace(start=lambda *task: message.append(task), advance=message.append, stop=lambda: None)


def test_a_family_whose_weight_was_measured_is_judged_twice(given):
    message, progress = given
    found = {one.family: one for one in module.contenders(Path("d"), progress=progress)}
    assert ["needy", "plain", "waiting", "waiting (measured)"] == list(found)
    # the wait is a weight of the fit, or the fact
    assert found["waiting"].weights == 1 + found["waiting (measured)"].weights
    assert ("families on stand-in", 4) == message[0][:2]
    assert ["plain", "waiting", "waiting (measured)"] == [note for note in message[1:] if ":" not in note]
    assert any(note.startswith("needy: ") and "unheard_of" in note for note in message[1:])


def test_a_family_that_does_not_exist(tmp_path):
    with pytest.raises(UnknownNameError):
        module.contenders(tmp_path, ("gone",))


def test_fits_that_are_made_are_used(given, monkeypatch):
    measured, tests, _ = module.recorded_folder(Path("d"))
    made = {name: FamilyFits(measured, family, tests=tests) for name, family in module.families().items()}
    alone = module.contenders(Path("d"))
    for fits in made.values():
        with suppress(FactsError):
            fits.predict_without_group()
    monkeypatch.setattr(module, "recorded_folder", lambda *_, **__: pytest.fail("the folder was read again"))
    monkeypatch.setattr(Refits, "fit", lambda self, seen: self._made[np.sort(seen).tobytes()])
    found = module.contenders(Path("d"), ("plain", "needy"), made=made)
    expected = {one.family: one for one in alone}
    assert ["needy", "plain"] == [one.family for one in found]
    assert expected["needy"].problem == found[0].problem
    for protocol in ("A", "B"):
        assert expected["plain"].by(protocol).rows == found[1].by(protocol).rows
