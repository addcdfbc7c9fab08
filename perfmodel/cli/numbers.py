"""Numbers that options give: sizes of ``-p``, ranges of sizes, and statistics.

Sizes are a small language, parsed by Python's own parser and never run::

    option  = name "=" list { "," name "=" list }
    list    = range { "," range }
    range   = number | number ".." number | number ":" number [ ":" number ]
    number  = [ "-" ] product { ( "+" | "-" ) product }
    product = power { "*" power }
    power   = literal [ "**" power ]
    literal = digits [ "." digits ] [ "e" digits ] [ "k" | "M" | "G" | "T" | "Ki" | "Mi" | "Gi" | "Ti" ]

``256..4096`` doubles from 256 and ends at 4096; ``1000:5000:500`` goes in steps of 500, of 1 without the third number.
Both ends are included, that of steps where a step meets it. ``k``, ``M``, ``G`` and ``T`` are powers of 1000, ``Ki``,
``Mi``, ``Gi`` and ``Ti`` are powers of 1024. A number must come out as an integer, exactly: ``1e6``, ``1.5k``.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import islice, product
from typing import Any, NoReturn

from perfmodel.documents import EXACT, shortened
from perfmodel.errors import OptionError, SizeOptionError

FORMS = "give NAME=SIZES, as n=1024, n=1e6, n=2**20, n=1Mi, n=256..4096 (doubling) or n=1000:5000:500 (in steps)"
SPAN = "give NAME=LOW:HIGH, as n=16:4096 or n=1Ki:1Mi"
LONGEST = 400  # characters of an option
MOST = 10_000  # sizes of one name
DIGITS = 40  # of an exponent's power of ten; what is larger is above 2**53 in any case
MOST_POWER = EXACT.bit_length() - 1
SUFFIXES = {
    "k": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4, "Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4,
}  # fmt: skip
_TOKEN = re.compile(
    r"""\s*(?:(?P<literal>(?P<digits>\d(?:_?\d)*(?:\.(?!\.)\d*)?)(?:[eE](?P<exponent>[+-]?\d+))?(?P<suffix>[A-Za-z_]\w*)?)
    |(?P<name>[^\W\d]\w*)|(?P<sign>\*\*|\.\.|[-+*:,=])|(?P<other>\S)|(?P<end>$))""",
    re.VERBOSE | re.ASCII,
)
#: The signs of ranges that may follow in a range with these signs.
_AFTER = {"": (":", ".."), ":": (":",), "::": (), "..": ()}
_OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
}  # fmt: skip


def sizes(options: Iterable[str] | None) -> dict[str, int]:
    """Return the sizes that ``-p`` options give, one for each name.

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
    """Return all sizes of each name that ``-p`` options give."""
    lists: dict[str, tuple[int, ...]] = {}
    for text in options or ():
        for name, values in parse_sizes(text).items():
            if name in lists:
                raise OptionError(f"-p gives '{name}' twice", f"give it once; -p {name}=1,2 gives two sizes")
            lists[name] = values
    return lists


def size_points(options: Iterable[str] | None, paired: bool = False) -> tuple[dict[str, int], ...]:
    """Return the points that ``-p`` options give: all combinations, the last name first, or the sizes in pairs.

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
        lists = {name: values if len(values) > 1 else values * count for name, values in lists.items()}
        return tuple(dict(zip(lists, point, strict=True)) for point in zip(*lists.values(), strict=True)) or ({},)
    if (count := math.prod(map(len, lists.values()))) > MOST:
        raise OptionError(f"-p gives {count} combinations of sizes", f"give at most {MOST}, or --zip to pair them")
    return tuple(dict(zip(lists, point, strict=True)) for point in product(*lists.values()))


def parse_sizes(text: str) -> dict[str, tuple[int, ...]]:
    """Return the sizes of each name of an option.

    Raises
    ------
    SizeOptionError
        If the text is of another form, a number is no integer or above 2**53, or a list is empty or too long.

    Examples
    --------
    >>> parse_sizes("n=1Ki,2**11"), parse_sizes("n=256..1500, m = 1000:2000:500")
    ({'n': (1024, 2048)}, {'n': (256, 512, 1024, 1500), 'm': (1000, 1500, 2000)})
    """
    option = _Option(text, "-p", FORMS)
    return {name: option.sizes(ranges) for name, ranges in option.lists().items()}


def parse_span(text: str, option: str) -> tuple[str, int, int]:
    """Return the name and both ends of a range: ``n=16:4096``, or ``n=16..4Ki``.

    Raises
    ------
    SizeOptionError
        If the text is of another form; the message names the option.

    Examples
    --------
    >>> parse_span("n=16:4Ki", "--crossover")
    ('n', 16, 4096)
    """
    parsed = _Option(text, option, SPAN)
    (name, (span, *more)), *others = parsed.lists().items()
    ends = tuple(map(parsed.size, span))
    if len(ends) == 1 and not (more or others):
        parsed.refuse(*_place(span), "one size", SPAN)
    if len(ends) != 2 or more or others:
        parsed.refuse(0, len(text.rstrip()), "no single range", SPAN)
    parsed.check_order(span, *ends)
    return name, ends[0], ends[1]


_STATISTIC = re.compile(r"(.+?=[^=,]+|.+)(?:,|$)")


def statistics(options: Iterable[str] | None) -> dict[str, float]:
    """Return the statistics that ``--statistics`` options give, of which one may hold several.

    A test may hold equals signs and commas itself.

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
            raise OptionError(f"--statistics '{text}' is no statistic", advice) from None
    return numbers


