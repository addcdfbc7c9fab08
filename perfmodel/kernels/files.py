"""Kernel files: what they define, how they run, and how what they define travels to other processes.

A kernel class is a value ``KERNEL`` in a file of its own. A user's file has a function ``kernel()`` or ``variants()``,
and may have ``arguments()`` and ``reference()``. A file runs as ``python file.py`` would run it, and whatever ends it
becomes one of our errors.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, lru_cache, partial, wraps
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from perfmodel import errors
from perfmodel.counts import KernelCounts
from perfmodel.errors import KernelFileExecutionError, KernelFileTypeError, SpaceError
from perfmodel.kernels.kernel_class import KernelClass
from perfmodel.kernels.space import Space
from perfmodel.values import FrozenValue

if TYPE_CHECKING:
    from loopy import TranslationUnit


def discover(folder: Path | str) -> tuple[KernelClass, ...]:
    """Every ``KERNEL`` value of the Python files in `folder`, sorted by name.

    Raises
    ------
    KernelFileMissingError
        `folder` does not exist or holds no Python file.
    KernelFileContentError, KernelFileTypeError
        A file has no ``KERNEL``, or it is no :class:`KernelClass`.
    DuplicateKernelError
        Two classes have the same name.
    """
    paths = sorted(path for path in Path(folder).glob("*.py") if not path.name.startswith("_"))
    if not paths:
        raise errors.KernelFileMissingError(folder, "a folder with kernel classes (*.py)")
    kernels = []
    for path in paths:
        value = execute(path).get("KERNEL")
        if value is None:
            raise errors.KernelFileContentError(path, ("KERNEL",))
        if not isinstance(value, KernelClass):
            raise KernelFileTypeError(path, "KERNEL", type(value).__name__, "a KernelClass")
        kernels.append(value)
    names = [kernel.name for kernel in kernels]
    for name in names:
        if names.count(name) > 1:
            raise errors.DuplicateKernelError(name, folder)
    return tuple(sorted(kernels, key=lambda kernel: kernel.name))


@dataclass(frozen=True, eq=False)
class KernelFile(FrozenValue):
    """What a user's kernel file defines.

    `builders` holds by the name of each variant a function without arguments that returns its translation unit.
    `arguments` and `reference` are its functions of these names, `space` the space that all variants make; each is None
    where the file has none, and the space where variants are left out.
    """

    builders: Mapping[str, Callable[[], TranslationUnit]]
    arguments: Callable[..., Mapping[str, Any]] | None = None
    space: Space | None = None
    reference: Callable[..., Any] | None = None

    @cached_property
    def variants(self) -> dict[str, TranslationUnit]:
        """Translation units by name, all of them built."""
        return {name: build() for name, build in self.builders.items()}

    def only(self, names: Collection[str] | None) -> KernelFile:
        """Return the file with these variants alone, with all for None; raise UnknownVariantError if it lacks one."""
        names = self.builders if names is None else names
        for name in names:
            if name not in self.builders:
                raise errors.UnknownVariantError(name, tuple(self.builders))
        chosen = {name: build for name, build in self.builders.items() if name in names}
        space = self.space if len(chosen) == len(self.builders) else None
        return KernelFile(chosen, self.arguments, space, self.reference)


def built(name: str, variant: Any) -> TranslationUnit | KernelCounts:
    """Return the translation unit of a variant, built where it is a function as in :class:`KernelFile`, or its counts.

    A function that returns something else is a TrialError; what it raises is raised.
    """
    if isinstance(variant, KernelCounts):
        return variant
    from loopy import TranslationUnit

    if isinstance(variant, TranslationUnit) or not callable(variant):
        return variant
    unit = variant()
    if not isinstance(unit, TranslationUnit):
        kind = type(unit).__name__
        raise errors.TrialError(name, "compile", f"its function returns {kind}, and not a loopy.TranslationUnit")
    return unit


def load_file(path: Path | str) -> dict[str, TranslationUnit]:
    """Load the translation units of a user's kernel file, by variant name.

    The file defines ``kernel()``, which returns a :class:`loopy.TranslationUnit`, or ``variants()``, which returns a
    dict of name to TranslationUnit. Or ``kernel(tile, ...)`` takes parameters, and ``space()`` returns a dict of the
    values of each; ``allowed(tile, ...)``, if there is one, leaves out the configurations for which it returns false.

    Raises
    ------
    KernelFileMissingError
        There is no such file.
    KernelFileSyntaxError
        The file is not Python; carries the line.
    KernelFileExecutionError
        The file, ``kernel()`` or ``variants()`` raised, or asked to end the process; names the line.
    KernelFileContentError
        The file defines neither function.
    KernelFileTypeError
        A function returned something else.
    SpaceError
        ``space()`` makes no sense, or ``kernel()`` takes parameters without it.
    """
    return dict(load_kernel_file(path).variants)


def load_kernel_file(path: Path | str) -> KernelFile:
    """Load a user's kernel file: its variants or its space, and its function ``arguments()`` if it has one.

    The variants of a space are built when they are used.

    ``arguments(**sizes)`` gets the sizes by their names, or those that it names, with a parameter ``variant`` also the
    name of a variant, and returns a dict of argument name to numpy array or number. ``reference(**arguments)`` gets the
    kernel's arguments by their names, or those that it names, as they are before a run: arrays, scalars and sizes. It
    returns a dict of output name to array, or a translation unit that computes them. Both raise as :func:`load_file`
    does, when they are called.

    For the errors see :func:`load_file`.
    """
    path = Path(path)
    if not path.is_file():
        wanted = "a Python file with kernel() or variants()"
        raise errors.KernelFileMissingError(path, f"{wanted}{', not of a folder' if path.is_dir() else ''}")
    names = execute(path)
    for name in ("variants", "kernel", "space", "allowed", "arguments", "reference"):
        if inspect.iscoroutinefunction(names.get(name)):
            raise KernelFileTypeError(path, f"{name}()", "a coroutine ('async def')", "a plain 'def'")
    for name in ("variants", "kernel"):
        function = names.get(name)
        if callable(function):
            break
    else:
        raise errors.KernelFileContentError(path, ("kernel()", "variants()"))
    given = names.get("arguments")
    arguments = _asking(path, given) if callable(given) else None
    right = names.get("reference")
    reference = partial(_called, path, right) if callable(right) else None
    if name == "kernel" and callable(names.get("space")):
        space = _space(path, names)
        return KernelFile(space.variants, arguments, space, reference)
    if name == "kernel" and (parameters := _needed(function)):
        told = f"kernel() of '{path}' takes {', '.join(parameters)}, and the file has no space()"
        raise SpaceError(told, "add space(), which returns a dict of the values of each parameter")
    with surroundings(path):
        value = function()
    units = _translation_units(path, name, value)
    return KernelFile({one: partial(_itself, unit) for one, unit in units.items()}, arguments, None, reference)


def _itself(unit: TranslationUnit) -> TranslationUnit:
    return unit


def _needed(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the parameters of a function that have no default."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    needed = (parameter for parameter in parameters if parameter.default is parameter.empty)
    return tuple(parameter.name for parameter in needed if parameter.kind not in kinds)


def _space(path: Path, names: Mapping[str, Any]) -> Space:
    """Return the space of a file with ``kernel(tile, ...)``, ``space()`` and perhaps ``allowed(tile, ...)``."""
    from loopy import TranslationUnit

    kernel = names["kernel"]  # alone: the rest of the file need not be pickled with a variant

    def build(**configuration: Any) -> TranslationUnit:
        with surroundings(path):
            value = kernel(**configuration)
        if not isinstance(value, TranslationUnit):
            raise KernelFileTypeError(path, "kernel()", type(value).__name__, "a loopy.TranslationUnit")
        return value

    with surroundings(path):
        values = names["space"]()
    wanted = "a dict of each parameter's name to a tuple of its values"
    if not isinstance(values, dict):
        raise KernelFileTypeError(path, "space()", type(values).__name__, wanted)
    plain = dict(dict.items(values))
    for name, one in plain.items():
        if not isinstance(name, str) or not isinstance(one, list | tuple | range):
            raise KernelFileTypeError(path, "space()", f"a dict with {name!r}: {type(one).__name__}", wanted)
    allowed = names.get("allowed")
    return Space(build, plain, [_surrounded(path, allowed)] if callable(allowed) else [])


def _surrounded(path: Path, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a user's file that runs as the file does; its parameters stay visible."""

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        with surroundings(path):
            return function(*given, **named)

    return call


