"""A comparison of two sides as text, JSON, a Markdown table and JUnit XML, and as a check in tests."""

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree as ET

from perfmodel.calibration.recommended import load
from perfmodel.counts import KernelCounts
from perfmodel.display import finite, seconds_text, values_text
from perfmodel.documents import is_number, require
from perfmodel.errors import PredictionError, SlowerError
from perfmodel.io import visible
from perfmodel.predicting import FittedModel
from perfmodel.predicting.predictions import columns_of
from perfmodel.versions.differences import LEVEL, Difference, KernelDifference, TimeChange, difference
from perfmodel.versions.sides import Side, Version, read_side

ROUNDING = 1e-3  # smaller relative changes of a time are not shown
LONGEST = 12  # changed formulas of a kernel in a Markdown table


def text(found: Difference, by: float = 0.0) -> str:
    """Return the changes of all kernels as text, with the probability to be slower than the share `by` [1]."""
    lines = [f"{found.old} -> {found.new}" + (f", {found.model}" if found.model else "")]
    equal = [each for each in found.kernels if _equal(each)]
    for each in found.kernels:
        if each not in equal:
            lines += ["", *_kernel_lines(each, by)]
    if equal:
        names = ", ".join(each.title for each in equal)
        lines += ["", f"{'all formulas are equal' if len(equal) == len(found.kernels) else 'equal formulas'}: {names}"]
    lines += [f"only in {found.old}: {', '.join(found.removed)}"] if found.removed else []
    lines += [f"only in {found.new}: {', '.join(found.added)}"] if found.added else []
    lines += [f"{name} cannot be counted: {reason}" for name, reason in found.errors.items()]
    return "\n".join(lines)


def _equal(each: KernelDifference) -> bool:
    return not each.changes and all(abs(time.ratio - 1) <= ROUNDING for time in each.times)


def _kernel_lines(each: KernelDifference, by: float) -> Iterator[str]:
    count = len(each.changes)
    if count:
        yield f"{each.title}: {count} change{'s' * (count > 1)}"
    else:
        why = "" if _equal(each) else ", but the order of loops or instructions differs"
        yield f"{each.title}: formulas are equal{why}"
    yield from (f"  {change}" for change in each.changes)
    yield from (f"  {time_text(time, by)}" for time in each.times)
    if each.problem:
        yield f"  no predicted time: {each.problem}"


def time_text(time: TimeChange, by: float) -> str:
    """Return the change of a time in one line."""
    at = f"{values_text(time.sizes)}: " if time.sizes else ""
    times = f"{seconds_text(time.old.seconds)} -> {seconds_text(time.new.seconds)}"
    where = f"bound by {time.bounds[1]}" if time.bounds[0] == time.bounds[1] else f"bound by {' -> '.join(time.bounds)}"
    return f"{at}{times}, {ratio_text(time)}, {chance_text(time, by)}; {where}"


def ratio_text(time: TimeChange) -> str:
    """Return the ratio of the new to the old time with its interval."""
    low, high = time.interval
    return f"{time.ratio:.3g} times ({low:.3g} to {high:.3g} at {LEVEL:.0%})"


def chance_text(time: TimeChange, by: float) -> str:
    """Return the probability that the new version is slower."""
    return f"slower{f' by more than {100 * by:g} %' if by else ''} with {time.slower(by):.0%}"


def document(found: Difference, by: float | None) -> dict[str, Any]:
    """Return the comparison for JSON."""
    return {
        "old": found.old, "new": found.new, "model": found.model or None,
        "kernels": [{
            "kernel": each.name, "old_kernel": each.old_name,
            "changes": [vars(change) for change in each.changes], "problem": each.problem or None,
            "times": [{
                "sizes": dict(time.sizes), "old_s": float(time.old.seconds), "new_s": float(time.new.seconds),
                "ratio": time.ratio, "interval": [*map(finite, time.interval)], "level": LEVEL, "slower": time.slower(),
                "bounds": list(time.bounds), **({} if by is None else {"slower_by_more": time.slower(by)}),
            } for time in each.times],
        } for each in found.kernels],
        "removed": list(found.removed), "added": list(found.added), "errors": dict(found.errors),
    }  # fmt: skip


