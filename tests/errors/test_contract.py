"""Every error of perfmodel: made, raised, printed, compared, copied and pickled."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import re
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields
from importlib import import_module
from pathlib import Path

import pytest

from perfmodel.errors import PerfModelError, UnknownNameError

ROOT = Path(__file__).parents[2]
#: Bases that are never raised themselves.
BASES = {PerfModelError, UnknownNameError}
#: Arguments by the type of their parameter; text names its parameter.
SAMPLES: dict[str, object] = {
    "int": 17,
    "float": 17.5,
    "int | None": 17,
    "object": 2.5,
    "str | Path": Path("folder") / "file.json",
    "tuple[str, ...]": ("first", "second"),
    "tuple[int, ...]": (17, 23),
    "tuple[float, ...]": (-0.5, 0.0),
    "tuple[tuple[str, ...], ...]": (("first", "second"), ("third", "fourth")),
    "dict[str, int]": {"n": 17},
    "InitVar[BaseException]": ZeroDivisionError("on purpose"),
}
#: Classes whose text shows a mapping to write.
WITH_BRACES = {
    "ArgumentTypesError", "FactsFileError", "MissingFactError", "NoStartError", "StatisticsNeededError",
    "UntypedArgumentsError",
}
#: The second half of a text says what is allowed, or what to do; some errors are given these words.
ADVICE = re.compile(
    r"\b(ask|call|change|choose|copy|[Cc]ount|expected|fit|[Gg]ive|install|keep|known are|leave|let|make|measure|mend"
    r"|must|name|names are like|needs|pass|rename|run|take|there are|update|write|advice|remedy)\b"
)


def definitions() -> Iterator[tuple[str, str, set[str]]]:
    """Module, name and names of the bases of each class of perfmodel."""
    for path in sorted((ROOT / "perfmodel").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                yield module, node.name, {base.id for base in node.bases if isinstance(base, ast.Name)}


def error_classes() -> dict[str, type[PerfModelError]]:
    """Every class that derives from PerfModelError, wherever in perfmodel it is defined."""
    known, classes, size = {"PerfModelError"}, list(definitions()), 0
    while size < len(known):
        size = len(known)
        known |= {name for _, name, bases in classes if bases & known}
    return {name: getattr(import_module(module), name) for module, name, _ in classes if name in known}


CLASSES = error_classes()


def arguments(cls: type[PerfModelError]) -> dict[str, object]:
    parameters = inspect.signature(cls).parameters.values()
    return {one.name: one.name if one.annotation == "str" else SAMPLES[one.annotation] for one in parameters}


@pytest.fixture(params=sorted(name for name, cls in CLASSES.items() if cls not in BASES))
def error(request) -> PerfModelError:
    cls = CLASSES[request.param]
    return cls(**arguments(cls))


def data(error: PerfModelError) -> dict[str, object]:
    return {one.name: getattr(error, one.name) for one in fields(error)}


def test_all_classes_are_found():
    assert {*BASES} < {*CLASSES.values()}
    assert {"UnfittedError", "ParameterError", "NewerSchemaError", "UnknownLossError"} < {*CLASSES}
    assert len(CLASSES) >= 72


def test_bases_have_subclasses():
    for base in BASES:
        assert [cls for cls in CLASSES.values() if base in cls.__bases__]


def test_it_also_derives_from_the_builtin_that_a_caller_expects(error):
    expected = (ValueError, TypeError, LookupError, AttributeError, RuntimeError, OSError, ImportError)
    assert isinstance(error, expected)


def test_text_shows_what_was_given_and_what_to_do(error):
    text = str(error)
    assert text.endswith(".")
    given = arguments(type(error))
    for name in given.keys() - {"start", "end"}:  # these place the line under an expression
        value = given[name]
        while isinstance(value, tuple):  # of rows, the first is shown
            value = value[0]
        shown = next(iter(value)) if isinstance(value, dict) else str(value)
        assert shown in text, f"{name} is not in: {text}"
    assert type(error).__name__ in WITH_BRACES or not {"{", "}"} & {*text}, "a part of the template is left"
    parts = re.split(r"[;:.] |\n", text, maxsplit=1)
    assert 2 == len(parts), text
    assert ADVICE.search(parts[1]), text


def test_text_needs_no_builtin_of_the_bases(error):
    """KeyError would quote its argument, and OSError would number it."""
    assert type(error).__str__.__module__.startswith("perfmodel.errors.")


def test_attributes_are_what_was_given_with_paths_as_text(error):
    for name, value in arguments(type(error)).items():
        if not isinstance(value, BaseException):
            assert getattr(error, name) == (str(value) if isinstance(value, Path) else value)


def test_copies_and_pickles_are_equal(error):
    pickled = [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for other in (copy.copy(error), copy.deepcopy(error), *pickled):
        assert other is not error
        assert type(error) is type(other)
        assert data(error) == data(other)
        assert str(error) == str(other)
        assert error == other
        assert hash(error) == hash(other)


def test_fields_cannot_be_assigned(error):
    before = data(error)
    for name in before:
        with pytest.raises(FrozenInstanceError, match=name):
            setattr(error, name, None)
    assert before == data(error)


def test_repr_names_each_field(error):
    assert repr(error).startswith(f"{type(error).__name__}(")
    for one in fields(error):
        assert f"{one.name}=" in repr(error)
