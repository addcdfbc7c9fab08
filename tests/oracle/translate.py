"""One kernel function as a compiled Python function, with the list of its notes."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from pycparser import c_ast

from .dtypes import INT, CType
from .expressions import Notes, Occurrence, Variable
from .functions import call, namespace
from .source import Program
from .statements import Statements, parameter_types, return_type, type_and_form

PART_CELLS = 2**40  # cells between the separate parts of an array


@dataclass(frozen=True)
class KernelCode:
    """A translated kernel: compile once, make one function for each launch."""

    name: str
    parameters: tuple[tuple[str, CType, str], ...]
    occurrences: tuple[Occurrence, ...]
    sites: tuple[Counter[tuple[str, str]], ...]
    local_arrays: tuple[str, ...]
    constants: Mapping[str, dict[int, Any]]
    barriers: bool
    text: str
    code: CodeType

    def function(
        self, arguments: Mapping[str, Any], hits: list[int], log: list[list[Any]], memory: Callable[[], Any]
    ) -> Callable[..., Any]:
        def hit(site: int) -> bool:
            hits[site] += 1
            return True

        names = namespace()
        names.update(H=hits, hit=hit, Memory=memory, i0=(), **self.constants, **arguments)
        names.update({f"L{number}": entries.append for number, entries in enumerate(log)})
        exec(self.code, names)
        work_item: Callable[..., Any] = names["work_item"]
        return work_item


def _helper(program: Program, notes: Notes, function: c_ast.FuncDef) -> None:
    """Translate a function of the program that returns a value; it may not access arrays.

    Of one that calls a library whose code is not here only the type is noted.
    """
    parameters = parameter_types(function)
    scope = {
        name: Variable(f"v_{name}", kind, "cell" if form == "pointer" else "scalar") for name, kind, form in parameters
    }
    statements, name = Statements(program, notes, scope), function.decl.name
    if any(not _is_known(program, called) for called in _called(function.body)):
        notes.helpers[name] = [return_type(function)]
        return
    statements.body(function.body)
    head = f"def h_{name}({', '.join(f'v_{name}' for name, _, _ in parameters)}):"
    notes.helpers[name] = [return_type(function), head, *(statements.lines or ["    pass"])]


def _is_known(program: Program, name: str) -> bool:
    return name in program.functions or call(name, (INT,), minus_one_first=False) is not None


def _called(node: c_ast.Node) -> set[str]:
    names = {node.name.name} if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID) else set()
    return names.union(*(_called(child) for _, child in node.children()))


def _constants(program: Program) -> tuple[dict[str, Variable], dict[str, dict[int, Any]]]:
    scope: dict[str, Variable] = {}
    values: dict[str, dict[int, Any]] = {}
    for declaration in program.constants:
        statements = Statements(program, Notes(), {})
        kind = type_and_form(declaration.type)[0]
        scope[declaration.name] = Variable(f"C_{declaration.name}", kind, "array", "constant", declaration.name)
        texts = [statements.value(item)[0] for item in declaration.init.exprs]
        values[f"C_{declaration.name}"] = {address: eval(text, namespace()) for address, text in enumerate(texts)}
    return scope, values


def kernel_code(program: Program, name: str) -> KernelCode:
    function, notes = program.functions[name], Notes()
    for called in sorted(_called(function.body)):
        callee = program.functions.get(called)
        if (
            callee is not None
            and return_type(callee) != "void"
            and not called.startswith(("loopy_floor", "loopy_mod", "loopy_pow", "powf"))
        ):
            _helper(program, notes, callee)
    scope, constants = _constants(program)
    parameters = parameter_types(function)
    for parameter, kind, form in parameters:
        role = "array" if form == "pointer" else "index" if kind.integral else "scalar"
        prefix = "M_" if form == "pointer" else ""
        array, part = program.separate.get(parameter, (parameter, 0))
        offset = str(part * PART_CELLS) if part else ""
        scope[parameter] = Variable(f"{prefix}v_{parameter}", kind, role, "global", array, offset)
    statements = Statements(program, notes, scope)
    statements.body(function.body)
    lines = [line for helper in notes.helpers.values() for line in helper[1:]]
    # Local variables are faster than globals: everything noted or read is bound as a default.
    bound = [*(f"L{number}" for number in range(len(notes.occurrences))), "H"]
    locals_ = "".join(f", {name_}={name_}" for name_ in bound)
    lines.append(f"def work_item(lid0, lid1, lid2, gid0, gid1, gid2, lane{locals_}, i0=i0):")
    lines.extend(statements.lines or ["    pass"])
    text = "\n".join(lines)
    return KernelCode(
        name, tuple(parameters), tuple(notes.occurrences), tuple(notes.sites), tuple(notes.local_arrays), constants,
        statements.barriers, text, compile(text, f"<{name}>", "exec")
    )  # fmt: skip
