"""C statements to the source of a Python function that executes one work-item."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from pycparser import c_ast

from .dtypes import CType, c_type
from .expressions import BOUND, VALUE, Expressions, Notes, Variable, lane_of, text_of
from .source import Program, UnsupportedCode

BARRIER = ("", "barrier")
ENTERED, REPEATED = "entered", "repeated"  # notes of loops whose bounds are data: (iname, one of these)


def type_and_form(node: c_ast.Node) -> tuple[CType, str, bool]:
    """(type, ``scalar`` | ``pointer`` | ``array``, is it in local memory?) of a declaration."""
    form, kind, local = "scalar", node, "volatile" in getattr(node, "quals", [])
    while not isinstance(kind, c_ast.IdentifierType):
        if isinstance(kind, c_ast.PtrDecl):
            form = "pointer"
        elif isinstance(kind, c_ast.ArrayDecl):
            form = "array"
        local = local or "volatile" in getattr(kind, "quals", [])
        kind = kind.type
    return c_type(" ".join(kind.names)), form, local


def _everything(node: c_ast.Node) -> Iterator[c_ast.Node]:
    yield node
    for _, child in node.children():
        yield from _everything(child)


def _names(node: c_ast.Node | None) -> set[str]:
    return {part.name for part in _everything(node) if isinstance(part, c_ast.ID)} if node else set()


def _addresses_taken(node: c_ast.Node) -> set[str]:
    taken = (part.expr for part in _everything(node) if isinstance(part, c_ast.UnaryOp) and part.op == "&")
    return {one.name for one in taken if isinstance(one, c_ast.ID)}


def _assigned(node: c_ast.Node) -> set[str]:
    targets = (part.lvalue for part in _everything(node) if isinstance(part, c_ast.Assignment))
    return {one.name for one in targets if isinstance(one, c_ast.ID)}


def _names_in_bounds(node: c_ast.Node) -> set[str]:
    loops = [part for part in _everything(node) if isinstance(part, c_ast.For)]
    return {name for loop in loops for bound in (loop.init, loop.cond) for name in _names(bound)}


def _reads_an_array(node: c_ast.Node) -> bool:
    return any(isinstance(part, c_ast.ArrayRef) for part in _everything(node))


def _pointed_at(node: c_ast.Node) -> c_ast.Node:
    while isinstance(node, (c_ast.Cast, c_ast.UnaryOp)):
        node = node.expr
    return node


class Statements:
    """Translates one kernel function; the lines of Python collect in *lines*, what they note in *notes*."""

    def __init__(self, program: Program, notes: Notes, scope: Mapping[str, Variable]) -> None:
        self.program = program
        self.notes = notes
        self.lines: list[str] = []
        self.loops: tuple[str, ...] = ()
        self.depth = 0
        self.copies = 0
        self.barriers = False
        self.expressions = Expressions(notes, scope, "i0")
        self.cells: set[str] = set()
        self.bounds: set[str] = set()  # names in the bounds of loops

    def emit(self, line: str) -> None:
        self.lines.append("    " * (self.depth + 1) + line)

    def flush(self) -> None:
        """Count what the expressions translated since the last time compute."""
        operations, self.expressions.operations = self.expressions.operations, Counter()
        if operations:
            self.emit(f"H[{self.notes.site(operations)}] += 1")

    def value(self, node: c_ast.Node, mode: str = VALUE) -> tuple[str, CType]:
        translated = self.expressions.translate(node, mode)
        self.flush()
        return translated

    def mangled(self, name: str) -> str:
        return f"v_{name}_{self.copies}" if self.copies else f"v_{name}"

    def statement(self, node: c_ast.Node) -> None:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise UnsupportedCode(f"{type(node).__name__}: {text_of(node)}")
        method(node)

    def body(self, node: c_ast.Compound) -> None:
        self.cells = _addresses_taken(node)
        self.bounds = _names_in_bounds(node)
        self.statement(node)

    def _compound(self, node: c_ast.Compound) -> None:
        outer = dict(self.expressions.scope)
        for item in node.block_items or []:
            self.statement(item)
        self.expressions.scope = outer

    def _emptystatement(self, node: c_ast.EmptyStatement) -> None:
        pass

    def _decl(self, node: c_ast.Decl) -> None:
        if isinstance(node.type, c_ast.FuncDecl):
            return
        kind, form, local = type_and_form(node.type)
        local = local or "volatile" in node.quals
        name, scope = self.mangled(node.name), self.expressions.scope
        if local or form != "scalar":  # a pointer is to a part of a storage that temporaries share
            names = _names(node.init if form == "pointer" else None)
            space = next((scope[known].space for known in names), "local" if local else "private")
            scope[node.name] = Variable(f"M_{name}", kind, "array", space, node.name)
            local = space == "local"
            if local:
                self.notes.local_arrays.append(f"M_{name}")
            else:
                self.emit(f"M_{name} = Memory()")
        elif node.init is not None:
            role = "index" if kind.integral and self.expressions.is_index(node.init) else "scalar"
            self.emit(f"{name} = {self.value(node.init, BOUND if role == 'index' else VALUE)[0]}")
            scope[node.name] = Variable(name, kind, role)
        else:
            cell = node.name in self.cells
            self.emit(f"{name} = {'[0]' if cell else '0'}")
            scope[node.name] = Variable(name, kind, "cell" if cell else "scalar")

    def _assignment(self, node: c_ast.Assignment) -> None:
        right = node.rvalue
        if node.op != "=":
            right = c_ast.BinaryOp(node.op[:-1], node.lvalue, right)
        value, value_type = self.expressions.translate(right, VALUE)
        if isinstance(node.lvalue, c_ast.StructRef):
            self._component(node.lvalue, value)
            return
        target, target_type = self._target(node.lvalue)
        self.flush()
        if target_type.integral and not value_type.integral and target_type.lanes == value_type.lanes == 1:
            value = f"int({value})"
        if target_type.lanes > 1 and value_type.lanes == 1:
            value = f"Vec(({value},) * {target_type.lanes})"
        self.emit(f"{target} = {value}")

    def _component(self, node: c_ast.StructRef, value: str) -> None:
        expressions, lane = self.expressions, lane_of(node)
        if isinstance(node.name, c_ast.ID) and expressions.scope[node.name.name].role == "scalar":
            python = expressions.scope[node.name.name].python
            self.flush()
            self.emit(f"{python} = {python}.replaced({lane}, {value})")
            return
        if not isinstance(node.name, c_ast.ArrayRef):
            raise UnsupportedCode(f"assignment to {text_of(node)}")
        variable = expressions.array(node.name)
        index, kind = expressions.index(node.name.subscript), CType(variable.type.dtype)
        number, cell = expressions.notes.occurrence(variable, "store", kind, text_of(node)), variable.python
        self.flush()
        self.emit(f"cell = {expressions.address(variable, index)}")
        self.emit(f"L{number}(({expressions.key}, lane, {variable.type.places}*cell + {lane}))")
        self.emit(f"{cell}[cell] = {cell}[cell].replaced({lane}, {value})")

    def _target(self, node: c_ast.Node) -> tuple[str, CType]:
        expressions = self.expressions
        if isinstance(node, c_ast.ArrayRef):
            variable = expressions.array(node)
            return expressions.store(variable, expressions.index(node.subscript), text_of(node)), variable.type
        dereferenced = isinstance(node, c_ast.UnaryOp) and node.op == "*"
        name = node.expr if dereferenced else node
        if not isinstance(name, c_ast.ID):
            raise UnsupportedCode(f"assignment to {text_of(node)}")
        variable = expressions.scope[name.name]
        if variable.role == "array":
            return expressions.store(variable, "0", text_of(node)), variable.type
        return variable.python + ("[0]" if variable.role == "cell" else ""), variable.type

    def _if(self, node: c_ast.If) -> None:
        self.emit(f"if {self.condition(node.cond)}:")
        self._block(node.iftrue)
        if node.iffalse is not None:
            self.emit("else:")
            self._block(node.iffalse)

    def condition(self, node: c_ast.Node) -> str:
        """The Python text of a condition; Loopy's ``-1 + last + -1 * first >= 0`` for a loop by data is a bound."""
        expressions, outer = self.expressions, dict(self.expressions.scope)
        if isinstance(node, c_ast.BinaryOp) and node.op in (">=", "==") and text_of(node.right) == "0":
            for name in self.bounds & set(outer):
                expressions.scope[name] = replace(outer[name], role="index")
        test = expressions.test(node, BOUND)
        expressions.scope = outer
        self.flush()
        return test

    def _block(self, node: c_ast.Node) -> None:
        self.depth += 1
        start = len(self.lines)
        self.statement(node)
        if len(self.lines) == start:
            self.emit("pass")
        self.depth -= 1

    def _for(self, node: c_ast.For) -> None:
        declaration = node.init.decls[0]
        expressions, name = self.expressions, declaration.name
        loop, outer = self.mangled(name), dict(self.expressions.scope)
        by_data = not (self._is_size(declaration.init) and self._is_size(node.cond.right))
        if by_data:
            self.note(name, ENTERED)
        first = expressions.bound(declaration.init)
        expressions.scope[name] = Variable(loop, type_and_form(declaration.type)[0], "index")
        if self._steps_by_one(node, name) and self._bound_is_fixed(node):
            last = expressions.bound(node.cond.right)
            self.emit(f"for {loop} in range({first}, {last}{' + 1' if node.cond.op == '<=' else ''}):")
            self._iteration(node, loop, by_data)
        else:
            self.emit(f"{loop} = {first}")
            self.emit(f"while {expressions.bound(node.cond)}:")
            self._iteration(node, loop, by_data)
            step = "1" if node.next.op in ("p++", "++") else expressions.bound(node.next.rvalue)
            self.emit(f"    {loop} += {step}")
        expressions.scope = outer

    def _dowhile(self, node: c_ast.DoWhile) -> None:
        """Loopy's atomic update of a cell; the exchange succeeds at once, for no other work-item comes between."""
        self.statement(node.stmt)
        cell, _, new = node.cond.left.args.exprs
        self._assignment(c_ast.Assignment("=", _pointed_at(cell), _pointed_at(new)))

    @staticmethod
    def _steps_by_one(node: c_ast.For, name: str) -> bool:
        next_, test = node.next, node.cond
        steps = isinstance(next_, c_ast.UnaryOp) and next_.op in ("p++", "++") and test.op in ("<", "<=")
        return steps and isinstance(test.left, c_ast.ID) and bool(test.left.name == name)

    @staticmethod
    def _bound_is_fixed(node: c_ast.For) -> bool:
        """Whether the bound can be evaluated once: it reads no array and nothing in the loop changes it."""
        return not _reads_an_array(node.cond.right) and not _names(node.cond.right) & _assigned(node.stmt)

    def _is_size(self, node: c_ast.Node) -> bool:
        """Whether a bound is made of sizes and loop variables alone, and of no data."""
        scope = self.expressions.scope
        return not _reads_an_array(node) and all(scope[name].role == "index" for name in _names(node) & set(scope))

    def note(self, name: str, what: str) -> None:
        self.emit(f"H[{self.notes.site(Counter({(name, what): 1}))}] += 1")

    def _iteration(self, node: c_ast.For, loop: str, by_data: bool) -> None:
        outer_key, outer_loops = self.expressions.key, self.loops
        self.loops = (*self.loops, loop)
        self.expressions.key = f"i{len(self.loops)}"
        self.depth += 1
        self.emit(f"{self.expressions.key} = ({', '.join(self.loops)},)")
        if by_data:
            self.note(node.init.decls[0].name, REPEATED)
        self.depth -= 1
        self._block(node.stmt)
        self.expressions.key, self.loops = outer_key, outer_loops

    def _return(self, node: c_ast.Return) -> None:
        self.emit(f"return {self.value(node.expr)[0]}" if node.expr is not None else "return")

    def _funccall(self, node: c_ast.FuncCall) -> None:
        name = node.name.name
        if name == "barrier":
            self.barriers = True
            self.note(*BARRIER)
            self.emit("yield")
        elif name in self.program.functions:
            self._inline(self.program.functions[name], node.args.exprs if node.args else [])
        elif name not in ("mem_fence", "read_mem_fence", "write_mem_fence") and (name != "printf" or self.copies):
            raise UnsupportedCode(f"call of {name}")

    def _inline(self, function: c_ast.FuncDef, arguments: list[c_ast.Node]) -> None:
        """A call of another function of the program: its body, once more, with its own occurrences."""
        expressions = self.expressions
        outer_scope, outer_cells, outer_copies = dict(expressions.scope), self.cells, self.copies
        prepared = [self._argument(argument) for argument in arguments]
        self.copies = outer_copies + 1 + len(self.lines)
        inner = {name: variable for name, variable in outer_scope.items() if variable.space == "constant"}
        declared = function.decl.type.args.params if function.decl.type.args else []
        for parameter, (variable, text) in zip(declared, prepared, strict=True):
            python = self.mangled(parameter.name)
            if variable is not None and variable.role == "array":
                if text:
                    self.emit(f"{python} = {text}")
                inner[parameter.name] = variable.moved(python if text else variable.offset)
            elif variable is not None:
                inner[parameter.name] = variable
            else:
                kind = type_and_form(parameter.type)[0]
                self.emit(f"{python} = {text}")
                inner[parameter.name] = Variable(python, kind, "index" if kind.integral else "scalar")
        expressions.scope = inner
        self.body(function.body)
        expressions.scope, self.cells, self.copies = outer_scope, outer_cells, outer_copies

    def _argument(self, node: c_ast.Node) -> tuple[Variable | None, str]:
        """(array or cell that is passed by address, offset) or (None, value)."""
        expressions = self.expressions
        if isinstance(node, c_ast.UnaryOp) and node.op == "&":
            if isinstance(node.expr, c_ast.ArrayRef):
                variable = expressions.array(node.expr)
                return variable, expressions.address(variable, expressions.index(node.expr.subscript))
            return expressions.scope[node.expr.name], ""
        if isinstance(node, c_ast.ID) and expressions.scope[node.name].role == "array":
            return expressions.scope[node.name], ""
        return None, self.value(node, BOUND if expressions.is_index(node) else VALUE)[0]


def parameter_types(function: c_ast.FuncDef) -> list[tuple[str, CType, str]]:
    params = function.decl.type.args.params if function.decl.type.args else []
    return [(param.name, *type_and_form(param.type)[:2]) for param in params]


def return_type(function: c_ast.FuncDef) -> str:
    return " ".join(function.decl.type.type.type.names)
