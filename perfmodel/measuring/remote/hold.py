"""The lock of a worker's device, which a campaign keeps between its orders."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic

from perfmodel.facts import DeviceFacts
from perfmodel.measuring.lock import locked
from perfmodel.measuring.progress import Silent

#: A campaign that has asked for nothing for so long has left [s]; counting a kernel takes less, mostly.
KEPT_S = 10.0


class Hold:
    """Holds the lock of a device for one campaign, so that no other's runs lie between its own.

    Parameters
    ----------
    facts : DeviceFacts
        What the device reports.
    """

    def __init__(self, facts: DeviceFacts) -> None:
        self._facts = facts
        self._mutex = threading.Lock()  # the lock is given back by a thread of its own
        self._stack = ExitStack()
        self._token = ""
        self._until = 0.0
        self._timer: threading.Timer | None = None

    @contextmanager
    def kept(self, token: str) -> Iterator[None]:
        """Hold the lock for a campaign during the block, and afterwards until it leaves or is silent for a while.

        Raises
        ------
        DeviceBusyError
            Another campaign has it, of this worker or of another process.
        """
        with self._mutex:
            if token != self._token:
                if monotonic() >= self._until:
                    self._give_back()
                self._stack.enter_context(locked(self._facts, Silent()))  # refused while we hold it for another
                self._token = token
            try:
                yield
            finally:
                self._until = monotonic() + KEPT_S
                self._watch()

    def leave(self, token: str) -> None:
        """Give the lock back, if this campaign has it."""
        with self._mutex:
            if token == self._token:
                self._give_back()

    def _watch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(KEPT_S, self._look)
        self._timer.daemon = True
        self._timer.start()

    def _look(self) -> None:
        with self._mutex:
            if monotonic() >= self._until:
                self._give_back()

    def _give_back(self) -> None:
        self._stack.close()
        self._token = ""
        if self._timer is not None:
            self._timer.cancel()
