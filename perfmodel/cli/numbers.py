"""Numbers in options: sizes (``-p``), ranges of sizes and statistics.

``-p n=256..4096`` doubles from 256 to 4096, ``n=1000:5000:500`` has steps of 500 (1 without the third number), and
``n=100,200`` is a list. Both ends are included. A size is a sum of products of powers, as in ``2**20-1`` or ``3*1Ki``.
A size must be an integer, as ``1e6`` and ``1.5k`` are.
"""

import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain, product

from perfmodel.documents import EXACT
from perfmodel.errors import OptionError, clipped

FORMS = "give NAME=SIZES, as n=1024, n=1e6, n=2**20, n=1Mi, n=256..4096 (doubling) or n=1000:5000:500 (in steps)"
SPAN = "give NAME=LOW:HIGH, as n=16:4096 or n=1Ki:1Mi"
LONGEST = 400  # characters of an option
MOST = 10_000  # sizes of one name
MOST_POWER = EXACT.bit_length() - 1
SUFFIXES = {
    "": 1, "k": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4,
    "Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4,
}  # fmt: skip
_NUMBER = re.compile(rf"(\d+(?:_\d+)*(?:\.\d*)?)(?:[eE](\d{{1,2}}))?({'|'.join(SUFFIXES)})", re.ASCII)


def sizes(options: Iterable[str] | None) -> dict[str, int]:
    """Return the sizes of ``-p`` options, one for each name."""
    lists = size_lists(options)
    for name, values in lists.items():
        if len(values) > 1:
            raise OptionError(f"-p gives {len(values)} sizes of '{name}'", "give one size here, as n=1024")
    return {name: value for name, (value,) in lists.items()}


def size_lists(options: Iterable[str] | None) -> dict[str, tuple[int, ...]]:
    """Return all sizes of each name in ``-p`` options."""
    lists: dict[str, tuple[int, ...]] = {}
    for text in options or ():
        for name, values in parse_sizes(text).items():
            if name in lists:
                raise OptionError(f"-p gives '{name}' twice", f"give it once; -p {name}=1,2 gives two sizes")
            lists[name] = values
    return lists


def size_points(options: Iterable[str] | None, paired: bool = False) -> tuple[dict[str, int], ...]:
    """Return all combinations of sizes in ``-p`` options. With `paired`, the k-th point has the k-th size of each name.

    Examples
    --------
    >>> size_points(["n=1,2", "m=8,9"])
    ({'n': 1, 'm': 8}, {'n': 1, 'm': 9}, {'n': 2, 'm': 8}, {'n': 2, 'm': 9})
    >>> size_points(["n=1,2", "m=8,9"], paired=True)
    ({'n': 1, 'm': 8}, {'n': 2, 'm': 9})
    """
    lists = size_lists(options)
    if paired:
        several = {name: len(values) for name, values in lists.items() if len(values) > 1}
        count = max(several.values(), default=1)
        if len(set(several.values())) > 1:
            given = " and ".join(f"{many} of {name}" for name, many in several.items())
            raise OptionError(f"--zip was given with {given}", "give each name as many sizes, or one for all")
        columns = [values if len(values) > 1 else values * count for values in lists.values()]
        return tuple(dict(zip(lists, point, strict=True)) for point in zip(*columns, strict=True)) or ({},)
    if (count := math.prod(map(len, lists.values()))) > MOST:
        raise OptionError(f"-p gives {count} combinations of sizes", f"give at most {MOST}, or --zip to pair them")
    return tuple(dict(zip(lists, point, strict=True)) for point in product(*lists.values()))


def parse_sizes(text: str) -> dict[str, tuple[int, ...]]:
    """Return the sizes of each name in one option."""
    lists: dict[str, tuple[int, ...]] = {}
    try:
        for part in re.split(",(?=[^,]*=)", _short(text)):
            name, _, items = part.partition("=")
            if not (name := name.strip()).isidentifier() or name in lists:
                raise ValueError(f"'{name}' twice" if name in lists else "no name with its sizes")
            lists[name] = tuple(chain.from_iterable(map(_range, items.split(","))))
            if len(lists[name]) > MOST:
                raise ValueError(f"more than {MOST} sizes")
    except ValueError as error:
        raise OptionError(f"'-p {clipped(text, 80)}' gives {error}", FORMS) from None
    return lists


