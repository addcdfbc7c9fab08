"""Kernel files: what they define, how they run, and how their functions are sent to other processes.

A kernel class is a value ``KERNEL`` in a file of its own. A user's file has a function ``kernel()`` or ``variants()``,
and may have ``arguments()`` and ``reference()``. A file runs as ``python file.py`` would run it. An exception in the
file becomes a :class:`~perfmodel.errors.KernelFileError`.
"""

import hashlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, partial, wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from loopy import TranslationUnit

from perfmodel.counts import KernelCounts
from perfmodel.errors import KernelFileError, TuningError, UnknownNameError, clipped, failed, listed
from perfmodel.kernels.kernel_class import KernelClass
from perfmodel.kernels.space import Space
from perfmodel.values import FrozenValue

LONGEST = 300  # characters of an exception's text that a message shows
DEFINE = "define one: kernel() returns a loopy.TranslationUnit, variants() a dict of name to TranslationUnit"


def discover(folder: Path | str) -> tuple[KernelClass, ...]:
    """Return the ``KERNEL`` values of the Python files in `folder`, sorted by name.

    Raise a KernelFileError if `folder` has no Python file, a file has no ``KERNEL`` that is a :class:`KernelClass`, or
    two classes have the same name.
    """
    paths = sorted(path for path in Path(folder).glob("*.py") if not path.name.startswith("_"))
    if not paths:
        raise KernelFileError(f"no kernel file at '{folder}'", "give a folder with kernel classes (*.py)")
    kernels: dict[str, KernelClass] = {}
    for path in paths:
        kernel = execute(path).get("KERNEL")
        if kernel is None:
            raise KernelFileError(f"'{path}' does not define KERNEL", "define it: a perfmodel.kernels.KernelClass")
        if not isinstance(kernel, KernelClass):
            raise _wrong_type(path, "KERNEL", kernel, "a KernelClass")
        if kernel.name in kernels:
            raise KernelFileError(f"two kernel classes in '{folder}' are named '{kernel.name}'", "rename one")
        kernels[kernel.name] = kernel
    return tuple(kernel for _, kernel in sorted(kernels.items()))


@dataclass(frozen=True, eq=False)
class KernelFile(FrozenValue):
    """The definitions of a user's kernel file."""

    builders: Mapping[str, Callable[[], TranslationUnit]]  #: by variant name, functions that build the unit
    arguments: Callable[..., Mapping[str, Any]] | None = None  #: the file's function of this name
    space: Space | None = None  #: the space of all variants; None if some are left out
    reference: Callable[..., Any] | None = None  #: the file's function of this name

    @cached_property
    def variants(self) -> dict[str, TranslationUnit]:
        """Translation units by name, all of them built."""
        return {name: build() for name, build in self.builders.items()}

    def only(self, names: Collection[str] | None) -> "KernelFile":
        """Return the file with only these variants, or all for None. Raise UnknownNameError if one is missing."""
        names = self.builders if names is None else names
        for name in names:
            if name not in self.builders:
                advice = f"choose among {listed(self.builders)}"
                raise UnknownNameError(f"the kernel file has no variant '{name}'", advice)
        chosen = {name: build for name, build in self.builders.items() if name in names}
        space = self.space if len(chosen) == len(self.builders) else None
        return KernelFile(chosen, self.arguments, space, self.reference)


def built(name: str, variant: Any) -> TranslationUnit | KernelCounts:
    """Return the translation unit of a variant, or its counts; a TrialError if its function returns neither."""
    if isinstance(variant, TranslationUnit | KernelCounts) or not callable(variant):
        return variant
    unit = variant()
    if not isinstance(unit, TranslationUnit | KernelCounts):
        raise failed(name, "compile", f"its function returns {type(unit).__name__}, not a loopy.TranslationUnit")
    return unit


