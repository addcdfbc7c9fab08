"""A program as JSON and back. Objects of isl are written as text."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from perfmodel.counts.program import program as values
from perfmodel.counts.program.program import Domain, Node, Program, Statement

Json = Any
# fields that are left out where they are empty
OPTIONAL = (
    "reasons", "shift", "walks", "span", "means", "along", "moves", "drifts", "chosen", "chosen_by", "computed",
    "names", "statistics", "decisions", "widened",
)
BY_POSITION = (values.Operation, values.LaneStride, values.Step)  # written as lists
NODES = {"run": values.Run, "wait": values.Wait, "loop": values.Loop, "device": values.DeviceKernel}
STATEMENTS = ("statements", "decisions")


def write_program(program: Program) -> Json:
    """Return a dictionary for JSON. :func:`read_program` makes an equal program from this dictionary."""
    domains = tuple(dict.fromkeys(statement.domain for statement in (*program.statements, *program.decisions)))
    numbers = {domain: number for number, domain in enumerate(domains)}
    return {**_write(program, numbers), "domains": _write(domains, {})}


def _write(value: Any, numbers: Mapping[Domain, int]) -> Json:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, tuple):
        return [_write(part, numbers) for part in value]
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Domain) and numbers:
        return numbers[value]
    if not is_dataclass(value):
        return str(value)  # isl's objects and fractions
    parts = {field.name: _write(getattr(value, field.name), numbers) for field in fields(value)}
    if isinstance(value, Node):
        kind = next(kind for kind, node in NODES.items() if isinstance(value, node))
        return {kind: parts.pop(fields(value)[0].name), **parts}
    written = {name: part for name, part in parts.items() if name not in OPTIONAL or part}
    return list(written.values()) if isinstance(value, BY_POSITION) else written


def read_program(data: Mapping[str, Any]) -> Program:
    """Read what :func:`write_program` wrote."""
    domains = _reader(tuple[Domain, ...])(data["domains"])
    parts = {
        name: read(data[name]) for name, read in _field_readers(Program).items()
        if name not in STATEMENTS and (name in data or name not in OPTIONAL)
    }
    readers = _field_readers(Statement)
    for name in STATEMENTS:
        parts[name] = tuple(
            Statement(**{
                field: domains[part] if field == "domain" else readers[field](part) for field, part in each.items()
            }) for each in data.get(name, ())
        )  # fmt: skip
    return Program(**parts)


def _unchanged(data: Json) -> Any:
    return data


@cache
def _field_readers(kind: Any) -> dict[str, Callable[[Json], Any]]:
    return {name: _reader(hint) for name, hint in get_type_hints(kind).items()}


@cache
def _reader(kind: Any) -> Callable[[Json], Any]:
    inner = get_args(kind)
    if kind == Node:
        return _read_node
    if isinstance(kind, UnionType) and NoneType in inner:
        read = _reader(inner[0])
        return lambda data: None if data is None else read(data)
    if kind in (bool, int, str) or isinstance(kind, UnionType):
        return _unchanged
    if get_origin(kind) is tuple:
        readers = [_reader(each) for each in inner if each is not Ellipsis]
        if all(read is _unchanged for read in readers):
            return tuple
        if Ellipsis in inner:
            return lambda data: tuple([readers[0](part) for part in data])
        return lambda data: tuple([read(part) for read, part in zip(readers, data, strict=True)])
    if kind in BY_POSITION or issubclass(get_origin(kind) or kind, tuple):
        return lambda data: kind(*[read(part) for read, part in zip(_field_readers(kind).values(), data, strict=False)])
    if hasattr(kind, "__dataclass_fields__"):
        return lambda data: kind(**{name: _field_readers(kind)[name](part) for name, part in data.items()})
    return get_origin(kind) or kind  # a set from its elements; isl's object or a fraction from its text


def _read_node(data: Json) -> Node:
    kind = next(kind for kind in NODES if kind in data)
    return NODES[kind](data[kind], *([tuple(map(_read_node, data["body"]))] if "body" in data else []))
