"""A Dask worker that listens on one port only."""

from __future__ import annotations

from typing import Any

from distributed import Worker


class DeviceWorker(Worker):
    """A worker without Dask's web server: who may connect is said by its one address, and by TLS."""

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Start none: it answers without TLS, and nobody looks at one device's page."""
