"""Weights and terms in plain words: what one access, operation or launch costs, and the rate that this is.

What a family's own weights and terms are called stands in the family's file (:mod:`perfmodel.models`), what a quantity
is called where it is defined; here are the words of features, which many families share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfmodel.display import rate_text, seconds_text
from perfmodel.quantities.advice import (
    FEWER_BYTES,
    FEWER_FUNCTIONS,
    FEWER_INSTRUCTIONS,
    LESS_LOCAL_MEMORY,
    LESS_OVERHEAD,
)
from perfmodel.quantities.bottleneck import QUANTITIES

if TYPE_CHECKING:
    from perfmodel.models import Family

KINDS: Mapping[str, str] = {
    "add": "an addition",
    "mul": "a product",
    "div": "a division",
    "pow": "a power",
    "minmax": "a minimum or maximum",
    "shift": "a shift",
    "bitwise": "a bitwise operation",
    "special": "a function (such as sqrt)",
}
PLACES: Mapping[str, str] = {
    "uniform": "of one cell by all lanes",
    "indirect": "at an address that comes from data",
    "stride1": "of neighbouring cells by neighbouring lanes",
}
PARTS: Mapping[str, str] = {"1of2": "half", "1of3": "a third", "2of3": "two thirds", "1of4": "a quarter",
                            "2of4": "half", "3of4": "three quarters"}  # fmt: skip
RATES: Mapping[str, str] = {"B/s": "B/s", "operation/s": "op/s", "Hz": "Hz"}
"""Units of rates, as they stand behind a prefix."""
_ACCESS = re.compile(r"(?P<space>global|local)_(?P<act>load|store|minloadstore)_(?P<bits>\d+)(_(?P<place>\w+))?")
_OPERATION = re.compile(r"op_(?P<dtype>[a-z]+\d*)_(?P<kind>\w+)")


def weight_words(name: str, value: float, unit: str, family: Family | None = None) -> str:
    """Return what a weight means, as a sentence without its full stop.

    Parameters
    ----------
    name
        A feature (:mod:`perfmodel.features`), or a family's own weight ``w_*``.
    value, unit
        The weight in its unit, as in ``s/access``.
    family
        The family, whose own weights may have words of their own.

    Examples
    --------
    >>> weight_words("global_load_32_stride1", 3.2e-11, "s/access")
    'a 32-bit load of neighbouring cells by neighbouring lanes costs 32 ps: 125 GB/s'
    >>> weight_words("op_float32_add", 2e-12, "s/operation")
    'an addition of float32 costs 2 ps: 500 Gop/s'
    >>> from perfmodel.models import families
    >>> weight_words("w_sharpness", 5.0, ""), weight_words("w_bandwidth", 9.6e10, "B/s", families()["roofline"])
    ('sharpness is 5', 'the bandwidth of global memory is 96 GB/s')
    """
    weight = next((one for one in family.weights if one.name == name and one.words), None) if family else None
    if not unit.startswith("s"):
        called = weight.words if weight else _plain(name)
        return f"{called} is {rate_text(value, RATES[unit]) if unit in RATES else f'{value:.4g} {unit}'.rstrip()}"
    thing, amount, counted = (weight.words, 1.0, weight.counted) if weight else _thing(name, unit.partition("/")[2])
    if value == 0:
        return f"{thing} costs nothing that these measurements show"
    if value < 0:
        return f"{thing} saves {seconds_text(-value)}: it takes the place of costs that other weights hold"
    rate = f": {rate_text(amount / value, f'{counted}/s')}" if counted else ""
    return f"{thing} costs {seconds_text(value)}{rate}"


def term_words(family: Family, term: str) -> str:
    """Return what a term of a family's times stands for; where the family says nothing, it is named by its name.

    Examples
    --------
    >>> from perfmodel.models import Family, families
    >>> bottleneck, linear = families()["bottleneck"], families()["stevens_kloeckner_2016"]
    >>> term_words(bottleneck, "issue_time"), term_words(linear, "barrier_local")
    ('issuing instructions', 'a local barrier, for each work-item')
    >>> term_words(Family("mine", "nowhere"), "my_part")
    'my part'
    """
    return family.words.get(term) or _thing(term, "")[0].rstrip(",")


def term_advice(family: Family, term: str) -> str:
    """Return what to try where a term is the largest; empty where nothing is known.

    Examples
    --------
    >>> from perfmodel.models import families
    >>> term_advice(families()["bottleneck"], "special_time")
    'Compute fewer functions: reuse their results, or replace divisions and roots by products.'
    """
    if family.advice:
        return family.advice.get(term, "")
    for beginning, advice in _BY_FEATURE:
        if term.startswith(beginning):
            return FEWER_FUNCTIONS if term.endswith("_special") else advice
    return ""


_BY_FEATURE = (
    ("global_", FEWER_BYTES), ("local_", LESS_LOCAL_MEMORY), ("op_", FEWER_INSTRUCTIONS), ("barrier", LESS_OVERHEAD),
    ("work_groups", LESS_OVERHEAD), ("launches", LESS_OVERHEAD),
)  # fmt: skip


def _thing(name: str, per: str) -> tuple[str, float, str]:
    """Return what is charged for, and how much of what a rate counts; no word for a rate that says nothing."""
    if (access := _ACCESS.fullmatch(name)) is not None:
        return _access(**access.groupdict())
    if (operation := _OPERATION.fullmatch(name)) is not None:
        kind = KINDS.get(operation["kind"], f"an operation '{operation['kind']}'")
        return f"{kind} of {operation['dtype']}", 1.0, "op"
    plain = {"barrier_local": "a local barrier, for each work-item,", "work_groups": "a work-group",
             "launches": "a launch"}  # fmt: skip
    if name in plain:
        return plain[name], 1.0, ""
    if (known := QUANTITIES.get(name.removeprefix("w_"))) is not None:
        return known.words, 1.0, known.counted
    article = "an" if per[:1] in "aeiou" and per else "a"
    counted = {"operation": "op", "access": "access", "B": "B"}.get(per, "")
    unit = f", {article} {'byte' if per == 'B' else per}," if per else ""
    return f"{_plain(name)}{unit}", 1.0, counted


def _access(space: str, act: str, bits: str, place: str | None) -> tuple[str, float, str]:
    sized = f"{'an' if bits == '8' else 'a'} {bits}-bit"
    if act == "minloadstore":
        what, amount = f"a pair of {sized} load and store", int(bits) / 4
    else:
        what, amount = f"{sized} {act}", int(bits) / 8
    if space == "local":
        return f"{what} of local memory", amount, "B"
    return f"{what} {_place(place or '')}", amount, "B"


def _place(place: str) -> str:
    if place in PLACES:
        return PLACES[place]
    stride, _, used = place.removeprefix("stride").partition("_")
    where = "more than 4" if stride == "N" else stride
    part = f" ({PARTS[used]} of the cells between are used)" if used in PARTS else ""
    return f"of cells {where} apart by neighbouring lanes{part}"


def _plain(name: str) -> str:
    return name.removeprefix("w_").replace("_", " ")
