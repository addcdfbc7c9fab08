"""Imports go one way only, between packages and between modules, and only some may touch isl, Loopy or a device."""

import ast
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "perfmodel"
#: Each package imports only packages of earlier tuples.
ORDER = (
    ("errors",), ("libraries", "values"), ("io", "caches", "cluster", "documents"), ("progress", "display"),
    ("facts",), ("counts",), ("kernels",), ("processes", "store", "features"), ("quantities", "expressions"),
    ("models",), ("fitting",), ("predicting",), ("compare",), ("analyses", "hooks"), ("report", "calibration"),
    ("tuning", "plot", "watching"), ("recipes", "versions"), ("cli",), ("__main__",),
)  # fmt: skip
#: Packages outside of that order, with the packages that they may import.
OUTSIDE = {
    "opencl": {"errors", "io", "documents", "display", "facts", "opencl"},
    "measuring": {
        "errors", "io", "values", "documents", "display", "facts", "counts", "kernels", "store", "opencl",
        "measuring", "progress", "cluster", "libraries", "processes",
    },
}  # fmt: skip
#: Packages that may import those outside.
MEETING = {"calibration", "tuning", "recipes", "hooks", "watching", "cli"}
#: Inside counts: each folder or module imports only earlier ones.
INSIDE_COUNTS = ("points", "quasipoly", "program", "reading", "counters", "flow", "nests", "traffic", "trace")


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imported(path: Path) -> frozenset[str]:
    """Return every module that a file imports, and ``package.name`` for each name of a package.

    A relative import raises a ValueError.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level or not node.module:
                raise ValueError(f"{path} uses a relative import")
            names.update({node.module}, (f"{node.module}.{alias.name}" for alias in node.names))
    return frozenset(names)


FILES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
LABORATORY = {name_of(path): path for path in sorted((ROOT / "scripts" / "lab").rglob("*.py"))}


def package_of(module: str) -> str:
    return [*module.split("."), ""][1]


def dependences(module: str, files: Mapping[str, Path] = FILES) -> set[str]:
    """Those of `files` that a module among them needs.

    A name that is not a module comes from its package's ``__init__``. Names that a package's
    ``__init__`` exports do not make it depend on their modules.
    """
    wanted = set(imported(files[module]))
    return {name for name in wanted & set(files) if name != module and not module.startswith(f"{name}.")}


@pytest.mark.parametrize("module", [name for name in FILES if name != "perfmodel"])
def test_imports_point_to_the_left(module: str) -> None:
    package = package_of(module)
    if package in OUTSIDE:
        allowed = OUTSIDE[package]
    else:
        place = next(i for i, names in enumerate(ORDER) if package in names)
        allowed = {name for names in ORDER[:place] for name in names} | {package}
        allowed |= set(OUTSIDE) if package in MEETING else set()
    used = {package_of(name) for name in imported(FILES[module]) if name.startswith("perfmodel.")}
    assert set() == used - allowed


@pytest.mark.parametrize("files", [FILES, LABORATORY], ids=["perfmodel", "laboratory"])
def test_modules_have_no_circle(files: Mapping[str, Path]) -> None:
    graph = {module: dependences(module, files) for module in files}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


@pytest.mark.parametrize("folder", INSIDE_COUNTS)
def test_folders_of_counts_import_to_the_left(folder: str) -> None:
    later = INSIDE_COUNTS[INSIDE_COUNTS.index(folder) + 1 :]
    wrong = {
        (module, name)
        for module in FILES if f"{module}.".startswith(f"perfmodel.counts.{folder}.")
        for name in dependences(module)
        if f"{name}.".startswith(tuple(f"perfmodel.counts.{other}." for other in later))
    }  # fmt: skip
    assert set() == wrong


def users(library: str) -> set[str]:
    return {module for module, path in FILES.items() if library in {name.split(".")[0] for name in imported(path)}}


def test_only_counts_uses_isl() -> None:
    assert {"counts"} == {package_of(module) for module in users("islpy")}


def test_only_reading_looks_into_loopy() -> None:
    """Besides, ``counting`` names the type of its argument, and ``cache`` asks Loopy for a kernel's hash."""
    inside = {module for module in users("loopy") | users("pymbolic") if package_of(module) == "counts"}
    outside = {module for module in inside if not module.startswith("perfmodel.counts.reading.")}
    assert {"perfmodel.counts.counting", "perfmodel.counts.cache"} == outside


def test_only_three_packages_touch_a_device() -> None:
    assert {"opencl", "measuring", "watching"} == {package_of(module) for module in users("pyopencl")}


def test_nothing_imports_the_kernel_folders_or_the_laboratory() -> None:
    folders = {"measurement_kernels", "test_kernels", "scripts", "tests"}
    assert set() == {n for path in FILES.values() for n in imported(path) if n.split(".")[0] in folders}


def test_the_laboratory_imports_perfmodel_and_the_kernels_of_papers_alone() -> None:
    """No command of ``scripts`` and no test, so that it reads as a library on top of the library."""
    wrong = {
        (module, name)
        for module, path in LABORATORY.items() for name in imported(path)
        if name.startswith(("tests", "measurement_kernels"))
        or (name.startswith("scripts.") and not f"{name}.".startswith("scripts.lab."))
    }  # fmt: skip
    assert set() == wrong


def test_no_model_imports_another() -> None:
    """What several models compute is in ``quantities``; only the value and its helpers are shared."""
    wrong = {
        (module, name)
        for module in FILES if package_of(module) == "models" and module != "perfmodel.models"
        for name in dependences(module) if package_of(name) == "models" and name != "perfmodel.models.model"
    }  # fmt: skip
    assert set() == wrong
