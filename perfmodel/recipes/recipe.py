"""A recipe: Loopy transformations with their arguments, as a value that can be printed, stored and applied."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import cached_property
from inspect import getsource
from io import StringIO
from itertools import chain, count
from typing import Any, TypeAlias

import loopy as lp
from loopy import TranslationUnit

from perfmodel.documents import Schema, one_line
from perfmodel.errors import ArgumentError, DocumentError, KernelError, clipped, listed
from perfmodel.recipes.own_steps import extract_invariants, extract_parts, merge_domains
from perfmodel.values import FrozenValue

Argument: TypeAlias = "str | int | float | bool | tuple[Argument, ...] | None"

SCHEMA = "perfmodel.recipe/1"
_SCHEMA = Schema(SCHEMA, "write it again with Recipe.to_json")
_OWN = {function.__name__: function for function in (extract_invariants, extract_parts, merge_domains)}
#: The transformations of steps. Each takes a translation unit first. All but those in `_OWN` are Loopy's.
TRANSFORMATIONS = frozenset({
    "add_barrier", "add_inames_to_insn", "add_prefetch", "assume", "duplicate_inames", "join_inames",
    "make_reduction_inames_unique", "precompute", "prioritize_loops", "privatize_temporaries_with_inames",
    "realize_reduction", "rename_iname", "set_temporary_address_space", "split_array_axis", "split_iname",
    "split_reduction_inward", "split_reduction_outward", "tag_array_axes", "tag_inames", *_OWN,
})  # fmt: skip
#: Options that Loopy takes as sets only.
_SETS = frozenset({
    "fetch_outer_inames", "only_var_names", "precompute_outer_inames", "privatizing_inames", "within_inames",
})  # fmt: skip
_LABELS = {
    "prioritize_loops": "order", "split_reduction_inward": "inward", "split_reduction_outward": "outward",
    "privatize_temporaries_with_inames": "private", "realize_reduction": "realized",
    "set_temporary_address_space": "space", "extract_parts": "parts", "merge_domains": "merged",
}  # fmt: skip
LONGEST = 200  # characters of Loopy's reason in an error


@dataclass(frozen=True)
class Step(FrozenValue):
    """One transformation of Loopy, by its name, with plain arguments. Sequences are tuples.

    Raise an ArgumentError if perfmodel does not know the transformation, or if an argument is not plain.

    >>> print(Step.of("split_iname", "i", 64, outer_tag="g.0", inner_tag="l.0").line())
    t_unit = lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    """

    name: str  #: one of :data:`TRANSFORMATIONS`
    arguments: tuple[Argument, ...] = ()  #: after the translation unit, by position
    options: tuple[tuple[str, Argument], ...] = ()  #: by keyword

    def __post_init__(self) -> None:
        if self.name not in TRANSFORMATIONS:
            known = listed(sorted(TRANSFORMATIONS))
            raise ArgumentError(f"a step is named '{clipped(self.name, 40)}'", f"name one of {known}")
        for value in (*self.arguments, *(value for _, value in self.options)):
            if not _plain(value):
                problem = f"an argument of {self.name} is of type {type(value).__name__}"
                raise ArgumentError(problem, "give strings, numbers, True, False, None, or tuples of these")

    @classmethod
    def of(cls, name: str, /, *arguments: Any, **options: Any) -> Step:
        """Return the step of a call. Lists become tuples, and sets become sorted tuples."""
        return cls(name, tuple(map(_as_tuple, arguments)), tuple((key, _as_tuple(v)) for key, v in options.items()))

    def apply(self, t_unit: TranslationUnit) -> TranslationUnit:
        """Return the transformed unit. Raise a KernelError with Loopy's `reason` if Loopy refuses the step."""
        options = {key: frozenset(v) if key in _SETS and isinstance(v, tuple) else v for key, v in self.options}
        arguments = [list(value) if isinstance(value, tuple) else value for value in self.arguments]
        try:
            with redirect_stdout(StringIO()):  # Loopy prints parts of sets
                function: Any = _OWN.get(self.name) or getattr(lp, self.name)
                transformed: TranslationUnit = function(t_unit, *arguments, **options)
        except Exception as error:  # Loopy raises many kinds: LoopyError, ValueError, isl's errors, failed assertions
            reason = reason_of(error)
            problem = f"Loopy cannot apply {self.line().removeprefix('t_unit = ')} ({reason})"
            advice = "leave out the step, or change its arguments"
            raise KernelError(problem, advice, step=self, reason=reason) from error
        return transformed

    def line(self) -> str:
        """Return the step as a line of Python that changes ``t_unit``."""
        options = [f"{key}={_source(v, as_set=key in _SETS)}" for key, v in self.options]
        module = "" if self.name in _OWN else "lp."
        return f"t_unit = {module}{self.name}({', '.join(['t_unit', *map(_source, self.arguments), *options])})"

    def to_json(self) -> list[Any]:
        """Return name, arguments and options for JSON."""
        return [self.name, list(self.arguments), dict(self.options)]

    @cached_property
    def short(self) -> str:
        """A few words for names of recipes, such as ``l.0=i:64``."""
        first, *others = self.arguments or ("",)
        options = dict(self.options)
        if self.name == "split_iname":
            inner, outer = options.get("inner_tag"), options.get("outer_tag")
            size = f"{first}:{others[0] if others else '?'}"
            return (f"{outer}={first} " if outer else "") + (f"{inner}={size}" if inner else size)
        if self.name == "tag_inames":
            pairs = [pair.strip().partition(":") for pair in str(first).split(",")]
            return " ".join(f"{tag}={iname}" for iname, _, tag in pairs)
        if self.name in ("add_prefetch", "precompute"):
            return f"{self.name.removeprefix('add_')}={first}" + (f"[{_joined(others[0])}]" if others else "")
        if self.name == "assume":
            return "assume=" + str(first).replace(" mod ", "%").replace(" ", "")
        return f"{_LABELS.get(self.name, self.name)}={','.join(filter(None, map(_joined, self.arguments)))}".rstrip("=")


