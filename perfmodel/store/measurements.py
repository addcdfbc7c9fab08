"""The records and counts of a store, as one value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from perfmodel.display import one_line
from perfmodel.errors import MixedDevicesError
from perfmodel.lazy import Lazy
from perfmodel.store.measurement import Key, Measurement

if TYPE_CHECKING:
    from pandas import DataFrame

    from perfmodel.counts import KernelCounts
    from perfmodel.facts import DeviceFacts


@dataclass(frozen=True)
class Measurements(Lazy):
    """Records in the order of the store, and the counts that they name.

    Iteration gives the records to fit: of each configuration the newest, with all its visits, if it is ok.

    Parameters
    ----------
    rows : tuple of Measurement
        Every record as it was written, one for each visit; failed and outdated ones too.
    counts_documents : mapping
        JSON of each KernelCounts by hash.
    set_aside : tuple of str
        One sentence for each torn line at the end of a file, which was left out.
    facts : DeviceFacts, optional
        The facts that the device reports, from ``device.json``.
    """

    rows: tuple[Measurement, ...]
    counts_documents: Mapping[str, Mapping[str, Any]]
    set_aside: tuple[str, ...] = ()
    facts: DeviceFacts | None = None
    _read: dict[str, KernelCounts] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        kernels, devices = ({getattr(row, name) for row in self.current} for name in ("kernel", "device"))
        where = ", ".join(sorted(devices)) or "no device"
        return one_line(f"<Measurements of {len(self.current)} configurations of {len(kernels)} kernels on {where}>")

    @cached_property
    def counts(self) -> Mapping[str, KernelCounts]:
        """The counts by hash, each read from JSON once, also for other selections of these records."""
        from perfmodel.counts import KernelCounts

        for digest in self.counts_documents.keys() - self._read.keys():
            self._read[digest] = KernelCounts.from_json(dict(self.counts_documents[digest]))
        return {digest: self._read[digest] for digest in self.counts_documents}

    @cached_property
    def current(self) -> tuple[Measurement, ...]:
        """One record for each configuration, failed ones too: the newest, joined with its earlier visits.

        Records of other code, of another driver, or before a failure are no visits of the newest.
        """
        found: dict[Key, Measurement] = {}
        for row in self.rows:
            found[row.place] = row.after(found.get(row.place))
        return tuple(found.values())

    @cached_property
    def outdated(self) -> tuple[Measurement, ...]:
        """Records that a newer one of the same configuration replaced, with other code or driver."""
        newest = {row.place: row.key for row in self.rows}
        return tuple(row for row in self.rows if newest[row.place] != row.key)

    @property
    def drivers(self) -> tuple[str, ...]:
        """Driver versions of the current records; more than one where not all were measured again."""
        return tuple(dict.fromkeys(row.driver for row in self.current))

    def __iter__(self) -> Iterator[Measurement]:
        return (row for row in self.current if row.status == "ok")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def device(self) -> str:
        """Name of the device that was measured.

        Raises
        ------
        MixedDevicesError
            There are records of several.
        """
        found = sorted({(row.device, row.platform) for row in self.rows})
        if len(found) > 1:
            raise MixedDevicesError(tuple(f"{device} ({platform})" for device, platform in found))
        return found[0][0] if found else ""

    @property
    def known_facts(self) -> DeviceFacts:
        """The facts of the one device; its names alone where nothing is known of it.

        Raises
        ------
        MixedDevicesError
            If the records are of several devices.
        """
        from perfmodel.facts import DeviceFacts

        if self.facts is not None:
            return self.facts
        row = next(iter(self.rows), None)
        return DeviceFacts(self.device, row.platform if row else "", row.driver if row else "", ())

    def with_facts(self, facts: DeviceFacts | None) -> Measurements:
        """The same records and counts, with other facts of the device."""
        return replace(self, facts=facts)

    def of_device(self, name: str, platform: str | None = None) -> Measurements:
        """Only the records of one device, on one platform if that is given."""
        return self._where(lambda row: row.device == name and platform in (None, row.platform))

    def of_kernels(self, *names: str) -> Measurements:
        """Only the records of these kernel classes."""
        return self._where(lambda row: row.kernel in names)

    def _where(self, wanted: Callable[[Measurement], bool]) -> Measurements:
        return replace(self, rows=tuple(filter(wanted, self.rows)))

    def to_frame(self) -> DataFrame:
        """Give the current records as a pandas table, one row each; see :func:`perfmodel.store.table`.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        from perfmodel.store.export import frame

        return frame(self.current)

    def to_t4(self) -> dict[str, Any]:
        """Give the current records as a T4 document; see :func:`perfmodel.store.t4`."""
        from perfmodel.store.export import t4

        return t4(self.current)
