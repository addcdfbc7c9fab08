"""A study of matrix products on a recorded device, with times that a test gives."""

from __future__ import annotations

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
def stored():
    """The recorded device's facts, and one record."""
    found = read(INTEL)
    return found.known_facts, found.current[0]


@cache
def model(family):
    return load(INTEL / f"{family}.json")


def products(seconds: Callable[..., float], variants=VARIANTS) -> StudyData:
    """Return the study with times ``seconds(tile, depth, group, k)`` [s] of the variants at n = m = 384."""
    facts, some = stored()
    rows = [
        some.model_copy(update={
            "kernel": "gemm", "variant": {"tile": tile, "depth": depth, "group": list(group)}, "visits": (),
            "parameters": {"n": SIDE, "m": SIDE, "k": k}, "kernel_hash": f"{tile} {depth} {group}",
            "counts_hash": counted(tile, depth, group).hash, "dropped": 0, "status": "ok", "flags": (),
            "samples_s": (seconds(tile, depth, group, k),) * 2, "device_samples_s": (),
        })
        for tile, depth, group in variants
        for k in LENGTHS
    ]  # fmt: skip
    documents = {one.hash: one.to_json() for one in (counted(*variant) for variant in variants)}
    models = {family: model(family) for family in ("bottleneck", SPT)}
    return StudyData(facts, Measurements(tuple(rows), documents).with_facts(facts), (), INTEL, "bottleneck", models)
