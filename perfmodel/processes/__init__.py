"""Many variants of a kernel at once: in several processes of one machine, or on a cluster, by way of joblib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.processes import counting, variants

__getattr__ = loader(__name__)