def load_kernel_file(path: Path | str, sizes: Mapping[str, int] = {}) -> KernelFile:
    """Return a user's kernel file: its variants or its space, ``arguments()`` and ``reference()``.

    The file defines ``kernel()``, which returns a :class:`loopy.TranslationUnit`, or ``variants()``, which returns a
    dict of name to TranslationUnit. Instead, ``kernel(tile, ...)`` may take parameters. Then ``space()`` returns a dict
    of the values of each parameter. A configuration is left out if a function ``allowed(tile, ...)`` returns false. A
    saved recipe has an attribute ``kernel.sizes`` or ``variants.sizes``: names of `sizes` which the function gets. The
    variants of a space are built when they are used. ``arguments(**sizes)`` takes all or some sizes by name, and the
    name of a variant if it has a parameter ``variant``. It returns a dict of argument name to numpy array or number.
    ``reference(**arguments)`` takes all or some arguments of the kernel by name, as they are before a run: arrays,
    scalars and sizes. It returns a dict of output name to array, or a translation unit that computes the outputs.

    Raise a KernelFileError, with the line, if the file does not exist, is not Python, raises, or defines neither
    function, or if a function returns something else, also when it is called later. Raise a TuningError if ``space()``
    is not well defined, or if ``kernel()`` takes parameters without ``space()``.
    """
    path = Path(path)
    if not path.is_file():
        folder = ", not of a folder" if path.is_dir() else ""
        advice = f"give the path of a Python file with kernel() or variants(){folder}"
        raise KernelFileError(f"no kernel file at '{path}'", advice)
    names = execute(path)
    for name in ("variants", "kernel", "space", "allowed", "arguments", "reference"):
        if inspect.iscoroutinefunction(names.get(name)):
            raise _wrong_type(path, f"{name}()", "a coroutine ('async def')", "a plain 'def'")
    name = next((name for name in ("variants", "kernel") if callable(names.get(name))), "")
    if not name:
        if "KERNEL" in names:
            problem = f"'{path}' defines KERNEL, a kernel class, which only 'perfmodel measure --kernels' reads"
            raise KernelFileError(problem, "write a file with variants(), as docs/measurement-kernels.md shows")
        raise KernelFileError(f"'{path}' defines neither kernel() nor variants()", DEFINE)
    function, given, correct = names[name], names.get("arguments"), names.get("reference")
    arguments = _checked_arguments(path, given) if callable(given) else None
    reference = partial(_called, path, correct) if callable(correct) else None
    if name == "kernel" and callable(names.get("space")):
        space = _space(path, names)
        return KernelFile(space.variants, arguments, space, reference)
    if name == "kernel" and (parameters := _required(function)):
        problem = f"kernel() of '{path}' takes {', '.join(parameters)}, and the file has no space()"
        raise TuningError(problem, "add space(), which returns a dict of the values of each parameter")
    taken = getattr(function, "sizes", ())
    value = _called(path, function, **{name: size for name, size in sizes.items() if name in taken})
    units = _translation_units(path, name, value)
    return KernelFile({one: partial(_itself, unit) for one, unit in units.items()}, arguments, None, reference)


def _itself(unit: TranslationUnit) -> TranslationUnit:
    return unit


def _wrong_type(path: Path, name: str, found: object, allowed: str) -> KernelFileError:
    kind = found if isinstance(found, str) else type(found).__name__
    return KernelFileError(f"'{path}': {name} is or returns {kind}", f"it must be {allowed}")


def _required(function: Callable[..., Any]) -> tuple[str, ...]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return tuple(one.name for one in parameters if one.default is one.empty and one.kind not in kinds)


def _space(path: Path, names: Mapping[str, Any]) -> Space:
    kernel = names["kernel"]  # alone, because all that a variant's function refers to is pickled with it

    def build(**configuration: Any) -> TranslationUnit:
        with surroundings(path):
            value = kernel(**configuration)
        return _translation_units(path, "kernel", value)["kernel"]

    with surroundings(path):
        values = names["space"]()
    wanted = "a dict of each parameter's name to a tuple of its values"
    if not isinstance(values, dict):
        raise _wrong_type(path, "space()", values, wanted)
    for name, one in values.items():
        if not isinstance(name, str) or not isinstance(one, list | tuple | range):
            raise _wrong_type(path, "space()", f"a dict with {name!r}: {type(one).__name__}", wanted)
    allowed = names.get("allowed")
    return Space(build, values, [surrounded(path, allowed)] if callable(allowed) else [])


