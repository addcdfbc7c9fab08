"""Guards: the last place of an axis is left out, so that the code asks for each work-item whether it takes part.

A guarded kernel launches as many work-items as the same kernel without the guard, at all sizes, and one lane of the
last work-group does nothing. The guard's cost is thus that of other code, and not that of less work.
"""

from __future__ import annotations

from typing import Any


def end(size: str, guarded: bool) -> str:
    """Return where an axis ends, as Loopy writes it.

    Examples
    --------
    >>> end("n", guarded=False), end("n", guarded=True)
    ('n', 'n - 1')
    """
    return f"{size} - 1" if guarded else size


def stored(values: Any, before: Any, guarded: bool) -> Any:
    """Return the output of a kernel whose last axis is guarded: `values`, but the old contents at that axis's end."""
    if not guarded:
        return values
    after = before.copy()
    after[..., :-1] = values[..., :-1]
    return after
