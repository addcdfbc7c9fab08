"""Every exception of perfmodel.

Each class derives from :class:`PerfModelError` and from the builtin that a caller would
expect to catch, and carries as attributes the data that its message speaks of.
"""

from __future__ import annotations


class PerfModelError(Exception):
    """Base of everything that perfmodel raises on purpose."""


class ParameterError(PerfModelError, ValueError):
    """A size parameter is missing, unknown, negative or not an integer.

    Attributes
    ----------
    name : str
        The parameter at fault.
    allowed : tuple of str
        The parameters that the counted kernel has.
    """

    def __init__(self, name: str, found: str, allowed: tuple[str, ...]) -> None:
        self.name = name
        self.allowed = allowed
        listed = ", ".join(allowed) or "none"
        super().__init__(
            f"size parameter '{name}' {found}; the kernel's parameters are: {listed}. "
            f"Give each a non-negative integer, as in {name}=1024."
        )


class AssumptionError(PerfModelError, ValueError):
    """A size breaks an assumption that the kernel was written under.

    Attributes
    ----------
    assumption : str
        The assumptions, in isl's notation.
    indices : tuple of int
        Positions (in the flattened, broadcast array of sizes) that break it; empty for a scalar.
    """

    def __init__(
        self, assumption: str, values: dict[str, int], indices: tuple[int, ...] = ()
    ) -> None:
        self.assumption = assumption
        self.values = values
        self.indices = indices
        sizes = ", ".join(f"{name}={value}" for name, value in values.items())
        where = f" (first of {len(indices)} such sizes, at index {indices[0]})" if indices else ""
        super().__init__(
            f"{sizes}{where} breaks the kernel's assumption {assumption}; "
            "choose a size that meets it, or build the kernel without it."
        )


class GranularityError(PerfModelError, TypeError):
    """Counts of different granularities were added or compared."""

    def __init__(self, left: str, right: str) -> None:
        self.left = left
        self.right = right
        super().__init__(
            f"a count per {left} cannot be combined with a count per {right}: "
            "ask for both with the same granularity= first."
        )