def parse_span(text: str, option: str) -> tuple[str, int, int]:
    """Return the name and both ends of ``n=16:4096``."""
    try:
        name, low, high = (part.strip() for part in re.split("[=:]", _short(text)))
        span = _size(low), _size(high)
        if not name.isidentifier() or span[0] > span[1]:
            raise ValueError
    except ValueError:
        raise OptionError(f"'{option} {clipped(text, 80)}' does not give exactly one range", SPAN) from None
    return name, *span


def _short(text: str) -> str:
    if len(text) > LONGEST:
        raise ValueError(f"{len(text)} characters, more than {LONGEST}")
    return text


def _range(text: str) -> Sequence[int]:
    if ".." in text:
        low, high = map(_size, text.split("..", 1))
        if low < 1:
            raise ValueError(f"doubling from {low}, and not from 1 or more")
        sizes: Sequence[int] = [low << power for power in range(EXACT.bit_length()) if low << power < high] + [high]
    else:
        parts = [_size(part) for part in text.split(":")]
        if len(parts) == 1:
            return parts
        if len(parts) > 3:
            raise ValueError(f"'{clipped(text, 60)}', which is not a range")
        low, high, step = (*parts, 1)[:3]
        if step < 1:
            raise ValueError(f"steps of {step}, and not of 1 or more")
        sizes = range(low, high + 1, step)
    if low > high:
        raise ValueError(f"a range from {low} down to {high}")
    if len(sizes) > MOST:
        raise ValueError(f"more than {MOST} sizes")
    return sizes


def _size(text: str) -> int:
    text = text.strip()
    if not re.fullmatch(r"-?[^+-]+([+-][^+-]+)*", text):
        raise ValueError(f"'{clipped(text, 60)}', which is not a size" if text else "no size after a sign")
    value = Fraction()
    for sign, term in re.findall("([+-]?)([^+-]+)", text):
        value += math.prod(map(_power, re.split(r"(?<!\*)\*(?!\*)", term))) * (-1 if sign == "-" else 1)
    if value.denominator != 1:
        raise ValueError(f"{float(value):g}, which is not an integer")
    return int(_exact(value))


def _power(text: str) -> Fraction:
    first, sign, rest = text.strip().partition("**")
    match = _NUMBER.fullmatch(first.strip())
    if match is None:
        hint = "; write 2**20 for a power" if "^" in first else ""
        raise ValueError(f"'{clipped(first, 60)}', which is not a number{hint}")
    digits, exponent, suffix = match.groups()
    value = _exact(Fraction(digits) * 10 ** int(exponent or 0) * SUFFIXES[suffix])
    if not sign:
        return value
    power = _power(rest)
    if power.denominator != 1 or power > MOST_POWER:
        raise ValueError(f"the power {float(power):g}, and not an integer up to {MOST_POWER}")
    return _exact(value ** int(power))


def _exact(value: Fraction) -> Fraction:
    if abs(value) > EXACT:
        raise ValueError("a size above 2**53, which is not exact as a double")
    return value


_STATISTIC = re.compile(r"(.+?=[^=,]+|.+)(?:,|$)")


def statistics(options: Iterable[str] | None) -> dict[str, float]:
    """Return the statistics in ``--statistics`` options. One option may hold several statistics.

    A condition may hold equals signs and commas itself.

    Examples
    --------
    >>> statistics(["j=12.5, x:span=80", "k[i, 1] <= 0=0.25"])
    {'j': 12.5, 'x:span': 80.0, 'k[i, 1] <= 0': 0.25}
    """
    numbers = {}
    for text in (part for option in options or () for part in _STATISTIC.findall(option) or [option]):
        key, _, value = (part.strip() for part in text.rpartition("="))
        try:
            if not key:
                raise ValueError
            numbers[key] = float(value)
        except ValueError:
            advice = "give KEY=NUMBER, as in --statistics j=12.5, 'a[i] > 0=0.25' or x:span=1000"
            raise OptionError(f"--statistics '{text}' is not a statistic", advice) from None
    return numbers