def _asking(path: Path, function: Callable[..., Any]) -> Callable[..., Mapping[str, Any]]:
    """Return a user's function ``arguments()`` that takes all sizes and is checked to return a dict of names."""

    @wraps(function)
    def arguments(**sizes: Any) -> Mapping[str, Any]:
        value = _called(path, function, **sizes)
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            allowed = "a dict of argument name to numpy array or number"
            raise KernelFileTypeError(path, "arguments()", type(value).__name__, allowed)
        return value

    return arguments


def _called(path: Path, function: Callable[..., Any], /, **given: Any) -> Any:
    """Call a function of a user's file with those of some arguments that it names, or with all if it takes all."""
    with surroundings(path):
        wanted = inspect.signature(function).parameters
        every = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in wanted.values())
        return function(**{name: value for name, value in given.items() if every or name in wanted})


def _translation_units(path: Path, name: str, value: object) -> dict[str, TranslationUnit]:
    from loopy import TranslationUnit

    if name == "kernel":
        if not isinstance(value, TranslationUnit):
            raise KernelFileTypeError(path, "kernel()", type(value).__name__, "a loopy.TranslationUnit")
        return {"kernel": value}
    allowed = "a non-empty dict of name to loopy.TranslationUnit"
    if not isinstance(value, dict) or not dict.__len__(value):
        given = "an empty dict" if isinstance(value, dict) else type(value).__name__
        raise KernelFileTypeError(path, "variants()", given, allowed)
    plain = dict(dict.items(value))  # of a subclass, whose methods are the user's own
    for key, unit in plain.items():
        if not isinstance(key, str) or not isinstance(unit, TranslationUnit):
            given = f"{key!r}: {type(unit).__name__}"
            raise KernelFileTypeError(path, "variants()", given, allowed)
    return {str.__str__(key): unit for key, unit in plain.items()}