class UnknownFeatureError(PerfModelError, ValueError):
    """No feature is called so.

    Attributes
    ----------
    name : str
        The name that was asked for.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"no feature is called '{name}'; names are like op_float32_add, "
            "global_load_32_stride1, local_load_32, barrier_local, work_groups, launches."
        )


class UnknownFamilyError(PerfModelError, LookupError):
    """No model family is called so.

    Attributes
    ----------
    name : str
        The name that was asked for.
    allowed : tuple of str
        The families that exist.
    """

    def __init__(self, name: str, allowed: tuple[str, ...]) -> None:
        self.name = name
        self.allowed = allowed
        super().__init__(
            f"no model family is called '{name}'; choose one of: {', '.join(allowed)}."
        )


class BadTimesError(PerfModelError, ValueError):
    """Measured times that no relative error can be taken of: zero, negative or not finite.

    Attributes
    ----------
    rows : tuple of int
        Rows at fault, from 0.
    values : tuple of float
        Their times [s].
    labels : tuple of str
        What was measured in them, as far as that is known.
    """

    def __init__(
        self, rows: tuple[int, ...], values: tuple[float, ...], labels: tuple[str, ...] = ()
    ) -> None:
        self.rows = rows
        self.values = values
        self.labels = labels
        where = f" ({labels[0]})" if labels else ""
        super().__init__(
            f"{len(rows)} measured time(s) are not positive and finite, first in row {rows[0]}"
            f"{where}: {values[0]!r} s; leave these rows out or measure them again."
        )


class BadFeatureValuesError(PerfModelError, ValueError):
    """Feature values that are negative or not finite.

    Attributes
    ----------
    rows : tuple of int
        Rows at fault, from 0.
    names : tuple of str
        Features at fault.
    """

    def __init__(self, rows: tuple[int, ...], names: tuple[str, ...]) -> None:
        self.rows = rows
        self.names = names
        super().__init__(
            f"{len(rows)} row(s), first row {rows[0]}, hold a value of {', '.join(names)} that is "
            "negative, NaN or inf; a feature counts things, so give numbers from 0 up."
        )


class TooFewRowsError(PerfModelError, ValueError):
    """Fewer measured rows than weights to find.

    Attributes
    ----------
    rows : int
        Usable measurements.
    features : tuple of str
        Features that they exercise.
    """

    def __init__(self, rows: int, features: tuple[str, ...]) -> None:
        self.rows = rows
        self.features = features
        super().__init__(
            f"{rows} usable measurement(s) cannot determine {len(features)} weights "
            f"({', '.join(features) or 'no feature is exercised'}); "
            "measure more kernels or sizes (perfmodel measure)."
        )


class NotFittedError(PerfModelError, AttributeError):
    """An estimator was asked for a prediction before it was fitted."""

    def __init__(self, estimator: str) -> None:
        self.estimator = estimator
        super().__init__(f"this {estimator} is not fitted yet; call fit(X, y) first.")


class UnmeasuredFeatureError(PerfModelError, ValueError):
    """A prediction is withheld: the kernel needs features that no measurement exercised.

    Attributes
    ----------
    features : tuple of str
        The features without a weight.
    device : str
        The device that the weights belong to.
    """

    def __init__(self, features: tuple[str, ...], device: str) -> None:
        self.features = features
        self.device = device
        super().__init__(
            f"prediction withheld: no measurement on '{device}' ever exercised "
            f"{', '.join(features)}; measure a kernel that does and fit again, or pass "
            "allow_unmeasured=True (--allow-unmeasured) to count it as free."
        )


class WeightsFileError(PerfModelError, ValueError):
    """A weights file cannot be used.

    Attributes
    ----------
    path : str
        The file.
    problem : str
        What is wrong with it.
    """

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(
            f"weights file '{path}' {problem}; give a file that 'perfmodel fit' wrote."
        )


class OutputError(PerfModelError, OSError):
    """A file or folder cannot be written.

    Attributes
    ----------
    path : str
        What should have been written.
    problem : str
        What the system said.
    """

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(
            f"cannot write '{path}': {problem}; give a place that you may write to."
        )


class UnknownFactError(PerfModelError, LookupError):
    """Nothing is known of a device under this key.

    Attributes
    ----------
    key : str
        The fact that was asked for.
    device : str
        The device.
    allowed : tuple of str
        What is known of it.
    """

    def __init__(self, key: str, device: str, allowed: tuple[str, ...]) -> None:
        self.key = key
        self.device = device
        self.allowed = allowed
        super().__init__(
            f"nothing is known of '{key}' for the device '{device}'; "
            f"known are: {', '.join(allowed) or 'no facts at all'}."
        )


class MissingFactError(PerfModelError, LookupError):
    """A model family needs a fact of the device that nobody gave.

    Attributes
    ----------
    key : str
        The fact.
    family : str
        The family.
    device : str
        The device; empty where no facts were given at all.
    weight : str
        The family's weight that the fact gives and that can be fitted instead; empty where there
        is none.
    """

    def __init__(self, key: str, family: str, device: str, weight: str = "") -> None:
        self.key = key
        self.family = family
        self.device = device
        self.weight = weight
        who = f"the family '{family}'" if family else "the model"
        where = f"the device '{device}' has no such fact" if device else "no device's facts were given"
        fitted = f", or have {weight} fitted in its place: --fit-facts, or FitOptions(fit_facts=True)" if weight else ""
        super().__init__(
            f"{who} needs the fact '{key}', and {where}; write it into facts.yaml beside the measurements "
            f"(facts: {{{key}: {{value: ..., unit: ..., source: ...}}}}; docs/facts.md lists all keys){fitted}."
        )


class UnknownDeviceNameError(PerfModelError, LookupError):
    """No paper's device is called so.

    Attributes
    ----------
    name : str
        The name that was asked for.
    allowed : tuple of str
        The devices that papers give numbers of.
    """

    def __init__(self, name: str, allowed: tuple[str, ...]) -> None:
        self.name = name
        self.allowed = allowed
        super().__init__(
            f"no published device is called '{name}'; choose one of: {', '.join(allowed)}."
        )


class FactsFormatError(PerfModelError, ValueError):
    """A document is no description of a device.

    Attributes
    ----------
    problem : str
        What is wrong with it.
    schema : str
        The schema that it should have.
    """

    def __init__(self, problem: str, schema: str) -> None:
        self.problem = problem
        self.schema = schema
        super().__init__(
            f"a device's description {problem}; expected the schema '{schema}', "
            "as 'perfmodel devices --json' writes it."
        )


class NoDeviceError(PerfModelError, RuntimeError):
    """There is no OpenCL device, or none that works.

    Attributes
    ----------
    problem : str
        What was found instead.
    """

    def __init__(self, problem: str = "no OpenCL device was found") -> None:
        self.problem = problem
        super().__init__(
            f"{problem}; run scripts/setup, or as root: apt-get install pocl-opencl-icd. "
            "Then 'perfmodel doctor' says what works."
        )


class UnknownDeviceError(PerfModelError, LookupError):
    """No device is called so.

    Attributes
    ----------
    selector : str
        What was asked for.
    allowed : tuple of str
        The devices there are.
    """

    def __init__(self, selector: str, allowed: tuple[str, ...]) -> None:
        self.selector = selector
        self.allowed = allowed
        super().__init__(
            f"no OpenCL device matches '{selector}'; there are: {', '.join(allowed)}. "
            "Give an index or a part of a name or platform."
        )


class BrokenDeviceError(PerfModelError, RuntimeError):
    """A device is listed, but does not build and run a small kernel.

    Attributes
    ----------
    device : str
        The device.
    problem : str
        What happened instead.
    """

    def __init__(self, device: str, problem: str) -> None:
        self.device = device
        self.problem = problem
        super().__init__(
            f"the OpenCL device '{device}' is listed but does not work: {problem}; choose "
            "another with --device, or run 'perfmodel doctor' for what mends it."
        )


class KernelFileMissingError(PerfModelError, FileNotFoundError):
    """There is no such kernel file or folder, or nothing in it."""

    def __init__(self, path: object, wanted: str) -> None:
        self.path = str(path)
        super().__init__(f"no kernel file at '{self.path}'; give the path of {wanted}.")


class KernelFileSyntaxError(PerfModelError, ValueError):
    """A kernel file is not valid Python."""

    def __init__(self, path: object, line: int | None, problem: str) -> None:
        self.path = str(path)
        self.line = line
        self.problem = problem
        super().__init__(
            f"'{self.path}' line {line}: not valid Python ({problem}); mend that line and "
            "run again."
        )


class KernelFileExecutionError(PerfModelError, RuntimeError):
    """A kernel file, or its ``kernel()`` or ``variants()``, raised while it ran."""

    def __init__(self, path: object, cause: BaseException) -> None:
        self.path = str(path)
        self.cause = cause
        trace, line = cause.__traceback__, None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.path:
                line = trace.tb_lineno
            trace = trace.tb_next
        place = f"'{self.path}' line {line}" if line else f"'{self.path}'"
        said = " ".join(str(cause).split()) or "no message"
        super().__init__(
            f"{place}: raised {type(cause).__name__} ({said}); the file must run by itself: "
            f"try 'python {self.path}'."
        )


class KernelFileContentError(PerfModelError, AttributeError):
    """A kernel file defines none of the names looked for."""

    def __init__(self, path: object, wanted: tuple[str, ...]) -> None:
        self.path = str(path)
        self.wanted = wanted
        super().__init__(
            f"'{self.path}' defines neither of: {', '.join(wanted)}; define one "
            "(kernel() returns a loopy.TranslationUnit, variants() a dict of name to "
            "TranslationUnit, KERNEL is a perfmodel.kernels.KernelClass)."
        )


class KernelFileTypeError(PerfModelError, TypeError):
    """Something in a kernel file has the wrong type."""

    def __init__(self, path: object, name: str, found: str, allowed: str) -> None:
        self.path = str(path)
        self.name = name
        self.found = found
        self.allowed = allowed
        super().__init__(
            f"'{self.path}': {name} is or returns {found}; it must be {allowed}: change it "
            "to that."
        )


class DuplicateKernelError(PerfModelError, ValueError):
    """Two kernel classes of one folder have the same name."""

    def __init__(self, name: str, folder: object) -> None:
        self.name = name
        self.folder = str(folder)
        super().__init__(
            f"two kernel classes in '{self.folder}' are named '{name}'; names must differ: "
            "rename one."
        )


class StoreFormatError(PerfModelError, ValueError):
    """A stored record is not what this version of perfmodel can read."""

    def __init__(self, path: object, line: int, problem: str) -> None:
        self.path = str(path)
        self.line = line
        self.problem = problem
        super().__init__(
            f"'{self.path}' line {line}: {problem}; mend or remove that line, or read the "
            "file with the version of perfmodel that wrote it."
        )


class StoreMissingError(PerfModelError, FileNotFoundError):
    """There are no measurements at a path."""

    def __init__(self, path: object) -> None:
        self.path = str(path)
        super().__init__(
            f"no measurements at '{self.path}'; give a .jsonl file or a folder with "
            "measurements.jsonl, or make one with 'perfmodel measure --store'."
        )


class NotCountableError(PerfModelError, ValueError):
    """Something in a kernel has no count.

    Attributes
    ----------
    what, why : str
        What could not be counted, and the reason.
    """

    def __init__(self, what: str, why: str, remedy: str = "") -> None:
        self.what = what
        self.why = why
        advice = remedy or "rewrite it as assignments, or leave it out of the counted kernel"
        super().__init__(f"cannot count {what}: {why}; {advice}.")


class StatisticsNeededError(NotCountableError):
    """A count depends on data; ``statistics`` must say what is typical.

    Attributes
    ----------
    key : str
        The key to give in ``statistics``.
    """

    def __init__(self, what: str, key: str, meaning: str) -> None:
        self.key = key
        remedy = f"pass statistics={{{key!r}: {meaning}}} to count()"
        super().__init__(what, "it depends on data", remedy)


class UnknownArrayError(PerfModelError, KeyError):
    """A count was asked for an array that the kernel does not touch so."""

    def __init__(self, array: str, allowed: tuple[str, ...]) -> None:
        self.array = array
        self.allowed = allowed
        self.message = (
            f"the kernel has no accesses to an array '{array}' of the kind asked for; "
            f"there are accesses to: {', '.join(allowed) or 'none'}."
        )
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


class MixedDevicesError(PerfModelError, ValueError):
    """Measurements of several devices, where one device is needed."""

    def __init__(self, devices: tuple[str, ...]) -> None:
        self.devices = devices
        super().__init__(
            f"the measurements come from {len(devices)} devices ({', '.join(devices)}); weights "
            "belong to one: choose one with Measurements.of_device(name)."
        )


class SizeOptionError(PerfModelError, ValueError):
    """A size on the command line is not of the form NAME=INTEGER.

    Attributes
    ----------
    text : str
        What was given.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(f"'-p {text}' is no size; give NAME=INTEGER, as in -p n=1024.")


