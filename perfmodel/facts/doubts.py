"""A device with the facts of its probes, and doubts about these facts: impossible times and contradictions.

A *visit* is one run of a probe. If a visit has impossible times, other programs disturbed it. Such a visit is not used,
and is repeated. Two facts of one property contradict each other if they differ by a factor of :data:`CONTRADICTING` or
more. One fact is assumed to be right. If a prediction depends on it, the prediction's interval covers both values.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import log
from types import MappingProxyType
from typing import TypeAlias

from perfmodel.display import bytes_text
from perfmodel.facts import probed
from perfmodel.facts.device_facts import ASSUMED, KEYS, DeviceFacts, Fact
from perfmodel.facts.probed import ProbeRun, times

REGISTERS = "vector_registers"
MANY, FEW = 32, 16  # registers of AVX-512, SVE and NEON of 64 bits; of AVX2 and SSE
WIDEST_OF_FEW = 8  # most float32 lanes of a set with few registers
X86_ONLY = "Intel"  # start of the name of a platform whose CPUs have x86 instructions
# LLVM's names of processors and instruction sets, which PoCL writes into the names of devices
_WITH_MANY = re.compile(
    r"avx512|avx10|knl|knm|skx|cannonlake|icelake|cascadelake|cooperlake|tigerlake|rocketlake|(sapphire|emerald|granite)rapids"
    r"|znver[4-9]|aarch64|arm64|neoverse|cortex-[ax]\d|apple-m|a64fx|thunderx|carmel|ampere1"
)
_WITH_FEW = re.compile(
    r"\b(haswell|broadwell|skylake|znver[1-3]|ivybridge|sandybridge|westmere|nehalem|core2|penryn|k8|amdfam10|barcelona"
    r"|[bj]tver[12]|bdver[1-4]|(alder|raptor|meteor|arrow|lunar)lake|(gold|tre|silver|grace)mont(-plus)?|x86-64(-v[1-3])?"
    r"|avx2?|sse[234.]*)\b"
)

CONTRADICTING = 1.9  # sizes of caches and vectors double
PIPES, BOOST = 2, 2.0  # most fused multiply-adds of a lane per cycle, and highest ratio of a clock to its reported rate
DISTURBED = "disturbed: "  # prefix of the message of a visit with impossible times
PROBED = ("measured", "told by the operating system")  # prefixes of the source of a fact that may be in doubt

LOAD_S = (5e-11, 1e-5)  # a load that waits for its address takes at least a cycle, and less than a read from a disk [s]
BYTE_S = (1e-14, 1e-7)  # a byte of a stream [s]
BARRIER_S = 1e-3  # most time of a barrier [s]
NOISE = 2.0  # times of two kernels may be wrong by this factor
WIDEST = 64  # lanes of a vector
AGAIN = "probe again on a quiet machine: perfmodel calibrate --probes"


@dataclass(frozen=True)
class ContradictingFacts:
    """A caution: probes, kernels and the system contradict each other about a property of a device."""

    what: str  #: the property
    statements: tuple[str, ...]  #: the value that each of them gives
    assumed_text: str
    why: str  #: why it is assumed
    key: str  #: the fact that is assumed
    assumed: float  #: the assumed value, in the unit of the fact
    other: float  #: the value that differs most from it

    @property
    def assumption(self) -> str:
        """What is assumed, the reason, and the consequence for predictions."""
        return f"{self.assumed_text} is assumed, because {self.why}; intervals also cover the other value"

    def __str__(self) -> str:
        again = "" if self.key == REGISTERS else "probe again on a quiet machine (perfmodel calibrate --probes), or "
        advice = f"{again}write {self.key} into facts.yaml"
        return f"{self.what} is in doubt ({', '.join(self.statements)}): {self.assumption}; {advice}"


@dataclass(frozen=True)
class AssumedFact:
    """A caution: a fact of a device is unknown, and a model assumes a value."""

    key: str  #: the fact
    assumed: float  #: the assumed value, in the unit of the fact
    other: float  #: another plausible value

    def __str__(self) -> str:
        return (
            f"{self.key} of the device is unknown ({KEYS[self.key].meaning}): {self.assumed:g} is assumed; intervals "
            f"also cover {self.other:g}; write {self.key} into facts.yaml"
        )


def with_probed_facts(facts: DeviceFacts, runs: Iterable[ProbeRun]) -> DeviceFacts:
    """Return a device with the facts of its probes added. Known facts under the same keys are kept.

    If no probe finds the ways of a cache of known size, the number that the operating system reports is used.
    """
    known: Mapping[str, Fact] = dict(facts.facts)
    found = probed.probed_facts(undisturbed(_of_device(facts, runs)))
    if _hides_lanes_on_a_cpu(facts, found):
        del found["lane_order"]
    for level in probed.LEVELS:
        reported = known.get(f"{level}_told_ways")
        if reported is not None and f"{level}_bytes" in {**found, **known}:
            found.setdefault(f"{level}_ways", reported)
    return facts.updated({**found, **known})


def _of_device(facts: DeviceFacts, runs: Iterable[ProbeRun]) -> tuple[ProbeRun, ...]:
    return tuple(run for run in runs if (run.device, run.platform) == (facts.name, facts.platform))


def _hides_lanes_on_a_cpu(facts: DeviceFacts, found: Mapping[str, Fact]) -> bool:
    order = found.get("lane_order")
    return facts.known("device_type") == "cpu" and order is not None and order.value == "multithreaded"


def disturbed_probes(facts: DeviceFacts, runs: Iterable[ProbeRun]) -> tuple[str, ...]:
    """Return a note for each probe of the newest series that gives no fact because all its visits were disturbed."""
    runs = _of_device(facts, runs)
    newest = max((run.series for run in runs), default=0)
    reasons: dict[str, str] = {}
    for run in (run for run in runs if run.series == newest):
        reason = run.message.removeprefix(DISTURBED) if run.message.startswith(DISTURBED) else disturbed(run)
        if reason:
            reasons[run.probe] = reason
    good = {run.probe for run in undisturbed(runs) if run.series == newest and run.status == "ok"}
    bad = {probe: reason for probe, reason in reasons.items() if probe not in good}
    found = probed.probed_facts(undisturbed(runs))
    if _hides_lanes_on_a_cpu(facts, found):
        bad[probed.LANES] = found["lane_order"].source.partition("and ")[2]
    return tuple(
        f"the probe '{probe}' was disturbed ({reason}) and was ignored: {_assumed(probe, facts)}; {AGAIN}"
        for probe, reason in bad.items()
    )


def _assumed(probe: str, facts: DeviceFacts) -> str:
    if probe == probed.LANES and facts.known("device_type") == "cpu":
        return "as on every CPU, no work-items hide the latency of others; the fit finds whether they run in step"
    return "the system's values are used, else common values"


def disturbed(run: ProbeRun) -> str:
    """Return a description of an impossible time of a visit, or "" if all times are possible."""
    check = _CHECKS.get(run.probe)
    return next(check(run), "") if check else ""


def undisturbed(runs: Iterable[ProbeRun]) -> tuple[ProbeRun, ...]:
    """Return the visits whose times are possible."""
    return tuple(run for run in runs if not disturbed(run))


def _within(what: str, seconds: Iterable[float], bounds: tuple[float, float]) -> Iterator[str]:
    low, high = bounds
    for value in seconds:
        if not low <= value <= high:
            yield f"{what} takes {value:.2g} s; possible: {low:g} to {high:g} s"


def _units(what: str, bounds: tuple[float, float], run: ProbeRun) -> Iterator[str]:
    return _within(what, (s for s in run.seconds().values() if s > 0), bounds)


def _lanes(run: ProbeRun) -> Iterator[str]:
    """Describe impossible ratios of times: more lanes to fewer lanes, and lanes of two kinds to lanes of one kind."""
    curve = times([run], "block", "lanes", dtype="float32")
    alone = sorted((int(lanes), seconds) for (block, lanes), seconds in curve.items() if block == lanes)
    for (few, quick), (many, slow) in combinations(alone, 2):
        least, most = 1 / few, many / few
        if not least / NOISE <= slow / quick <= NOISE * most:
            yield f"{many} lanes take {slow / quick:.2g} times as long as {few}; possible: {least:.2g} to {most:g}"
    widest = max((lanes for lanes, _ in alone), default=0)
    for (block, lanes), seconds in curve.items():
        ratio = seconds / dict(alone)[widest] if lanes == widest else 1.0
        if not 1 / NOISE <= ratio <= 2 * NOISE:
            yield f"lanes of 2 kinds in blocks of {block} take {ratio:.2g} times as long as one kind; possible: 1 to 2"


def _nests(run: ProbeRun) -> Iterator[str]:
    for dtype in probed.DTYPES:
        gain = probed.vector_gain([run], dtype)
        if gain > NOISE * WIDEST:
            yield f"{dtype} without a loop is {gain:.3g} times as fast as with one; possible: up to {WIDEST} times"


def _overlap(run: ProbeRun) -> Iterator[str]:
    for memory, computing, both in probed.triples([run]).values():
        low, high = max(memory, computing), memory + computing
        if not low / NOISE <= both <= NOISE * high:
            yield f"memory and computing take {both:.2g} s together; possible: {low:.2g} to {high:.2g} s"


_LOADS = partial(_units, "a load", LOAD_S)
_CHECKS: Mapping[str, Callable[[ProbeRun], Iterator[str]]] = MappingProxyType({
    **dict.fromkeys((probed.CHASE, probed.CONFLICTS, probed.LINE, probed.PAGES), _LOADS),
    probed.STREAM: partial(_units, "a byte", BYTE_S), probed.LANES: _lanes, probed.NESTS: _nests,
    probed.BARRIERS: lambda run: _within("a barrier", probed.barrier_slopes([run]).values(), (0.0, BARRIER_S)),
    probed.OVERLAP: _overlap,
})  # fmt: skip


@dataclass(frozen=True)
class _Witness:
    origin: str
    value: float
    key: str = ""  # empty for a bound that follows from other facts


def contradictions(facts: DeviceFacts) -> tuple[ContradictingFacts, ...]:
    """Return the contradictions between facts of a device. A fact that the user wrote is not doubted.

    - Probes of caches, pages and vector lanes are compared with the values of the system.
    - The measured peak of operations is compared with the bound from units, lanes and clock.
    - The measured bandwidth is compared with the lower bound from one load at a time.
    """
    found: list[ContradictingFacts] = []
    for what, witnesses, also, why in (*_properties(facts), *_rates(facts)):
        if len(witnesses) < 2 or not facts.fact(witnesses[0].key).source.startswith(PROBED):
            continue
        first, other = witnesses[0], max(witnesses[1:], key=lambda w: abs(log(w.value / witnesses[0].value)))
        if not other.key or max(other.value / first.value, first.value / other.value) >= CONTRADICTING:
            unit = KEYS[first.key].unit
            statements = tuple(f"{w.origin} {_text(w.value, unit)}" for w in (*witnesses, *also))
            assumed = _text(first.value, unit)
            found.append(ContradictingFacts(what, statements, assumed, why, first.key, first.value, other.value))
    registers = vector_registers(facts)
    if facts.known("device_type") == "cpu" and registers.source.startswith(ASSUMED):
        sets = (f"AVX2 has {FEW}", f"AVX-512 and NEON have {MANY}")
        why = registers.source.partition(": ")[2]
        text = f"{registers.value} {KEYS[REGISTERS].unit}"
        found.append(ContradictingFacts("the number of vector registers", sets, text, why, REGISTERS, MANY, FEW))
    return tuple(found)


def doubted_facts(facts: DeviceFacts) -> Iterator[tuple[ContradictingFacts, Fact]]:
    """Yield each contradiction and the rejected value, as a fact under the key of the assumed fact."""
    for each in contradictions(facts):
        value = int(each.other) if float(each.other).is_integer() else each.other
        yield each, Fact(value, KEYS[each.key].unit, f"in doubt: of {each.what} {', '.join(each.statements)}")


def _text(value: float, unit: str) -> str:
    return bytes_text(int(value)) if unit == "B" else f"{value:.3g} {unit}".strip()


#: A property, its witnesses (the assumed one first), more witnesses for the message, and why the first is assumed.
_Property: TypeAlias = tuple[str, list[_Witness], list[_Witness], str]


def _witnesses(facts: DeviceFacts, **origins: str) -> list[_Witness]:
    every = (_Witness(origin, float(facts.value(key)), key) for key, origin in origins.items() if key in facts)
    return [witness for witness in every if witness.value > 0]


def _properties(facts: DeviceFacts) -> Iterator[_Property]:
    known, system, chase = partial(_witnesses, facts), "the system reports", "a pointer chase measures"
    yield (
        "the last-level cache", known(last_level_bytes="a stream measures", l3_bytes=chase),
        known(l3_told_bytes=system), "a chase takes so long that other programs replace its lines in the cache",
    )  # fmt: skip
    for name, level in (("first", "l1"), ("second", "l2")):
        witnesses = known(**{f"{level}_bytes": chase, f"{level}_told_bytes": system})
        yield f"the {name}-level cache", witnesses, [], "kernels can use the measured size"
    pages = known(page_bytes="a probe measures", page_told_bytes=system)
    yield "a page of memory", pages, [], "the probe measured the pages that the TLB covers"
    lanes = known(vector_lanes="a probe measures", subgroup_size="the runtime reports")
    yield "the float32 lanes of a vector", lanes, [], "the probe measured the vectors that the compiler makes"


def _rates(facts: DeviceFacts) -> Iterator[_Property]:
    known = dict.fromkeys(("clock_hz", "clock_mhz", "compute_units", "vector_lanes", "memory_load_s"), "")
    numbers = {witness.key: witness.value for witness in _witnesses(facts, **known)}
    units, clock = numbers.get("compute_units", 0.0), numbers.get("clock_hz", 1e6 * numbers.get("clock_mhz", 0.0))
    most = 2 * PIPES * BOOST * units * clock * numbers.get("vector_lanes", 0.0)
    for peak in _witnesses(facts, peak_flops_float32="kernels measure"):
        if 0 < most < peak.value:
            bound = _Witness("units, lanes and clock allow", most)
            yield "the peak of float32 operations", [peak, bound], [], "kernels reached it, unless times are wrong"
    line = float(facts.known("cache_line_bytes", 64.0))
    least = units * line / numbers["memory_load_s"] if "memory_load_s" in numbers else 0.0
    for bandwidth in _witnesses(facts, memory_bandwidth_bytes_per_s="streams measure"):
        if bandwidth.value < least:
            bound = _Witness("one load at a time gives", least)
            yield "the bandwidth of memory", [bandwidth, bound], [], "kernels stream data in the same way"


def vector_registers(facts: DeviceFacts | None) -> Fact:
    """Return the number of vector registers of a CPU's core, with its source.

    The fact ``vector_registers`` comes first, then the name of the processor in the name or version of the device, then
    the lanes of its vectors: x86 sets with more than :data:`WIDEST_OF_FEW` lanes have many registers. Otherwise the
    number is assumed.

    >>> from perfmodel.facts import DeviceFacts
    >>> vector_registers(DeviceFacts("pthread-haswell-AMD EPYC", "Portable Computing Language", "3.1", ())).value
    16
    """
    if facts is not None:
        if REGISTERS in facts:
            return facts.fact(REGISTERS)
        text = f"{facts.name} {facts.known('opencl_version', '')}".lower()
        for number, names in ((MANY, _WITH_MANY), (FEW, _WITH_FEW)):
            if found := names.search(text):
                return Fact(number, "registers", f"the device names the processor or instruction set {found[0]}")
        lanes = facts.known("vector_lanes", 0)
        if lanes > WIDEST_OF_FEW:
            return Fact(MANY, "registers", f"vectors have {lanes} lanes of float32, as with AVX-512")
        if lanes and facts.platform.startswith(X86_ONLY):
            return Fact(FEW, "registers", f"vectors have {lanes} lanes of float32, as with AVX2")
    return Fact(MANY, "registers", f"{ASSUMED}: the device names no instruction set")
