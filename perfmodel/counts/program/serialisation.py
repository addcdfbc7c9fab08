"""A program as JSON and back, and the places of its accesses in the schedule.

isl's objects are written as their texts. A place alternates positions among siblings with loops, from the outside
inwards: ``(4, "k", 0)`` is the first node in the loop ``k``, which is the third node of its launch. Nodes have even
positions; a load for a node's test, which precedes it, has the odd number below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import islpy as isl

from perfmodel.counts.program import program as values
from perfmodel.counts.program.program import Access, BarrierSite, Domain, Loop, Node, Place, Program, Statement

Json = Any
OPTIONAL = ("reasons", "shift", "walks", "span", "means", "along", "moves", "drifts")
"""Fields that are left out where they are empty."""


def write_program(program: Program) -> Json:
    """Return a JSON-able dictionary from which :func:`read_program` makes an equal program."""
    domains = {statement.domain: None for statement in (*program.statements, *program.decisions)}
    numbers = {domain: number for number, domain in enumerate(domains)}
    return {
        "name": program.name, "parameters": list(program.parameters), "assumptions": str(program.assumptions),
        "launches": [_by_field(launch) for launch in program.launches],
        "domains": [_by_field(domain) for domain in domains],
        "statements": [_write_statement(statement, numbers) for statement in program.statements],
        "barriers": [_by_field(site) for site in program.barriers],
        "schedule": [_write_node(node) for node in program.schedule], "dataflow": write_dataflow(program.dataflow),
        **({"statistics": _plain(tuple(map(tuple, program.statistics)))} if program.statistics else {}),
        **({"decisions": [_write_statement(each, numbers) for each in program.decisions]} if program.decisions else {}),
    }


def _write_statement(statement: Statement, numbers: Mapping[Domain, int]) -> Json:
    return {
        "domain": numbers[statement.domain], "operations": _plain(statement.operations),
        "accesses": [_by_field(access) for access in statement.accesses],
        "place": list(statement.place), "instruction": statement.instruction,
        **({"computed": _plain(statement.computed)} if statement.computed else {}),
    }


def _by_field(value: values.Launch | Domain | Access | BarrierSite) -> Json:
    """Return a value's fields by their names, without empty ones that may be left out."""
    given = {field.name: getattr(value, field.name) for field in fields(value)}
    return {name: _plain(part) for name, part in given.items() if name not in OPTIONAL or part}


