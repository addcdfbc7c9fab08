"""An archive of recipes: one SQLite file for each device, and the choice among its entries, which runs nothing.

An entry is a recipe of a kernel at sizes, with its time. The kernel's key is a hash of the untransformed translation
unit, with all types, that is equal in all processes. Changes are immediate transactions of SQLite: processes that write
at once wait for each other, and a killed process leaves the archive as it was before its last change.
"""

import hashlib
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, fields
from datetime import datetime, timezone
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias
from warnings import warn

import numpy as np
from loopy import TranslationUnit

from perfmodel.calibration.recommended import data_folder, device_in_use
from perfmodel.counts.cache import content_key
from perfmodel.display import seconds_text, values_text
from perfmodel.documents import is_number, json_document, json_text, require
from perfmodel.errors import DocumentError, OutputError, PerfModelError, PerfModelWarning, SizeError, StoreError, listed
from perfmodel.facts import DeviceFacts
from perfmodel.facts.device_facts import DISTINGUISHING
from perfmodel.io import file_part
from perfmodel.libraries import installed
from perfmodel.opencl.device import identity_of
from perfmodel.recipes.recipe import Recipe
from perfmodel.values import FrozenValue, grouped

Arguments = ParamSpec("Arguments")
Sizes: TypeAlias = tuple[tuple[str, int], ...]  # sorted by name
Slowdowns: TypeAlias = Mapping[Recipe, float]  # logarithm of each recipe's time over the shortest
Transform: TypeAlias = Callable[[TranslationUnit], TranslationUnit]

FOLDER = "recipes"
VERSION = 1  # of the table
WAIT_S = 30.0  # for other processes that change the archive
APPLIED = 256  # transformed units that a process keeps
UNKNOWN = math.log(2)  # least slowdown of a recipe at a size at which it has no time
ADVICE = "run 'perfmodel tune FILE.py --transform' on this device"

@dataclass(frozen=True)
class Entry(FrozenValue):
    """A recipe of a kernel at sizes, with its time. The recipe without steps is the untransformed kernel."""

    key: str  #: of the untransformed kernel (:func:`kernel_key`)
    device: str  #: its name, platform, and facts that distinguish devices with equal names
    driver: str
    sizes: Sizes  #: sorted by name
    recipe: Recipe
    kernel: str  #: names of the kernel's entry points
    seconds: float  #: of one run [s]
    measured: bool  #: False for a predicted time
    date: str  #: in ISO 8601, UTC
    versions: str  #: of perfmodel and Loopy

    @property
    def row(self) -> tuple[Any, ...]:
        """The values of the table's columns."""
        documents = {"sizes": dict(self.sizes), "recipe": self.recipe.to_json()}
        texts = {name: json_text(document, separators=(",", ":")) for name, document in documents.items()}
        return tuple(texts.get(name, getattr(self, name)) for name in _COLUMNS)

    @classmethod
    @lru_cache(maxsize=4096)  # parsing the JSON of 100 rows takes 2 ms
    def from_row(cls, row: tuple[Any, ...]) -> "Entry":
        """Return the entry of a row. Raise a DocumentError if its JSON is damaged."""
        key, device, driver, sizes, recipe, kernel, seconds, measured, date, versions = row
        named, steps = (json_document(str(text).encode()) for text in (sizes, recipe))
        if not isinstance(named, dict) or not all(isinstance(size, int) for size in named.values()):
            raise DocumentError("has sizes that are not integers by name")
        if not isinstance(steps, dict) or not is_number(seconds) or not 0 < seconds < math.inf:
            raise DocumentError("has no recipe, or no time above 0")
        sizes, made = tuple(sorted(named.items())), Recipe.from_json(steps)
        return cls(key, device, driver, sizes, made, kernel, float(seconds), bool(measured), date, versions)


_COLUMNS = tuple(column.name for column in fields(Entry))
_IDENTITY = _COLUMNS[: _COLUMNS.index("kernel")]
_CREATE = f"""CREATE TABLE IF NOT EXISTS recipes (
    key TEXT NOT NULL, device TEXT NOT NULL, driver TEXT NOT NULL, sizes TEXT NOT NULL, recipe TEXT NOT NULL,
    kernel TEXT NOT NULL, seconds REAL NOT NULL, measured INTEGER NOT NULL, date TEXT NOT NULL, versions TEXT NOT NULL,
    PRIMARY KEY ({", ".join(_IDENTITY)}))"""
