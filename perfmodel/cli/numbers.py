"""Numbers in options: sizes (``-p``), ranges of sizes and statistics.

The grammar of sizes::

    option  = name "=" list { "," name "=" list }
    list    = range { "," range }
    range   = sum | sum ".." sum | sum ":" sum [ ":" sum ]
    sum     = [ "-" ] product { ( "+" | "-" ) product }
    product = power { "*" power }
    power   = number [ "**" power ]
    number  = digits [ "." digits ] [ "e" digits ] [ "k" | "M" | "G" | "T" | "Ki" | "Mi" | "Gi" | "Ti" ]

``256..4096`` doubles from 256 to 4096; ``1000:5000:500`` has steps of 500 (1 without the third number). Both ends are
included. Each size must be an integer: ``1e6`` and ``1.5k`` are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import NoReturn

from perfmodel.documents import EXACT
from perfmodel.errors import OptionError, clipped, underlined

FORMS = "give NAME=SIZES, as n=1024, n=1e6, n=2**20, n=1Mi, n=256..4096 (doubling) or n=1000:5000:500 (in steps)"
SPAN = "give NAME=LOW:HIGH, as n=16:4096 or n=1Ki:1Mi"
LONGEST = 400  # characters of an option
MOST = 10_000  # sizes of one name
MOST_POWER = EXACT.bit_length() - 1
MOST_DIGITS = 40  # of an exponent of ten: a larger number is above 2**53 in any case
SUFFIXES = {
    "": 1, "k": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4,
    "Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4,
}  # fmt: skip
_TOKEN = re.compile(
    r"\s*(?P<token>(?P<digits>\d(?:_?\d)*(?:\.(?!\.)\d*)?)(?:[eE](?P<exponent>[+-]?\d+))?(?P<suffix>[A-Za-z]\w*)?"
    r"|[^\W\d]\w*|\*\*|\.\.|\S|$)",
    re.ASCII,
)


def sizes(options: Iterable[str] | None) -> dict[str, int]:
    """Return the sizes of ``-p`` options, one for each name.

    Examples
    --------
    >>> sizes(["n=1Ki", "m = 8"])
    {'n': 1024, 'm': 8}
    """
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
    """Return all combinations of the sizes in ``-p`` options, or with `paired` the first sizes, the second ones ...

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
    """Return the sizes of each name in one option.

    Examples
    --------
    >>> parse_sizes("n=1Ki,2**11"), parse_sizes("n=256..1500, m = 1000:2000:500")
    ({'n': (1024, 2048)}, {'n': (256, 512, 1024, 1500), 'm': (1000, 1500, 2000)})
    """
    return {name: tuple(size for values in ranges for size in values) for name, ranges in _Option(text, "-p").read()}


def parse_span(text: str, option: str) -> tuple[str, int, int]:
    """Return the name and both ends of ``n=16:4096``.

    Examples
    --------
    >>> parse_span("n=16:4Ki", "--crossover")
    ('n', 16, 4096)
    """
    parsed = _Option(text, option, most=EXACT)
    lists = list(parsed.read())
    span = lists[0][1][0]
    steady = isinstance(span, range) and span.step == 1 and len(parsed.ends) == 2
    if len(lists) > 1 or len(lists[0][1]) > 1 or not steady:
        parsed.refuse("not exactly one range", SPAN, 0)
    low, high = parsed.ends
    return lists[0][0], low, high


_STATISTIC = re.compile(r"(.+?=[^=,]+|.+)(?:,|$)")