def surrounded(path: Path, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a kernel file that runs in its :func:`surroundings`."""

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        with surroundings(path):
            return function(*given, **named)

    return call


def _checked_arguments(path: Path, function: Callable[..., Any]) -> Callable[..., Mapping[str, Any]]:

    @wraps(function)
    def arguments(**sizes: Any) -> Mapping[str, Any]:
        value = _called(path, function, **sizes)
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise _wrong_type(path, "arguments()", value, "a dict of argument name to numpy array or number")
        return value

    return arguments


def _called(path: Path, function: Callable[..., Any], /, **given: Any) -> Any:
    with surroundings(path):
        wanted = inspect.signature(function).parameters
        every = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in wanted.values())
        return function(**{name: value for name, value in given.items() if every or name in wanted})


def _translation_units(path: Path, name: str, value: object) -> dict[str, TranslationUnit]:
    if name == "kernel":
        if not isinstance(value, TranslationUnit):
            raise _wrong_type(path, "kernel()", value, "a loopy.TranslationUnit")
        return {"kernel": value}
    allowed = "a non-empty dict of name to loopy.TranslationUnit"
    if not isinstance(value, dict) or not value:
        raise _wrong_type(path, "variants()", "an empty dict" if isinstance(value, dict) else value, allowed)
    for key, unit in value.items():
        if not isinstance(key, str) or not isinstance(unit, TranslationUnit):
            raise _wrong_type(path, "variants()", f"{key!r}: {type(unit).__name__}", allowed)
    return dict(value)


_neighbours: dict[str, Path] = {}  # folders of the modules next to kernel files, by their names


@dataclass(frozen=True)
class Source:
    """A kernel file's path and its text when it ran."""

    path: Path
    content: bytes


_executed: dict[str, Source] = {}  # the kernel files that ran in this process, by the names of their modules


def execute(path: Path) -> dict[str, Any]:
    """Run a file as a module and return its names. Raise a KernelFileError if the file cannot be read, or raises.

    Its ``__name__`` is not ``"__main__"``, and its definitions can be pickled.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise KernelFileError(f"no kernel file at '{path}'", "give the path of a readable Python file") from error
    return _run(Source(path.absolute(), content), path)


def _run(source: Source, path: Path) -> dict[str, Any]:
    try:
        code = compile(source.content, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        raise _not_python(path, error) from error
    except Exception as cause:  # a null character, or an expression that is too deep for the compiler
        raise execution_error(path, cause) from cause
    module = ModuleType(_module_name(path))
    module.__file__ = str(path.absolute())
    module.__package__ = _package_of(path.absolute().parent)
    sys.modules[module.__name__] = module
    with surroundings(path):
        exec(code, vars(module))
    _executed[module.__name__] = source
    return vars(module)


def _not_python(path: Path, error: SyntaxError) -> KernelFileError:
    if error.lineno is None or path.suffix not in (".py", ""):
        line = "" if error.lineno is None else f" in line {error.lineno}"
        advice = "give a Python file with kernel() or variants(), which return kernels of Loopy"
        return KernelFileError(f"'{path}' is not a Python file ({error.msg}{line})", advice)
    return KernelFileError(f"'{path}' line {error.lineno}: not valid Python ({error.msg})", "correct that line")


def execution_error(path: str | Path, cause: BaseException) -> KernelFileError:
    """Return the error for a kernel file that raised `cause`. ``location`` is the last line that ran in its folder."""
    folder, last = Path(path).absolute().parent, None
    for frame, number in traceback.walk_tb(cause.__traceback__):
        file = frame.f_code.co_filename
        if Path(file).absolute().parent == folder and not file.startswith("<"):  # "<...>" is code without a file
            last = traceback.FrameSummary(file, number, frame.f_code.co_name)
    location = f"'{last.filename}' line {last.lineno}" if last else f"'{path}'"
    raised = f"{type(cause).__name__} ({_text(cause)})"
    code = f" in '{last.line}'" if last and last.line else ""
    if last and not last.name.startswith("<"):
        advice = f"correct {last.name}()"
    elif isinstance(cause, ModuleNotFoundError):
        advice = "install what it imports into the environment of perfmodel, or leave the import out"
    else:
        advice = f"the file must run by itself: try 'python {path}'"
    return KernelFileError(f"{location}: raised {raised}{code}", advice, location=location, raised=raised)


def _text(cause: BaseException) -> str:
    text = ""
    with suppress(Exception):  # its __str__ is user code too
        text = " ".join(str(cause).split())
    return clipped(text, LONGEST) or "no message"


@contextmanager
def surroundings(path: Path) -> Iterator[None]:
    """Run a block of a kernel file. The file can import modules next to it, and its prints go to standard error.

    An exception in the block becomes a KernelFileError. If a library outside of its range raised the exception, it
    becomes a VersionError.
    """
    folder, arguments = path.absolute().parent, sys.argv
    _forget_namesakes(folder)
    before = len(sys.modules)
    sys.path.insert(0, str(folder))
    sys.argv = [str(path)]
    try:
        with redirect_stdout(sys.stderr):
            yield
    except KeyboardInterrupt:
        raise
    except BaseException as cause:  # SystemExit too
        from perfmodel.libraries import failure_below  # here: nothing else needs the versions

        if isinstance(cause, Exception) and (failure := failure_below(cause, path)):
            raise failure from cause
        raise execution_error(path, cause) from cause
    finally:
        sys.argv = arguments
        with suppress(ValueError):
            sys.path.remove(str(folder))
        if len(sys.modules) > before:  # a restriction runs for each configuration of a space, and rarely loads modules
            new = [*sys.modules][before:]
            _neighbours.update((name, folder) for name in new if is_below(sys.modules.get(name), folder))


def _module_name(path: Path) -> str:
    """Return a module name that is unique and the same in each process. Loopy's caches on disk keep this name."""
    digest = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:8]
    return f"{re.sub(r'[^0-9A-Za-z_]', '_', path.stem)}_{digest}"