# A newer time replaces an older one, but a predicted time does not replace a measured one.
_ADD = f"""INSERT INTO recipes ({", ".join(_COLUMNS)}) VALUES ({", ".join("?" * len(_COLUMNS))})
    ON CONFLICT DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[len(_IDENTITY) :])}
    WHERE excluded.measured >= measured"""


@dataclass(frozen=True)
class Best(FrozenValue):
    """What the archive has for a kernel: the transformed unit, or the kernel as it was, and why in words."""

    unit: TranslationUnit
    recipe: Recipe = field(default_factory=Recipe)
    note: str = ""
    entry: Entry | None = None  #: None if the kernel comes back as it was because no entry can be used

    def __repr__(self) -> str:
        return f"<Best: {self.recipe}; {self.note}>"


@dataclass(frozen=True)
class Archive(FrozenValue):
    """The archive of one device, in the file `path`. The file is made when an entry is added."""

    path: Path
    device: str
    driver: str

    @classmethod
    def of(cls, device: str | DeviceFacts | Any = None) -> "Archive":
        """Return the archive of a device, in the folder ``recipes`` of the user's data.

        `device` is a selector as of :func:`perfmodel.load`, the facts of a device, or a ``pyopencl.Device``. The
        default is the device that perfmodel uses.
        """
        if not isinstance(device, DeviceFacts):
            device = _identity(device) if device is None or isinstance(device, str) else identity_of(device)
        facts = ", ".join(f"{key} {device.value(key)}" for key in DISTINGUISHING if key in device)
        path = data_folder() / FOLDER / f"{file_part(device.slug)}.sqlite"
        return cls(path, f"{device.name} ({device.platform}): {facts}", device.driver)

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries in one change: all or, after an error, none.

        A newer time replaces an older one of the same recipe, sizes, device and driver, but a predicted time does not
        replace a measured one. Raise an OutputError if the file cannot be written, a StoreError if it is damaged.
        """
        rows = [entry.row for entry in entries]
        with self._opened("rwc") as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(_CREATE)
            database.execute(f"PRAGMA user_version = {VERSION}")
            database.executemany(_ADD, rows)
            database.execute("COMMIT")

    def entries(self, key: str | None = None) -> tuple[Entry, ...]:
        """Return all entries, or those of one kernel, also of other drivers, in the order of their dates.

        Damaged entries are left out, with a PerfModelWarning. Raise a StoreError if the file is damaged or belongs
        to a newer perfmodel.
        """
        if not self._exists():
            return ()
        asked = f"SELECT {', '.join(_COLUMNS)} FROM recipes WHERE ?1 IS NULL OR key = ?1 ORDER BY date, rowid"
        with self._opened("rw") as database:
            # the version is 0 if the process that made the file was killed
            rows = database.execute(asked, (key,)).fetchall() if _version(database) else []
        found, damaged = [], 0
        for row in rows:
            try:
                found.append(Entry.from_row(row))
            except DocumentError:
                damaged += 1
        if damaged:
            warn(f"'{self.path}' has {damaged} damaged entries, which are left out", PerfModelWarning, stacklevel=2)
        return tuple(found)

    def remove(self, key: str) -> int:
        """Remove all entries of the kernels whose key begins with `key`. Return how many were removed."""
        require(isinstance(key, str) and key.isalnum(), "remove: key", key, "the first characters of a kernel's key")
        if not self._exists():
            return 0
        with self._opened("rw") as database:
            if not _version(database):
                return 0
            return database.execute("DELETE FROM recipes WHERE substr(key, 1, ?) = ?", (len(key), key)).rowcount

    def _exists(self) -> bool:
        with suppress(OSError):  # a folder that this program may not read
            return self.path.exists()
        return False

    @contextmanager
    def _opened(self, mode: str) -> Iterator[sqlite3.Connection]:
        """Open the file; a transaction that is not committed when it is closed has no effect."""
        try:
            if mode == "rwc":
                self.path.parent.mkdir(parents=True, exist_ok=True)
            address = f"{self.path.absolute().as_uri()}?mode={mode}"
            with closing(sqlite3.connect(address, timeout=WAIT_S, isolation_level=None, uri=True)) as database:
                if _version(database) > VERSION:
                    advice = "use that perfmodel, or remove the file"
                    raise StoreError(f"the archive '{self.path}' was written by a newer perfmodel", advice)
                yield database
        except sqlite3.OperationalError as error:  # the system's: no space, no permission, locked for too long
            advice = "make room there, or allow this program to write it"
            raise OutputError(f"cannot use the archive '{self.path}': {error}", advice, path=str(self.path)) from error
        except sqlite3.DatabaseError as error:
            problem = f"the archive '{self.path}' is damaged ({error})"
            raise StoreError(problem, "remove the file; tuning makes a new one") from error
        except OSError as error:
            if isinstance(error, PerfModelError):
                raise
            advice = "allow this program to write it, or let XDG_DATA_HOME name another folder"
            problem = f"cannot write '{self.path.parent}': {error.strerror or error}"
            raise OutputError(problem, advice, path=str(self.path)) from error


def archives() -> tuple[Archive, ...]:
    """Return the archives of all devices in the user's data, sorted by file. Their device and driver are empty."""
    return tuple(Archive(path, "", "") for path in sorted((data_folder() / FOLDER).glob("*.sqlite")))