class UnknownVariantError(PerfModelError, LookupError):
    """A kernel file has no variant of that name.

    Attributes
    ----------
    name : str
        The name that was asked for.
    allowed : tuple of str
        The variants that the file has.
    """

    def __init__(self, name: str, allowed: tuple[str, ...]) -> None:
        self.name = name
        self.allowed = allowed
        super().__init__(
            f"the kernel file has no variant '{name}'; choose one of: {', '.join(allowed)}."
        )


class KernelArgumentError(PerfModelError, ValueError):
    """Values given for a kernel's scalar arguments are not those it has."""

    def __init__(self, kernel: str, wanted: tuple[str, ...], given: tuple[str, ...]) -> None:
        self.kernel = kernel
        self.wanted = wanted
        self.given = given
        super().__init__(
            f"kernel '{kernel}' has the scalar arguments ({', '.join(sorted(wanted))}), but values "
            f"were given for ({', '.join(sorted(given))}); name them all in sizes and scalars."
        )


class MissingCountsError(PerfModelError, LookupError):
    """A measurement names counts that its store does not hold.

    Attributes
    ----------
    label : str
        What was measured.
    counts_hash : str
        The hash of the counts that are missing.
    """

    def __init__(self, label: str, counts_hash: str) -> None:
        self.label = label
        self.counts_hash = counts_hash
        super().__init__(
            f"the counts of '{label}' (hash {counts_hash[:12]}) are not in the store; "
            "keep counts.jsonl beside measurements.jsonl, or measure again."
        )


