"""A study of predecessor searches on a recorded device, with times that a test gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from perfmodel.kernels import discover
from perfmodel.measuring.subject import Subject
from perfmodel.store import Measurements, read
from scripts.lab.studies import StudyData
from tests.machine import ROOT
from tests.recorded import INTEL

FORMS = (
    {"layout": "sorted"}, {"layout": "bst"}, {"layout": "btree"},
    *({"form": form, "levels": 8} for form in ("naive", "free", "limited")),
)  # fmt: skip


@cache
def kernels():
    return {kernel.name: kernel for kernel in discover(ROOT / "test_kernels" / "papers")}


@cache
def counted(place: int):
    from perfmodel.counts import count

    subject = Subject(kernel_of(FORMS[place]), FORMS[place])
    return count(subject.generated.t_unit, subgroup_size=16, statistics=subject.statistics)


def kernel_of(variant):
    return kernels()["search_local" if "form" in variant else "search_global"]


ALL = tuple(range(len(FORMS)))


def searches(seconds: Callable[[dict[str, Any], dict[str, int]], float], places=ALL, folder=INTEL) -> StudyData:
    """Return the study with times ``seconds(variant, sizes)`` [s] of these of :data:`FORMS` at their smallest rung.

    Its families are those that `folder` has weights of.
    """
    stored = read(INTEL)
    facts, some = stored.known_facts, stored.current[0]
    rows = [
        some.model_copy(update={
            "kernel": kernel_of(FORMS[place]).name, "group": "search", "variant": FORMS[place], "visits": (),
            "parameters": sizes, "kernel_hash": str(place), "counts_hash": counted(place).hash, "dropped": 0,
            "status": "ok", "flags": (), "samples_s": (seconds(FORMS[place], sizes),) * 2, "device_samples_s": (),
        })
        for place in places
        for sizes in kernel_of(FORMS[place]).sizes.at(kernel_of(FORMS[place]).sizes.start)
    ]  # fmt: skip
    documents = {counted(place).hash: counted(place).to_json() for place in places}
    return StudyData(facts, Measurements(tuple(rows), documents).with_facts(facts), (), folder, "bottleneck")