def kernel_key(t_unit: TranslationUnit) -> str:
    """Return the key of an untransformed kernel. Equal units have equal keys in all processes.

    Raise an ArgumentError if the value is not a translation unit, or if Loopy cannot hash it.
    """
    require(isinstance(t_unit, TranslationUnit), "the kernel", t_unit, "a translation unit of Loopy")
    content = content_key(t_unit)
    require(content is not None, "the kernel", t_unit, "a unit that Loopy can hash (LoopyKeyBuilder)")
    return hashlib.sha256(str(content).encode()).hexdigest()[:32]


def record(
    t_unit: TranslationUnit, sizes: Mapping[str, int], seconds: Mapping[Recipe, float],
    device: str | DeviceFacts | Any = None, measured: bool = True,
) -> "Archive":  # fmt: skip
    """Add times of recipes of an untransformed kernel to the archive of a device, and return the archive.

    Parameters
    ----------
    t_unit
        The untransformed kernel.
    sizes
        The sizes at which the recipes ran, by the name of the kernel's parameter.
    seconds
        The time of one run [s] by recipe. ``Recipe()`` is the untransformed kernel. The more recipes have times at
        several sizes, the better :func:`best` chooses between these sizes.
    device
        As of :meth:`Archive.of`.
    measured
        False for predicted times.
    """
    key, kernel = kernel_key(t_unit), _name(t_unit)
    archive, at = Archive.of(device), _checked(t_unit, sizes)
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    versions = f"perfmodel {installed('perfmodel')}, loopy {installed('loopy')}"
    for time in seconds.values():
        require(is_number(time) and 0 < time < math.inf, "record: a time", time, "seconds above 0")
    archive.add(
        Entry(key, archive.device, archive.driver, at, recipe, kernel, float(time), measured, date, versions)
        for recipe, time in seconds.items()
    )
    return archive


