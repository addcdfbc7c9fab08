"""What the operating system tells of a CPU's caches, to compare with what is measured."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from perfmodel.facts import Fact

SYSTEM = Path("/sys/devices/system/cpu/cpu0/cache")
"""Linux has a folder ``index*`` here for each cache of the first processor."""
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def told_caches(folder: Path = SYSTEM) -> dict[str, Fact]:
    """Return ``l1_told_bytes`` [B] and ``l1_told_ways`` to ``l3_told_ways``; what is not told is left out.

    Caches of instructions are left out. A virtual machine tells what its host pretends.
    """
    found: dict[str, Fact] = {}
    for cache in sorted(folder.glob("index*")):
        with suppress(OSError, ValueError, KeyError):
            level = int(_word(cache, "level"))
            if _word(cache, "type") == "Instruction" or not 1 <= level <= 3:
                continue
            size = _word(cache, "size")
            octets = int(size[:-1]) * _UNITS[size[-1]]
            found[f"l{level}_told_bytes"] = Fact(octets, "B", f"told by the operating system: {cache}/size")
            ways = int(_word(cache, "ways_of_associativity"))
            if ways > 0:
                source = f"told by the operating system: {cache}/ways_of_associativity"
                found[f"l{level}_told_ways"] = Fact(ways, "", source)
    return found


def _word(cache: Path, name: str) -> str:
    return (cache / name).read_text(encoding="ascii").strip()
