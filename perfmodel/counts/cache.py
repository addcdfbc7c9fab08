"""A cache of counts and of build checks: in memory, and on disk for later processes.

The name of an entry is a hash. The hash covers the kernel's content (Loopy's persistent key), the options of the count,
the versions of the libraries and the source of this package. On disk an entry is one JSON file, written atomically.
"""

import hashlib
import itertools
import json
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from loopy.tools import LoopyKeyBuilder

from perfmodel.caches import cache_folder
from perfmodel.counts.points.set_counter import can_count
from perfmodel.counts.reading.sets import in_fixed_order
from perfmodel.counts.reading.values import structured_types
from perfmodel.documents import digest_of
from perfmodel.io import replace_file
from perfmodel.libraries import installed

SCHEMA = "perfmodel.counts-cache/1"
IN_MEMORY = 256  # entries; the least recently used are dropped
ON_DISK_BYTES = 512 * 2**20  # about 40,000 kernels; the least recently used are dropped
TRIM_EVERY = 256  # entries that a process writes between two checks of the folder's size, which read the folder
MEMO = "_perfmodel_content_key"  # attribute of translation units with their key

_written = itertools.count()
_memory: OrderedDict[str, Any] = OrderedDict()
_lock = Lock()
T = TypeVar("T")


def key_of(t_unit: Any, *options: object) -> str | None:
    """Return the cache's key of a kernel, or None if ``PERFMODEL_NO_CACHE`` is set or Loopy has no key for it."""
    content = content_key(t_unit)
    return None if content is None else key_of_text(content, *options)


def content_key(t_unit: Any) -> str | None:
    """Return a text that is equal for equal kernels in all processes, or None if Loopy has no key for the kernel."""
    known: str | None = getattr(t_unit, MEMO, None)
    if known is None:
        with suppress(TypeError, NotImplementedError):
            known = str(LoopyKeyBuilder()(in_fixed_order(t_unit))) + structured_types(t_unit)
            object.__setattr__(t_unit, MEMO, known)  # a unit is frozen, and hashing takes 1 ms and more
    return known


def key_of_text(content: str, *options: object) -> str | None:
    """Return the cache's key of a text that describes a kernel; None if ``PERFMODEL_NO_CACHE`` is set."""
    if os.environ.get("PERFMODEL_NO_CACHE", "0") not in ("", "0"):
        return None
    texts = [repr(sorted(option.items())) if isinstance(option, Mapping) else repr(option) for option in options]
    return hashlib.sha256("\0".join([content, *texts, _environment()]).encode()).hexdigest()


def remembered(key: str | None, make: Callable[[], T], kind: Any = None) -> T:
    """Return a cached value, or make and cache it.

    The value's class ``kind`` has ``to_json`` and ``from_json``. Without ``kind``, the value itself is JSON.
    """
    if key is None:
        return make()
    with _lock:
        value: T | None = _memory.get(key)
        if value is not None:
            _memory.move_to_end(key)
            return value
    path = folder() / f"{key}.json"
    value = _read(path, kind)
    if value is None:
        value = make()
        _write(path, value if kind is None else value.to_json())  # type: ignore[attr-defined]
    with _lock:
        _memory[key] = value
        while len(_memory) > IN_MEMORY:
            _memory.popitem(last=False)
    return value


def folder() -> Path:
    """Return the folder of the entries on disk: ``$XDG_CACHE_HOME/perfmodel/counts``."""
    return cache_folder() / "perfmodel" / "counts"


@lru_cache(maxsize=1)
def _environment() -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    libraries = ("loopy", "islpy", "islpy-barvinok", "pymbolic", "numpy")
    return repr(([installed(name) for name in libraries], can_count(), digest.hexdigest()))


def _read(path: Path, kind: Any) -> Any:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        counts = document["counts"]
        if (document["schema"], document["sha256"]) != (SCHEMA, digest_of(counts)):
            return None
        value = counts if kind is None else kind.from_json(counts)
        os.utime(path)  # marks the entry as used now; trimming removes the least recently used first
    except Exception:  # the entry is damaged: the counts are computed again
        return None
    return value


def _write(path: Path, content: Any) -> None:
    document = {"schema": SCHEMA, "sha256": digest_of(content), "counts": content}
    with suppress(OSError):  # the disk is read-only or full, or another process removed the file
        replace_file(path, json.dumps(document).encode(), durable=False)  # the hash detects a torn entry
        if next(_written) % TRIM_EVERY == 0:
            _trim(path.parent)


def _trim(directory: Path) -> None:
    entries = []
    for entry in os.scandir(directory):
        with suppress(OSError):
            status = entry.stat()
            entries.append((status.st_mtime, status.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= ON_DISK_BYTES:
            break
        with suppress(OSError):
            Path(path).unlink()
        total -= size
