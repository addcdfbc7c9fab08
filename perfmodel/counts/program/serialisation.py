"""A program as JSON and back. Objects of isl are written as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from perfmodel.counts.program import program as values
from perfmodel.counts.program.program import Domain, Node, Program, Statement

Json = Any
# fields that are left out where they are empty
OPTIONAL = ("reasons", "shift", "walks", "span", "means", "along", "moves", "drifts", "chosen", "chosen_by")


def write_program(program: Program) -> Json:
    """Return a dictionary for JSON. :func:`read_program` makes an equal program from this dictionary."""
    domains = {statement.domain: None for statement in (*program.statements, *program.decisions)}
    numbers = {domain: number for number, domain in enumerate(domains)}
    statements, decisions = (
        [_write_statement(each, numbers) for each in part] for part in (program.statements, program.decisions)
    )
    return {
        "name": program.name, "parameters": list(program.parameters), "assumptions": str(program.assumptions),
        "launches": _write(program.launches), "domains": _write(tuple(domains)), "statements": statements,
        "barriers": _write(program.barriers), "schedule": [_write_node(node) for node in program.schedule],
        "dataflow": _write_dataflow(program.dataflow),
        **({"statistics": _write(program.statistics)} if program.statistics else {}),
        **({"decisions": decisions} if decisions else {}),
    }


def _write_statement(statement: Statement, numbers: Mapping[Domain, int]) -> Json:
    parts = {field.name: getattr(statement, field.name) for field in fields(statement)}
    written = {name: _write(part) for name, part in parts.items() if name != "domain" and (name != "computed" or part)}
    return {"domain": numbers[statement.domain], **written}


def _write(value: Any) -> Json:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, tuple):
        return [_write(part) for part in value]
    if isinstance(value, frozenset):
        return sorted(value)
    if is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        if isinstance(value, (values.Operation, values.LaneStride)):
            return [_write(part) for part in parts.values()]
        return {name: _write(part) for name, part in parts.items() if name not in OPTIONAL or part}
    return str(value)  # isl's objects and fractions


def _write_dataflow(dataflow: values.Dataflow) -> Json:
    steps = [
        [step.name, _write(step.reads), _write(step.writes), [[*kind, amount] for kind, amount in step.operations],
         step.guarded, *([list(step.names)] if step.names else [])]
        for step in dataflow.steps
    ]  # fmt: skip
    return {"steps": steps, "unrolled": list(dataflow.unrolled), "parallel": list(dataflow.parallel)}


def _write_node(node: Node) -> Json:
    if isinstance(node, values.Run):
        return {"run": node.instruction}
    if isinstance(node, values.Wait):
        return {"wait": node.scope}
    kind, name = ("loop", node.iname) if isinstance(node, values.Loop) else ("device", node.name)
    return {kind: name, "body": [_write_node(child) for child in node.body]}


def read_program(data: Mapping[str, Any]) -> Program:
    """Read what :func:`write_program` wrote."""
    domains = _reader(tuple[Domain, ...])(data["domains"])
    plain = {"name", "parameters", "assumptions", "launches", "barriers", "statistics"}
    return Program(
        **{name: read(data[name]) for name, read in _field_readers(Program).items() if name in plain & data.keys()},
        statements=tuple(_read_statement(statement, domains) for statement in data["statements"]),
        schedule=tuple(map(_read_node, data["schedule"])), dataflow=_read_dataflow(data["dataflow"]),
        decisions=tuple(_read_statement(statement, domains) for statement in data.get("decisions", ())),
    )


def _read_statement(data: Json, domains: Sequence[Domain]) -> Statement:
    readers = _field_readers(Statement)
    parts = {name: readers[name](part) for name, part in data.items() if name != "domain"}
    return Statement(domains[data["domain"]], **parts)


def _unchanged(data: Json) -> Any:
    return data


@cache
def _field_readers(kind: Any) -> dict[str, Callable[[Json], Any]]:
    return {name: _reader(hint) for name, hint in get_type_hints(kind).items()}


@cache
def _reader(kind: Any) -> Callable[[Json], Any]:
    inner = get_args(kind)
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
    if kind in (values.Operation, values.LaneStride) or issubclass(get_origin(kind) or kind, tuple):  # by position
        return lambda data: kind(*[read(part) for read, part in zip(_field_readers(kind).values(), data, strict=False)])
    if hasattr(kind, "__dataclass_fields__"):
        return lambda data: kind(**{name: _field_readers(kind)[name](part) for name, part in data.items()})
    return get_origin(kind) or kind  # a set from its elements; isl's object or a fraction from its text


def _read_dataflow(data: Mapping[str, Any]) -> values.Dataflow:
    reads, writes = _reader(tuple[values.Read, ...]), _reader(tuple[values.Write, ...])
    steps = tuple(
        values.Step(
            name, reads(read), writes(written), tuple(((a, b), amount) for a, b, amount in operations), guarded,
            *map(tuple, names),
        )
        for name, read, written, operations, guarded, *names in data["steps"]
    )  # fmt: skip
    return values.Dataflow(steps, tuple(data["unrolled"]), tuple(data["parallel"]))


def _read_node(data: Json) -> Node:
    if "run" in data:
        return values.Run(data["run"])
    if "wait" in data:
        return values.Wait(data["wait"])
    body = tuple(map(_read_node, data["body"]))
    return values.Loop(data["loop"], body) if "loop" in data else values.DeviceKernel(data["device"], body)
