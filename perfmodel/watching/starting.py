"""Starts a recording: when a program imports PyOpenCL, or by ``with perfmodel.watch():`` inside of it."""

import atexit
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from perfmodel.errors import OptionError

FOLDER = "PERFMODEL_WATCH"  #: Environment variable: the folder of a recording, given to all processes of a program
REPLAY = "PERFMODEL_WATCH_REPLAY"  #: Environment variable that is 1 if each unit is run alone at the end
OPENCL, LOOPY, QUEUES = "pyopencl", "loopy.target.pyopencl_execution", "multiprocessing.queues"
_running: list[Any] = []  # the recorder of this process


class _AfterImport:
    """A finder that calls a function after the first import of each of some modules."""

    def __init__(self, actions: dict[str, Callable[[], None]]) -> None:
        self.actions = actions

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        action = self.actions.pop(name, None)
        spec = None if action is None else find_spec(name)
        if action is None or spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_then_act(module: ModuleType) -> None:
            execute(module)
            action()

        spec.loader.exec_module = execute_then_act  # type: ignore[method-assign]
        return spec


def watch_this_process(folder: str) -> None:
    """Record this process, from its import of PyOpenCL to its end, and each process that it forks."""

    def start() -> None:
        _start(Path(folder))
        atexit.register(_finish)
        os.register_at_fork(after_in_child=again)

    def again() -> None:
        if not _running:  # the recording has ended
            return
        _finish()
        _start(Path(folder))
        if LOOPY in sys.modules:
            _running[0].attach_loopy()

    actions = {OPENCL: start, LOOPY: lambda: _running[0].attach_loopy(), QUEUES: _save_before_results}
    for name in [name for name in actions if name in sys.modules]:
        actions.pop(name)()
    sys.meta_path.insert(0, _AfterImport(actions))


def _save_before_results() -> None:
    """Let a child process write its recording before it sends a result: a pool terminates idle processes."""
    from multiprocessing.process import parent_process
    from multiprocessing.queues import SimpleQueue

    put = SimpleQueue.put

    def save_and_put(queue: SimpleQueue[Any], result: Any) -> None:
        if _running and parent_process() is not None:
            _running[0].save()
        put(queue, result)

    SimpleQueue.put = save_and_put  # type: ignore[method-assign, assignment]


@contextmanager
def watch(folder: str | Path | None = None) -> Iterator[Path]:
    """Record the kernels that a block executes; return the recording's folder.

    Parameters
    ----------
    folder
        A new folder for the recording; by default ``recording-1``, ``recording-2``, ... in the current folder.

    Raises
    ------
    OptionError
        If the folder exists and is not empty, or if this process is recorded already.

    Notes
    -----
    Queues that the program created before the block have no profiling, unless it asked for it. Their commands are timed
    by the host's clock, which makes the program wait for each.
    """
    if _running:
        raise OptionError("this process is recorded already", "use only one 'with perfmodel.watch()' at a time")
    path = new_folder(folder)
    _start(path)
    _running[0].attach_loopy()
    try:
        yield path
    finally:
        _finish()


def new_folder(folder: str | Path | None) -> Path:
    """Return the absolute path of a new folder for a recording, or raise OptionError if there is something in it."""
    if folder is None:
        folder = next(path for number in count(1) if not (path := Path(f"recording-{number}")).exists())
    path = Path(folder).absolute()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise OptionError(f"'{folder}' exists", "give a folder that does not exist, or an empty one")
    return path


def _start(folder: Path) -> None:
    from perfmodel.watching.recorder import Recorder  # only a program with OpenCL pays for this import

    replays = os.environ.get(REPLAY, "") not in ("", "0")
    name = f"{os.uname().nodename}-{os.getpid()}"
    names = (f"{name}.{number}" if number else name for number in count())  # numbered after `exec` in a process
    recorder = Recorder(next(path for path in map(folder.joinpath, names) if not path.exists()), replays)
    _running.append(recorder)
    recorder.start()


def _finish() -> None:
    if _running:
        _running.pop().finish()