def statistics(options: Iterable[str] | None) -> dict[str, float]:
    """Return the statistics in ``--statistics`` options; one option may hold several.

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


class _Option:
    """A parser of one option, by recursive descent: a method for each rule of the grammar."""

    def __init__(self, text: str, name: str, most: int = MOST) -> None:
        self.text, self.name, self.most, self.place = text, name, most, 0
        self.ends: tuple[int, ...] = ()  # of the last range
        if len(text) > LONGEST:
            raise OptionError(f"'{name} {clipped(text, 60)}' has {len(text)} characters", f"give at most {LONGEST}")
        self.tokens = list(_TOKEN.finditer(text.rstrip()))

    @property
    def token(self) -> str:
        return self.tokens[self.place]["token"]

    @property
    def start(self) -> int:
        return self.tokens[self.place].start("token")

    def take(self, *signs: str) -> str:
        """Return the next token and step over it if it is one of these signs."""
        token = self.token
        if token not in signs or not token:
            return ""
        self.place += 1
        return token

    def read(self) -> Iterable[tuple[str, list[Sequence[int]]]]:
        """Return each name with its ranges."""
        lists: dict[str, list[Sequence[int]]] = {}
        while not lists or self.token:
            name, start = self.token, self.start
            self.place += bool(name)
            if not name.isidentifier() or not self.take("="):
                self.refuse("no name with its sizes", FORMS, start)
            if name in lists:
                self.refuse(f"'{name}' twice", "give each name once", start, start + len(name))
            ranges = lists[name] = [self.range()]
            while self.take(",") and not (self.token.isidentifier() and self.tokens[self.place + 1]["token"] == "="):
                ranges.append(self.range())
            if sum(map(len, ranges)) > self.most:
                self.refuse(f"more than {MOST} sizes", "give fewer", start)
            if self.token and self.tokens[self.place - 1]["token"] != ",":
                advice = "write 2**20 for a power" if self.token == "^" else FORMS
                self.refuse(f"'{clipped(self.token, 60)}' where a size ends", advice)
            if not self.token and self.tokens[self.place - 1]["token"] == ",":
                self.refuse("nothing after a comma", FORMS)
        return lists.items()

    def range(self) -> Sequence[int]:
        start, low = self.start, self.size()
        sign = self.take("..", ":")
        high = self.size() if sign else low
        step = self.size() if sign == ":" and self.take(":") else 1
        if low > high:
            self.refuse(f"a range from {low} down to {high}", "give the lower end first", start)
        if step < 1:
            self.refuse(f"steps of {step}", "give LOW:HIGH:STEP with a step of 1 or more", start)
        self.ends = (low, high) if sign else (low,)
        if sign == "..":
            if low < 1:
                self.refuse(f"doubling from {low}", "begin at 1 or more", start)
            return [*(low << power for power in range((high - 1).bit_length()) if low << power < high), high]
        if (high - low) // step >= self.most:
            self.refuse(f"more than {MOST} sizes", "give fewer, or larger steps", start)
        return range(low, high + 1, step)

    def size(self) -> int:
        start, value = self.start, self.sum()
        if value.denominator != 1:
            self.refuse(f"{float(value):g}, which is not an integer", "give an integer; 1e6 and 1.5k are", start)
        return int(value)

    def sum(self) -> Fraction:
        start = self.start
        value = -self.product() if self.take("-") else self.product()
        while sign := self.take("+", "-"):
            value = self.exact(value + self.product() * (1 if sign == "+" else -1), start)
        return value

    def product(self) -> Fraction:
        start, value = self.start, self.power()
        while self.take("*"):
            value = self.exact(value * self.power(), start)
        return value

    def power(self) -> Fraction:
        start, value = self.start, self.number()
        if not self.take("**"):
            return value
        begin, exponent = self.start, self.power()
        if exponent.denominator != 1 or exponent > MOST_POWER:  # 9**9**9 would have 370 million digits
            shown = f"the power {float(exponent):g}"
            self.refuse(shown, f"give an integer up to {MOST_POWER} as the power", begin)
        return self.exact(value ** int(exponent), start)

    def number(self) -> Fraction:
        token, start = self.tokens[self.place], self.start
        if not token["digits"]:
            shown = f"'{clipped(self.token, 60)}'" if self.token else "nothing"
            self.refuse(f"{shown} where a number is expected", FORMS)
        self.place += 1
        suffix, power = token["suffix"] or "", int(token["exponent"] or 0)
        if suffix not in SUFFIXES:
            known = "k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (powers of 1024)"
            self.refuse(f"'{clipped(suffix, 60)}' after a number", f"give {known}", token.start("suffix"))
        if abs(power) > MOST_DIGITS:
            advice = f"give a power of ten from -{MOST_DIGITS} to {MOST_DIGITS}"
            self.refuse(clipped(token["token"], 60), advice, start)
        return self.exact(Fraction(token["digits"]) * Fraction(10) ** power * SUFFIXES[suffix], start)

    def exact(self, value: Fraction, start: int) -> Fraction:
        if abs(value) > EXACT:
            self.refuse("a size above 2**53, which is not exact as a double", "give a smaller one", start)
        return value

    def refuse(self, problem: str, advice: str, start: int | None = None, end: int | None = None) -> NoReturn:
        """Raise an error that underlines the text from `start` to `end`: the next token, or what was read last."""
        if start is None:
            start, end = self.start, self.start + len(self.token)
        elif end is None:
            end = self.tokens[self.place - 1].end("token") if self.place else len(self.text)
        marked = underlined(self.text, start, max(end or 0, start + 1))
        raise OptionError(f"'{self.name} {clipped(self.text, 80)}' gives {problem}\n{marked}\n{advice}")
