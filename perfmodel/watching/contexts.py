"""Array contexts of arraycontext that record their kernels."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyopencl as cl

from perfmodel.documents import require
from perfmodel.watching.explained import Explanation, explain
from perfmodel.watching.recording import Recording, read_recording
from perfmodel.watching.starting import watch


def watched(kind: Any) -> Any:
    """Return an array context class that records all kernels from its creation on.

    Parameters
    ----------
    kind
        ``PyOpenCLArrayContext`` or ``PytatoPyOpenCLArrayContext`` of arraycontext, or a class that extends one of them.
        Its first argument is a queue.

    Returns
    -------
    type
        A class that extends `kind`. It takes the folder of the recording as ``folder`` (a new one by default), and
        gives its kernels a queue with profiling. ``stop_watching()`` ends the recording and returns it;
        ``explain()`` stops it too, and returns an :class:`perfmodel.watching.Explanation` with predictions.

    Examples
    --------
    ::

        actx = perfmodel.watching.watched(PytatoPyOpenCLArrayContext)(queue)
        ...
        print(actx.explain())
    """
    require(isinstance(kind, type), "watched: kind", kind, "a class of array contexts")

    class Watched(kind):  # type: ignore[misc]
        def __init__(self, queue: Any, *given: Any, folder: str | Path | None = None, **named: Any) -> None:
            self._recording = ExitStack()
            self.recording_folder = self._recording.enter_context(watch(folder))
            super().__init__(cl.CommandQueue(queue.context, queue.device), *given, **named)

        def stop_watching(self) -> Recording:
            """End the recording, and return it."""
            self._recording.close()
            return read_recording(self.recording_folder)

        def explain(self) -> Explanation:
            """End the recording, and predict its kernels by the weights of their device."""
            return explain(self.stop_watching())

    Watched.__name__, Watched.__qualname__ = f"Watched{kind.__name__}", f"Watched{kind.__qualname__}"
    return Watched