# {{{ running a file

#: Modules that lie beside kernel files: their folders by their names.
_beside: dict[str, Path] = {}


@dataclass(frozen=True)
class Source:
    """A kernel file's path and its text when it ran."""

    path: Path
    content: bytes


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
        raise errors.KernelFileMissingError(path, "a readable Python file") from error
    return _run(Source(path.absolute(), content), path)


def _run(source: Source, path: Path) -> dict[str, Any]:
    try:
        code = compile(source.content, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        raise errors.KernelFileSyntaxError(path, error.lineno, error.msg) from error
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

    KernelFileExecutionError says that the block raised, or asked to end the process, and VersionError that a
    library outside of its range did. An interrupt is raised as it is.
    """
    folder, arguments, leave = path.absolute().parent, sys.argv, os._exit
    process = os.getpid()

    def refuse(status: int) -> NoReturn:
        if os.getpid() != process:  # a process that the file started
            leave(status)
        raise ProcessEndError(f"os._exit({status})")

    _forget_namesakes(folder)
    known = _loaded()
    sys.path.insert(0, str(folder))
    sys.argv, os._exit = [str(path)], refuse
    try:
        with redirect_stdout(sys.stderr):
            yield
    except KeyboardInterrupt:
        raise
    except BaseException as cause:  # those that only end a program too: SystemExit, and a file's own
        from perfmodel.libraries import failure_below  # here: nothing else needs the versions

        if isinstance(cause, Exception) and (failure := failure_below(cause, path)):
            raise failure from cause
        raise KernelFileExecutionError(path, cause) from cause
    finally:
        sys.argv, os._exit = arguments, leave
        with suppress(ValueError):
            sys.path.remove(str(folder))
        if (loaded := _loaded()) is not known:
            _beside.update((name, folder) for name in loaded - known if _lies_in(folder, sys.modules.get(name)))


def _loaded() -> frozenset[str]:
    """Names of all modules that are loaded: the same set as long as none is."""
    return _loaded_up_to(len(sys.modules), next(reversed(sys.modules)))


@lru_cache(maxsize=1)  # a restriction runs for each configuration of a space, and thousands of modules may be loaded
def _loaded_up_to(number: int, last: str) -> frozenset[str]:
    return frozenset(sys.modules)


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

# }}}


# {{{ to other processes

#: Every process has these under the same versions: what they define is pickled by name.
_EVERYWHERE = frozenset({"builtins", "perfmodel", *sys.stdlib_module_names})

#: What stands before the length of a text of less than 256 bytes in a pickle.
SHORT_TEXT = 0x8C


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


def pickled_by_value(value: Any) -> bytes:
    """Pickle a function or a value of functions with all that their kernel files define.

    The modules that lie beside such a file travel with it.  What perfmodel and installed libraries define does not.
    """
    import cloudpickle

    with ExitStack() as undo:
        for module in _own_modules(value):
            if module.__name__ not in cloudpickle.list_registry_pickle_by_value():
                cloudpickle.register_pickle_by_value(module)
                undo.callback(cloudpickle.unregister_pickle_by_value, module)
        return bytes(cloudpickle.dumps(value))


def _own_modules(value: Any) -> list[ModuleType]:
    """Modules of the functions in a value, and those beside them, but for installed ones."""
    names = {name for function in _functions(value) if (name := getattr(function, "__module__", None))}
    names |= {beside for name in names for beside in _modules_beside(name)}
    modules = [sys.modules[name] for name in sorted(names) if name in sys.modules]
    return [module for module in modules if not _is_everywhere(module)]


def _modules_beside(name: str) -> tuple[str, ...]:
    """Return the names of modules that lie beside the file of a module, and that a kernel file there imported."""
    file = getattr(sys.modules.get(name), "__file__", None)
    folder = Path(file).absolute().parent if isinstance(file, str) else None
    return tuple(sorted(beside for beside, home in _beside.items() if home == folder))


def _is_everywhere(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None) or ""
    return module.__name__.partition(".")[0] in _EVERYWHERE or "site-packages" in file or not file


def _functions(value: Any) -> Iterator[Callable[..., Any]]:
    """Functions in a value: itself, its fields, and the items of its mappings and tuples."""
    if callable(value):
        yield value
        for inner in (getattr(value, "__wrapped__", None), getattr(value, "func", None)):
            if inner is not None:
                yield from _functions(inner)
    elif is_dataclass(value):
        for item in fields(value):
            yield from _functions(getattr(value, item.name))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _functions(item)
    elif hasattr(value, "items"):
        for item in value.values():
            yield from _functions(item)

# }}}