def _plain(value: Any) -> Json:
    """Return a value as JSON has it: isl's objects and fractions as texts, operations and strides as lists."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, (values.Operation, values.LaneStride)):
        return [_plain(getattr(value, field.name)) for field in fields(value)]
    return str(value)


def write_dataflow(dataflow: values.Dataflow) -> dict[str, Any]:
    """Return a JSON-able dictionary from which :func:`read_dataflow` makes an equal value."""
    return {
        "steps": [
            [step.name, _plain(step.readings), _plain(step.writings),
             [[*kind, amount] for kind, amount in step.operations],
             step.guarded, *([list(step.names)] if step.names else [])]
            for step in dataflow.steps
        ],
        "unrolled": list(dataflow.unrolled),
        "parallel": list(dataflow.parallel),
    }  # fmt: skip


def _write_node(node: Node) -> Json:
    if isinstance(node, values.Run):
        return {"run": node.instruction}
    if isinstance(node, values.Wait):
        return {"wait": node.scope}
    kind, name = ("loop", node.iname) if isinstance(node, Loop) else ("device", node.name)
    return {kind: name, "body": [_write_node(child) for child in node.body]}


def read_program(data: Mapping[str, Any]) -> Program:
    """Read what :func:`write_program` wrote."""
    domains = [_read_domain(domain) for domain in data["domains"]]
    return Program(
        data["name"], tuple(data["parameters"]), isl.Set(data["assumptions"]),
        tuple(
            values.Launch(
                launch["name"], tuple(launch["group_shape"]),
                tuple(isl.PwAff(text) for text in launch["grid"]), isl.Set(launch["repeats"]),
            )
            for launch in data["launches"]
        ),
        tuple(_read_statement(statement, domains) for statement in data["statements"]),
        tuple(
            BarrierSite(
                site["launch"], site["scope"], isl.Set(site["points"]), tuple(site["axes"]),
                Fraction(site["factor"]), site["exact"], tuple(site.get("reasons", ())),
            )
            for site in data["barriers"]
        ),
        tuple(_read_node(node) for node in data["schedule"]),
        read_dataflow(data["dataflow"]),
        tuple(
            values.Statistic(key, Fraction(value), tuple(map(isl.Set, most)))
            for key, value, most in data.get("statistics", ())
        ),
        tuple(_read_statement(statement, domains) for statement in data.get("decisions", ())),
    )


def _read_statement(statement: Json, domains: Sequence[Domain]) -> Statement:
    return Statement(
        domains[statement["domain"]],
        tuple(values.Operation(*operation) for operation in statement["operations"]),
        tuple(_read_access(access) for access in statement["accesses"]),
        tuple(statement["place"]), statement["instruction"],
        tuple(
            values.Computed(number, dtype, kind, lanes, tuple(operands))
            for number, dtype, kind, lanes, operands in statement.get("computed", ())
        ),
    )


def _read_domain(data: Json) -> Domain:
    trips = None if data["trips"] is None else Fraction(data["trips"])
    return Domain(
        data["launch"], isl.Set(data["points"]), tuple(data["axes"]), trips,
        Fraction(data["chance"]), data["exact"], frozenset(data["tied"]), tuple(data.get("reasons", ())),
        tuple((loop, Fraction(mean)) for loop, mean in data.get("means", ())),
    )


def _read_access(data: Json) -> Access:
    shape = data["shape"]
    return Access(
        data["space"], data["direction"], data["array"], data["dtype"], data["bits"],
        None if data["cells"] is None else isl.Map(data["cells"]), data["cells_exact"],
        None if shape is None else tuple(isl.Set(extent) for extent in shape),
        data["unit_axis"],
        tuple(
            values.LaneStride(isl.PwQPolynomial(distance), None if within is None else isl.Set(within), along)
            for distance, within, along in data["lane_stride"]
        ),
        tuple(isl.PwQPolynomial(stride) for stride in data["strides"]),
        isl.PwQPolynomial(data["offset"]),
        tuple(data["shift"]) if "shift" in data else None, data.get("walks", False),
        values.IndexSpan(Fraction(data["span"][0]), tuple(data["span"][1])) if "span" in data else None,
        data.get("along", ""), isl.Map(data["moves"]) if "moves" in data else None, data.get("drifts", False),
    )


def read_dataflow(data: Mapping[str, Any]) -> values.Dataflow:
    """Read what :func:`write_dataflow` wrote."""
    return values.Dataflow(
        tuple(
            values.Step(
                name,
                tuple(values.Reading(v, _read_cell(c), tuple((a, b) for a, b in path)) for v, c, path in readings),
                tuple(values.Writing(v, _read_cell(c), space) for v, c, space in writings),
                tuple(((a, b), amount) for a, b, amount in operations),
                guarded, *map(tuple, names),
            )
            for name, readings, writings, operations, guarded, *names in data["steps"]
        ),
        tuple(data["unrolled"]), tuple(data["parallel"]),
    )


def _read_cell(data: list[Any]) -> values.Cell:
    return tuple(
        None if index is None else (index[0], tuple((name, factor) for name, factor in index[1])) for index in data
    )


def _read_node(data: Json) -> Node:
    if "run" in data:
        return values.Run(data["run"])
    if "wait" in data:
        return values.Wait(data["wait"])
    body = tuple(_read_node(child) for child in data["body"])
    return Loop(data["loop"], body) if "loop" in data else values.DeviceKernel(data["device"], body)


@dataclass(frozen=True, eq=False)
class AccessPlace:
    """An access, its place, and its number in the order of the launch's accesses.

    ``statement`` is the instruction to which it belongs; "" for an access of a test.
    """

    domain: Domain
    access: Access
    place: Place
    number: int
    statement: str


def loops_of(place: Place) -> tuple[str, ...]:
    """Return the loops around a place, outermost first."""
    return tuple(str(loop) for loop in place[1::2])


def access_places(program: Program, launch: int) -> list[AccessPlace]:
    """Return the accesses of a launch to global memory in the order of execution; all loads come before all stores."""
    accesses = [
        (statement, access) for statement in program.statements if statement.domain.launch == launch
        for access in statement.accesses if access.space == "global"
    ]
    accesses.sort(key=lambda pair: pair[1].direction == "store")
    return [
        AccessPlace(statement.domain, access, statement.place, number, statement.instruction)
        for number, (statement, access) in enumerate(accesses)
    ]