class UnknownGranularityError(PerfModelError, ValueError):
    """A granularity was asked for that does not exist."""

    def __init__(self, found: str, allowed: tuple[str, ...]) -> None:
        self.found = found
        self.allowed = allowed
        super().__init__(f"no granularity '{found}'; choose one of {', '.join(allowed)}.")


class CountsSchemaError(PerfModelError, ValueError):
    """Stored counts are of a schema that this version does not read."""

    def __init__(self, found: object, allowed: str) -> None:
        self.found = found
        self.allowed = allowed
        super().__init__(
            f"counts of schema {found!r}; this version reads {allowed!r}. "
            "Count the kernel again, or use the version that wrote them."
        )


class IncompleteKernelError(PerfModelError, ValueError):
    """Loopy cannot complete, check or schedule a kernel.

    Attributes
    ----------
    reason : str
        Loopy's own words.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"Loopy cannot complete and schedule the kernel: {' '.join(reason.split())}; "
            "give every argument a type (loopy.add_dtypes) and make the kernel generate code first."
        )


class StatisticsError(PerfModelError, ValueError):
    """A value in ``statistics`` is no mean trip count and no probability."""

    def __init__(self, key: str, value: object) -> None:
        self.key = key
        self.value = value
        super().__init__(
            f"statistics[{key!r}] is {value!r}; give a non-negative number: a loop's mean trip "
            "count, or a test's probability."
        )


class StoreReadOnlyError(OutputError):
    """A store may be read but not written."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        PerfModelError.__init__(
            self,
            f"cannot write '{path}': {problem}; the store is read-only and nothing in it was "
            "changed: copy its folder to a place that you may write to, and give that.",
        )


