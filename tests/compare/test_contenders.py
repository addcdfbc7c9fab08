"""Families on the folder of a device: which are judged twice, and what is told meanwhile."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from perfmodel.compare import contenders as module
from perfmodel.compare.contenders import contenders
from perfmodel.errors import FactsError, UnknownNameError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting.family_fits import FamilyFits, Refits
from perfmodel.models import Family
from perfmodel.models.model import Weight
from tests.compare.test_contenders_side_by_side import NEEDY
from tests.compare.test_protocols import MEASURED, TESTS
from tests.standins import Rows

PLAIN = Family("plain", "by hand", ("launches", "work_groups", "op_*", "global_*", "local_*"))
WAITING = Family(
    "waiting", "by hand", sums={"busy": PLAIN.features},
    weights=(Weight("w_wait", "s", start=1e-6, fact="launch_s"),), expression="busy + w_wait", additive=False,
)  # fmt: skip
FOUND = DeviceFacts.from_mapping("stand-in", "none", "0", {"launch_s": Fact(2e-6, "s", "measured")})


class Folder(Rows):
    def with_facts(self, facts: DeviceFacts | None) -> Folder:
        return Folder(self.rows, self.counts, self.device, facts)


@pytest.fixture
def given(monkeypatch):
    """Planted measurements instead of a folder; of facts only that of a launch can be measured."""
    measured, tests = (Folder(rows.rows, rows.counts) for rows in (MEASURED, TESTS))
    monkeypatch.setattr(module, "recorded_folder", lambda folder: (measured, tests, None))
    monkeypatch.setattr(module, "with_measured_facts", lambda rows, family: rows.with_facts(FOUND))
    known = {family.name: family for family in (PLAIN, WAITING, NEEDY)}
    monkeypatch.setattr(module, "families", lambda: known)
    monkeypatch.setattr(module, "find_family", lambda name: known[name])
    message: list = []
    return message, SimpleNamespace(start=lambda *task: message.append(task), advance=message.append, stop=lambda: None)


def test_a_family_whose_weight_was_measured_is_judged_twice(given):
    message, progress = given
    found = {one.family: one for one in contenders(Path("d"), progress=progress)}
    assert ["needy", "plain", "waiting", "waiting (measured)"] == list(found)
    # the wait is a weight of the fit, or the fact
    assert found["waiting"].weights == 1 + found["waiting (measured)"].weights
    assert ("families on stand-in", 4) == message[0][:2]
    assert ["plain", "waiting", "waiting (measured)"] == [note for note in message[1:] if ":" not in note]
    assert any(note.startswith("needy: ") and "unheard_of" in note for note in message[1:])


def test_a_family_that_does_not_exist(tmp_path):
    with pytest.raises(UnknownNameError):
        contenders(tmp_path, ("gone",))


def test_fits_that_are_made_are_used(given, monkeypatch):
    measured, tests, _ = module.recorded_folder(Path("d"))
    made = {name: FamilyFits(measured, family, tests=tests) for name, family in module.families().items()}
    alone = contenders(Path("d"))
    for fits in made.values():
        with suppress(FactsError):
            fits.predict_without_group()
    monkeypatch.setattr(module, "recorded_folder", lambda *_, **__: pytest.fail("the folder was read again"))
    monkeypatch.setattr(Refits, "fit", lambda self, seen: self._made[np.sort(seen).tobytes()])
    found = contenders(Path("d"), ("plain", "needy"), made=made)
    expected = {one.family: one for one in alone}
    assert ["needy", "plain"] == [one.family for one in found]
    assert expected["needy"].problem == found[0].problem
    for protocol in ("A", "B"):
        assert expected["plain"].by(protocol).rows == found[1].by(protocol).rows
