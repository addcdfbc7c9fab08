"""The sides of a comparison: kernels of a file, of a revision of it in git, of a recording, or saved counts.

A revision is written ``HEAD~1:kernel.py``. The whole tree of the revision is extracted into a temporary folder, so that
a file's imports of its own project come from that revision too.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perfmodel.counts import KernelCounts
from perfmodel.counts.rows import reading_counts
from perfmodel.documents import Schema, json_document, read_file
from perfmodel.errors import DocumentError, KernelFileError, OptionError, PerfModelError, clipped, listed
from perfmodel.kernels.files import is_below, load_kernel_file
from perfmodel.processes.pool import count_all
from perfmodel.values import FrozenValue, grouped
from perfmodel.watching.recording import is_recording, read_recording

SAVED = Schema("perfmodel.count/1", "write it again: perfmodel count KERNEL.PY --save FILE.json")
FORMS = "give a kernel file, REVISION:FILE.py, counts of 'perfmodel count --save', or the folder of a recording"
MOST_POINTS = 8  # recorded sizes of a kernel that are predicted: those that took the most time


@dataclass(frozen=True)
class Version(FrozenValue):
    """A counted kernel, and the sizes at which a program called it."""

    counts: KernelCounts
    points: tuple[Mapping[str, int], ...] = ()


@dataclass(frozen=True)
class Side(FrozenValue):
    """The kernels of a side by name, and the errors of those that cannot be counted."""

    label: str
    kernels: Mapping[str, Version]
    errors: Mapping[str, PerfModelError] = field(default_factory=dict)


def read_side(text: str, subgroup_size: int = 32, **options: Any) -> Side:
    """Count the kernels of a side. Options of :func:`perfmodel.count` are for the kernels of a file.

    Raises
    ------
    OptionError
        If the text is not a side, git does not have the revision, or the revision has no such file.
    KernelFileError, DocumentError, StoreError
        If a file cannot be read or run, or has no kernels.
    """
    path = Path(text)
    if path.is_dir():
        if not is_recording(path):
            raise OptionError(f"'{text}' is a folder without a recording", FORMS)
        return _recorded(text, path, subgroup_size)
    if path.suffix == ".json":
        return _saved(text, path, subgroup_size)
    if path.is_file():
        return _counted(text, path, subgroup_size, options)
    revision, colon, name = text.partition(":")
    if not colon:
        raise OptionError(f"'{clipped(text)}' does not exist", FORMS)
    with at_revision(revision, name) as extracted:
        try:
            return _counted(text, extracted, subgroup_size, options)
        except KernelFileError as error:  # name the revision, not the temporary folder
            problem, location = (words.replace(str(extracted), text) for words in (error.problem, error.location))
            raise KernelFileError(problem, error.advice, location=location, raised=error.raised) from error


def _counted(text: str, path: Path, subgroup_size: int, options: Mapping[str, Any]) -> Side:
    counted = count_all(load_kernel_file(path).builders, 1, subgroup_size=subgroup_size, check=True, **options)
    return Side(text, {name: Version(counts) for name, counts in counted.items()}, counted.errors)


def _saved(text: str, path: Path, subgroup_size: int) -> Side:
    try:
        document = json_document(read_file(path))
        SAVED.check(document)
        with reading_counts():
            every = {name: KernelCounts.from_json(saved["counts"]) for name, saved in document["variants"].items()}
        if not every:
            raise DocumentError("has no kernel")
    except DocumentError as error:
        raise DocumentError(f"'{text}' cannot be used: it {error.problem}", SAVED.renewal) from error
    return Side(text, {name: Version(replace(each, subgroup_size=subgroup_size)) for name, each in every.items()})


def _recorded(text: str, folder: Path, subgroup_size: int) -> Side:
    recording = read_recording(folder)
    kernels: dict[str, Version] = {}
    errors: dict[str, PerfModelError] = {}
    pairs: Any = ((row.unit.name, row) for row in recording.kernels if row.unit is not None)
    for name, same in grouped(pairs).items():
        # rows are in the order of their time; a unit without a program raises its reason below
        unit = next((row.unit for row in same if row.unit.program is not None), same[0].unit)
        sizes = dict.fromkeys(tuple(row.sizes.items()) for row in same if row.unit.content == unit.content)
        try:
            kernels[name] = Version(unit.counted(subgroup_size), tuple(map(dict, [*sizes][:MOST_POINTS])))
        except PerfModelError as error:
            errors[name] = error
    if not kernels:
        raise OptionError(f"the recording '{text}' has no Loopy kernel that can be counted", FORMS)
    return Side(text, kernels, errors)


@contextmanager
def at_revision(revision: str, name: str) -> Iterator[Path]:
    """Extract a revision of the git repository of a file, and give the path of the file there.

    In the block, imports find the extracted project before an installed one. At its end, modules of the extracted
    project are forgotten, so that another version of them can be imported.
    """
    if not revision or not name:
        raise OptionError(f"'{revision}:{name}' is not REVISION:FILE", "write HEAD~1:kernel.py, for example")
    # the revision may have folders that the working copy lacks
    parent = Path(name).absolute().parent
    folder = next(folder for folder in (parent, *parent.parents) if folder.is_dir())
    top = Path(_git(folder, "rev-parse", "--show-toplevel").decode().strip())
    asked = "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    commit = _git(top, *asked, known=revision).decode().strip()
    inside = _inside(top, Path(name), commit, revision)
    with tempfile.TemporaryDirectory(prefix="perfmodel-") as temporary:
        root = Path(temporary).resolve() / "tree"
        root.mkdir()
        index = f"{temporary}/index"  # the index and the files of the repository stay as they are
        _git(top, "read-tree", commit, index=index)
        _git(top, "checkout-index", "--all", f"--prefix={root}/", index=index)
        with _imports_from(root, top):
            yield root / inside


def _inside(top: Path, path: Path, commit: str, revision: str) -> str:
    """Return a file's path in the repository: relative to the current folder, or else to the top as git has it."""
    tried = []
    real = path.absolute().parent.resolve() / path.name  # git gives the top without links; the file may be one
    if real.is_relative_to(top):
        tried.append(real.relative_to(top).as_posix())
    if not path.is_absolute():
        tried.append(path.as_posix())
    known = _git(top, "ls-tree", "-r", "-z", "--name-only", commit).decode("utf-8", "surrogateescape").split("\0")
    for each in tried:
        if each in known:
            return each
    python = [each for each in known if each.endswith(path.name)]
    advice = f"its files of this name: {listed(python, most=300)}" if python else "give another revision or file"
    raise OptionError(f"the revision '{clipped(revision, 80)}' has no file '{clipped(path, 200)}'", advice)


