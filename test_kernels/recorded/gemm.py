"""A matrix product in float32 by the scheme of CLBlast's tuned kernel, with BLAS's alpha and beta.

    c[n, m] = alpha * (sum over k of a[k, m]*b[k, n]) + beta*c[n, m]

A work-group forms `MWG` by `NWG` elements with `MDIMC` by `NDIMC` work-items, in steps of `KWG` along k. With `SA` and
`SB` the group copies the step's part of a and of b to local memory, its work-items regrouped as `MDIMA` and `NDIMB`
columns; without them, work-items read global memory. A work-item holds MWG/MDIMC by NWG/NDIMC sums in registers.
The inner loop along k is unrolled by `KWI`. `VWM` and `VWN` are the widths of vectors: of a and c, and of b. With
`STRM` and `STRN` the distance of a work-item's vectors of a and of b is the number of work-items; without them, the
vectors are neighbours. The recorded times are for KWG = 32, KWI = 2 and STRM = STRN = 0.

Arrays, tiles and registers have OpenCL's vector types, so that an access is as wide as its vector. A vector of 8 is two
of 4 here: no GPU loads more than 128 bits at once, and the recorded times of 4 and 8 differ by 3 % in the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import loopy as lp
import numpy as np

WIDEST = 4  # elements of an access


def kernel(
    MWG: int, NWG: int, MDIMC: int, NDIMC: int, MDIMA: int, NDIMB: int, VWM: int, VWN: int, SA: int, SB: int,
    KWG: int = 32, KWI: int = 2, STRM: int = 0, STRN: int = 0, GEMMK: int = 0, KREG: int = 1, PRECISION: int = 32,
) -> lp.TranslationUnit:  # fmt: skip
    if (GEMMK, KREG, PRECISION) != (0, 1, 32):
        raise ValueError("the kernel is defined only for GEMMK=0, KREG=1 and PRECISION=32")
    group = _Group(MDIMC, MDIMC * NDIMC, KWG, KWI)
    a = _Factor(group, "a", "m", MWG, MDIMC, MDIMA, VWM, bool(SA), bool(STRM))
    b = _Factor(group, "b", "n", NWG, NDIMC, NDIMB, VWN, bool(SB), bool(STRN))
    rows = NWG // NDIMC
    row = f"{b.width}*({b.own('i_end')}) + i_end_lane"
    result = f"c[{NWG}*gn + {row}, {a.row}*gm + {a.own('j_end')}, lane_end]"
    total = f"sums[{b.width}*i + i_lane, j, lane]"
    t_unit = lp.make_kernel(
        [
            f"{{[gm, gn, step]: 0 <= {MWG}*gm < m and 0 <= {NWG}*gn < n and 0 <= {KWG}*step < k}}",
            _box(lm=MDIMC, ln=NDIMC, k_outer=KWG // KWI, k_inner=KWI),
            _box(i_start=rows, j_start=a.vectors, lane_start=a.width),
            _box(i_end=b.vectors, i_end_lane=b.width, j_end=a.vectors, lane_end=a.width),
            _box(i=b.vectors, i_lane=b.width, j=a.vectors, lane=a.width),
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
                    {total} = {total} + a_own[j, lane]*b_own[i, i_lane] {{id=add, dep=start:load_*}}
                end
            end
            {result} = alpha*sums[{b.width}*i_end + i_end_lane, j_end, lane_end] + beta*{result} {{dep=add}}
        end
        """,
        [
            *a.arrays,
            *b.arrays,
            lp.GlobalArg("c", np.float32, shape=("n", f"m // {a.width}", a.width), dim_tags=_layout(3, a.width)),
            _registers("sums", rows, a.vectors, a.width),
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
    unrolled = (
        "i_start",
        "j_start",
        "i_end",
        "i_end_lane",
        "j_end",
        "i",
        "i_lane",
        "j",
        "k_inner",
        *a.unrolled,
        *b.unrolled,
    )
    t_unit = lp.tag_inames(t_unit, dict.fromkeys(unrolled, "unr"))
    lanes = {"lane_start": a.width, "lane": a.width, "lane_end": a.width, **a.lanes, **b.lanes}
    t_unit = lp.tag_inames(t_unit, {name: "vec" if width > 1 else "unr" for name, width in lanes.items()})
    return lp.prioritize_loops(lp.prioritize_loops(t_unit, "step, k_outer, k_inner"), "i, i_lane, j")


@dataclass(frozen=True)
class _Group:
    across: int  # work-items along the first axis
    threads: int  # work-items
    steps: int  # along k at a time
    unrolled: int  # steps along k


@dataclass(frozen=True)
class _Factor:
    """A factor of the product: its place in memory, and the parts of a group and of its work-items."""

    group: _Group
    name: str
    axis: str
    tile: int  # elements of a group along the axis
    items: int  # work-items along the axis
    columns: int  # columns of the regrouped work-items
    vector: int  # elements of a vector
    shared: bool  # whether the group copies its part to local memory
    strided: bool  # whether the distance of a work-item's vectors is the number of work-items

    @property
    def width(self) -> int:
        """Elements of an access."""
        return min(self.vector, WIDEST)

    @property
    def row(self) -> int:
        """Number of a group's vectors in a row of the factor."""
        return self.tile // self.width

    @property
    def vectors(self) -> int:
        """Number of a work-item's vectors in such a row."""
        return self.row // self.items

    @property
    def copied_rows(self) -> int:
        """Number of the tile's rows that a work-item copies."""
        return self.group.steps * self.columns // self.group.threads

    def own(self, vector: str) -> str:
        """Return the place of a work-item's vector in a row of the group."""
        return self._place(f"l{self.axis}", self.items, vector)

    def _place(self, item: str, items: int, vector: str) -> str:
        if not self.strided:
            return f"{self.row // items}*{item} + {vector}"
        parts = self.vector // self.width
        if parts == 1:
            return f"{item} + {items}*{vector}"
        return f"{parts}*({item} + {items}*({vector} // {parts})) + {vector} % {parts}"

    @property
    def domains(self) -> tuple[str, ...]:
        x = self.name
        own = _box(**{f"{x}_column": self.vectors, f"{x}_lane": self.width})
        if not self.shared:
            return (own,)
        columns = self.row // self.columns
        return own, _box(
            **{f"{x}_copy_row": self.copied_rows, f"{x}_copy_column": columns, f"{x}_copy_lane": self.width}
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        x, width = self.name, self.width
        tile = _registers(f"{x}_tile", self.group.steps, self.row, width).copy(address_space=lp.AddressSpace.LOCAL)
        return (
            lp.GlobalArg(x, np.float32, shape=("k", f"{self.axis} // {width}", width), dim_tags=_layout(3, width)),
            _registers(f"{x}_own", self.vectors, width),
            *[tile] * self.shared,
        )

    @property
    def copy(self) -> str:
        """The instruction that copies the group's part of a step: a work-item's rows and vectors are neighbours."""
        if not self.shared:
            return ""
        x, (item_row, item_column) = self.name, self._regrouped
        row = f"{self.copied_rows}*{item_row} + {x}_copy_row"
        column = self._place(item_column, self.columns, f"{x}_copy_column")
        source = f"{x}[{self.group.steps}*step + {row}, {self.row}*g{self.axis} + {column}, {x}_copy_lane]"
        return f"{x}_tile[{row}, {column}, {x}_copy_lane] = {source} {{id=copy_{x}}}"

    @property
    def _regrouped(self) -> tuple[str, str]:
        """Row and column of a work-item in groups of `columns`; all widths are powers of two."""
        across = self.group.across
        if self.columns <= across:
            ratio = across // self.columns
            return f"(lm // {self.columns} + {ratio}*ln)", f"(lm % {self.columns})"
        ratio = self.columns // across
        return f"(ln // {ratio})", f"(lm + {across}*(ln % {ratio}))"

    @property
    def load(self) -> str:
        """The instruction that loads a work-item's vectors of one step to registers."""
        x, row, column = self.name, f"{self.group.unrolled}*k_outer + k_inner", self.own(f"{self.name}_column")
        source = f"{x}[{self.group.steps}*step + {row}, {self.row}*g{self.axis} + {column}, {x}_lane]"
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


def _registers(name: str, *shape: int) -> lp.TemporaryVariable:
    private = lp.AddressSpace.PRIVATE
    return lp.TemporaryVariable(
        name, np.float32, shape=shape, dim_tags=_layout(len(shape), shape[-1]), address_space=private
    )


def _layout(axes: int, width: int) -> str:
    """Layout of an array whose last axis is a vector axis if it has more than one element."""
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
    rows = ((32, MDIMC * NDIMC // MDIMA), (32, MDIMC * NDIMC // NDIMB))
    return all(tile % part == 0 for tile, part in (*vectors, *rows))


def reference(a: Any, b: Any, c: Any, alpha: Any, beta: Any) -> dict[str, Any]:
    flat = {name: np.reshape(array, (len(array), -1)) for name, array in (("a", a), ("b", b), ("c", c))}
    return {"c": np.reshape(alpha * flat["b"].T @ flat["a"] + beta * flat["c"], np.shape(c))}
