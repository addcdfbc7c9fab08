"""Which family is recommended, and which weights are found for the device in use."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import perfmodel as pm
from perfmodel.calibration import recommended as module
from perfmodel.calibration.recommended import CANDIDATES, candidates, find_weights, folder_weights, foreign, recommended
from perfmodel.errors import FitError, NoDeviceError, OptionError, StoreError, UnknownNameError, WeightsError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting import FamilyFits
from perfmodel.models import Family
from perfmodel.models.model import Weight
from perfmodel.opencl import Device
from perfmodel.predicting.model import load
from perfmodel.quantities.case import Case
from perfmodel.store import Measurements
from tests.contract import kernels
from tests.recorded import DEVICES, SIMULATED
from tests.shadow import ROOT


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


@pytest.mark.parametrize(("order", "left_out"), [
    (None, None), ("serial", "multithreaded"), ("lockstep", "multithreaded"), ("multithreaded", "bottleneck"),
])  # fmt: skip
def test_a_family_for_other_devices_is_no_candidate(order: str | None, left_out: str | None) -> None:
    facts = DeviceFacts.from_mapping("d", "p", "1", {"lane_order": Fact(order, "", "probe")} if order else {})
    assert [name for name in CANDIDATES if name != left_out] == list(candidates(facts))
    assert CANDIDATES == candidates(None)


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_the_family_that_made_the_times_is_recommended(power: float) -> None:
    rivals = [FamilyFits(measured(power), family(f"power {one}", one)) for one in (0.5, 1.0)]
    assert f"power {power}" == recommended(rivals)


def test_samples_decide_where_groups_do_not_and_of_a_single_group_the_first_family_is_taken() -> None:
    few = replace(measured(1.0), rows=measured(1.0).rows[:3])
    for power in (0.5, 1.0):
        rivals = [FamilyFits(few, family(f"power {one}", one), samples=measured(power)) for one in (0.5, 1.0)]
        assert f"power {power}" == recommended(rivals)
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


def test_the_one_that_is_asked_for_else_the_recommended_one_else_the_first_by_name(folder):
    assert folder / "work_depth.json" == folder_weights(folder, "work_depth")
    assert folder / "multithreaded.json" == folder_weights(folder)
    document = {"schema": "perfmodel.recommended/1", "family": "work_depth", "candidates": []}
    (folder / "recommended.json").write_text(json.dumps(document))
    assert folder / "work_depth.json" == folder_weights(folder)
    for name in ("stevens_kloeckner_2016", "multithreaded", "recommended"):
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


BOARD = DeviceFacts("Board 7", "A Platform", "1.2", (("compute_units", Fact(4, "", "made up")),))
NEWER = replace(BOARD, driver="1.3")
LARGER = replace(BOARD, facts=(("compute_units", Fact(64, "", "made up")),))
OTHER = replace(BOARD, name="Board 8")
FILES = ROOT / "fitted_weights" / "pocl-skylake-avx512-amd-epyc"
CORE = "stevens_kloeckner_2016"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine whose device is BOARD, with three empty places; returns a function that fits a device into one."""
    here = {name: tmp_path / name for name in ("own", "current", "project")}
    for folder in here.values():
        folder.mkdir()
    monkeypatch.chdir(here["current"])
    monkeypatch.setattr(module, "data_folder", lambda: here["own"])
    monkeypatch.setattr(module, "shipped", lambda name: here["project"] / name)
    in_use(monkeypatch, BOARD)

    def fitted(
        place: str, device: DeviceFacts = BOARD, families: tuple[str, ...] = (CORE,), chosen: str = "",
        verdict: str = "",
    ) -> Path:
        root = here[place] / ("" if place == "own" else "fitted_weights")
        folder = root / f"{device.slug}-{device.driver}-{len(families)}"
        folder.mkdir(parents=True)
        (folder / "device.json").write_text(json.dumps(device.to_json()))
        for family in families:
            shutil.copy(FILES / f"{family}.json", folder)
        if chosen:
            document = {"schema": "perfmodel.recommended/1", "family": chosen, "candidates": [chosen]}
            (folder / "recommended.json").write_text(json.dumps({**document, "verdict": verdict}))
        return folder

    return fitted


