"""The family that predicts groups left out best is recommended."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

import perfmodel as pm
from perfmodel.calibration import recommended as module
from perfmodel.calibration.recommended import CANDIDATES, candidates, folder_weights, recommended
from perfmodel.errors import FitError, OptionError, StoreError, UnknownNameError, WeightsError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting import FamilyFits
from perfmodel.models import Family
from perfmodel.models.model import Weight
from perfmodel.quantities.case import Case
from perfmodel.store import Measurements
from tests.contract import kernels
from tests.recorded import SIMULATED


def family(name: str, power: float) -> Family:
    def quantities(case: Case) -> dict[str, object]:
        return {"crowd": case.total("work_groups") ** power}

    return Family(
        name, "nowhere", quantities=quantities, units={"crowd": ""}, weights=(Weight("w_crowd", "s", start=1e-6),),
        expression="w_crowd*crowd", additive=False,
    )  # fmt: skip


def measured(power: float):
    """The kernels with times that the family of this power has, a fifth more or less."""
    rows, found = [], family("", power)
    for row, factor in zip(kernels(), np.resize([0.8, 1.2, 1.0], 10_000), strict=False):
        case = Case(kernels().counts[row.counts_hash], row.parameters)
        rows.append(replace(row, seconds=float(1e-6 * factor * np.array(found.quantities(case)["crowd"]))))
    return replace(kernels(), rows=tuple(rows))


@pytest.mark.parametrize(
    ("order", "left_out"), [(None, None), ("serial", "multithreaded"), ("lockstep", "multithreaded"),
                            ("multithreaded", "bottleneck")]
)  # fmt: skip
def test_a_family_for_other_devices_is_no_candidate(order: str | None, left_out: str | None) -> None:
    facts = DeviceFacts.from_mapping("d", "p", "1", {"lane_order": Fact(order, "", "probe")} if order else {})
    assert [name for name in CANDIDATES if name != left_out] == list(candidates(facts))
    assert CANDIDATES == candidates(None)


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_the_family_that_made_the_times_is_recommended(power: float) -> None:
    rivals = [FamilyFits(measured(power), family(f"power {one}", one)) for one in (0.5, 1.0)]
    assert f"power {power}" == recommended(rivals)


def test_samples_decide_between_families_that_groups_do_not_tell_apart() -> None:
    few = replace(measured(1.0), rows=measured(1.0).rows[:3])
    for power in (0.5, 1.0):
        rivals = [FamilyFits(few, family(f"power {one}", one), samples=measured(power)) for one in (0.5, 1.0)]
        assert f"power {power}" == recommended(rivals)


def test_a_single_group_leaves_nothing_to_compare() -> None:
    rows = tuple(replace(row, group="one") for row in measured(1.0).rows)
    single = replace(measured(1.0), rows=rows)
    found = recommended(FamilyFits(single, family(name, power)) for name, power in (("bad", 0.5), ("good", 1.0)))
    assert "bad" == found  # every row is of the group that is left out, so the first is taken


def test_without_a_name_the_family_of_the_device_is_fitted(monkeypatch):
    """Where the measurements do not allow it, the next one is; a name is taken as it is."""
    asked: list[str] = []
    refused = {"bottleneck"}

    def fitted(measured, family, *rest):
        asked.append(family)
        if family in refused:
            raise FitError(1, ("a", "b"))
        return family

    measured = Measurements((), {}, facts=None)
    monkeypatch.setattr(module, "fit_model", fitted)
    assert ("multithreaded", ["bottleneck", "multithreaded"]) == (pm.fit(measured), asked)
    refused.clear()
    assert ("bottleneck", "overlap") == (pm.fit(measured), pm.fit(measured, "overlap"))
    refused |= {*CANDIDATES}
    with pytest.raises(FitError):
        pm.fit(measured)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "measurements.jsonl").touch()
    for name in ("work_depth", "stevens_kloeckner_2016", "multithreaded"):
        shutil.copy(SIMULATED / f"{name}.json", tmp_path)
    return tmp_path


def test_the_one_that_is_asked_for(folder):
    assert folder / "work_depth.json" == folder_weights(folder, "work_depth")


def test_else_the_recommended_one(folder):
    assert folder / "multithreaded.json" == folder_weights(folder)
    document = {"schema": "perfmodel.recommended/1", "family": "work_depth", "candidates": []}
    (folder / "recommended.json").write_text(json.dumps(document))
    assert folder / "work_depth.json" == folder_weights(folder)


def test_else_the_first_by_name(folder):
    for name in ("stevens_kloeckner_2016", "multithreaded"):
        (folder / f"{name}.json").unlink()
    shutil.copy(SIMULATED / "roofline.json", folder)
    assert folder / "roofline.json" == folder_weights(folder)


def test_what_is_not_there_is_named(folder, tmp_path_factory):
    with pytest.raises(OptionError, match="no weights of the family 'roofline'; choose one of multithreaded, "):
        folder_weights(folder, "roofline")
    with pytest.raises(UnknownNameError):
        folder_weights(folder, "nothing")
    (folder / "recommended.json").write_text("{}")
    with pytest.raises(WeightsError):
        folder_weights(folder)
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(StoreError):
        folder_weights(empty)
    (empty / "measurements.jsonl").touch()
    with pytest.raises(OptionError, match="holds no weights; fit some: perfmodel fit --all --from"):
        folder_weights(empty)
