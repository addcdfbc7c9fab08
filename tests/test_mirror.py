"""Every module has a test of the same name, or a line in tests/README.md that names the test which covers it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "perfmodel"
ROW = re.compile(r"^\| `(?P<module>[\w/]+\.py)` \| (?P<tests>.+) \|$", re.MULTILINE)
DEFINITION = re.compile(r"^(def|class) (?!__getattr__|__dir__)", re.MULTILINE)
README = (TESTS / "README.md").read_text(encoding="utf-8")
#: Both kinds of modules, below their folders in tests/.
MODULES = {
    path.relative_to(root).as_posix()
    for root, folder in ((PACKAGE, PACKAGE), (PACKAGE.parent / "scripts", PACKAGE.parent / "scripts" / "lab"))
    for path in folder.rglob("*.py")
    if path.name != "__init__.py" or DEFINITION.search(path.read_text(encoding="utf-8"))
}
ROWS = {row["module"]: re.findall(r"`([^`]+)`", row["tests"]) for row in ROW.finditer(README)}


def same_named(module: str) -> Path:
    path = Path(module)
    name = path.parent.name if path.name == "__init__.py" else path.stem
    return TESTS / path.parent / f"test_{name}.py"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_has_a_test(module: str) -> None:
    assert same_named(module).is_file() or module in ROWS


@pytest.mark.parametrize("module", sorted(ROWS))
def test_a_line_is_needed_and_true(module: str) -> None:
    assert module in MODULES
    assert not same_named(module).is_file()
    assert ROWS[module]
    assert [] == [name for name in ROWS[module] if not (TESTS / name).is_file()]


def test_a_test_has_a_module() -> None:
    """Tests that mirror no module say so in tests/README.md."""
    for path in TESTS.rglob("test_*.py"):
        relative = path.relative_to(TESTS)
        module = relative.parent / f"{path.stem.removeprefix('test_')}.py"
        package = PACKAGE / relative.parent / "__init__.py"
        mirrors = module.as_posix() in MODULES or (package.is_file() and path.stem == f"test_{relative.parent.name}")
        assert mirrors or f"`{relative.as_posix()}`" in README, relative
