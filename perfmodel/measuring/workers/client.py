"""Which devices a scheduler's workers have, and which of them is meant."""

from __future__ import annotations

from typing import Any

from perfmodel.cluster import address_of, workers_of
from perfmodel.errors import AmbiguousDeviceError, NoWorkerError
from perfmodel.measuring.workers.order import RESOURCE


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
    """Return the device of the workers that is meant: a slug, a part of only one, or the only one.

    Raises
    ------
    NoWorkerError
        No worker has it.
    AmbiguousDeviceError
        It may be several.
    """
    slugs, wanted = tuple(having(client)), (selector or "").strip().lower()
    matching = tuple(slug for slug in slugs if wanted == slug) or tuple(slug for slug in slugs if wanted in slug)
    if not matching:
        raise NoWorkerError(selector or "", address_of(client), slugs)
    if len(matching) > 1:
        raise AmbiguousDeviceError(selector or "", matching)
    return matching[0]