def markdown(found: Difference, by: float) -> bytes:
    """Return a Markdown table for a pull request: a row for each kernel that changed, and below it what is equal."""
    rows = ["| kernel | changes | old | new | ratio | slower |", "| --- | --- | ---: | ---: | --- | ---: |"]
    differing = [each for each in found.kernels if not _equal(each)]
    for each in differing:
        changes = [_cell(str(change)) for change in each.changes[:LONGEST]]
        left = len(each.changes) - len(changes)
        changes += [f"{left} more"] if left else []
        time = each.worst(by)
        at, cells = "", ["-", "-", _cell(each.problem) or "-", "-"]
        if time is not None:
            at = f" ({values_text(time.sizes)})" if time.sizes else ""
            cells = [seconds_text(time.old.seconds), seconds_text(time.new.seconds), ratio_text(time),
                     f"{time.slower(by):.0%}"]  # fmt: skip
        rows.append(f"| {' | '.join([_cell(each.title + at), '<br>'.join(changes) or 'order of loops', *cells])} |")
    lines = [f"`{found.old}` -> `{found.new}`" + (f", {found.model}" if found.model else ""), ""]
    lines += rows if differing else []
    lines += ["", f"{len(found.kernels) - len(differing)} of {len(found.kernels)} kernels have equal formulas."]
    lines += [f"Only in the old side: {', '.join(found.removed)}."] if found.removed else []
    lines += [f"Only in the new side: {', '.join(found.added)}."] if found.added else []
    lines += [f"{name} cannot be counted: {reason}" for name, reason in found.errors.items()]
    return ("\n".join(lines) + "\n").encode()


def _cell(cell: str) -> str:
    for character in "\\|*_<>`[]":
        cell = cell.replace(character, f"\\{character}")
    return cell.replace("\n", " ")


def junit(found: Difference, by: float) -> bytes:
    """Return JUnit XML: a test for each kernel, failed if it is slower, with an error if that is not known."""
    slower, undecided = found.slower(by), found.undecided(by)
    suite = ET.Element(
        "testsuite", name="perfmodel diff", tests=str(len(found.kernels) + len(found.errors)),
        failures=str(len(slower)), errors=str(len(undecided)),
    )  # fmt: skip
    for name in [each.title for each in found.kernels] + list(found.errors):
        case = ET.SubElement(suite, "testcase", classname="perfmodel.diff", name=visible(name))
        each = next((each for each in found.kernels if each.title == name), None)
        if each is not None and each in slower and (worst := each.worst(by)):
            failure = ET.SubElement(case, "failure", message=f"{ratio_text(worst)}, {chance_text(worst, by)}")
            failure.text = visible("\n".join(_kernel_lines(each, by)))
        elif name in undecided:
            ET.SubElement(case, "error", message=visible(undecided[name]))
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True))


def assert_not_slower(
    new: Any, old: Any, sizes: Mapping[str, Any] | None = None, /, *, tolerance: float = 0.05,
    model: FittedModel | None = None, **more_sizes: Any
) -> Difference:  # fmt: skip
    """Check that a new version of a kernel is predicted to be not slower than an old one, and return the comparison.

    Parameters
    ----------
    new, old
        Each version: a Loopy ``TranslationUnit``, its counts, or a side of ``perfmodel diff`` as text, such as
        ``"kernel.py"`` or ``"HEAD:kernel.py"``.
    sizes, **more_sizes
        Every size parameter: an integer, or several integers.
    tolerance
        The share by which the new version may be slower [1].
    model
        The model of the times. By default its weights are found as by :func:`perfmodel.load`, for the device in use.

    Raises
    ------
    SlowerError
        If the new version takes more than ``1 + tolerance`` times as long at one of the sizes, with a probability of at
        least one half. It is an AssertionError too, and its text shows the changed formulas.
    PredictionError
        If the times cannot be predicted, or kernels cannot be counted.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test, not this function
    require(is_number(tolerance) and tolerance >= 0, "assert_not_slower: tolerance", tolerance, "a share from 0 up")
    at = {**(sizes or {}), **more_sizes}
    columns = {name: values.tolist() for name, values in columns_of(at).items()}
    points = tuple(dict(zip(columns, point, strict=True)) for point in zip(*columns.values(), strict=True))
    model = load() if model is None else model
    found = difference(_side("old", old, model, at), _side("new", new, model, at), model, points)
    if slower := found.slower(tolerance):
        problem = f"{slower[0].title} is slower by more than {tolerance:.0%}\n{text(found, tolerance)}"
        raise SlowerError(problem, difference=found)
    if reasons := {each.title: each.problem for each in found.kernels if each.problem} | dict(found.errors):
        name, reason = next(iter(reasons.items()))
        raise PredictionError(f"{name} has no predicted time: {reason}", "give all sizes, or another model")
    return found


def _side(label: str, given: Any, model: FittedModel, at: Mapping[str, Any]) -> Side:
    if isinstance(given, str):
        return read_side(given, model.fitted.subgroup_size, sizes=at)
    counted = isinstance(given, KernelCounts) or hasattr(given, "callables_table")
    require(counted, f"assert_not_slower: {label}", given, "a TranslationUnit, its counts, or the text of a side")
    return Side(label, {"kernel": Version(model.counted(given, at))})