@dataclass(frozen=True)
class Recipe(FrozenValue):
    """Transformations of a kernel, in order. A recipe without steps leaves the kernel as it is.

    >>> recipe = Recipe((Step.of("split_iname", "i", 64, outer_tag="g.0", inner_tag="l.0"),))
    >>> print(recipe)
    g.0=i l.0=i:64
    >>> Recipe.from_json(recipe.to_json()) == recipe
    True
    """

    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.steps, tuple) or not all(isinstance(step, Step) for step in self.steps):
            raise ArgumentError("the steps of a recipe are not a tuple of Step", "give Recipe((Step.of(...), ...))")

    def __str__(self) -> str:
        return " ".join(step.short for step in self.steps) or "untransformed"

    def __repr__(self) -> str:
        return one_line(f"<Recipe: {self}>")

    @cached_property
    def assumptions(self) -> tuple[str, ...]:
        """The conditions on sizes under which the transformed kernel is valid, as ``lp.assume`` takes them."""
        return tuple(str(step.arguments[0]) for step in self.steps if step.name == "assume")

    @cached_property
    def unassumed(self) -> Recipe:
        """The recipe without assumptions, for all sizes."""
        return Recipe(tuple(step for step in self.steps if step.name != "assume"))

    def allows(self, sizes: Mapping[str, int]) -> bool:
        """Whether all assumptions hold at sizes. Not one with another size, or one that is more than a comparison.

        >>> [Recipe((Step.of("assume", "n mod 64 = 0"),)).allows({"n": n}) for n in (128, 100)]
        [True, False]
        """
        with suppress(ArgumentError, NameError, TypeError, ArithmeticError):
            return bool(eval(self.condition, {"__builtins__": {}}, dict(sizes)))
        return False

    @cached_property
    def condition(self) -> str:
        """The assumptions as an expression of Python. Raise an ArgumentError if one is more than a comparison."""
        text = " and ".join(f"({text})" for text in self.assumptions).replace(" mod ", " % ") or "True"
        text = re.sub("(?<![<>=!])=(?!=)", "==", text)
        large = re.search(r"\*\*|<<|>>", text)  # these may need all memory
        with suppress(SyntaxError, RecursionError, MemoryError):
            if re.fullmatch(r"[\w ()+*<>=!%-]+", text) and not large and compile(text, "", "eval"):
                return text  # without attributes and names other than sizes, so that it can be evaluated
        problem = f"an assumption of the recipe is not a comparison in Python: {clipped(text, LONGEST)}"
        raise ArgumentError(problem, "compare sums and products of sizes, such as n mod 8 = 0")

    @property
    def sizes(self) -> tuple[str, ...]:
        """The sizes in assumptions, sorted."""
        return tuple(sorted(compile(self.condition, "", "eval").co_names))

    def apply(self, t_unit: TranslationUnit) -> TranslationUnit:
        """Return the unit after all steps. It is not scheduled or checked.

        Raise a KernelError if Loopy refuses a step. Its `reason` is Loopy's text, and its `step` the refused step.
        """
        for step in self.steps:
            t_unit = step.apply(t_unit)
        return t_unit

    def lines(self) -> tuple[str, ...]:
        """Return the lines of Python that transform ``t_unit``, with Loopy imported as ``lp``."""
        return tuple(step.line() for step in self.steps)

    def code(self, text: str, variant: str | None = None, otherwise: Recipe | None = None) -> str:
        """Return a kernel file that runs without perfmodel and defines the transformed kernel.

        Loopy does not check assumptions when a kernel runs. So if the recipe has any, ``kernel()`` of the file is valid
        at all sizes, and ``kernel(n=1024)`` is the kernel after this recipe if ``n=1024`` fulfils its assumptions.
        Its attribute ``kernel.sizes`` has the names of the sizes.

        Parameters
        ----------
        text:
            The kernel file of the untransformed kernel. ``arguments()``, ``reference()`` and all else in it stay; if
            they call ``kernel()``, they call the untransformed one.
        variant:
            The name of the kernel in the file's ``variants()``. None if the file defines ``kernel()``.
        otherwise:
            The recipe for all sizes, without assumptions; by default :attr:`unassumed`.

        Raises
        ------
        ArgumentError
            if the text is not Python, or lacks ``kernel()`` or ``variants()``, or if its functions call one of these
            that no ``def`` defines, or if an assumption is not an expression of Python with ``mod`` and ``=``.
        """
        name = "kernel" if variant is None else "variants"
        try:
            module = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            raise ArgumentError(f"the kernel file is not Python ({error})", "give the text of a kernel file") from error
        words = set(re.findall(r"\w+", text))
        if name not in set(_defined(module)):
            raise ArgumentError(f"the kernel file does not define {name}()", "define it at the top level of the file")
        names = chain(["plain"], (f"plain_{number}" for number in count(2)))
        plain = next(plain for plain in names if plain not in words)
        alias = [f"{plain} = {name}"]
        if any(_uses(node, name) for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.Lambda)):
            text, alias = _renamed(text, module, name, plain), []
        has_lp = any(isinstance(node, ast.Import) and any((a.name, a.asname) == ("loopy", "lp") for a in node.names)
                     for node in module.body)  # fmt: skip
        built = f"{plain}()" if variant is None else f"{plain}()[{_source(variant)}]"
        result = "t_unit" if variant is None else f"{{{_source(variant)}: t_unit}}"
        sizes, body = self.sizes, [f"t_unit = {built}"]
        if self.assumptions:
            valid, given = " and ".join(self.assumptions), "".join(f"{size} is not None and " for size in sizes)
            note = f"Return a kernel for all sizes. With {', '.join(sizes)}, one that is valid only where {valid}."
            lines = [*self.lines(), f"return {result}"]
            body = [f'"""{note}"""', *body, f"if {given}{self.condition}:", *(f"    {line}" for line in lines)]
        body += [*(self if otherwise is None else otherwise).unassumed.lines(), f"return {result}"]
        head = [] if has_lp else ["import loopy as lp", ""]
        for function in (function for own, function in _OWN.items() if any(f"= {own}(" in line for line in body)):
            head += ["", *getsource(function).replace("TranslationUnit", "lp.TranslationUnit").splitlines(), "", ""]
        return "\n".join([
            text.rstrip("\n"), "", *head, *alias, "", "",
            f"def {name}({', '.join(f'{size}=None' for size in sizes)}):", *(f"    {line}" for line in body), "",
            *(["", f"{name}.sizes = {_source(sizes)}", ""] if sizes else []),
        ])  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return a document for JSON, with schema ``perfmodel.recipe/1``."""
        return {"schema": SCHEMA, "steps": [step.to_json() for step in self.steps]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Recipe:
        """Return the recipe of a document of :meth:`to_json`. Raise a DocumentError if the document is damaged."""
        _SCHEMA.check(document)
        rows = document.get("steps")
        if not isinstance(rows, list):
            raise DocumentError("needs the list 'steps'")
        return cls(tuple(_step(number, row) for number, row in enumerate(rows)))


def reason_of(error: BaseException) -> str:
    """Return the text of an exception of Loopy in one line, shortened."""
    return clipped(" ".join(str(error).split()) or type(error).__name__, LONGEST)


def _step(number: int, row: Any) -> Step:
    kinds = tuple(map(type, row)) if isinstance(row, list) else ()
    if kinds != (str, list, dict):
        raise DocumentError(f"has a step {number} that is not [name, arguments, options]")
    name, arguments, options = row
    try:
        return Step.of(name, *arguments, **options)
    except ArgumentError as error:
        raise DocumentError(f"has an invalid step {number}: {error.problem}") from error


def _plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_plain, value))
    return value is None or isinstance(value, str | int | float)


def _as_tuple(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        value = sorted(value)
    return tuple(map(_as_tuple, value)) if isinstance(value, list | tuple) else value


def _source(value: Argument, *, as_set: bool = False) -> str:
    """Return a value as Python, with double quotes; a tuple as a list, or as a frozenset."""
    if isinstance(value, tuple):
        items = ", ".join(map(_source, value))
        return f"frozenset({{{items}}})" if as_set and items else "frozenset()" if as_set else f"[{items}]"
    if isinstance(value, str) and value.isprintable() and not set('"\\') & set(value):
        return f'"{value}"'
    return repr(value)


def _joined(value: Argument) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _defined(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def _uses(part: ast.AST, name: str) -> list[ast.Name]:
    named = (node for node in ast.walk(part) if isinstance(node, ast.Name) and node.id == name)
    return [node for node in named if isinstance(node.ctx, ast.Load)]


def _renamed(text: str, module: ast.Module, old: str, new: str) -> str:
    """Return the text with another name of a function, where it is defined and used."""
    uses = _uses(module, old)
    places = [(node.lineno, node.col_offset) for node in uses]
    lines = text.encode().splitlines(keepends=True)  # columns of nodes count bytes
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name == old:
            places.append((node.lineno, lines[node.lineno - 1].index(old.encode(), node.col_offset + len("def "))))
    if len(places) == len(uses):
        raise ArgumentError(f"functions of the file call {old}(), which is not defined by 'def'", "define it by 'def'")
    for line, column in sorted(places, reverse=True):
        row = lines[line - 1]
        lines[line - 1] = row[:column] + new.encode() + row[column + len(old) :]
    return b"".join(lines).decode()
