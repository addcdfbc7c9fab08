"""A matrix product in float32 by the scheme of CLBlast's tuned kernel, with BLAS's alpha and beta.

    c[n, m] = alpha * (sum over k of a[k, m]*b[k, n]) + beta*c[n, m]

A work-group forms `MWG` by `NWG` elements with `MDIMC` by `NDIMC` work-items, in steps of 32 along k. With `SA` and
`SB` the group copies the step's part of a and of b to local memory, its work-items regrouped as `MDIMA` and `NDIMB`
columns; without, work-items read them from global memory. A work-item holds MWG/MDIMC by NWG/NDIMC sums in registers.
The inner loop along k is unrolled by 2. `VWM` and `VWN` are the widths of vectors: of a and c, and of b.

Arrays, tiles and registers have OpenCL's vector types, so that an access is as wide as its vector: one of 8 is a single
access of 256 bits, which a GPU takes in two. The vectors of a work-item are neighbours (STRM = STRN = 0 in CLBlast).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import loopy as lp
import numpy as np

KWG, KWI = 32, 2  # steps along k at a time, and those that are unrolled
SIZE = 4096  # m, n and k, where the times were recorded


def kernel(
    MWG: int, NWG: int, MDIMC: int, NDIMC: int, MDIMA: int, NDIMB: int, VWM: int, VWN: int, SA: int, SB: int
) -> lp.TranslationUnit:
    a = _Factor("a", "m", MWG, MDIMC, MDIMA, VWM, bool(SA), MDIMC, MDIMC * NDIMC)
    b = _Factor("b", "n", NWG, NDIMC, NDIMB, VWN, bool(SB), MDIMC, MDIMC * NDIMC)
    rows = NWG // NDIMC
    result = f"c[{NWG}*gn + {rows}*ln + i_end, {a.row}*gm + {a.vectors}*lm + j_end, lane_end]"
    t_unit = lp.make_kernel(
        [
            f"{{[gm, gn, step]: 0 <= {MWG}*gm < m and 0 <= {NWG}*gn < n and 0 <= {KWG}*step < k}}",
            _box(lm=MDIMC, ln=NDIMC, k_outer=KWG // KWI, k_inner=KWI),
            _box(i_start=rows, j_start=a.vectors, lane_start=VWM),
            _box(i_end=rows, j_end=a.vectors, lane_end=VWM),
            _box(i=b.vectors, i_lane=VWN, j=a.vectors, lane=VWM),
            *a.domains,
            *b.domains,
        ],
        f"""
        for gm, gn, lm, ln
            sums[i_start, j_start, lane_start] = 0 {{id=start}}
            for step
                {a.copy}
                {b.copy}
                for k_outer, k_inner
                    {a.load}
                    {b.load}
                    sums[{VWN}*i + i_lane, j, lane] = (
                        sums[{VWN}*i + i_lane, j, lane] + a_own[j, lane]*b_own[i, i_lane]) {{id=add, dep=start:load_*}}
                end
            end
            {result} = alpha*sums[i_end, j_end, lane_end] + beta*{result} {{dep=add}}
        end
        """,
        [
            *a.arrays,
            *b.arrays,
            lp.GlobalArg("c", np.float32, shape=("n", f"m // {VWM}", VWM), dim_tags=_layout(3, VWM)),
            lp.TemporaryVariable("sums", np.float32, shape=(rows, a.vectors, VWM), dim_tags=_layout(3, VWM),
                                 address_space=lp.AddressSpace.PRIVATE),
            lp.ValueArg("alpha, beta", np.float32),
            lp.ValueArg("m, n, k", np.int32),
        ],
        assumptions=" and ".join(
            f"{size} >= 1 and {size} mod {tile} = 0" for size, tile in (("m", MWG), ("n", NWG), ("k", KWG))
        ),
        name="gemm",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )  # fmt: skip
    t_unit = lp.tag_inames(t_unit, "gm:g.0, gn:g.1, lm:l.0, ln:l.1")
    unrolled = ("i_start", "j_start", "i_end", "j_end", "i", "i_lane", "j", "k_inner", *a.unrolled, *b.unrolled)
    t_unit = lp.tag_inames(t_unit, dict.fromkeys(unrolled, "unr"))
    lanes = {"lane_start": VWM, "lane": VWM, "lane_end": VWM, **a.lanes, **b.lanes}
    t_unit = lp.tag_inames(t_unit, {name: "vec" if width > 1 else "unr" for name, width in lanes.items()})
    return lp.prioritize_loops(lp.prioritize_loops(t_unit, "step, k_outer, k_inner"), "i, i_lane, j")


@dataclass(frozen=True)
class _Factor:
    """A factor of the product: where it lies in memory, and what a group and its work-items take of it."""

    name: str
    axis: str
    tile: int  # elements of a group along the axis
    items: int  # work-items along the axis
    columns: int  # those of the regrouped work-items
    width: int  # of a vector
    shared: bool  # whether the group copies its part to local memory
    across: int  # work-items of a group along its first axis
    threads: int  # work-items of a group

    @property
    def row(self) -> int:
        """Vectors of a group in a row of the factor."""
        return self.tile // self.width

    @property
    def vectors(self) -> int:
        """Vectors of a work-item in such a row."""
        return self.row // self.items

    @property
    def domains(self) -> tuple[str, ...]:
        x = self.name
        own = _box(**{f"{x}_column": self.vectors, f"{x}_lane": self.width})
        if not self.shared:
            return (own,)
        rows, columns = KWG * self.columns // self.threads, self.row // self.columns
        return own, _box(**{f"{x}_copy_row": rows, f"{x}_copy_column": columns, f"{x}_copy_lane": self.width})

    @property
    def arrays(self) -> tuple[Any, ...]:
        x, width = self.name, self.width
        shape = ("k", f"{self.axis} // {width}", width)
        private, local = lp.AddressSpace.PRIVATE, lp.AddressSpace.LOCAL
        return (
            lp.GlobalArg(x, np.float32, shape=shape, dim_tags=_layout(3, width)),
            lp.TemporaryVariable(f"{x}_own", np.float32, shape=(self.vectors, width), dim_tags=_layout(2, width),
                                 address_space=private),
            *[lp.TemporaryVariable(f"{x}_tile", np.float32, shape=(KWG, self.row, width), dim_tags=_layout(3, width),
                                   address_space=local)] * self.shared,
        )  # fmt: skip

    @property
    def copy(self) -> str:
        """The instruction that copies the group's part of a step: a work-item's rows and vectors are neighbours."""
        if not self.shared:
            return ""
        x, (row, column) = self.name, self._regrouped
        place = (
            f"{KWG * self.columns // self.threads}*{row} + {x}_copy_row",
            f"{self.row // self.columns}*{column} + {x}_copy_column",
        )
        return (
            f"{x}_tile[{place[0]}, {place[1]}, {x}_copy_lane] = "
            f"{x}[{KWG}*step + {place[0]}, {self.row}*g{self.axis} + {place[1]}, {x}_copy_lane] {{id=copy_{x}}}"
        )

    @property
    def _regrouped(self) -> tuple[str, str]:
        """Row and column of a work-item where they stand `columns` wide; all widths are powers of two."""
        if self.columns <= self.across:
            ratio = self.across // self.columns
            return f"(lm // {self.columns} + {ratio}*ln)", f"(lm % {self.columns})"
        ratio = self.columns // self.across
        return f"(ln // {ratio})", f"(lm + {self.across}*(ln % {ratio}))"

    @property
    def load(self) -> str:
        """The instruction that loads a work-item's vectors of one step to registers."""
        x, row = self.name, f"{KWI}*k_outer + k_inner"
        column = f"{self.vectors}*l{self.axis} + {x}_column"
        source = f"{x}[{KWG}*step + {row}, {self.row}*g{self.axis} + {column}, {x}_lane]"
        if self.shared:
            source = f"{x}_tile[{row}, {column}, {x}_lane]"
        return f"{x}_own[{x}_column, {x}_lane] = {source} {{id=load_{x}{f', dep=copy_{x}' if self.shared else ''}}}"

    @property
    def unrolled(self) -> tuple[str, ...]:
        copied = (f"{self.name}_copy_row", f"{self.name}_copy_column")
        return (f"{self.name}_column", *copied * self.shared)

    @property
    def lanes(self) -> dict[str, int]:
        return dict.fromkeys((f"{self.name}_lane", *[f"{self.name}_copy_lane"] * self.shared), self.width)


