"""Running a kernel file as ``python file.py`` would, and turning whatever ends it into one of our errors."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from perfmodel.errors import KernelFileExecutionError, KernelFileMissingError, KernelFileSyntaxError
from perfmodel.threads import guest_streams

#: Modules that lie beside kernel files: their folders by their names.
_beside: dict[str, Path] = {}


@dataclass(frozen=True)
class Source:
    """A kernel file's path and its text when it ran."""

    path: Path
    content: bytes


#: What stands before the length of a text of less than 256 bytes in a pickle.
SHORT_TEXT = 0x8C
#: The kernel files that ran in this process, by the names of their modules.
_executed: dict[str, Source] = {}


class ProcessEndError(BaseException):
    """The file asked to end the process at once; it never leaves this module."""


def execute(path: Path) -> dict[str, Any]:
    """Run a file and return the names that it defines.

    It is a module of its own: what it defines can be pickled, and ``__name__`` is not ``"__main__"``, so that what it
    does only as a program is left out. Raises KernelFileMissingError where it cannot be read, KernelFileSyntaxError
    where it is not Python, KernelFileExecutionError where it raised or asked to end the process.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise KernelFileMissingError(path, "a readable Python file") from error
    return _run(Source(path.absolute(), content), path)


def sources_in(pickled: bytes) -> tuple[Source, ...]:
    """Return the kernel files that ran here and that a pickle names, or that lie beside a module that it names."""
    beside = {folder for name, folder in _beside.items() if _pickled(name) in pickled}
    return tuple(
        source for name, source in _executed.items() if _pickled(name) in pickled or source.path.parent in beside
    )


def _pickled(name: str) -> bytes:
    """Return a module's name as a pickle has it: behind its length."""
    text = name.encode()
    return bytes((SHORT_TEXT, len(text))) + text if len(text) < 256 else text


def restore(source: Source) -> None:
    """Run a kernel file of another process here, unless it has: what it defines can be unpickled then."""
    if _executed.get(_module_name(source.path)) != source:
        _run(source, source.path)


def _run(source: Source, path: Path) -> dict[str, Any]:
    try:
        code = compile(source.content, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        raise KernelFileSyntaxError(path, error.lineno, error.msg) from error
    except Exception as cause:  # a null character, or an expression that is too deep for the compiler
        raise KernelFileExecutionError(path, cause) from cause
    module = ModuleType(_module_name(path))
    module.__file__ = str(path.absolute())
    sys.modules[module.__name__] = module
    with surroundings(path):
        exec(code, vars(module))
    _executed[module.__name__] = source
    return vars(module)


@contextmanager
def surroundings(path: Path) -> Iterator[None]:
    """Run a block of a kernel file: modules beside it can be imported, and what it prints goes to standard error.

    KernelFileExecutionError says that the block raised, or asked to end the process. An interrupt is raised as it is.
    """
    folder, arguments, leave = path.absolute().parent, sys.argv, os._exit
    process = os.getpid()

    def refuse(status: int) -> NoReturn:
        if os.getpid() != process:  # a process that the file started
            leave(status)
        raise ProcessEndError(f"os._exit({status})")

    _forget_namesakes(folder)
    known = set(sys.modules)
    sys.path.insert(0, str(folder))
    sys.argv, os._exit = [str(path)], refuse
    try:
        with guest_streams():
            yield
    except KeyboardInterrupt:
        raise
    except BaseException as cause:  # those that only end a program too: SystemExit, and a file's own
        raise KernelFileExecutionError(path, cause) from cause
    finally:
        sys.argv, os._exit = arguments, leave
        with suppress(ValueError):
            sys.path.remove(str(folder))
        _beside.update((name, folder) for name in set(sys.modules) - known if _lies_in(folder, sys.modules[name]))


def modules_beside(name: str) -> tuple[str, ...]:
    """Return the names of modules that lie beside the file of a module, and that a kernel file there imported."""
    file = getattr(sys.modules.get(name), "__file__", None)
    folder = Path(file).absolute().parent if isinstance(file, str) else None
    return tuple(sorted(beside for beside, home in _beside.items() if home == folder))


def _module_name(path: Path) -> str:
    """Name of the file's module: no other's, and the same in each process, since Loopy's caches on disk keep it."""
    digest = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:8]
    return f"{re.sub(r'[^0-9A-Za-z_]', '_', path.stem)}_{digest}"


def _forget_namesakes(folder: Path) -> None:
    """Let modules of this folder be found, where a module of that name lies beside another kernel file."""
    for name, home in list(_beside.items()):
        top = name.partition(".")[0]
        if home != folder and ((folder / f"{top}.py").is_file() or (folder / top).is_dir()):
            sys.modules.pop(name, None)
            del _beside[name]


def _lies_in(folder: Path, module: ModuleType | None) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and folder in Path(file).parents
