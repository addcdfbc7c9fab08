"""All-pairs shortest paths: one min-plus squaring c[i, j] = min(a[i, j], min over k of a[i, k] + a[k, j]).

Ma, Chamberlain and Agrawal, *Performance Modeling for Highly-threaded Many-core GPUs*, ASAP 2014, Eq. 9 and section
III. A work-group of `items` work-items computes one sub-block of `sub_block` by `sub_block` elements, so that there are
(n/sub_block)^2 groups. Three sub-blocks are in local memory, two of a and one of c: only then does Eq. 4 give the
paper's B_a = 4 for sub-blocks of 32 and 48 KiB. `extra_local` more bytes are allocated (section V): the array of c's
sub-block has unused rows, which change no instruction. With `whole` the matrix is squared
`steps` times, each in a launch of its own: d[s] has the shortest paths of at most 2^s edges, so log2(n) steps find all.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder

FLOAT = 4  # bytes


def build(sub_block: int, items: int, extra_local: int = 0, whole: bool = False) -> lp.TranslationUnit:
    read, written = ("d[s, {}]", "d[s + 1, {}]") if whole else ("a[{}]", "c[{}]")
    size, width = sub_block, min(sub_block, items)
    height = items // width
    loops = ", ".join(f"{name}{step}" for name in "rq" for step in range(5))
    rows = " and ".join(f"0 <= r{step} < {size // height}" for step in range(5))
    columns = " and ".join(f"0 <= q{step} < {size // width}" for step in range(5))
    at = [f"y + {height}*r{step}, x + {width}*q{step}" for step in range(5)]
    to = [f"{size}*{{0}} + y + {height}*r{step}, {size}*{{1}} + x + {width}*q{step}" for step in range(5)]
    sources = [read.format(to[0].format("bi", "bj")), read.format(to[1].format("bi", "bk")),
               read.format(to[2].format("bk", "bj"))]
    unsynchronised = "nosync=begin@global:fetch_left@global:fetch_right@global, " if whole else ""  # they read d[s]
    t_unit = lp.make_kernel(
        [
            *(["{[s]: 0 <= s < steps}"] if whole else []),
            f"{{[bi, bj]: 0 <= {size}*bi < n and 0 <= {size}*bj < n}}",
            f"{{[bk]: 0 <= {size}*bk < n}}",
            f"{{[y, x]: 0 <= y < {height} and 0 <= x < {width}}}",
            f"{{[{loops}]: {rows} and {columns}}}",
            f"{{[k]: 0 <= k < {size}}}",
        ],
        f"""
        {"for s" if whole else ""}
        {"... gbarrier {id=wait}" if whole else ""}
        for bi, bj, y, x
            found[{at[0]}] = {sources[0]} {{id=begin{", dep=*wait" if whole else ""}}}
            for bk
                left[{at[1]}] = {sources[1]} {{id=fetch_left, dep=*begin}}
                right[{at[2]}] = {sources[2]} {{id=fetch_right, dep=*begin}}
                for r3, q3
                    <> best = found[{at[3]}] {{id=load, dep=fetch_left:fetch_right}}
                    for k
                        best = fmin(best, left[y + {height}*r3, k] + right[k, x + {width}*q3]) {{id=step, dep=load}}
                    end
                    found[{at[3]}] = best {{id=keep, dep=step}}
                end
            end
            {written.format(to[4].format("bi", "bj"))} = found[{at[4]}] {{{unsynchronised}dep=keep}}
        end
        {"end" if whole else ""}
        """,
        [
            *_matrices(whole),
            *(_local(name, size, size) for name in ("left", "right")),
            _local("found", size + -(-extra_local // (FLOAT * size)), size),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {size} = 0" + (" and steps >= 1" if whole else ""),
        name="apsp_whole" if whole else "apsp",
        lang_version=(2018, 2),
    )
    for step in range(5):
        t_unit = lp.prioritize_loops(t_unit, f"r{step},q{step}")
    if whole:
        t_unit = lp.prioritize_loops(t_unit, "s,bk")
    return lp.tag_inames(t_unit, "bi:g.1, bj:g.0, y:l.1, x:l.0")


def _matrices(whole: bool) -> list[lp.KernelArgument]:
    if whole:
        return [lp.GlobalArg("d", np.float32, shape="steps + 1, n, n"), lp.ValueArg("steps", np.int32)]
    return [
        lp.GlobalArg("a", np.float32, shape="n, n"), lp.GlobalArg("c", np.float32, shape="n, n", is_input=False),
    ]  # fmt: skip


def _local(name: str, rows: int, columns: int) -> lp.TemporaryVariable:
    return lp.TemporaryVariable(name, np.float32, shape=(rows, columns), address_space=lp.AddressSpace.LOCAL)


def squared(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    """Return the lengths of the shortest paths of at most twice as many edges (Eq. 9)."""
    a = arguments["a"]
    found = a.copy()
    for k in range(len(a)):
        np.minimum(found, a[:, k, None] + a[None, k, :], out=found)
    return {"c": found}


#: Extra bytes: three sub-blocks of 32 by 32 then take 24 or 48 KiB, and two groups or one fit on a multiprocessor.
FORCED = (12 * 1024, 36 * 1024)
ITEMS = (16, 32, 64, 128, 256)

KERNEL = KernelClass(
    name="apsp",
    group="paths",
    build=build,
    variants=(
        *({"sub_block": size, "items": items} for size in (8, 16, 32, 64) for items in ITEMS if items <= size**2),
        {"sub_block": 128, "items": 128**2},  # a work-item for each element: more than devices allow
        *({"sub_block": 32, "items": items, "extra_local": extra} for items in (32, 128, 256) for extra in FORCED),
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=8, rungs=3),
    reference=squared,
    tags=("papers", "ranking", "local"),
    ranked=True,
)
