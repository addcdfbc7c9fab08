"""All families on one device's folder, side by side on the same cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from perfmodel.compare.contender import Contenders
from perfmodel.compare.side_by_side import contender_of, on_common_cases
from perfmodel.fitting.device_folder import measured_folder
from perfmodel.fitting.facts.measured_facts import with_measured_facts
from perfmodel.fitting.family_fits import FamilyFits
from perfmodel.fitting.options import FitOptions
from perfmodel.models import families, find_family
from perfmodel.progress import FailedStep

if TYPE_CHECKING:
    from perfmodel.facts import Fact
    from perfmodel.models import Family
    from perfmodel.store import Measurements


def contenders(
    folder: Path,
    names: tuple[str, ...] = (),
    given_facts: bool = False,
    begin: Callable[[str, int], None] = lambda title, total: None,
    advance: Callable[[str], None] = lambda note: None,
    made: Mapping[str, FamilyFits] = MappingProxyType({}),
    given: Mapping[str, Fact] | None = None,
) -> Contenders:
    """Fit families to a folder's measurements and judge them on the same cases.

    A family with a weight that can be derived from the measurements (a roof, a latency) is judged
    twice: with this weight fitted, and, under ``<name> (measured)``, with the derived value.

    Parameters
    ----------
    folder
        Folder of a device, with measurements and measured test kernels.
    names
        Names of the families; all by default.
    given_facts
        Whether a family that needs an unknown fact of the device is left out instead of fitting that fact.
    begin, advance
        Progress: called once with a title and the number of fits, and after each fit with its family,
        and the problem where there was one.
    made
        Fits of families to the folder's measurements, with its test kernels, by the family's name. They are used, and
        the folder is not read again; of other families fits are made.
    given
        Facts of the device, by key, where the folder is read; they replace what is known.
    """
    chosen, options = [find_family(name) for name in names or families()], FitOptions(fit_facts=not given_facts)
    some = next(iter(made.values()), None)
    plain, tests = (some.measured, some.tests) if some else measured_folder(folder, measured_facts=False, given=given)
    fits = [made.get(one.name) or FamilyFits(plain, one, options, tests) for one in chosen]
    known = with_measured_facts(plain)
    tests = tests and tests.with_facts(known.facts)
    twice = [replace(one, name=f"{one.name} (measured)") for one in chosen if has_measured_weight(one, plain, known)]
    fits += [FamilyFits(known, one, options, tests) for one in twice]
    begin(f"families on {known.device}", len(fits))
    found = []
    for one in map(contender_of, fits):
        advance(FailedStep(one.family, one.problem) if one.problem else one.family)
        found.append(one)
    return on_common_cases(sorted(found, key=lambda one: one.family))


def has_measured_weight(family: Family, plain: Measurements, measured: Measurements) -> bool:
    """Return whether a family has a weight whose fact only the measurements give."""
    derived = set(measured.facts or ()) - set(plain.facts or ())
    return any(weight.fact in derived for weight in family.weights)
