"""Which devices a scheduler's workers have, and which of them is meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfmodel.cluster import address_of, workers_of
from perfmodel.errors import AmbiguousDeviceError, NoWorkerError
from perfmodel.measuring.remote.order import RESOURCE


def having(client: Any) -> dict[str, list[str]]:
    """Return the addresses of the workers that have each device, by its slug.

    Raises
    ------
    SchedulerError
        The scheduler does not answer any more.
    """
    found: dict[str, list[str]] = {}
    for address, worker in sorted(workers_of(client).items()):
        for name, number in worker.get("resources", {}).items():
            if name.startswith(RESOURCE) and number >= 1:
                found.setdefault(name.removeprefix(RESOURCE), []).append(address)
    return dict(sorted(found.items()))


def chosen_slug(client: Any, selector: str | None) -> str:
    """Return the device of the workers that is meant: a slug, the begin of only one, else a part of only one.

    So ``intel`` is Intel's runtime beside PoCL on an Intel processor, as it is without a scheduler.

    Raises
    ------
    NoWorkerError
        No worker has it.
    AmbiguousDeviceError
        It may be several.
    """
    slugs, wanted = tuple(having(client)), (selector or "").strip().lower()
    rules: tuple[Callable[[str, str], bool], ...] = (str.__eq__, str.startswith, str.__contains__)
    matching = next((found for rule in rules if (found := tuple(slug for slug in slugs if rule(slug, wanted)))), ())
    if not matching:
        raise NoWorkerError(selector or "", address_of(client), slugs)
    if len(matching) > 1:
        raise AmbiguousDeviceError(selector or "", matching)
    return matching[0]