def _package_of(folder: Path) -> str:
    """Return the name of a package that has the modules of a folder, for relative imports in its files."""
    name = _module_name(folder)
    package = sys.modules.setdefault(name, ModuleType(name))
    package.__path__ = [str(folder)]
    return name


def _forget_namesakes(folder: Path) -> None:
    for name, home in list(_neighbours.items()):
        top = name.partition(".")[0]
        if home != folder and ((folder / f"{top}.py").is_file() or (folder / top).is_dir()):
            sys.modules.pop(name, None)
            del _neighbours[name]


def is_below(module: ModuleType | None, folder: Path) -> bool:
    """Whether a module's file is in a folder, or in a folder inside of it."""
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and folder in Path(file).parents


#: Every process has these modules in the same versions, so their definitions are pickled by name.
_EVERYWHERE = frozenset({"builtins", "perfmodel", *sys.stdlib_module_names})
SHORT_TEXT = 0x8C  # in a pickle the byte before the length of a string of less than 256 bytes


def sources_in(pickled: bytes) -> tuple[Source, ...]:
    """Return the kernel files of this process that a pickle names, or that are next to a module that it names."""
    folders = {folder for name, folder in _neighbours.items() if _pickled(name) in pickled}
    executed = _executed.items()
    return tuple(source for name, source in executed if _pickled(name) in pickled or source.path.parent in folders)


def _pickled(name: str) -> bytes:
    text = name.encode()
    return bytes((SHORT_TEXT, len(text))) + text if len(text) < 256 else text


def restore(source: Source) -> None:
    """Run another process's kernel file here, unless it ran already, so that its definitions can be unpickled."""
    if _executed.get(_module_name(source.path)) != source:
        _run(source, source.path)


def pickled_by_value(value: Any) -> bytes:
    """Pickle a function, or a value of functions, with the definitions of its kernel file and of modules next to it."""
    import cloudpickle

    with ExitStack() as undo:
        for module in _own_modules(value):
            if module.__name__ not in cloudpickle.list_registry_pickle_by_value():
                cloudpickle.register_pickle_by_value(module)
                undo.callback(cloudpickle.unregister_pickle_by_value, module)
        return bytes(cloudpickle.dumps(value))


def _own_modules(value: Any) -> list[ModuleType]:
    names = {name for function in _functions(value) if (name := getattr(function, "__module__", None))}
    names |= {other for name in names for other in _modules_next_to(name)}
    modules = [sys.modules[name] for name in sorted(names) if name in sys.modules]
    return [module for module in modules if not _is_everywhere(module)]


def _modules_next_to(name: str) -> tuple[str, ...]:
    file = getattr(sys.modules.get(name), "__file__", None)
    folder = Path(file).absolute().parent if isinstance(file, str) else None
    return tuple(sorted(name for name, home in _neighbours.items() if home == folder))


def _is_everywhere(module: ModuleType) -> bool:
    if module.__name__ in _executed or module.__name__ in _neighbours:  # a wheel has kernel files in site-packages
        return False
    file = getattr(module, "__file__", None) or ""
    return module.__name__.partition(".")[0] in _EVERYWHERE or "site-packages" in file or not file


def _functions(value: Any) -> Iterator[Callable[..., Any]]:
    if callable(value):
        yield value
        for inner in (getattr(value, "__wrapped__", None), getattr(value, "func", None)):
            if inner is not None:
                yield from _functions(inner)
    elif is_dataclass(value):
        for item in fields(value):
            yield from _functions(getattr(value, item.name))
    elif isinstance(value, tuple | list) or hasattr(value, "items"):
        for item in value if isinstance(value, tuple | list) else value.values():
            yield from _functions(item)
