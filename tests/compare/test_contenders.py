"""Families on the folder of a device: which are judged twice, and what is told meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfmodel.compare import contenders as module
from perfmodel.compare.contenders import contenders
from perfmodel.errors import UnknownFamilyError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.models import Family
from perfmodel.models.model import Weight
from tests.compare.test_protocols import MEASURED, TESTS
from tests.standins import Rows

PLAIN = Family("plain", "by hand", ("launches", "work_groups", "op_*", "global_*", "local_*"))
WAITING = Family(
    "waiting", "by hand", sums={"busy": PLAIN.features},
    weights=(Weight("w_wait", "s", start=1e-6, fact="launch_s"),), expression="busy + w_wait", additive=False,
)  # fmt: skip
NEEDY = Family(
    "needy", "by hand", quantities=lambda case: {"speed": case.fact("unheard_of")}, units={"speed": ""},
    weights=(Weight("w_a", "s"),), expression="w_a * speed",
)  # fmt: skip
FOUND = DeviceFacts.from_mapping("stand-in", "none", "0", {"launch_s": Fact(2e-6, "s", "measured")})


class Folder(Rows):
    def with_facts(self, facts: DeviceFacts | None) -> Folder:
        return Folder(self.rows, self.counts, self.device, facts)


@pytest.fixture
def told(monkeypatch):
    """Planted measurements instead of a folder; of facts only that of a launch can be measured."""
    measured, tests = (Folder(rows.rows, rows.counts) for rows in (MEASURED, TESTS))
    monkeypatch.setattr(module, "measured_folder", lambda folder, measured_facts: (measured, tests))
    monkeypatch.setattr(module, "with_measured_facts", lambda rows: rows.with_facts(FOUND))
    known = {family.name: family for family in (PLAIN, WAITING, NEEDY)}
    monkeypatch.setattr(module, "families", lambda: known)
    monkeypatch.setattr(module, "find_family", lambda name: known[name])
    said: list = []
    return said, lambda title, total: said.append((title, total)), said.append


def test_a_family_whose_weight_was_measured_is_judged_twice(told):
    said, begin, advance = told
    found = {one.family: one for one in contenders(Path("d"), (), False, begin, advance)}
    assert ["needy", "plain", "waiting", "waiting (measured)"] == list(found)
    # the wait is a weight of the fit, or the fact
    assert found["waiting"].weights == 1 + found["waiting (measured)"].weights
    assert ("families on stand-in", 4) == said[0]
    assert ["plain", "waiting", "waiting (measured)"] == [note for note in said[1:] if ":" not in note]
    assert any(note.startswith("needy: ") and "unheard_of" in note for note in said[1:])


def test_without_fitted_facts_only_the_measured_one_is_judged(told):
    found = {one.family: one for one in contenders(Path("d"), ("waiting",), given_facts=True)}
    assert "launch_s" in found["waiting"].problem
    assert () == found["waiting"].evaluations
    assert "" == found["waiting (measured)"].problem


def test_a_family_that_does_not_exist(tmp_path):
    with pytest.raises(UnknownFamilyError):
        contenders(tmp_path, ("gone",))
