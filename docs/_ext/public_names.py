"""Directives for tables that the code has, and links from names in docstrings to the pages that document them.

Public names are loaded late and defined elsewhere than they are imported from, so that one value has several names.
A reference is therefore followed to the value, and the value to the page that documents it. What perfmodel has
but the site does not document stays text; what does not exist stays a warning, which ends the build.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

import perfmodel
from perfmodel.facts import KEYS
from perfmodel.kernels import discover

PACKAGE = Path(perfmodel.__file__).parent
NOTHING = object()
PLAIN = (int, float, str, tuple, type(None))
"""Values that may be the same object under several names."""


def names_of(module: Any) -> list[str]:
    """Return the public names of a module, functions first: ``__all__``, or its classes where it has none."""
    found = getattr(module, "__all__", None)
    own = {name: value for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    classes = {name for name, value in own.items() if inspect.isclass(value) and name[0] != "_"}
    return sorted(found or classes, key=lambda name: (not inspect.isroutine(getattr(module, name)), name))


class PublicNames(Directive):
    """Document all public names of a package, each under the name that users import."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return what autodoc makes of the names; data has no docstring, so its text is read from the source."""
        package = self.arguments[0]
        module, lines = import_module(package), []
        main = {id(getattr(perfmodel, name)): name for name in perfmodel.__all__} if module is not perfmodel else {}
        for name in names_of(module):
            value = getattr(module, name)
            if id(value) in main:
                lines += [f"- :py:obj:`{package}.{name} <perfmodel.{main[id(value)]}>`"]
            elif inspect.isclass(value) or inspect.isroutine(value):
                kind = "class" if inspect.isclass(value) else "function"
                lines += [f".. auto{kind}:: {package}.{name}"]
            else:
                text = text_of_data(package, name).splitlines()
                lines += [f".. py:data:: {package}.{name}", "", *(f"   {line}" for line in text)]
            lines += [""]
        return nested(self, lines)


class FactKeys(Directive):
    """The table of the facts that models use: key, unit, meaning."""

    def run(self) -> list[nodes.Node]:
        """Return the table of ``perfmodel.facts.KEYS``."""
        facts = ((f"``{key}``", fact.unit or "1", fact.meaning) for key, fact in sorted(KEYS.items()))
        lines = [".. list-table::", "   :header-rows: 1", ""]
        for key, unit, meaning in [("key", "unit", "meaning"), *facts]:
            lines += [f"   * - {key}", f"     - {unit}", f"     - {meaning}"]
        return nested(self, lines)


class KernelClasses(Directive):
    """The table of the measurement kernels: class, group, tags, and the first sentence of the file's docstring."""

    def run(self) -> list[nodes.Node]:
        """Return the table of the classes of ``measurement_kernels/``."""
        lines = [".. list-table::", "   :header-rows: 1", ""]
        rows = [("class", "group", "tags", "what it does")]
        for kernel in discover(PACKAGE.parent / "measurement_kernels"):
            text = sys.modules[kernel.build.__module__].__doc__ or ""
            rows.append((f"``{kernel.name}``", kernel.group, ", ".join(kernel.tags), text.partition("\n")[0]))
        for row in rows:
            lines += [f"   {'*' if index == 0 else ' '} - {cell}" for index, cell in enumerate(row)]
        return nested(self, lines)


def nested(directive: Directive, lines: list[str]) -> list[nodes.Node]:
    """Return the nodes of lines of reStructuredText."""
    node = nodes.section()
    node.document = directive.state.document
    directive.state.nested_parse(StringList(lines, "made"), directive.content_offset, node)
    return node.children


@cache
def statements() -> Mapping[str, list[ast.stmt]]:
    """Return what each module of perfmodel consists of, by its name; nothing is imported."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8")).body
    return found


def text_of_data(package: str, name: str) -> str:
    """Return the string below the assignment of a name, in a module of the package."""
    for module, body in statements().items():
        for one, after in pairwise(body):
            targets = one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)]
            assigned = {each.id for each in targets if isinstance(each, ast.Name)}
            if name in assigned and f"{module}.".startswith(f"{package}.") and isinstance(after, ast.Expr):
                return inspect.cleandoc(str(ast.literal_eval(after.value)))
    return ""


@cache
def meanings() -> Mapping[str, list[str]]:
    """Return the full names that a name has in some module of perfmodel: defined there, or imported, for types too."""
    found = defaultdict(list)
    for module, body in statements().items():
        for node in (each for statement in body for each in ast.walk(statement)):
            if isinstance(node, ast.ImportFrom):
                for each in node.names:
                    found[each.asname or each.name].append(f"{node.module}.{each.name}")
            elif isinstance(node, ast.Import):
                for each in node.names:
                    found[each.asname or each.name].append(each.name)
        for name in {name for statement in body for name in defined(statement)}:
            found[name].insert(0, f"{module}.{name}")
    return found


def defined(statement: ast.stmt) -> list[str]:
    """Return the names that a statement of a module defines."""
    if isinstance(statement, ast.Assign):
        return [each.id for each in statement.targets if isinstance(each, ast.Name)]
    own = getattr(statement, "name", None) or getattr(getattr(statement, "target", None), "id", None)
    return [own] if isinstance(own, str) else []


@cache
def value_of(name: str) -> Any:
    """Return the value of a dotted name, or NOTHING."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = import_module(".".join(parts[:cut]))
        except (ImportError, TypeError, ValueError):
            continue
        for part in parts[cut:]:
            fields = getattr(value, "__dataclass_fields__", {}) | getattr(value, "__annotations__", {})
            value = getattr(value, part, fields.get(part, NOTHING))
            if value is NOTHING:
                break
        else:
            return value
    return NOTHING


def resolve(app: Sphinx, env: Any, node: nodes.Element, text: nodes.Element) -> nodes.Element | None:
    """Link a reference that Sphinx does not know to the page of the same value, or leave its text."""
    if node.get("refdomain") != "py":
        return None
    target, module, owner = node["reftarget"], node.get("py:module") or "", node.get("py:class") or ""
    first, _, rest = target.partition(".")
    if hasattr(builtins, first) or first in sys.stdlib_module_names:
        return text
    names = [target, f"{owner}.{target}", f"{module}.{owner}.{target}", f"{module}.{target}"]
    for name in (
        *(each.strip(".") for each in names),
        *(f"{each}.{rest}".rstrip(".") for each in meanings().get(first, ())),
    ):
        value = value_of(name)
        if value is not NOTHING:
            place = None if isinstance(value, PLAIN) else documented(env).get(id(value))
            return text if place is None else make_refnode(app.builder, node["refdoc"], *place, text)
    return None


def documented(env: Any) -> dict[int, tuple[str, str]]:
    """Return the page and the anchor of each documented value, by its identity; the shortest name wins."""
    found = {}
    for name, entry in sorted(env.get_domain("py").objects.items(), key=lambda each: -len(each[0])):
        found[id(value_of(name))] = (entry.docname, entry.node_id)
    return found


def keep_colons(_: Sphinx, what: str, *arguments: Any) -> None:
    """Begin the text of an attribute with an empty line: napoleon reads text before a colon as a type."""
    lines = arguments[-1]
    if what in ("attribute", "data", "property") and lines:
        lines.insert(0, "")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives and the two hooks."""
    app.add_directive("public-names", PublicNames)
    app.add_directive("fact-keys", FactKeys)
    app.add_directive("kernel-classes", KernelClasses)
    app.connect("autodoc-process-docstring", keep_colons, priority=400)  # before napoleon's 500
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
