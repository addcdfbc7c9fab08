"""The language of ``-p``: sizes as people write them, parsed and never evaluated as Python.

::

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

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import NoReturn

from perfmodel.documents import EXACT, shortened
from perfmodel.errors import SizeOptionError

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
    |(?P<name>[^\W\d]\w*)|(?P<sign>\*\*|\.\.|[-+*:,=])|(?P<other>\S))""",
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True)
class _Token:
    kind: str  # the name of the group; "end" after the last one
    text: str
    start: int
    end: int
    match: re.Match[str] | None = None


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
    return _Parser(text).option()


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
    return _Parser(text, option).span()


class _Parser:
    """Recursive descent over the tokens of one option; each method reads one rule of the grammar."""

    def __init__(self, text: str, option: str = "-p") -> None:
        self.text, self.name_of_option, self.forms = text, option, FORMS
        if len(text) > LONGEST:
            self.refuse(0, LONGEST, f"an option of {len(text)} characters", f"give at most {LONGEST}")
        self.tokens = [*_tokens(text)]
        self.place = 0

    def option(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {}
        while not found or self.take(","):
            start, end = self.next.start, self.next.end
            name = self.name()
            if name in found:
                self.refuse(start, end, f"'{name}' twice", "give each name once")
            found[name] = self.list()
        self.ends()
        return found

    def span(self) -> tuple[str, int, int]:
        self.forms = SPAN
        name = self.name()
        first, low = self.next.start, self.size()
        if not (self.take(":") or self.take("..")):
            self.refuse(first, self.last.end, "one size", SPAN)
        high = self.size()
        self.ends()
        if low > high:
            self.refuse(first, self.last.end, f"a range from {low} down to {high}", "give the lower end first")
        return name, low, high

    def name(self) -> str:
        name, equals = self.tokens[self.place], self.tokens[min(self.place + 1, len(self.tokens) - 1)]
        if name.kind != "name" or equals.text != "=":
            self.refuse(name.start, max(name.end, equals.end), "no name with its sizes", self.forms)
        self.place += 2
        return name.text

    def ends(self) -> None:
        if self.next.kind != "end":
            advice = "write 2**20 for a power" if self.next.text == "^" else self.forms
            self.refuse(self.next.start, self.next.end, f"'{self.next.text}' where a size ends", advice)

    def list(self) -> tuple[int, ...]:
        first = self.next.start
        found = [*self.range()]
        while self.next.text == "," and self.tokens[min(self.place + 2, len(self.tokens) - 1)].text != "=":
            self.place += 1
            found += self.range()
            if len(found) > MOST:
                self.refuse(first, self.last.end, f"more than {MOST} sizes", "give fewer")
        return tuple(found)

    def range(self) -> tuple[int, ...]:
        first = self.next.start
        low = self.size()
        if self.take(".."):
            high = self.size()
            if low < 1:
                self.refuse(first, self.last.end, f"doubling from {low}", "begin at 1 or more")
            values = _doubled(low, high)
        elif self.take(":"):
            high, step = self.size(), self.size() if self.take(":") else 1
            if step < 1:
                self.refuse(first, self.last.end, f"steps of {step}", "give LOW:HIGH:STEP with a step of 1 or more")
            values = iter(range(low, high + 1, step))
        else:
            return (low,)
        if low > high:
            self.refuse(first, self.last.end, f"a range from {low} down to {high}", "give the lower end first")
        found = tuple(islice(values, MOST + 1))
        if len(found) > MOST:
            self.refuse(first, self.last.end, f"more than {MOST} sizes", "give fewer, or larger steps")
        return found

    def size(self) -> int:
        first = self.next.start
        value = self.number()
        if value.denominator != 1:
            self.refuse(first, self.last.end, f"{_shown(value)}, no integer", "give an integer; 1e6 and 1.5k are")
        return int(value)

    def number(self) -> Fraction:
        first, negative = self.next.start, self.take("-")
        value = -self.product() if negative else self.product()
        while self.next.text in ("+", "-"):
            value = self.within(first, value + self.product() if self.take("+") else value - self.subtrahend())
        return value

    def subtrahend(self) -> Fraction:
        self.place += 1
        return self.product()

    def product(self) -> Fraction:
        first = self.next.start
        value = self.power()
        while self.take("*"):
            value = self.within(first, value * self.power())
        return value

    def power(self) -> Fraction:
        first = self.next.start
        base = self.literal()
        if not self.take("**"):
            return base
        place = self.next.start
        exponent = self.power()
        if exponent.denominator != 1:
            self.refuse(place, self.last.end, f"the power {_shown(exponent)}", "give an integer as the power")
        if exponent > MOST_POWER:  # not computed: 9**9**9 has 370 million digits
            self.refuse(place, self.last.end, f"the power {_shown(exponent)}", f"give a power up to {MOST_POWER}")
        return self.within(first, base ** int(exponent))

    def literal(self) -> Fraction:
        token = self.next
        if token.kind != "literal" or token.match is None:
            found = f"'{token.text}'" if token.text else "nothing"
            self.refuse(token.start, token.end, f"{found} where a number is expected", self.forms)
        self.place += 1
        digits, exponent, suffix = (token.match[group] or "" for group in ("digits", "exponent", "suffix"))
        if suffix and suffix not in SUFFIXES:
            suffix = shortened(suffix, quoted=False)
            start = token.end - len(token.match["suffix"])
            known = f"k, M, G, T are powers of 1000 and Ki, Mi, Gi, Ti of 1024, and '{suffix}' is none"
            self.refuse(start, token.end, f"'{suffix}' after a number", known + "; give one of them")
        power = int(exponent or 0)
        if abs(power) > DIGITS and Fraction(digits):
            advice = f"give a power of ten from -{DIGITS} to {DIGITS}"
            self.refuse(token.start, token.end, shortened(token.text), advice)
        value = Fraction(digits) * Fraction(10) ** max(-DIGITS, min(power, DIGITS)) * SUFFIXES.get(suffix, 1)
        return self.within(token.start, value)

    # {{{ tokens and errors

    @property
    def next(self) -> _Token:
        return self.tokens[self.place]

    @property
    def last(self) -> _Token:
        return self.tokens[max(0, self.place - 1)]

    def take(self, sign: str) -> bool:
        """Step over a sign, if it is the next token."""
        found = self.next.kind == "sign" and self.next.text == sign
        self.place += found
        return found

    def within(self, first: int, value: Fraction) -> Fraction:
        return value if abs(value) <= EXACT else self.too_large(first)

    def too_large(self, first: int) -> NoReturn:
        self.refuse(first, self.last.end, "a size above 2**53, which is not exact as a double", "give a smaller one")

    def refuse(self, start: int, end: int, problem: str, advice: str) -> NoReturn:
        raise SizeOptionError(self.text, start, end, problem, advice, self.name_of_option)

    # }}}


def _tokens(text: str) -> Iterator[_Token]:
    end = 0
    while match := _TOKEN.match(text, end):
        kind, end = match.lastgroup or "", match.end()
        for group in ("literal", "name", "sign", "other"):  # `lastgroup` may be a part of a literal
            if match[group] is not None:
                kind = group
        yield _Token(kind, match[kind], match.start(kind), end, match)
    yield _Token("end", "", len(text.rstrip()), len(text.rstrip()) + 1)


def _doubled(low: int, high: int) -> Iterator[int]:
    while low < high:
        yield low
        low *= 2
    yield high


def _shown(value: Fraction) -> str:
    return f"{float(value):g}"