def best(t_unit: TranslationUnit, /, device: str | DeviceFacts | Any = None, **sizes: int) -> Best:
    r"""Return the kernel, transformed by the best recipe in the device's archive. Nothing runs.

    At sizes that are in the archive, the recipe with the shortest time is taken; a measured time replaces a predicted
    one. Elsewhere the archived size nearest to them is taken, and the one on the other side of the given sizes. Between
    these two, the logarithm of a recipe's time is a linear function of the logarithms of the sizes, so that the recipe
    changes at the crossover. A recipe without a time at a size counts as the slowest there, and as twice as slow as the
    best or slower. Recipes whose assumptions the given sizes do not fulfil are left out. Without sizes, the recipe
    without assumptions and with the lowest geometric mean of slowdowns over all archived sizes is taken.

    If the archive does not have the kernel, it comes back as it was, with the reason in ``note``. If the archive is
    damaged or of another driver, or if the recipe no longer applies, there is a PerfModelWarning too.

    Parameters
    ----------
    t_unit
        The untransformed kernel.
    device
        As of :meth:`Archive.of`.
    **sizes
        The sizes of the run, all or some, by the name of the kernel's parameter.
    """
    key = kernel_key(t_unit)
    at, archive = _checked(t_unit, sizes), Archive.of(device)
    try:
        known = archive.entries(key)
    except (StoreError, OutputError) as error:
        return _as_it_was(t_unit, str(error))
    here = [entry for entry in known if (entry.device, entry.driver) == (archive.device, archive.driver)]
    if not known:
        return Best(t_unit, note=f"the archive has no recipe for the kernel {_name(t_unit)}; {ADVICE}")
    if not here:
        others = listed(sorted({f"{entry.device}, driver {entry.driver}" for entry in known}), "; ")
        problem = f"the recipes for the kernel {_name(t_unit)} are of {others}"
        return _as_it_was(t_unit, f"{problem}; here is {archive.device}, driver {archive.driver}; {ADVICE}")
    valid = [entry for entry in here if entry.recipe.allows(dict(at))]
    if not valid:
        needed = " or ".join(dict.fromkeys(" and ".join(entry.recipe.assumptions) for entry in here))
        return Best(t_unit, note=f"the recipes for the kernel {_name(t_unit)} are valid only where {needed}")
    entry, where = chosen(valid, dict(at))
    try:
        names = tuple(name for kernel in sorted(t_unit.entrypoints) for name in t_unit[kernel].arg_dict)
        unit = _transformed(_Asked(key, names, entry.recipe, t_unit)) if entry.recipe.steps else t_unit
    except PerfModelError as error:
        reason = f"the archived recipe of the kernel {_name(t_unit)} no longer applies: {error} Written with "
        return _as_it_was(t_unit, f"{reason}{entry.versions}; {ADVICE}")
    return Best(unit, entry.recipe, where, entry)


def use_best(function: Callable[Arguments, TranslationUnit] | None = None, /, device: Any = None, **sizes: int) -> Any:
    """Decorate a function that returns an untransformed kernel: the function then returns :func:`best` of the kernel.

    Write ``@pm.use_best`` or ``@pm.use_best(n=2**20)``.
    """

    def decorated(make: Callable[Arguments, TranslationUnit]) -> Callable[Arguments, TranslationUnit]:
        @wraps(make)
        def made(*arguments: Arguments.args, **named: Arguments.kwargs) -> TranslationUnit:
            return best(make(*arguments, **named), device, **sizes).unit

        return made

    return decorated if function is None else decorated(function)


def transform_loopy_program(
    t_unit: TranslationUnit, otherwise: Transform | None = None, device: Any = None
) -> TranslationUnit:
    """Return :func:`best` of a kernel over all archived sizes, for ``transform_loopy_program`` of an array context.

    `otherwise` transforms kernels for which the archive has nothing, such as the method of the context's base class. By
    default they come back as they were. `device` is as of :meth:`Archive.of`, such as ``self.queue.device``.
    """
    found = best(t_unit, device)
    return otherwise(t_unit) if found.entry is None and otherwise is not None else found.unit


def chosen(entries: Sequence[Entry], sizes: Mapping[str, int]) -> tuple[Entry, str]:
    """Return the best of a kernel's entries at sizes, as :func:`best` describes, and words about its time.

    `entries` are of one kernel, device and driver; there is at least one.
    """
    at_sizes = grouped((entry.sizes, entry) for entry in entries)
    slow = {archived: _slowdowns(alike) for archived, alike in at_sizes.items()}
    names = sorted(set(sizes).intersection(*map(dict, slow)))
    points = grouped((tuple(dict(archived)[name] for name in names), slowdowns) for archived, slowdowns in slow.items())
    means = {point: _mean([(1.0, slowdowns) for slowdowns in alike]) for point, alike in points.items()}
    mixed = _between(means, tuple(sizes[name] for name in names))
    recipe = min(mixed, key=lambda one: mixed[one])

    def distance(entry: Entry) -> tuple[bool, float]:
        own = dict(entry.sizes)
        return not entry.measured, sum(abs(_log(own[name]) - _log(sizes[name])) for name in names)

    entry = min((entry for entry in entries if entry.recipe == recipe), key=distance)
    alike = [other for other in at_sizes[entry.sizes] if other.measured == entry.measured]
    plain = [other.seconds for other in alike if not other.recipe.steps]
    faster = f", untransformed {seconds_text(plain[0])}" if plain and recipe.steps else ""
    at = f" at {values_text(dict(entry.sizes))}" if entry.sizes else ""
    how = "measured" if entry.measured else "predicted"
    return entry, f"{how} {seconds_text(entry.seconds)}{faster}{at}, {entry.date[:10]}"


