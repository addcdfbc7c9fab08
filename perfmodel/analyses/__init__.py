"""What bounds a kernel on a device: balance, benefits, roofline points, work flow graphs and caches.

The analyses follow Kim et al. (2012), chapter 2 and sections 4.1.3 and 4.2. They return numbers, which
:mod:`perfmodel.report` draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.analyses import (
        active_lanes,
        balance,
        balanced,
        benefits,
        memory_hierarchy,
        outliers,
        report_data,
        roofline,
        work_flow,
    )

__getattr__ = loader(__name__)
