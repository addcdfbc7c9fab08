"""What every model family must keep, as checks of one family each.

Each check raises an ``AssertionError`` that says what is wrong.  They run over kernels that are
counted anew and a device whose facts are made up.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from itertools import product
from pathlib import Path
from pkgutil import iter_modules
from tempfile import TemporaryDirectory
from typing import Any

import loopy as lp
import numpy as np

import perfmodel.models
from perfmodel import features
from perfmodel.counts import KernelCounts, count
from perfmodel.errors import FactsError, UnknownNameError
from perfmodel.facts import KEYS, DeviceFacts, Fact
from perfmodel.fitting import Design, FitOptions, build_design, fit_weights, read_weights
from perfmodel.kernels import discover
from perfmodel.measuring.campaign import Campaign, even_indices
from perfmodel.models import Family
from perfmodel.predicting.model import FittedModel
from perfmodel.quantities.case import Case
from tests.standins import Row, Rows

#: A made-up device: of each unit one number, and these for what must fit together.
BY_UNIT = {"share": 0.25, "B": 2**16, "s": 2e-8, "Hz": 1.5e9, "B/s": 2e11, "operation/s": 4e12, "registers": 2**16}
VALUES = {
    "subgroup_size": 32, "lanes_per_unit": 64, "max_items_per_unit": 2048, "max_work_group_size": 1024,
    "global_transaction_bytes": 64, "cache_line_bytes": 64, "l2_line_bytes": 64, "l1_bytes": 2**14,
    "l2_bytes": 2**21, "memory_latency_s": 4e-7, "l2_latency_s": 2e-7, "launch_s": 5e-6,
    "registers_per_work_item": 32, "peak_flops_float64": 1e12, "local_bandwidth_bytes_per_s": 1e12,
    "device_type": "gpu", "oversubscription": 1, "lane_order": "multithreaded", "odd_pitch_access": "vector",
}  # fmt: skip
#: Seconds for one unit of a feature, where a family has a weight for it: any, but not all alike.
SECONDS = (1e-11, 1e-9)
CLOSE = 1e-6
#: A resource that a maximum hides in all rows but for a trace is fitted as free.
CLOSE_TO_HIDDEN = 5e-3
CITES = re.compile(r"\b(eq|equations?|sections?|chapters?|tables?|figures?)\b\.?|\d+\.\d+", re.IGNORECASE)


@cache
def facts() -> DeviceFacts:
    found = {key: Fact(VALUES.get(key, BY_UNIT.get(one.unit, 16)), one.unit, "made up") for key, one in KEYS.items()}
    return DeviceFacts.from_mapping("made up", "none", "0", found)


@cache
def kernels() -> Rows:
    """The first and last variants of the measurement kernels at two or three small sizes, without times.

    Operations and functions that these lack follow in other variants, at one size. Without them the only divisions
    might be waited for, and rows of such kernels do not determine a division's latency and its own time.
    """
    rows, counts = [], {}
    campaign = Campaign("contract", variants=2)
    for kernel in discover(Path(__file__).parents[1] / "measurement_kernels"):
        ladder = kernel.sizes
        ends = [kernel.variants[i] for i in even_indices(len(kernel.variants), 2)]
        for variants, rungs in ((ends, 2), (campaign.covering(kernel).variants, 1)):
            for variant in variants:
                found = count(kernel.build(**variant), subgroup_size=32)
                counts[found.hash] = found
                for exponent in (ladder.start, ladder.start + ladder.step)[:rungs]:
                    for parameters in ladder.at(exponent)[:rungs]:
                        rows.append(Row(kernel.name, parameters, 1.0, found.hash, variant, kernel.group))
    return Rows(tuple(rows), counts, "made up", facts())


@cache
def idle() -> tuple[KernelCounts, ...]:
    """Kernels of which parts, or all, are executed zero times at some sizes, also one work-item after another.

    The last code has arrays whose outermost extent is a size that no count depends on.
    """
    arrays = [lp.GlobalArg("a, b, out", np.float32, shape="n"), lp.GlobalArg("m", np.float32, shape="t, n")]
    arrays += [lp.GlobalArg("w", np.int8, shape="rows, t + 1"), lp.GlobalArg("v", np.int8, "t + 1, rows", order="F")]
    arrays += [lp.GlobalArg("start", np.int32, shape="n"), lp.ValueArg("n, t, rows", np.int32)]
    local = lp.TemporaryVariable("tile", np.float32, shape=(16,), address_space=lp.AddressSpace.LOCAL)
    codes = (
        "if t == 0\n  a[i] = b[i]\nend\nout[i] = a[i] + 1", "if b[i] > 0\n  a[i] = exp(b[i])\nend\nout[i] = a[i] + 1",
        "out[i] = sum(k, m[k, i]*b[i])", "<> first = start[i]\nout[i] = b[first] + sum(k, m[k, first])",
        "<> first = start[i]\n<> second = start[first]\nout[i] = sum(k, m[k, second + k])",
        "w[i, 0] = 2*w[i, 0] + v[0, i]",
    )  # fmt: skip
    found = []
    for code in codes:
        unit = lp.make_kernel(
            ["{ [i]: 0 <= i < n }", "[t] -> { [k]: 0 <= k < t }"], f"for i\n{code}\nend", [*arrays, ...],
            seq_dependencies=True, assumptions="n >= 0 and t >= 0", lang_version=(2018, 2),
        )
        unit = lp.remove_unused_inames(unit)
        split = lp.split_iname(unit, "i", 16, outer_tag="g.0", inner_tag="l.0")
        for tagged, index in ((unit, "i"), (lp.tag_inames(unit, "i:g.0"), "i"), (split, "i_inner + i_outer*16")):
            found.append(count(tagged, statistics={f"b[{index}] > 0": 0} if "b[i] >" in code else {}))
    unit = lp.make_kernel(
        "{ [g, k, i, j]: 0 <= g < n and 0 <= k < t and 0 <= i, j < 16 }",
        "tile[i] = p[g, k, i] {id=w}\nq[g, k, j] = tile[15 - j]*2 {dep=w}",
        [lp.GlobalArg("p, q", np.float32, shape="n, t, 16"), local, *arrays[-1:]], assumptions="n >= 0 and t >= 0",
        lang_version=(2018, 2),
    )
    return (*found, count(lp.tag_inames(unit, "g:g.0,i:l.0,j:l.0")))


def cases(known: DeviceFacts | None = None, family: str = "") -> list[Case]:
    """The kernels at their sizes on a device."""
    found = kernels()
    return [Case(found.counts[row.counts_hash], row.parameters, known, family) for row in found]


@dataclass(frozen=True, eq=False)
class Trial:
    """A family with weights that are planted, the times that follow, and what a fit makes of them."""

    family: Family
    text: str
    docstring: str

    @cached_property
    def facts(self) -> DeviceFacts:
        """All facts but those that would give weights: these are fitted."""
        given = {weight.fact for weight in self.family.weights}
        return replace(facts(), facts=tuple(fact for fact in facts().facts if fact[0] not in given))

    @cached_property
    def table(self) -> Design:
        return build_design(replace(kernels(), facts=self.facts), self.family)

    @cached_property
    def model(self):
        return self.table.model

    @cached_property
    def columns(self) -> dict[str, Any]:
        return dict(zip(self.table.names, self.table.matrix.T, strict=True))

    @cached_property
    def planted(self) -> dict[str, float]:
        """Feature weights at random, and the family's own a little off where a fit begins."""
        generator = np.random.default_rng(5)
        own = {weight.name: weight for weight in self.family.weights}
        found = {}
        for name in self.model.weights:
            drawn = float(np.exp(generator.uniform(*np.log(SECONDS))))
            if name in own and (start := own[name].start) is not None:
                low, high = own[name].lower, own[name].upper
                drawn = min(max(1.2 * start or drawn, low), high)
            if name in own and own[name].fact in self.family.choices:  # a fit chooses it among candidates
                drawn = float(self.family.choices[own[name].fact][:2][-1])
            found[name] = drawn
        return found

    def seconds(self, **changes: Any) -> Any:
        return self.model.value({**self.columns, **changes}, list(self.planted.values()))

    @cached_property
    def fitted(self) -> FittedModel:
        rows = [replace(row, seconds=float(time)) for row, time in zip(kernels(), self.seconds(), strict=True)]
        options = FitOptions(starts=4)
        found = fit_weights(replace(kernels(), rows=tuple(rows), facts=self.facts), self.family, options=options)
        known = DeviceFacts.from_json(found.facts) if found.facts else self.facts
        return FittedModel(found, known, self.family)


