"""``docs/security.md`` lists every module that executes something, and every module that writes files."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfmodel.errors import ExpressionError
from perfmodel.predicting.model import load
from tests.predicting.test_model import MODEL

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text()
MODULES = {path.relative_to(ROOT / "perfmodel").as_posix(): path for path in (ROOT / "perfmodel").rglob("*.py")}
#: Calls that execute text, a file or a program, import a module by its name, or read objects.
EXECUTES = re.compile(
    r"exec|eval|compile|__import__|(importlib\.)?import_module|runpy\.\w+|subprocess\.\w+|os\.(system|popen|exec\w+|spawn\w+)"
    r"|((cloud)?pickle|marshal|np|numpy)\.loads?"
)
WRITES = {"write_text", "write_bytes", "savefig", "savetxt", "rename", "symlink_to", "hardlink_to", "FileIO"}


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of a module, each with its function as text."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def writes(name: str, call: ast.Call) -> bool:
    last = name.rpartition(".")[2]
    if last == "open":
        given = (*call.args, *(word.value for word in call.keywords))
        return any(isinstance(one, ast.Constant) and re.fullmatch("[bt+]*[wax][bt+]*", str(one.value)) for one in given)
    return last in WRITES or name == "os.open"


def test_the_page_lists_what_executes():
    table = PAGE.split("## What is executed")[1].split("\n\n")[1]
    listed = set(re.findall(r"`([a-z_/]+\.py)`", "".join(row.rsplit("|", 2)[1] for row in table.splitlines())))
    found = {module for module, path in MODULES.items() if any(EXECUTES.fullmatch(name) for name, _ in calls(path))}
    assert found | {"quantities/case.py"} == listed


def test_pickles_are_read_only_where_processes_get_them():
    unpickle = {module for module, path in MODULES.items() if any("pickle.load" in name for name, _ in calls(path))}
    assert {"processes/variants.py", "measuring/making.py", "measuring/remote/workers.py"} == unpickle


def test_nothing_reads_pickles_from_files_or_opens_sockets():
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text())
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
        imported -= {"pickle"} if module in ("measuring/making.py", "measuring/remote/workers.py") else set()
        assert not imported & {"pickle", "marshal", "shelve", "socket", "urllib", "urllib.request", "http.client"}, path


def test_yaml_is_read_safely():
    names = {name for path in MODULES.values() for name, _ in calls(path) if name.startswith("yaml.")}
    assert {"yaml.load"} == names
    assert "class _Loader(yaml.SafeLoader)" in MODULES["documents.py"].read_text()
    for path in MODULES.values():
        for name, call in calls(path):
            assert name != "yaml.load" or ast.unparse(call.args[1]) == "_Loader"


def test_the_page_lists_what_writes():
    found = {module for module, path in MODULES.items() if any(writes(*one) for one in calls(path))}
    assert {"io.py", "store/lines.py"} == found - {"report/drawing.py"}  # which draws into memory
    assert all(f"`{module}`" in PAGE.split("## What is written")[1] for module in ("io.py", "store/lines.py"))


@pytest.mark.parametrize("text", [
    "__import__('os').system('touch ran')", "w_a*launches + open('ran', 'w')", "().__class__", "[w_a for x in y]",
    "(lambda: w_a)()", "w_a*launches if exec('1') else 0", "f'{w_a}'", "w_a.real",
])
def test_an_expression_in_a_weights_file_is_no_python(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    MODEL.save("w.json")
    document = json.loads(Path("w.json").read_text())
    Path("w.json").write_text(json.dumps({**document, "definition": f"expr:{text}"}))
    with pytest.raises(ExpressionError):
        load("w.json")
    assert not Path("ran").exists()
