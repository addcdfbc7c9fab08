from . import contexts, explained, page, recording, starting, tables
from .contexts import watched
from .explained import Explained, Explanation, explain
from .recording import Recording, Row, read_recording
from .starting import watch

__all__ = [
    "Explained", "Explanation", "Recording", "Row", "contexts", "explain", "explained", "page", "read_recording",
    "recording", "starting", "tables", "watch", "watched",
]  # fmt: skip