@cache
def trial(family: Family) -> Trial:
    """The trial of a family of the package."""
    names = [found.name for found in iter_modules(perfmodel.models.__path__) if family.name.startswith(found.name)]
    modules = [import_module(f"perfmodel.models.{name}") for name in names]
    module = next((m for m in modules if any(value is family for value in vars(m).values())), None)
    assert module is not None, f"{family.name} is in no file with whose name its own begins"
    return Trial(family, Path(str(module.__file__)).read_text(encoding="utf-8"), module.__doc__ or "")


def names_are_unique(one: Trial) -> None:
    family = one.family
    assert family.name.isidentifier(), f"'{family.name}' is no identifier"
    assert family.citation, "it cites nothing"
    groups = {
        "quantity": family.units, "sum": family.sums, "part": family.parts,
        "weight": [weight.name for weight in family.weights],
    }  # fmt: skip
    seen: dict[str, str] = {}
    for kind, names in groups.items():
        for name in names:
            assert name not in seen, f"'{name}' is a {kind} and a {seen.get(name)}"
            assert not _is_feature(name), f"the {kind} '{name}' is called like a feature"
            weighs = name.startswith("w_")
            assert (kind == "weight") == weighs, f"the {kind} '{name}': weights, and only they, begin with w_"
            seen[name] = kind