class _Option:
    """The text of one option.

    Its tokens are checked one after the other, so that an error points to the first that is wrong. Then each list of
    sizes is parsed as the index of an array, ``_[1:9:2, 4]``, in which names stand for literals.
    """

    def __init__(self, text: str, name: str, forms: str) -> None:
        self.text, self.name, self.forms = text, name, forms
        if len(text) > LONGEST:
            self.refuse(0, LONGEST, f"an option of {len(text)} characters", f"give at most {LONGEST}")
        self.tokens = [*_TOKEN.finditer(text.rstrip() or " ")]
        self.literals: dict[int, Fraction] = {}  # by the place where each begins

    def lists(self) -> dict[str, list[tuple[ast.expr, ...]]]:
        """Return by each name its ranges, each as the numbers of which it is made: one, LOW and HIGH, or a step too."""
        lists: dict[str, list[tuple[ast.expr, ...]]] = {}
        place = 0
        while place < len(self.tokens) - 1 or not lists:
            name, place = self._name(place)
            if name in lists:
                start, end = self.tokens[place - 2].span("name")
                self.refuse(start, end, f"'{name}' twice", "give each name once")
            last = self._end_of_list(place)
            lists[name] = self._ranges(place, last)
            place = last + 1
        return lists

    def _name(self, place: int) -> tuple[str, int]:
        token, equals = self.tokens[place], self.tokens[min(place + 1, len(self.tokens) - 1)]
        if not token["name"] or equals["sign"] != "=":
            start, end = _span(token)
            self.refuse(start, max(end, _span(equals)[1]), "no name with its sizes", self.forms)
        return token["name"], place + 2

    def _end_of_list(self, place: int) -> int:
        """Return the place of the token that ends a list; each before it must be one that may stand there."""
        number, signs = True, ""  # whether a number is expected, and the signs of the range so far
        while True:
            token = self.tokens[place]
            text = token[0].strip()
            if number:
                begins = self.tokens[place - 1]["sign"] not in ("+", "-", "*", "**")
                if text == "-" and begins:
                    place, token = place + 1, self.tokens[place + 1]
                    text = token[0].strip()
                if not token["literal"]:
                    shown = f"'{text}'" if text else "nothing"
                    self.refuse(*_span(token), f"{shown} where a number is expected", self.forms)
                self.literals[_span(token)[0]] = self._literal(token)
                number = False
            elif not text or (text == "," and [t["sign"] for t in self.tokens[place + 2 : place + 3]] == ["="]):
                return place
            elif text in ("+", "-", "*", "**", ",", *_AFTER[signs]):
                number, signs = True, "" if text == "," else signs + text * (text in (":", ".."))
            else:
                advice = "write 2**20 for a power" if text == "^" else self.forms
                self.refuse(*_span(token), f"'{text}' where a size ends", advice)
            place += 1

    def _ranges(self, first: int, last: int) -> list[tuple[ast.expr, ...]]:
        """Return the ranges between two tokens; every node is as far from the start as its text."""
        source = [" "] * len(self.text)
        for token in self.tokens[first:last]:
            start, end = _span(token)
            text = token[0].strip()
            source[start:end] = "_" * len(text) if token["literal"] else "<<" if text == ".." else text
        index: Any = ast.parse("_[" + "".join(source)[2:] + "]", mode="eval").body
        parts = index.slice.elts if isinstance(index.slice, ast.Tuple) else [index.slice]
        return [*map(_numbers, parts)]

    def sizes(self, ranges: list[tuple[ast.expr, ...]]) -> tuple[int, ...]:
        """Return all sizes of a list."""
        sizes: list[int] = []
        for numbers in ranges:
            sizes += self._range(numbers)
            if len(sizes) > MOST:
                self.refuse(_place(ranges[0])[0], _place(numbers)[1], f"more than {MOST} sizes", "give fewer")
        return tuple(sizes)

    def _range(self, numbers: tuple[ast.expr, ...]) -> tuple[int, ...]:
        low, *rest = map(self.size, numbers)
        if not rest:
            return (low,)
        high, step = rest[0], rest[1] if len(rest) > 1 else 1
        doubled = self.text[_place(numbers[:1])[1] :].lstrip().startswith("..")
        if doubled and low < 1:
            self.refuse(*_place(numbers), f"doubling from {low}", "begin at 1 or more")
        if step < 1:
            self.refuse(*_place(numbers), f"steps of {step}", "give LOW:HIGH:STEP with a step of 1 or more")
        self.check_order(numbers, low, high)
        values = _doubled(low, high) if doubled else iter(range(low, high + 1, step))
        sizes = tuple(islice(values, MOST + 1))
        if len(sizes) > MOST:
            self.refuse(*_place(numbers), f"more than {MOST} sizes", "give fewer, or larger steps")
        return sizes

    def check_order(self, numbers: tuple[ast.expr, ...], low: int, high: int) -> None:
        """Refuse a range that falls."""
        if low > high:
            self.refuse(*_place(numbers), f"a range from {low} down to {high}", "give the lower end first")

    def size(self, node: ast.expr) -> int:
        """Return the integer that a number is."""
        value = self._value(node)
        if value.denominator != 1:
            self.refuse(*_place((node,)), f"{float(value):g}, no integer", "give an integer; 1e6 and 1.5k are")
        return int(value)

    def _value(self, node: ast.expr) -> Fraction:
        match node:
            case ast.UnaryOp():
                return -self._value(node.operand)
            case ast.BinOp(op=ast.Pow()):
                value = self._value(node.left) ** self._exponent(node.right)
            case ast.BinOp():
                value = _OPERATIONS[type(node.op)](self._value(node.left), self._value(node.right))
            case _:
                return self.literals[node.col_offset]
        return self._exact(value, *_place((node,)))

    def _exact(self, value: Fraction, start: int, end: int) -> Fraction:
        if abs(value) > EXACT:
            self.refuse(start, end, "a size above 2**53, which is not exact as a double", "give a smaller one")
        return value

    def _exponent(self, node: ast.expr) -> int:
        exponent = self._value(node)
        if exponent.denominator != 1:
            self.refuse(*_place((node,)), f"the power {float(exponent):g}", "give an integer as the power")
        if exponent > MOST_POWER:  # not computed: 9**9**9 has 370 million digits
            self.refuse(*_place((node,)), f"the power {float(exponent):g}", f"give a power up to {MOST_POWER}")
        return int(exponent)

    def _literal(self, token: re.Match[str]) -> Fraction:
        start, end = token.span("literal")
        digits, exponent, suffix = (token[group] or "" for group in ("digits", "exponent", "suffix"))
        if suffix and suffix not in SUFFIXES:
            shown = shortened(suffix, quoted=False)
            known = f"k, M, G, T are powers of 1000 and Ki, Mi, Gi, Ti of 1024, and '{shown}' is none"
            self.refuse(end - len(suffix), end, f"'{shown}' after a number", known + "; give one of them")
        power = int(exponent or 0)
        if abs(power) > DIGITS and Fraction(digits):
            self.refuse(start, end, shortened(token["literal"]), f"give a power of ten from -{DIGITS} to {DIGITS}")
        value = Fraction(digits) * Fraction(10) ** max(-DIGITS, min(power, DIGITS)) * SUFFIXES.get(suffix, 1)
        return self._exact(value, start, end)

    def refuse(self, start: int, end: int, problem: str, advice: str) -> NoReturn:
        """Raise the error that underlines a part of the text."""
        raise SizeOptionError(self.text, start, end, problem, advice, self.name)


def _numbers(part: ast.expr) -> tuple[ast.expr, ...]:
    """Return the numbers of a range: those of ``a:b:c``, or of ``a..b``, which is parsed as ``a<<b``."""
    match part:
        case ast.Slice(lower, upper, step):
            return tuple(number for number in (lower, upper, step) if number is not None)
        case ast.BinOp(left, ast.LShift(), right):
            return left, right
    return (part,)


def _span(token: re.Match[str]) -> tuple[int, int]:
    """Return where a token stands, without the blanks before it; the end of a text is one character behind it."""
    end = token.end() + (token["end"] is not None)
    return end - max(1, len(token[0].strip())), end


def _place(numbers: tuple[ast.expr, ...]) -> tuple[int, int]:
    """Return where numbers stand in the text."""
    return numbers[0].col_offset, numbers[-1].end_col_offset or 0


def _doubled(low: int, high: int) -> Iterator[int]:
    while low < high:
        yield low
        low *= 2
    yield high