def in_use(monkeypatch, device: DeviceFacts | None) -> None:
    """Let a device be the one in use; the default one is asked for, unless it has another index."""

    def identify(selector=None):
        if device is None:
            raise NoDeviceError("no OpenCL device was found")
        return Device(0, device if selector in (None, "0") else OTHER)

    monkeypatch.setattr(module, "identify", identify)


def test_ones_own_come_first_then_the_current_folder_then_the_project(machine):
    places = [machine(place) for place in ("project", "current", "own")]
    for folder in reversed(places):
        assert folder / f"{CORE}.json" == find_weights().path
        shutil.rmtree(folder)
    with pytest.raises(WeightsError) as raised:
        find_weights()
    assert () == raised.value.known
    assert "'Board 7' of A Platform, driver 1.2" in str(raised.value)
    assert "there are weights of: none" in str(raised.value)


@pytest.mark.parametrize(("device", "part"), [
    (NEWER, "(driver '1.3', here '1.2')"), (LARGER, "(compute_units 64, here 4)"),
    (OTHER, "('Board 8' of A Platform, driver 1.2)"), (replace(BOARD, platform="B"), "('Board 7' of B, driver 1.2)"),
])  # fmt: skip
def test_those_of_another_device_driver_or_processor_are_named_and_not_taken(machine, device, part):
    folder = machine("own", device)
    with pytest.raises(WeightsError) as raised:
        pm.load()
    (known,) = raised.value.known
    assert f"{folder} {part}" == known
    assert "perfmodel calibrate --quick" in str(raised.value)
    assert "--weights FILE" in str(raised.value)


NEITHER, RANKS, BOTH = "usable neither to time nor to rank", "usable to rank, not to time", "usable to time and to rank"


@pytest.mark.parametrize(("own", "project", "taken"), [
    (NEITHER, BOTH, "project"), (RANKS, BOTH, "project"), (NEITHER, "", "project"), (NEITHER, NEITHER, "own"),
    (BOTH, BOTH, "own"), (BOTH, RANKS, "own"), ("", NEITHER, "own"),
])
def test_of_several_the_better_verdict_wins(machine, own, project, taken):
    places = {
        place: machine(place, chosen=CORE, verdict=verdict) for place, verdict in (("own", own), ("project", project))
    }
    found = find_weights()
    assert places[taken] == found.folder
    assert ("; " + {"own": own, "project": project}[taken] in found.text) or not found.verdict
    assert found.source == "; ".join(filter(None, found.text.replace(found.verdict, "", 1).split("; ")))
    passed = (f"{places['own'] / CORE}.json (your own) is passed over: {own}",) if taken == "project" else ()
    assert passed == found.passed_over
    assert all(words in found.text for words in passed)


def test_a_verdict_is_of_the_recommended_family_alone(machine):
    own = machine("own", families=("overlap", CORE), chosen=CORE, verdict=NEITHER)
    machine("project", families=("overlap",), chosen="overlap", verdict=BOTH)
    assert own / "overlap.json" != find_weights(family="overlap").path  # nothing has judged the own one
    assert "" == module.verdict_of(own / "overlap.json")
    assert NEITHER == module.verdict_of(own / f"{CORE}.json")
    assert "" == module.verdict_of(None)


def test_the_recommended_family_is_taken(machine):
    folder = machine("own", families=("bottleneck", "overlap", CORE), chosen="overlap")
    assert folder / "overlap.json" == find_weights().path
    assert folder / f"{CORE}.json" == find_weights(family=CORE).path
    assert "overlap" == pm.load().family.name
    assert "bottleneck" == pm.load(family="bottleneck").family.name
    with pytest.raises(WeightsError, match="the family roofline"):
        find_weights(family="roofline")
    with pytest.raises(UnknownNameError):
        find_weights(family="no family")