def all_has_a_unit(one: Trial) -> None:
    family = one.family
    weights = {weight.name: weight.unit for weight in family.weights}
    for weight in family.weights:
        assert weight.lower >= 0, f"{weight.name} may be negative, and then so may the seconds"
        start = weight.start
        assert start is None or weight.lower <= start <= weight.upper, f"{weight.name} starts out of its bounds"
        assert not weight.fact or weight.fact in KEYS, f"{weight.name}: '{weight.fact}' is not in perfmodel.facts.KEYS"
    for name in one.model.features:
        feature = _is_feature(name)
        assert family.is_quantity(name) or feature, f"'{name}' is neither a quantity with a unit nor a feature"
        assert not (family.of_one_launch and feature), f"'{name}' is of all launches, and the formula of one"
    for name in one.model.weights:
        feature = name.removeprefix("w_")
        assert name in weights or f"s/{features.unit(feature)}" == family.weight_unit(feature), f"'{name}' has no unit"


def quantities_are_numbers_of_the_sizes_shape(one: Trial) -> None:
    for case in cases(facts(), one.family.name):
        found = one.family.quantities(case)
        assert set(one.family.units) == set(found), f"units and quantities differ: {set(one.family.units) ^ set(found)}"
        for name, value in found.items():
            assert np.ndim(value) == 0, f"{name} is no number at {case.parameters}"
            assert np.isfinite(value), f"{name} is {value} at {case.parameters}"
            assert value >= 0, f"{name} is {value} at {case.parameters}"
    for row in kernels().rows[::5]:
        sizes = {name: np.array([size, size]) for name, size in row.parameters.items()}
        counts = kernels().counts[row.counts_hash]
        many = one.family.quantities(Case(counts, sizes, facts(), one.family.name))
        few = one.family.quantities(Case(counts, row.parameters, facts(), one.family.name))
        for name, value in many.items():
            both = np.broadcast_to(value, 2)
            np.testing.assert_allclose(both, few[name], rtol=1e-12, err_msg=f"{name} of {row.kernel}")


def quantities_of_what_is_not_executed(one: Trial) -> None:
    for order in ("multithreaded", "lockstep", "serial"):
        known = facts().updated({"lane_order": Fact(order, "", "made up")})
        for counts in idle():
            for n, t in product((0, 1, 70), (0, 3)):
                sizes = {name: size for name, size in {"n": n, "t": t}.items() if name in counts.parameters}
                found = one.family.quantities(Case(counts, sizes, known, one.family.name))
                wrong = {name: value for name, value in found.items() if not 0 <= value < np.inf}
                assert not wrong, f"{counts.name} at {sizes}: {wrong}"


