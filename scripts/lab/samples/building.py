"""What Loopy makes of a drawn kernel: its translation unit, transformed."""

from __future__ import annotations

import loopy as lp
import numpy as np

from scripts.lab.samples.grammar import Axis, DrawnKernel, Loop


def built(drawn: DrawnKernel) -> lp.TranslationUnit:
    """Return the transformed translation unit of a drawn kernel."""
    names = ", ".join(axis.name for axis in drawn.axes)
    unit = lp.make_kernel(
        _domains(drawn),
        [f"for {names}", *drawn.statements, "end"],
        [
            *(lp.GlobalArg(a.name, np.dtype(a.dtype), shape=", ".join(a.shape)) for a in drawn.arrays),
            *(lp.ValueArg(name, np.int32) for name in sorted(drawn.sizes)),
        ],
        assumptions=_assumptions(drawn),
        name=drawn.name,
        lang_version=(2018, 2),
        silenced_warnings="v1_scheduler_fallback",  # that ilp is scheduled more slowly
    )
    for i, axis in enumerate(drawn.axes):
        unit = _split_axis(unit, axis, i)
    for loop in drawn.loops:
        unit = _unrolled(unit, loop, bool(drawn.prefetched))
    return _tiled(unit, drawn) if drawn.prefetched else unit


def _domains(drawn: DrawnKernel) -> list[str]:
    """Return one domain for the axes and one for each loop, or one for all where tiles are swept over it."""
    box = {axis.name: f"0 <= {axis.name} < n{i}" for i, axis in enumerate(drawn.axes)}
    loops = {loop.name: _bounds(loop) for loop in drawn.loops}
    parts = [box | loops] if drawn.prefetched else [box, *({name: bound} for name, bound in loops.items())]
    return [f"{{[{', '.join(part)}]: {' and '.join(part.values())}}}" for part in parts]


def _bounds(loop: Loop) -> str:
    if loop.kind == "triangle":
        return f"0 <= {loop.name} <= i{loop.trips[1:]}"
    return f"0 <= {loop.name} < {loop.trips}"


def _assumptions(drawn: DrawnKernel) -> str:
    terms = []
    for name, multiple in drawn.multiples.items():
        terms.append(f"{name} >= {multiple}")
        terms += [f"{name} mod {multiple} = 0"] * (multiple > 1)
    return " and ".join(terms)


def _split_axis(unit: lp.TranslationUnit, axis: Axis, place: int) -> lp.TranslationUnit:
    """Split an axis into work-groups, work-items and their cells."""
    name, group, lane, tags = axis.name, f"{axis.name}_group", f"{axis.name}_lane", {"inner_tag": f"l.{place}"}
    if axis.cells == 1:
        return lp.split_iname(
            unit, name, axis.lanes, outer_iname=group, inner_iname=lane, outer_tag=f"g.{place}", **tags
        )
    unit = lp.split_iname(
        unit, name, axis.tile, outer_iname=group, inner_iname=f"{name}_tile", outer_tag=f"g.{place}"
    )
    cell, tag = f"{name}_cell", axis.tag or None
    if axis.layout == "blocked":
        return lp.split_iname(
            unit, f"{name}_tile", axis.cells, outer_iname=lane, inner_iname=cell, outer_tag=f"l.{place}", inner_tag=tag
        )
    return lp.split_iname(
        unit, f"{name}_tile", axis.lanes, outer_iname=cell, inner_iname=lane, outer_tag=tag, **tags
    )


def _unrolled(unit: lp.TranslationUnit, loop: Loop, tiled: bool) -> lp.TranslationUnit:
    if loop.unrolled == 1:
        return unit
    if loop.kind == "constant":
        return lp.tag_inames(unit, {loop.name: "unr"})
    outer, inner = f"{loop.name}_step", f"{loop.name}_part"
    unit = lp.split_iname(
        unit, loop.name, loop.unrolled, outer_iname=outer, inner_iname=inner, inner_tag=None if tiled else "unr"
    )
    return lp.prioritize_loops(unit, f"{outer}, {inner}")


def _tiled(unit: lp.TranslationUnit, drawn: DrawnKernel) -> lp.TranslationUnit:
    """Let the work-items of a group fetch tiles of some arrays into local memory, one for each step of the loops."""
    swept = {axis.name: f"{axis.name}_lane" for axis in drawn.axes} | {k.name: f"{k.name}_part" for k in drawn.loops}
    text = " ".join(drawn.statements)
    for name in drawn.prefetched:
        accesses = [text[at:text.index("]", at)] for at in range(len(text)) if text.startswith(f"{name}[", at)]
        used = [lanes for variable, lanes in swept.items() if any(variable in access for access in accesses)]
        unit = lp.add_prefetch(unit, name, used, default_tag="l.auto")
    return lp.add_inames_for_unused_hw_axes(unit)