def _box(**extents: int) -> str:
    bounds = " and ".join(f"0 <= {name} < {extent}" for name, extent in extents.items())
    return f"{{[{', '.join(extents)}]: {bounds}}}"


def _layout(axes: int, width: int) -> str:
    """Layout of an array whose last axis is a vector's, where that has more than one element."""
    if width == 1:
        return ",".join(f"N{axis}" for axis in reversed(range(axes)))
    return ",".join([*(f"N{axis}" for axis in reversed(range(axes - 1))), "vec"])


def space() -> dict[str, tuple[int, ...]]:
    return {
        "MWG": (16, 32, 64, 128),
        "NWG": (16, 32, 64, 128),
        "MDIMC": (8, 16, 32),
        "NDIMC": (8, 16, 32),
        "MDIMA": (8, 16, 32),
        "NDIMB": (8, 16, 32),
        "VWM": (1, 2, 4, 8),
        "VWN": (1, 2, 4, 8),
        "SA": (0, 1),
        "SB": (0, 1),
    }


def allowed(MWG: int, NWG: int, MDIMC: int, NDIMC: int, MDIMA: int, NDIMB: int, VWM: int, VWN: int) -> bool:
    vectors = ((MWG, MDIMC * VWM), (MWG, MDIMA * VWM), (NWG, NDIMC * VWN), (NWG, NDIMB * VWN))
    rows = ((KWG, MDIMC * NDIMC // MDIMA), (KWG, MDIMC * NDIMC // NDIMB))
    return all(tile % part == 0 for tile, part in (*vectors, *rows))


def reference(a: Any, b: Any, c: Any, alpha: Any, beta: Any) -> dict[str, Any]:
    flat = {name: np.reshape(array, (len(array), -1)) for name, array in (("a", a), ("b", b), ("c", c))}
    return {"c": np.reshape(alpha * flat["b"].T @ flat["a"] + beta * flat["c"], np.shape(c))}