def missing_facts_are_told(one: Trial) -> None:
    for case in cases(None, one.family.name)[::20]:
        caught = None
        try:
            one.family.quantities(case)
        except FactsError as error:
            caught = error
        assert caught is None or caught.key in KEYS, f"'{caught.key}' is not in perfmodel.facts.KEYS"
        assert caught is None or caught.family == one.family.name


def seconds_are_above_zero(one: Trial) -> None:
    times = one.seconds()
    wrong = [one.table.labels[i] for i in np.flatnonzero(~(np.isfinite(times) & (times > 0)))]
    assert not wrong, f"no seconds above zero for {wrong[:3]} ({len(wrong)} in all)"


def seconds_do_not_fall_as_features_grow(one: Trial) -> None:
    """No family says that more of a feature, all else alike, takes less time."""
    times = one.seconds()
    for name, column in one.columns.items():
        if _is_feature(name):
            more = one.seconds(**{name: 1.5 * column + 1})
            fallen = np.flatnonzero(more < times * (1 - 1e-9))
            assert not fallen.size, f"more {name} makes {one.table.labels[fallen[0]]} faster"


def planted_weights_are_recovered(one: Trial) -> None:
    times, rows = one.seconds()[::3], kernels().rows[::3]
    counts = {key: each.least_local for key, each in kernels().counts.items()}
    table = [one.fitted.predict(counts[row.counts_hash], row.parameters).seconds for row in rows]
    worst = int(np.argmax(np.abs(np.array(table) / times - 1)))
    close = CLOSE_TO_HIDDEN if one.family.resources else CLOSE
    assert abs(table[worst] / times[worst] - 1) < close, (
        f"{one.table.labels[3 * worst]} takes {times[worst]:.6g} s and is fitted by {table[worst]:.6g} s"
    )
    if one.family.plain_sum:
        hidden = {name for group in one.fitted.notes for name in re.findall(r"\w+", group)}
        for name, weight in one.planted.items():
            name = name.removeprefix("w_")
            assert name in hidden or abs(one.fitted.weights[name] / weight - 1) < 1e-5, f"the weight of {name}"


def facts_give_weights(one: Trial) -> None:
    """With all facts known only the other weights are fitted, or none."""
    given = {weight.name for weight in one.family.weights if weight.fact}
    if given:
        found = build_design(kernels(), one.family)
        assert given == set(found.known)
        assert given.isdisjoint(found.model.weights)
        assert given <= set(fit_weights(kernels(), one.family, options=FitOptions(starts=1)).weights)


def a_model_survives_its_file(one: Trial) -> None:
    with TemporaryDirectory() as folder:
        one.fitted.save(Path(folder, "w.json"))
        found = read_weights(Path(folder, "w.json"), family=one.family)
    assert one.fitted.fitted == found
    again = FittedModel(found, one.facts, one.family)
    row = kernels().rows[0]
    counts = kernels().counts[row.counts_hash]
    assert one.fitted.predict(counts, row.parameters).seconds == again.predict(counts, row.parameters).seconds


def its_file_is_short_and_cites(one: Trial) -> None:
    lines = len(one.text.splitlines())
    assert lines <= 180, f"the file has {lines} lines; about 150 are allowed"
    assert CITES.search(one.docstring), "the module's docstring names no equation, section, chapter, table or figure"


def _is_feature(name: str) -> bool:
    try:
        features.unit(name)
    except UnknownNameError:
        return False
    return True


CHECKS: tuple[Callable[[Trial], None], ...] = (
    names_are_unique, all_has_a_unit, quantities_are_numbers_of_the_sizes_shape, quantities_of_what_is_not_executed,
    missing_facts_are_told, seconds_are_above_zero, seconds_do_not_fall_as_features_grow, planted_weights_are_recovered,
    facts_give_weights, a_model_survives_its_file, its_file_is_short_and_cites,
)  # fmt: skip
