"""The claims of Karsin (2018), chapter 4, about latency, bandwidth and multiplicity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from scripts.lab.studies.claim import Claim
from scripts.lab.studies.karsin import gpu
from scripts.lab.studies.throughput import OPERATIONS, Run, knees, launch_steps, lines

#: On ALGOPARC, the multiplicity at which the text sees each operation reach its bandwidth: L B of Table 4.2.
SEEN: Mapping[str, float] = MappingProxyType({"g": 8.0, "s": 20.0, "r": 6.0})
#: Times, and multiplicities, that are alike.
ALIKE, DOUBLE = 1.1, 2.0
TURNS = "A core of this device runs its work-items one after the other, so that none hides another's latency"


def printed_claim() -> Claim:
    """Return whether Table 4.2 has the products L B that sections 4.2 to 4.4 read off the curves."""
    device = gpu("ALGOPARC")
    found = {key: device.latency[key] * device.bandwidth[key] for key in SEEN}
    return Claim(
        "Sections 4.2.1, 4.3.1 and 4.4.1",
        "on ALGOPARC the bandwidth is reached at M = 8 (global), between 16 and 24 (shared) and at 6 (registers)",
        f"L B of Table 4.2: {', '.join(f'{value:.1f} ({key})' for key, value in found.items())}",
        all(abs(found[key] / SEEN[key] - 1) < 0.05 for key in SEEN),
        measured=False,
    )


def measured_claims(points: Sequence[Run], hides: bool) -> tuple[Claim, ...]:
    """Return the claims about the curves; `hides` is whether oversubscription hides latency on the device."""
    return (
        _same_knee(points, "copy", hides), _same_knee(points, "local", hides), _flat(points, hides),
        _barriers(points, hides), _fixed(points), _converges(points),
    )  # fmt: skip


def _same_knee(points: Sequence[Run], operation: str, hides: bool) -> Claim:
    found, source = knees(points, operation), f"Figure {OPERATIONS[operation]}"
    words = ", ".join(f"{value:.3g} with M_I = {ilp}" for ilp, value in found.items()) or "nothing was measured"
    text = "the bandwidth is reached at one M_o M_I, whatever M_I is"
    if not hides or len(found) < 2:
        return Claim(source, text, f"90 % of the highest rate at M_o M_I = {words}. {TURNS}", None)
    return Claim(
        source, text, f"90 % of the highest rate at M_o M_I = {words} (to agree is a factor of {DOUBLE:g})",
        max(found.values()) <= DOUBLE * min(found.values()),
    )


def _flat(points: Sequence[Run], hides: bool) -> Claim:
    found = lines(points, "register", lambda one: one.groups)
    text = "with M_I times the work the time stays flat while multiplicity hides the latency"
    fewest = found[min(found)] if found else []
    if len(fewest) < 2:
        return Claim("Figure 4.3", text, "one M_I was measured", None)
    ratio = fewest[1].measured / fewest[0].measured
    words = ", ".join(f"{one.measured * 1e6:.3g} us with M_I = {one.ilp}" for one in fewest)
    note = "" if hides else ". Chains of one work-item are side by side on any device, so this can be seen here"
    return Claim(
        "Figure 4.3", text,
        f"{fewest[0].groups} group(s): {words}; M_I = {fewest[1].ilp} takes {ratio:.2f} times as long as "
        f"M_I = {fewest[0].ilp} (to agree is at most {ALIKE}){note}", ratio <= ALIKE,
    )  # fmt: skip


def _barriers(points: Sequence[Run], hides: bool) -> Claim:
    line = [one for one in points if one.operation == "barrier"]
    text = "the time of a barrier falls as M_o grows, until a plateau"
    if len(line) < 3:
        return Claim("Figure 4.4", text, "fewer than three numbers of groups were measured", None)
    times = [one.each / one.groups for one in line]
    words = f"{times[0] * 1e9:.3g} ns with {line[0].groups} group(s), {times[-1] * 1e9:.3g} ns with {line[-1].groups}"
    if not hides:
        return Claim("Figure 4.4", text, f"for each barrier of a group: {words}. {TURNS}", None)
    plateau = times[-2] / times[-1]
    return Claim(
        "Figure 4.4", text, f"for each barrier of a group: {words}; the last two differ {plateau:.2f} times",
        times[0] > ALIKE * times[-1] and 1 / ALIKE < plateau < ALIKE,
    )


def _fixed(points: Sequence[Run]) -> Claim:
    found = {groups: launch_steps(line) for groups, line in lines(points, "launch", lambda one: one.groups).items()}
    known = {groups: steps[-1] for groups, steps in found.items() if steps}
    text = "each synchronisation of the device has a fixed cost, whatever M_o is"
    if len(known) < 2:
        return Claim("Figure 4.5", text, "one number of groups was measured", None)
    ratio = max(known.values()) / min(known.values())
    words = ", ".join(f"{seconds * 1e6:.3g} us with {groups} group(s)" for groups, seconds in known.items())
    return Claim(
        "Figure 4.5", text, f"a launch more takes {words}: {ratio:.2f} times (to agree is at most {ALIKE})",
        ratio <= ALIKE,
    )


def _converges(points: Sequence[Run]) -> Claim:
    line = next(iter(lines(points, "launch", lambda one: one.groups).values()), [])
    text = "the mean time of a synchronisation converges as there are more of them"
    if len(line) < 3:
        return Claim("Figure 4.6", text, "fewer than three numbers of launches were measured", None)
    means = [one.each for one in line]
    words = ", ".join(f"{1e6 * one.each:.3g} us ({one.launches})" for one in line)
    return Claim(
        "Figure 4.6", text, f"{words}; the last two differ {means[-2] / means[-1]:.2f} times (to agree is {ALIKE})",
        1 / ALIKE < means[-2] / means[-1] < ALIKE,
    )
