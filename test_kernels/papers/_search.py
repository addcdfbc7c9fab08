"""Batched predecessor search: its work-groups, and keys and queries to search among.

A key's predecessor is the last one that is not larger.  Each work-item answers one query after another.  A warp is 32
work-items, as in the dissertation of Karsin (2018), and a work-group has four.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import loopy as lp
import numpy as np

WARP = 32
WARPS = 4
ITEMS = WARP * WARPS
"""Work-items of a group."""
LEAST, MOST = 0, 2**31 - 1
"""Bounds of all queries: LEAST is at most a query, MOST is larger."""
BITS = 31
QUERY = f"lane + {WARP}*(warp + {WARPS}*(turn + {{turns}}*group))"


def searched(
    name: str,
    body: str,
    arrays: Mapping[str, str],
    domains: tuple[str, ...] = (),
    turns: int = 1,
    before: str = "",
    local: Mapping[str, tuple[int, ...]] | None = None,
    sizes: tuple[str, ...] = (),
    assumptions: str = "",
) -> lp.TranslationUnit:
    """Build a kernel that stores the value of ``at`` after `body` in ``found``, for each ``query``.

    `body` is the search of one query, as instructions in their order; it may use the inames of `domains`, ``warp`` and
    ``lane``. `arrays` has the shapes of the arrays of keys (int32) by name, `local` the shapes of int32 arrays in local
    memory. Each work-item answers `turns` queries; neighbouring lanes have neighbouring queries. A group executes
    `before` first, for example to fetch keys into local memory. `sizes` are size parameters in addition to ``q``, the
    number of queries, with their `assumptions`.
    """
    group = ITEMS * turns
    query = QUERY.format(turns=turns)
    t_unit = lp.make_kernel(
        [
            f"[{', '.join(('q', *sizes))}] -> {{[group, warp, lane, turn]: 0 <= {group}*group < q "
            f"and 0 <= warp < {WARPS} and 0 <= lane < {WARP} and 0 <= turn < {turns}}}",
            *domains,
        ],
        f"""
        for group, warp, lane
            {before}
            for turn
                <int32> query = queries[{query}]
                {body}
                found[{query}] = at
            end
        end
        """,
        [
            *(lp.GlobalArg(array, np.int32, shape=shape, is_input=True) for array, shape in arrays.items()),
            lp.GlobalArg("queries", np.int32, shape="q"),
            lp.GlobalArg("found", np.int32, shape="q", is_input=False),
            *(lp.ValueArg(size, np.int32) for size in ("q", *sizes)),
            *(lp.TemporaryVariable(table, np.int32, shape=shape, address_space=lp.AddressSpace.LOCAL)
              for table, shape in (local or {}).items()),
        ],
        assumptions=" and ".join(
            (f"q mod {group} = 0", *(f"{size} >= 1" for size in ("q", *sizes)), *filter(None, (assumptions,)))
        ),
        name=name,
        seq_dependencies=True,
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )  # fmt: skip
    return lp.tag_inames(t_unit, "group:g.0, warp:l.1, lane:l.0")


def spaced_keys(n: int) -> Any:
    """Return n keys in equal steps, of which LEAST is the first, shape (n,), int32."""
    return (np.arange(n, dtype=np.int64) * 2**BITS // n).astype(np.int32)


def random_queries(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Draw queries between LEAST and MOST; an eighth of them are multiples of 2^17, like many keys."""
    queries = generator.integers(LEAST, MOST, shape).astype(np.int32)
    queries[::8] &= -(2**17)
    return queries


def nothing_found(_: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Initial contents of the results, which no search finds, shape (q,)."""
    return np.full(shape, -1, np.int32)


def level_order(keys: Any) -> Any:
    """Return keys in the order of a complete binary search tree's levels, shape of `keys`.

    The tree holds all but the first key; the children of node i are 2i + 1 and 2i + 2. MOST fills the last place.
    """
    steps = [len(keys) >> level for level in range(len(keys).bit_length() - 1)]
    return np.concatenate([*(keys[step // 2 :: step] for step in steps), [MOST]]).astype(np.int32)


def node_order(keys: Any, width: int = WARP) -> Any:
    """Return keys in the order of a B-tree's levels, shape (:func:`node_count`, width).

    A node has width - 1 keys and `width` children, and MOST fills its last place. The root has only the children that
    the keys need, and MOST in its other places. The tree holds all but the first key; their number is a power of two.
    """
    levels, step = [], len(keys)
    while step > 1:
        children = root_children(len(keys), width) if step == len(keys) else width
        step //= children
        own = keys.reshape(-1, children, step)[:, 1:, 0]
        levels.append(np.pad(own, ((0, 0), (0, width - children + 1)), constant_values=MOST))
    return np.concatenate(levels).astype(np.int32)


def root_children(n: int, width: int = WARP) -> int:
    """Return how many children the root of a B-tree over `n` keys has; n and `width` are powers of two."""
    bits = (width - 1).bit_length()
    return 1 << ((n.bit_length() - 2) % bits + 1)


def node_count(n: int, width: int = WARP) -> int:
    """Return the nodes of a B-tree over `n` keys."""
    below = n // root_children(n, width)  # keys of one child of the root
    return 1 + root_children(n, width) * ((below - 1) // (width - 1))


def keys_of(nodes: int, width: int = WARP) -> int:
    """Return the number of keys of a B-tree from its number of nodes: the inverse of :func:`node_count`."""
    below, keys = 1, width
    while nodes - 1 > width * below:
        below, keys = width * below + 1, width * keys
    return (nodes - 1) // below * keys