TITAN = DeviceFacts("NVIDIA TITAN V", "NVIDIA CUDA", "1", (("recorded", Fact(1, "", "an archive")),))


@pytest.mark.parametrize("name", ["titan-v", "Titan V", "titan", "nvidia-titan-v"])
@pytest.mark.parametrize("error", [NoDeviceError, UnknownNameError("no OpenCL device matches 'titan'")])
def test_a_device_that_is_not_in_the_machine_has_a_name(machine, monkeypatch, name, error):
    machine("own")
    folder = machine("current", TITAN)

    def identify(selector=None):
        raise error

    monkeypatch.setattr(module, "identify", identify)
    assert folder / f"{CORE}.json" == find_weights(name).path
    assert "weights of NVIDIA TITAN V" in find_weights(name).text
    assert find_weights(name).text.endswith("; others recorded its times: an archive")
    assert folder / f"{CORE}.json" == find_weights(name, CORE).path


def test_a_name_of_several_devices_or_of_none(machine, monkeypatch):
    for place, device in (("own", TITAN), ("current", replace(TITAN, name="NVIDIA TITAN X"))):
        machine(place, device)
    in_use(monkeypatch, None)
    with pytest.raises(WeightsError, match=r"2 devices match 'titan', so .*TITAN V.*TITAN X"):
        find_weights("titan")
    with pytest.raises(WeightsError, match="no OpenCL device was found"):
        find_weights("0")

    def identify(selector=None):
        raise UnknownNameError(f"no OpenCL device matches {selector}")

    monkeypatch.setattr(module, "identify", identify)
    with pytest.raises(UnknownNameError):
        find_weights("titan-z")


def test_without_any_device_only_a_path_helps(machine, monkeypatch):
    folder = machine("own")
    in_use(monkeypatch, None)
    with pytest.raises(WeightsError) as raised:
        pm.load()
    assert "no OpenCL device was found" in str(raised.value)
    assert (f"{folder} ('Board 7' of A Platform, driver 1.2)",) == raised.value.known
    model = pm.load(folder / f"{CORE}.json")
    assert CORE == model.family.name
    assert () == foreign(model)


def test_what_cannot_be_read_is_passed_over_and_a_damaged_recommendation_told(machine):
    damaged = machine("own", OTHER)
    (damaged / "device.json").write_text("{")
    folder = machine("current", chosen=CORE)
    assert folder / f"{CORE}.json" == find_weights().path
    for content in ("{", '{"schema": "perfmodel.recommended/1", "family": "../x", "candidates": []}'):
        (folder / "recommended.json").write_text(content)
        with pytest.raises(WeightsError, match=r"recommended\.json"):
            find_weights()


def test_what_tells_named_weights_from_the_device_in_use(machine):
    same, newer = machine("own"), machine("own", NEWER)
    plain = load(same / f"{CORE}.json")  # whose device is that of its file, not that of the folder
    named = replace(plain, facts=BOARD)
    assert () == foreign(named)
    assert ("driver '1.3', here '1.2'",) == foreign(replace(named, facts=NEWER))
    assert ("name 'Board 7', here 'Board 8'",) == foreign(named, "1")
    assert newer.is_dir()
    (only_a_name,) = foreign(replace(plain, facts=None))
    assert only_a_name.startswith("name 'pthread-")


@pytest.mark.parametrize(
    "folder", [*DEVICES, SIMULATED, FILES, FILES.with_name("intel-amd-epyc")], ids=lambda folder: folder.name
)
def test_committed_recommendations_are_those_of_the_verdicts(folder):
    document = json.loads((folder / "recommended.json").read_text())
    first, why = (folder / "verdict.txt").read_text().splitlines()[:2]
    assert first.split()[0] == document["family"]
    several = f"It predicts measured kernels best that its fit has not seen, of {', '.join(document['candidates'])}."
    alone = "It is the only family that can be used here."
    assert why == (several if len(document["candidates"]) > 1 else alone)
    assert (folder / f"{document['family']}.json").is_file()
