"""The rooms import one way only, and only some may touch isl or a device."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "perfmodel"
ORDER = (
    "errors", "rooms", "facts", "counts", "kernels", "store", "features", "made", "families", "fit",
    "predict", "rank", "compare", "report", "cli",
)
BESIDE = {
    "devices": {"errors", "rooms", "facts", "devices"},
    "measure": {"errors", "rooms", "facts", "counts", "kernels", "store", "devices", "measure"},
}
EVERYTHING = {*ORDER, *BESIDE}
ONLY_IN = {
    "islpy": {"counts"},
    "pyopencl": {"devices", "measure"},
}


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def allowed(name: str) -> set[str]:
    if name == "cli":
        return EVERYTHING
    return BESIDE.get(name) or set(ORDER[: ORDER.index(name) + 1])


def imports(path: Path) -> set[str]:
    """Every module that a file imports, wherever the statement stands; ``perfmodel.x`` in full."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "perfmodel":
            found |= {f"perfmodel.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import"
            found.add(str(node.module))
    return found


FILES = sorted(p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE or p.name != "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_to_the_left(path: Path) -> None:
    targets = {name.split(".")[1] for name in imports(path) if name.startswith("perfmodel.")}
    assert set() == targets - allowed(room(path))


@pytest.mark.parametrize("library", ONLY_IN)
def test_library_is_used_in_its_rooms_only(library: str) -> None:
    users = {room(path) for path in FILES if library in {n.split(".")[0] for n in imports(path)}}
    assert ONLY_IN[library] == users


def test_nothing_imports_the_kernel_folders() -> None:
    folders = {"measurement_kernels", "test_kernels"}
    assert set() == {n for path in FILES for n in imports(path) if n.split(".")[0] in folders}


def test_every_room_is_known() -> None:
    rooms = {room(path) for path in FILES}
    assert set() == rooms - EVERYTHING
