"""Campaigns on the devices of Dask workers; ``docs/scale.md`` describes how to use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.measuring.remote import workers

__getattr__ = loader(__name__)
