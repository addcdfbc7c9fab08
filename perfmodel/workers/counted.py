"""The counts of many variants, by name, and the errors of those that have none."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from perfmodel.counts import KernelCounts
from perfmodel.counts.cache import IN_MEMORY
from perfmodel.display import html_table, one_line
from perfmodel.errors import PerfModelError


class CountedVariants(Mapping[str, KernelCounts]):
    """Counts by the name of each variant, in the order in which the variants were given.

    Counts that another process made are kept as text, and read when they are used; those used last stay as values.

    Parameters
    ----------
    counts
        By name the counts, or their JSON.
    errors
        By name why a variant has no counts.
    """

    def __init__(self, counts: Mapping[str, KernelCounts | bytes], errors: Mapping[str, PerfModelError]) -> None:
        self._counts, self._errors = dict(counts), MappingProxyType(dict(errors))
        self._read: OrderedDict[str, KernelCounts] = OrderedDict()

    @property
    def errors(self) -> Mapping[str, PerfModelError]:
        """Why a variant has no counts, by name."""
        return self._errors

    def __getitem__(self, name: str) -> KernelCounts:
        found = self._counts[name]
        if isinstance(found, KernelCounts):
            return found
        if name not in self._read:
            self._read[name] = KernelCounts.from_json(json.loads(found))
            if len(self._read) > IN_MEMORY:
                self._read.popitem(last=False)
        self._read.move_to_end(name)
        return self._read[name]

    def stored(self, name: str) -> KernelCounts | bytes:
        """Return the counts of a variant as they are kept: as a value, or as JSON."""
        return self._counts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        failed = f", {len(self.errors)} with an error" if self.errors else ""
        return one_line(f"<CountedVariants: {len(self)} counted{failed}: {', '.join(self)}>")

    def __reduce__(self) -> tuple[type[CountedVariants], tuple[object, ...]]:
        return type(self), (self._counts, dict(self._errors))

    def _repr_html_(self) -> str:
        """Return names and errors as a table for a notebook."""
        rows = [(name, "counted") for name in self] + [(name, str(error)) for name, error in self.errors.items()]
        return html_table([("variant", "counts"), *rows], repr(self)[1:-1], left=2)
