"""A study of matrix products on a recorded device, with times that a test gives."""

from collections.abc import Callable
from functools import cache

from perfmodel.counts import count
from perfmodel.kernels import discover
from perfmodel.predicting.model import load
from perfmodel.store import Measurements, read
from scripts.lab.studies import StudyData
from scripts.lab.studies.karsin import SPT
from tests.machine import ROOT
from tests.recorded import INTEL

SIDE = 384
LENGTHS = (64, 128, 256)
VARIANTS = ((16, 16, (16, 16)), (32, 16, (16, 16)), (48, 16, (16, 16)), (32, 8, (8, 8)))


@cache
def kernel():
    (found,) = (one for one in discover(ROOT / "test_kernels" / "papers") if one.name == "gemm")
    return found


@cache
def counted(tile, depth, group):
    return count(kernel().build(tile=tile, depth=depth, group=group), subgroup_size=16)


@cache
def model(family):
    return load(INTEL / f"{family}.json")


@cache
def recorded():
    """The recorded device's facts, and one record."""
    found = read(INTEL)
    return found.known_facts, found.current[0]


def study_of(rows, group, folder=INTEL, models=None) -> StudyData:
    """Return a study of rows (kernel, variant, sizes, counts, seconds) on a recorded device, as if measured there.

    Its families are those that `folder` has weights of.
    """
    facts, some = recorded()
    made = [
        some.model_copy(update={
            "kernel": kernel, "group": group, "variant": variant, "visits": (), "parameters": sizes, "dropped": 0,
            "kernel_hash": counts.hash, "counts_hash": counts.hash, "status": "ok", "flags": (),
            "samples_s": (seconds,) * 2, "device_samples_s": (),
        })
        for kernel, variant, sizes, counts, seconds in rows
    ]  # fmt: skip
    documents = {counts.hash: counts.to_json() for *_, counts, _ in rows}
    measured = Measurements(tuple(made), documents).with_facts(facts)
    return StudyData(facts, measured, (), folder, "bottleneck", models or {})


def products(seconds: Callable[..., float], variants=VARIANTS) -> StudyData:
    """Return the study with times ``seconds(tile, depth, group, k)`` [s] of the variants at n = m = 384."""
    rows = [
        ("gemm", {"tile": tile, "depth": depth, "group": list(group)}, {"n": SIDE, "m": SIDE, "k": k},
         counted(tile, depth, group), seconds(tile, depth, group, k))
        for tile, depth, group in variants
        for k in LENGTHS
    ]  # fmt: skip
    return study_of(rows, "matmul", models={family: model(family) for family in ("bottleneck", SPT)})