def _slowdowns(entries: Iterable[Entry]) -> Slowdowns:
    """Return the slowdown of each recipe at one size. Measured and predicted times are not compared."""
    entries = list(entries)
    measured = any(entry.measured for entry in entries)
    logs = {entry.recipe: math.log(entry.seconds) for entry in entries if entry.measured == measured}
    return {recipe: log - min(logs.values()) for recipe, log in logs.items()}


def _mean(weighted: Iterable[tuple[float, Slowdowns]]) -> Slowdowns:
    """Return the weighted mean for each recipe, with :data:`UNKNOWN` or more for a recipe that did not run."""
    known = [(weight, slow, max(UNKNOWN, *slow.values())) for weight, slow in weighted]
    recipes = dict.fromkeys(recipe for _, slow, _ in known for recipe in slow)
    total = sum(weight for weight, _, _ in known)
    return {
        recipe: sum(weight * slow.get(recipe, unknown) for weight, slow, unknown in known) / total
        for recipe in recipes
    }


def _between(points: Mapping[tuple[int, ...], Slowdowns], sizes: tuple[int, ...]) -> Slowdowns:
    """Return slowdowns at sizes between the nearest point and the point on the other side."""
    wanted = np.array([_log(size) for size in sizes])
    places = {point: np.array([_log(size) for size in point]) for point in points}

    def distance(point: tuple[int, ...]) -> float:
        return float(np.linalg.norm(places[point] - wanted))

    nearest = min(places, key=distance)
    start, found = places[nearest], (distance(nearest), 0.0, 0.0, nearest)
    for point, place in places.items():
        along = place - start
        if along.any() and distance(nearest) > 0:
            share = float(np.clip((wanted - start) @ along / (along @ along), 0, 1))
            off = float(np.linalg.norm(start + share * along - wanted))
            if share > 0:
                found = min(found, (off, distance(point), share, point))
    _, _, share, other = found
    return _mean([(1 - share, points[nearest]), (share, points[other])])


def _log(size: int) -> float:
    return math.log(max(size, 1))


@dataclass(frozen=True)
class _Asked:
    """A recipe of a kernel. Kernels with another order of arguments have the same key."""

    key: str
    arguments: tuple[str, ...]
    recipe: Recipe
    t_unit: TranslationUnit = field(compare=False)


@lru_cache(maxsize=APPLIED)
def _transformed(asked: _Asked) -> TranslationUnit:
    return asked.recipe.apply(asked.t_unit)


def _as_it_was(t_unit: TranslationUnit, problem: str) -> Best:
    warn(problem, PerfModelWarning, stacklevel=3)
    return Best(t_unit, note=problem)


def _checked(t_unit: TranslationUnit, sizes: Mapping[str, int]) -> Sizes:
    known = {name for kernel in t_unit.entrypoints for name in t_unit[kernel].arg_dict}
    if unknown := sorted(set(sizes) - known):
        raise SizeError(f"the kernel {_name(t_unit)} has no size '{unknown[0]}'", f"its arguments are {listed(known)}")
    for name, size in sizes.items():
        whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
        require(whole and size >= 0, f"the size {name}", size, "an integer from 0")
    return tuple(sorted((name, int(size)) for name, size in sizes.items()))


def _name(t_unit: TranslationUnit) -> str:
    return ", ".join(sorted(map(str, t_unit.entrypoints)))


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


@lru_cache(maxsize=64)
def _identity(selector: str | None) -> DeviceFacts:
    return device_in_use(selector)  # takes 1 ms
