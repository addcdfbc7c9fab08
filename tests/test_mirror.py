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


def same_named(module: str) -> list[Path]:
    """Return the tests of a module: ``test_<module>.py``, and those of its parts, ``test_<module>_<part>.py``."""
    path = Path(module)
    name = path.parent.name if path.name == "__init__.py" else path.stem
    return [test for end in ("", "_*") for test in (TESTS / path.parent).glob(f"test_{name}{end}.py")]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_has_a_test(module: str) -> None:
    assert same_named(module) or module in ROWS


@pytest.mark.parametrize("module", sorted(ROWS))
def test_a_line_is_needed_and_true(module: str) -> None:
    assert module in MODULES
    assert not same_named(module)
    assert ROWS[module]
    assert [] == [name for name in ROWS[module] if not (TESTS / name).is_file()]


def test_a_test_has_a_module() -> None:
    """Tests that mirror no module say so in tests/README.md."""
    for path in TESTS.rglob("test_*.py"):
        relative = path.relative_to(TESTS)
        words = path.stem.removeprefix("test_").split("_")
        names = {"_".join(words[:end]) for end in range(1, len(words) + 1)}
        package = PACKAGE / relative.parent / "__init__.py"
        mirrors = any((relative.parent / f"{name}.py").as_posix() in MODULES for name in names)
        mirrors |= package.is_file() and relative.parent.name in names
        assert mirrors or f"`{relative.as_posix()}`" in README, relative
