"""The kernels that are counted: the kernel classes of this project, and kernels of others."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import loopy as lp
import numpy as np

from perfmodel.kernels import discover

ROOT = Path(__file__).resolve().parents[2]
LARGE = "two_thousand_instructions"  # only where it is asked for: Loopy schedules it for ten seconds
GROUP_SIZE, SUBGROUP_SIZE = 4096, 1  # of a device on which every variant exists
Listed = Iterable[tuple[str, Callable[[], lp.TranslationUnit]]]


@dataclass(frozen=True)
class BenchKernel:
    """A kernel to time: ``realistic`` ones, and those asked for by name, are timed warm and asked everything."""

    name: str
    build: Callable[[], lp.TranslationUnit]
    realistic: bool = False


def chosen(
    names: Sequence[str], others: Sequence[str] = (), folders: Sequence[Path] = ()
) -> list[BenchKernel]:
    """Return the kernels with these names, all if there are none.

    Parameters
    ----------
    names : sequence of str
        Names of kernels; ``two_thousand_instructions`` is one.
    others : sequence of str
        Modules with a function ``kernels()`` that gives pairs of a name and a function that builds the kernel.
    folders : sequence of Path
        Folders of pickled kernels (`python -m tests.others`). If there are some, and no names, only these are returned.

    Raises
    ------
    KeyError
        No kernel has the name.
    """
    added = {kernel.name: kernel for kernel in (*_listed(others), *_captured(folders))}
    found = added if folders and not names else {kernel.name: kernel for kernel in _classes()} | added
    large = BenchKernel(LARGE, _straight_line)
    return [replace({**found, LARGE: large}[name], realistic=True) for name in names] or list(found.values())


def _classes() -> Iterator[BenchKernel]:
    for folder in ("measurement_kernels", "test_kernels"):
        for kernel in discover(ROOT / folder):
            variant = kernel.variants_on(GROUP_SIZE, SUBGROUP_SIZE)[0]
            yield BenchKernel(f"{folder}/{kernel.name}", partial(kernel.build, **variant), realistic=True)


def _straight_line(length: int = 2000) -> lp.TranslationUnit:
    """Return a kernel of that many instructions and one more, each of which uses the one before it."""
    lines = ["<> v0 = a[i] {id=s0}"]
    for k in range(1, length):
        lines.append(f"<> v{k} = v{k - 1}*{k}.5f + b[i + {k % 7}]*c[i, {k % 5}] {{id=s{k}, dep=s{k - 1}}}")
    lines.append(f"out[i] = v{length - 1} {{dep=s{length - 1}}}")
    unit = lp.make_kernel("{ [i]: 0 <= i < n }", "\n".join(lines), assumptions="n >= 1", lang_version=(2018, 2))
    unit = lp.add_dtypes(unit, dict.fromkeys("abc", np.float32))
    return lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")


def _listed(modules: Sequence[str]) -> Iterator[BenchKernel]:
    for module in modules:
        listed: Listed = importlib.import_module(module).kernels()
        for name, build in listed:
            yield BenchKernel(f"{module}/{name}", build)


def _captured(folders: Sequence[Path]) -> Iterator[BenchKernel]:
    for path in (path for folder in folders for path in sorted(folder.glob("*.pickle"))):
        yield BenchKernel(f"{path.parent.name}/{path.stem}", partial(_unit, path))


def _unit(path: Path) -> lp.TranslationUnit:
    return pickle.loads(path.read_bytes())["unit"]