class DiskFullError(OutputError):
    """There is no room left for a record; what was there before is whole."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        PerfModelError.__init__(
            self,
            f"cannot write '{path}': {problem}; every record before is kept: make room and "
            "run the same command again, it goes on from there.",
        )


class NewerSchemaError(StoreFormatError):
    """A record was written by a newer version of perfmodel.

    Attributes
    ----------
    found, known : str
        The record's schema, and the newest that is known here.
    """

    def __init__(self, path: object, line: int, found: str, known: str) -> None:
        self.path = str(path)
        self.line = line
        self.problem = f"has schema '{found}', newer than '{known}'"
        self.found = found
        self.known = known
        PerfModelError.__init__(
            self,
            f"'{self.path}' line {line} has schema '{found}', and the newest known here is "
            f"'{known}'; update perfmodel to read it. Nothing was changed.",
        )


class ForeignDeviceError(PerfModelError, ValueError):
    """A store holds the records of one device and was given those of another.

    Attributes
    ----------
    path : str
        The store.
    holds, given : str
        The devices, each with its platform.
    """

    def __init__(self, path: object, holds: str, given: str) -> None:
        self.path = str(path)
        self.holds = holds
        self.given = given
        super().__init__(
            f"'{self.path}' holds records of {holds}, not of {given}; a store belongs to one "
            "device: give another folder (--store), or choose that device (--device)."
        )


class MissingExtraError(PerfModelError, ImportError):
    """A library that is needed only for this is not installed.

    Attributes
    ----------
    library, extra : str
        The library, and the extra of perfmodel that brings it.
    """

    def __init__(self, library: str, extra: str) -> None:
        self.library = library
        self.extra = extra
        super().__init__(
            f"this needs {library}, which is not installed; install it with: "
            f"pip install 'perfmodel[{extra}]', or in a clone: pip install -e '.[{extra}]'."
        )


class NothingAskedError(PerfModelError, ValueError):
    """A command was given none of the options that say what to do.

    Attributes
    ----------
    allowed : tuple of str
        The options, of which one at least is needed.
    """

    def __init__(self, allowed: tuple[str, ...]) -> None:
        self.allowed = allowed
        super().__init__(f"nothing was asked for; give at least one of: {', '.join(allowed)}.")


class OptionError(PerfModelError, ValueError):
    """An option of the command line is unknown in this place, or contradicts another.

    Attributes
    ----------
    problem, advice : str
        What was found, and what to give instead.
    """

    def __init__(self, problem: str, advice: str) -> None:
        self.problem = problem
        self.advice = advice
        super().__init__(f"{problem}; {advice}.")


class UnknownLossError(PerfModelError, ValueError):
    """No loss of a fit is called so.

    Attributes
    ----------
    name : str
        The name that was asked for.
    allowed : tuple of str
        The losses that exist.
    """

    def __init__(self, name: object, allowed: tuple[str, ...]) -> None:
        self.name = name
        self.allowed = allowed
        super().__init__(f"no loss is called {name!r}; choose one of: {', '.join(allowed)}.")


class ConfoundedFeaturesError(PerfModelError, ValueError):
    """Features that the measurements cannot tell apart.

    Attributes
    ----------
    groups : tuple of tuple of str
        The features of each group: only what they cost together is known.
    rank : int
        Independent columns among them all.
    columns : int
        How many columns there are.
    """

    def __init__(self, groups: tuple[tuple[str, ...], ...], rank: int, columns: int) -> None:
        self.groups = groups
        self.rank = rank
        self.columns = columns
        listed = "; ".join(", ".join(group) for group in groups)
        super().__init__(
            f"the rows determine {rank} of {columns} weights and cannot tell apart: {listed}; "
            "measure kernels in which these differ, or pass merge=True to share what they cost "
            "together among them."
        )


class ExpressionError(PerfModelError, ValueError):
    """An expression of a model family cannot be used.

    Attributes
    ----------
    text : str
        The expression.
    start, end : int
        The characters of `text` that are at fault.
    problem, advice : str
        What is wrong there, and what to do.
    """

    def __init__(self, text: str, start: int, end: int, problem: str, advice: str) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.problem = problem
        self.advice = advice
        # One line of the text, with what is at fault underlined.
        first = text.rfind("\n", 0, start) + 1
        line = text[first:].split("\n", 1)[0]
        width = max(1, min(end - start, len(line) - (start - first)))
        super().__init__(
            f"{problem}\n    {line}\n    {' ' * (start - first)}{'^' * width}\n{advice}."
        )


class NoStartError(PerfModelError, ValueError):
    """A non-linear fit found no starting point at which the expression gives finite times.

    Attributes
    ----------
    expression : str
        The expression.
    tried : int
        Starting points that were tried.
    """

    def __init__(self, expression: str, tried: int) -> None:
        self.expression = expression
        self.tried = tried
        super().__init__(
            f"none of {tried} starting points gives finite times for '{expression}'; give start "
            "values (start={'w_...': ...}) or bounds that keep divisors away from zero."
        )


class BadRidgeError(PerfModelError, ValueError):
    """The strength of a ridge is negative or no number.

    Attributes
    ----------
    found : object
        What was given.
    """

    def __init__(self, found: object) -> None:
        self.found = found
        super().__init__(
            f"ridge is {found!r}; give a finite number from 0 up, as 0.01 for 1 % of each column."
        )


class StartsError(PerfModelError, ValueError):
    """A non-linear fit was asked to begin nowhere.

    Attributes
    ----------
    found : int
        The number of starting points that was asked for.
    """

    def __init__(self, found: int) -> None:
        self.found = found
        super().__init__(f"{found} starting points were asked for; give 1 or more.")


class WrongColumnsError(PerfModelError, ValueError):
    """A matrix has other columns than an expression takes.

    Attributes
    ----------
    columns : int
        Columns of the matrix.
    features : tuple of str
        What the expression takes, in order.
    """

    def __init__(self, columns: int, features: tuple[str, ...]) -> None:
        self.columns = columns
        self.features = features
        super().__init__(
            f"the matrix has {columns} column(s), and the expression takes {len(features)}: "
            f"{', '.join(features)}; give one column for each, in this order."
        )


class LevelError(PerfModelError, ValueError):
    """The level of an interval is no probability between 0 and 1.

    Attributes
    ----------
    found : object
        What was given.
    """

    def __init__(self, found: object) -> None:
        self.found = found
        super().__init__(f"level is {found!r}; give a number between 0 and 1, as 0.9 for 90 %.")


class NoCommonSizeError(PerfModelError, ValueError):
    """No size in a range meets the assumptions of all variants.

    Attributes
    ----------
    parameter : str
        The size parameter.
    low, high : int
        The range that was searched.
    assumptions : tuple of str
        What the variants assume.
    """

    def __init__(self, parameter: str, low: int, high: int, assumptions: tuple[str, ...]) -> None:
        self.parameter = parameter
        self.low = low
        self.high = high
        self.assumptions = assumptions
        super().__init__(
            f"no {parameter} from {low} to {high} meets the assumptions of both variants "
            f"({'; '.join(assumptions)}); give a range that holds such a size."
        )


class UnboundedLoopError(NotCountableError):
    """Loops of a kernel have no end, so that nothing in them can be counted.

    Attributes
    ----------
    inames : tuple of str
        The loop variables that nothing bounds on one side, or on both.
    domain : str
        The loop domain, in isl's notation.
    """

    def __init__(self, inames: tuple[str, ...], domain: str) -> None:
        self.inames = inames
        self.domain = domain
        super().__init__(
            f"the loop over {', '.join(inames)}", f"its domain {domain} has no bound",
            f"give {inames[0]} a lower and an upper bound, such as 0 <= {inames[0]} < n",
        )


class FlowUnknownError(PerfModelError, LookupError):
    """Counts hold no dataflow, because an earlier version stored them.

    Attributes
    ----------
    kernel : str
        The kernel's name.
    """

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        super().__init__(
            f"the counts of '{kernel}' were stored without the kernel's dataflow, so chains and their "
            "parallelism are not known; count the kernel again with perfmodel.count."
        )


class ActCostError(PerfModelError, ValueError):
    """What an operation or an access is said to cost is negative or no number.

    Attributes
    ----------
    act : object
        The operation or access.
    found : object
        The cost given.
    """

    def __init__(self, act: object, found: object) -> None:
        self.act = act
        self.found = found
        super().__init__(
            f"the cost of {act!r} is {found!r}; give a finite number from 0 up, in any one unit, such as "
            "its latency in cycles."
        )


class WeightsDeviceError(WeightsFileError):
    """A weights file belongs to another device than the one asked for.

    Attributes
    ----------
    found, wanted : str
        The device of the file, and the one asked for.
    """

    def __init__(self, path: str, found: str, wanted: str) -> None:
        self.found = found
        self.wanted = wanted
        super().__init__(path, f"belongs to the device '{found}', not to '{wanted}'")


class InfiniteCountError(NotCountableError):
    """A set that was to be counted has infinitely many points at some sizes.

    Attributes
    ----------
    found : str
        The set, or the function that counts it, in isl's notation.
    """

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(
            found, "it has infinitely many points",
            "give each of its dimensions a lower and an upper bound",
        )


class UnmadeFeatureError(PerfModelError, ValueError):
    """No measurement kernel can be made for a feature.

    Attributes
    ----------
    feature : str
        The feature.
    """

    def __init__(self, feature: str) -> None:
        self.feature = feature
        super().__init__(
            f"no measurement kernel can be made for '{feature}' (they are made for operations and for global "
            "accesses with a stride); write a kernel class that exercises it and pass its folder by --kernels."
        )


class FactsFileError(FactsFormatError):
    """A YAML file is no list of a device's facts.

    Attributes
    ----------
    path : str
        The file.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"({path}) {problem}", "facts: {key: {value, unit, source}}")
        self.path = path
        self.args = (
            f"the facts in {path}: the file {problem}; write under 'facts' a line for each, such as "
            "'clock_hz: {value: 2.6e+9, unit: Hz, source: lscpu}' (docs/facts.md lists keys and units).",
        )