def _git(folder: Path, *arguments: str, known: str = "", index: str = "") -> bytes:
    environment = {**os.environ, "GIT_INDEX_FILE": index} if index else None
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, env=environment)
    except OSError as error:
        raise OptionError(f"git cannot be run ({error.strerror})", "install git, or give files") from error
    if not done.returncode:
        return done.stdout
    if known:
        raise OptionError(f"git does not have the revision '{clipped(known, 80)}'", "give one that 'git log' shows")
    reason = clipped(" ".join(done.stderr.decode("utf-8", "replace").split()), 200)
    raise OptionError(f"git cannot read '{folder}': {reason}", "run it in a git repository, or give two files")


@contextmanager
def _imports_from(root: Path, top: Path) -> Iterator[None]:
    """Let a block import modules of a project in `root`, and no modules that were imported from its place in `top`."""
    added = [str(folder) for folder in (root, root / "src") if folder.is_dir()]
    installed = Path(__file__).parents[1], Path(sys.prefix)  # perfmodel itself, and an environment in the repository
    sys.path[:0] = added
    hidden = {
        name: module for name, module in list(sys.modules.items())
        if is_below(module, top) and name != "__main__" and not any(is_below(module, path) for path in installed)
    }  # fmt: skip
    for name in hidden:
        del sys.modules[name]
    try:
        yield
    finally:
        for folder in added:
            sys.path.remove(folder)
        for name, module in list(sys.modules.items()):
            if is_below(module, root):
                del sys.modules[name]
        sys.modules.update(hidden)


def committed(path: str) -> str:
    """Return the last committed version of a file as a side."""
    if ":" in path or Path(path).suffix != ".py":
        raise OptionError(f"'{clipped(path)}' was given alone, and is not a kernel file", "give two sides: OLD NEW")
    return f"HEAD:{path}"
