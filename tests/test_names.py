"""Names that mean one thing: no class is defined twice in the package, and no two packages have one name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "perfmodel"


def test_no_class_name_stands_twice():
    homes = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(path.relative_to(PACKAGE).as_posix())
    assert "KernelCounts" in homes
    assert {} == {name: paths for name, paths in homes.items() if len(paths) > 1}


def test_no_two_packages_have_one_name():
    homes = defaultdict(list)
    for path in PACKAGE.rglob("__init__.py"):
        homes[path.parent.name].append(path.parent.relative_to(PACKAGE).as_posix())
    assert "bottleneck" in homes
    assert {} == {name: paths for name, paths in homes.items() if len(paths) > 1}