class FamilyFileError(PerfModelError, ValueError):
    """A Python file holds no model family.

    Attributes
    ----------
    path : str
        The file.
    problem : str
        What is wrong with it.
    """

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(
            f"the family file {path} {problem}; it needs a module-level FAMILY = Family(...), as docs/add-a-family.md "
            "shows."
        )


class TraceTooLongError(PerfModelError, ValueError):
    """The accesses of a sample of work-groups are too many to be written out.

    Attributes
    ----------
    found, most : int
        How many there are in one work-group, and how many are allowed.
    """

    def __init__(self, found: int, most: int) -> None:
        self.found = found
        self.most = most
        super().__init__(
            f"one access is executed up to {found} times by a work-group, and {most} are traced at most; "
            "take smaller sizes that still fill the caches."
        )


class UntraceableError(PerfModelError, ValueError):
    """The accesses of a kernel cannot be written out one by one.

    Attributes
    ----------
    what : str
        What stands in the way.
    """

    def __init__(self, what: str, advice: str) -> None:
        self.what = what
        super().__init__(f"the memory trace cannot be written out: {what}; {advice}.")


class CacheShapeError(PerfModelError, ValueError):
    """A cache has no whole number of sets, or a number that is not positive.

    Attributes
    ----------
    size_bytes, line_bytes, ways : int
        The cache as it was asked for.
    """

    def __init__(self, size_bytes: int, line_bytes: int, ways: int) -> None:
        self.size_bytes = size_bytes
        self.line_bytes = line_bytes
        self.ways = ways
        super().__init__(
            f"a cache of {size_bytes} B with lines of {line_bytes} B and {ways} ways holds no set; all three must be "
            "positive, and one line for each way must fit in."
        )


