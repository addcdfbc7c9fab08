"""The report of a device as one HTML file, which needs no server and no other file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.report.html import page

__getattr__ = loader(__name__)
