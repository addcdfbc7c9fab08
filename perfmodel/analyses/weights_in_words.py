"""Weights in plain words: what one access, operation or launch costs, and the rate that this is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from perfmodel.analyses.family_words import FAMILY_WORDS
from perfmodel.analyses.quantity_words import QUANTITY_WORDS
from perfmodel.display import rate_text, seconds_text

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


def weight_words(name: str, value: float, unit: str, family: str = "") -> str:
    """Return what a weight means, as a sentence without its full stop.

    Parameters
    ----------
    name
        A feature (:mod:`perfmodel.features.names`), or a family's own weight ``w_*``.
    value, unit
        The weight in its unit, as in ``s/access``.
    family
        Name of the family, whose own weights have words of their own (:mod:`perfmodel.analyses.family_words`).

    Examples
    --------
    >>> weight_words("global_load_32_stride1", 3.2e-11, "s/access")
    'a 32-bit load of neighbouring cells by neighbouring lanes costs 32 ps: 125 GB/s'
    >>> weight_words("op_float32_add", 2e-12, "s/operation")
    'an addition of float32 costs 2 ps: 500 Gop/s'
    >>> weight_words("w_sharpness", 5.0, ""), weight_words("w_bandwidth", 9.6e10, "B/s", "roofline")
    ('sharpness is 5', 'the bandwidth of global memory is 96 GB/s')
    """
    own = FAMILY_WORDS.get(family.partition(" ")[0], {}).get(name)
    if not unit.startswith("s"):
        called = own[0] if own else _own_name(name)
        return f"{called} is {rate_text(value, RATES[unit]) if unit in RATES else f'{value:.4g} {unit}'.rstrip()}"
    thing, amount, counted = (own[0], 1.0, own[1]) if own else _thing(name, unit.partition("/")[2])
    if value == 0:
        return f"{thing} costs nothing that these measurements show"
    if value < 0:
        return f"{thing} saves {seconds_text(-value)}: it takes the place of costs that other weights hold"
    rate = f": {rate_text(amount / value, f'{counted}/s')}" if counted else ""
    return f"{thing} costs {seconds_text(value)}{rate}"


def counted_words(name: str) -> str:
    """Return what a weight is charged for, in words.

    Examples
    --------
    >>> counted_words("global_load_32_stride1"), counted_words("w_memory")
    ('a 32-bit load of neighbouring cells by neighbouring lanes', 'memory')
    """
    return _thing(name, "")[0].rstrip(",")


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
    if (known := QUANTITY_WORDS.get(name.removeprefix("w_"))) is not None:
        return known[0], 1.0, known[1]
    article = "an" if per[:1] in "aeiou" and per else "a"
    counted = {"operation": "op", "access": "access", "B": "B"}.get(per, "")
    one = f", {article} {'byte' if per == 'B' else per}," if per else ""
    return f"{_own_name(name)}{one}", 1.0, counted


def _access(space: str, act: str, bits: str, place: str | None) -> tuple[str, float, str]:
    one = f"{'an' if bits == '8' else 'a'} {bits}-bit"
    if act == "minloadstore":
        what, amount = f"a pair of {one} load and store", int(bits) / 4
    else:
        what, amount = f"{one} {act}", int(bits) / 8
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


def _own_name(name: str) -> str:
    return name.removeprefix("w_").replace("_", " ")