class PictureFormatError(PerfModelError, ValueError):
    """A picture's file name ends in a suffix that no writer is known for.

    Attributes
    ----------
    path : str
        The file asked for.
    allowed : tuple of str
        Suffixes that can be written.
    """

    def __init__(self, path: str, allowed: tuple[str, ...]) -> None:
        self.path = path
        self.allowed = allowed
        super().__init__(f"{path} is no picture that can be written; let its name end in {' or '.join(allowed)}.")


class FamilyMismatchError(PerfModelError, ValueError):
    """A model is of another family than an analysis needs.

    Attributes
    ----------
    found, needed : str
        The model's family and the one that is needed.
    """

    def __init__(self, found: str, needed: str) -> None:
        self.found = found
        self.needed = needed
        super().__init__(f"the model is of the family '{found}'; fit the family '{needed}' for this.")


class ChargedTwiceError(PerfModelError, ValueError):
    """A feature would be charged in two sums of a family.

    Attributes
    ----------
    feature : str
        The feature, or the pattern.
    sums : tuple of str
        The sums that take it.
    """

    def __init__(self, feature: str, sums: tuple[str, ...]) -> None:
        self.feature = feature
        self.sums = sums
        super().__init__(
            f"'{feature}' fits the patterns of {' and of '.join(sums)}, so its time would count more than once; "
            "choose patterns that give each feature to one of them."
        )
