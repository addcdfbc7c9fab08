r"""All-pairs shortest paths as a whole, :math:`\lg n` squarings, by the paper's model with a device's fitted weights.

Ma, Chamberlain and Agrawal (ASAP 2014) run it on a GTX 480 with n = 8192 (sections IV and V). Where no such times are
at hand, on a simulated card or one that others recorded, the model's own figures 2 to 5 are computed from that card's
facts and its weights of ``threaded_manycore``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from perfmodel.calibration.kernel_choice import TEST_KERNELS
from perfmodel.counts import count
from perfmodel.display import seconds_text
from perfmodel.io import shipped
from perfmodel.kernels import discover
from perfmodel.quantities.case import Case
from scripts.lab.studies.apsp import FAMILY, Configuration, automatic, bent_line, by_sub_block, configuration, flat_from
from scripts.lab.studies.claim import Claim

if TYPE_CHECKING:
    from scripts.lab.studies.study import StudyData

N = 8192
"""Vertices of the paper's graph."""
MORE = 36 * 1024
"""Local memory that leaves one group of sub-blocks of 32 on a multiprocessor with 48 KiB [B]."""
VARIANTS = (
    *({"sub_block": size, "items": items} for size in (16, 32, 64) for items in (16, 32, 64, 128, 256)),
    {"sub_block": 32, "items": 32, "extra_local": MORE},
)
NOT_MEASURED = " (predicted; nothing is measured on this device)"


def predicted(data: StudyData, n: int = N, variants: Iterable[dict[str, int]] = VARIANTS) -> tuple[Configuration, ...]:
    """Return configurations of the whole computation, with the model's time in place of a measured one.

    Raises
    ------
    FactsError
        If the device's limits on work-groups and work-items are unknown.
    WeightsError
        If the device's folder has no weights of the family.
    """
    (kernel,) = (one for one in discover(shipped(TEST_KERNELS) / "papers") if one.name == "apsp")
    model, steps = data.model(FAMILY), int(math.log2(n))
    found = []
    for variant in variants:
        counts = count(kernel.build(**variant, whole=True), subgroup_size=int(data.facts.value("subgroup_size")))
        case = Case(counts, {"n": n, "steps": steps}, data.facts, FAMILY)
        seconds = float(model.predict(counts, n=n, steps=steps).seconds)
        found.append(configuration(case, variant, seconds, {}))
    return tuple(sorted(found, key=lambda one: (one.sub_block, one.extra_local, one.threads)))


def claims(found: Sequence[Configuration]) -> tuple[Claim, ...]:
    """Return what the paper measured next to what its model says of this device."""
    return line_claim(found), flat_claim(found), anomaly_claim(found)


def line_claim(found: Sequence[Configuration]) -> Claim:
    """Figure 2."""
    paper = "0.957 s sqrt(B_r)/T + 53.9 s for n = 8192 on a GTX 480, flat at 53.9 s where computing bounds it"
    own = automatic(found)
    bent = bent_line([one.ratio for one in own], [one.seconds for one in own])
    slope = seconds_text(bent.slope)
    said = f"level {seconds_text(bent.level)}; from sqrt(B_r)/T = {bent.bend:.3g} on a slope of {slope}"
    return Claim("Fig. 2, Eq. 15", paper, said + NOT_MEASURED, None)


def flat_claim(found: Sequence[Configuration]) -> Claim:
    """Figure 3."""
    paper = "sub-blocks of 64, 32 and 16 get flat at T = 8, 16 and 32"
    flat = {size: flat_from(curve) for size, curve in by_sub_block(found).items()}
    said = "; ".join(f"{size}: " + ("never" if at is None else f"from T = {at:g}") for size, at in flat.items())
    return Claim("Fig. 3", paper, said + NOT_MEASURED, None)


def anomaly_claim(found: Sequence[Configuration]) -> Claim:
    """Section V: the run whose time the model does not explain."""
    paper = "with S_D = 32 and T = 4, 105 s are predicted for B_a = 4, 404 s measured, and 108 s with B_a = 1"
    pair = [one for one in found if (one.sub_block, one.items) == (32, 32)]
    said = " and ".join(
        f"{seconds_text(one.seconds)} with B_a = {one.active:g} (T = {one.threads:g})" for one in pair
    )
    if len(pair) == 2:
        factor = pair[0].seconds / pair[1].seconds
        said += f": B_a matters by a factor of {factor:.2f} by the model, and 3.74 as measured"
    return Claim("Section V", paper, said + NOT_MEASURED, None)
