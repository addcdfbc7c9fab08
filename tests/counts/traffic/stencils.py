"""A family of stencils: dimensions, shapes, radii, where inames begin, guards, groups and orders of loops."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import loopy as lp
import numpy as np


@dataclass(frozen=True)
class Stencil:
    """A stencil over cells ``begin`` to ``n - radius``, or, without a guard, over the cells from its radius on.

    Attributes
    ----------
    shape : str
        ``"star"`` or ``"box"``.
    begin : int
        Where inames begin; 0 for a kernel whose index adds the radius instead.
    group : tuple of int
        Work-items along k, and along j.
    order : str
        ``"j"`` or ``"i"`` is g.1, or the loops inside a work-item, the outer one first; ``""`` where l.1 is along j.
    """

    dims: int
    shape: str
    radius: int
    begin: int
    group: tuple[int, ...]
    order: str

    def build(self) -> lp.TranslationUnit:
        """Return the kernel; its size is n, the extent of the arrays in each direction."""
        names = "ijk"[3 - self.dims:]
        shift = 0 if self.begin else self.radius

        def cell(offsets: tuple[int, ...]) -> str:
            return ", ".join(f"{name} + {offset + shift}" for name, offset in zip(names, offsets, strict=True))

        steps = range(-self.radius, self.radius + 1)
        offsets = [one for one in product(steps, repeat=self.dims) if self.shape == "box" or sum(map(bool, one)) <= 1]
        inames, centre = ",".join(names), cell((0,) * self.dims)
        unit = lp.make_kernel(
            f"{{ [{inames}]: {self.begin} <= {inames} < n - {self.radius + shift} }}",
            f"o[{centre}] = " + " + ".join(f"u[{cell(one)}]" for one in offsets),
            [lp.GlobalArg("u, o", np.float32, shape=",".join("n" * self.dims)), ...],
            assumptions="n >= 12", lang_version=(2018, 2),
        )
        unit = lp.split_iname(unit, "k", self.group[0], outer_tag="g.0", inner_tag="l.0")
        if len(self.group) > 1:
            return lp.split_iname(unit, "j", self.group[1], outer_tag="g.1", inner_tag="l.1")
        if len(self.order) == 1:
            return lp.tag_inames(unit, {self.order: "g.1"})
        return lp.prioritize_loops(unit, ",".join(self.order)) if self.dims == 3 else unit


def stencils() -> Iterator[Stencil]:
    """Yield the family."""
    groups = ((8,), (16,), (32,), (16, 4))
    for dims, shape, radius, begin, group in product((2, 3), ("star", "box"), (1, 2), (0, 1, 2), groups):
        if 0 < begin < radius or (dims == 3 and (begin > radius or 32 in group or (shape, radius) == ("box", 2))):
            continue  # cells before the array; few shapes in 3-D, none of 125 loads
        orders = ("",) if len(group) > 1 else ("j", "jk") if dims == 2 else ("j", "i", "ij", "ji")
        yield from (Stencil(dims, shape, radius, begin, group, order) for order in orders)
