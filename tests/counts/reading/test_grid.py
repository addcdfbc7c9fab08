"""Grids and groups, against the launch of OpenCL written by hand."""

from __future__ import annotations

import islpy as isl
import loopy as lp
import pytest
from constantdict import constantdict

from perfmodel.counts.reading.domains import Domains
from perfmodel.counts.reading.grid import grid_and_group
from perfmodel.counts.reading.schedule import schedule
from perfmodel.errors import NotCountableError
from tests.corpus import kernels

VECTOR = "{ [i]: 0 <= i < n }", "out[i] = a[i]"


def grid_of(kernel):
    return grid_and_group(Domains(kernel, {}), constantdict(), frozenset(kernel.id_to_insn))


def test_groups_of_16_lanes(scheduled) -> None:
    (groups,), lanes = grid_of(scheduled(*VECTOR, split=16))
    assert (16,) == lanes
    # ceil(n / 16) = floor((n + 15) / 16)
    assert groups.is_equal(isl.PwAff("[n] -> { [(floor((15 + n)/16))] }"))


def test_no_hardware_axis_is_one_work_item(scheduled) -> None:
    assert ((), ()) == grid_of(scheduled(*VECTOR))


def test_a_group_whose_shape_depends_on_a_size_is_refused(scheduled) -> None:
    kernel = scheduled(*VECTOR)
    kernel = lp.tag_inames(kernel, {"i": "l.0"})
    with pytest.raises(NotCountableError, match="shape depends on a parameter"):
        grid_of(kernel)


def test_parameters_of_a_grid_are_sorted() -> None:
    """Loopy's own search for static bounds gives them in an order that depends on Python's hash seed."""
    (guarded,) = (kernel for kernel in kernels() if kernel.name == "different_guards")
    (extent,), _ = grid_of(schedule(guarded.build()).default_entrypoint)
    assert ["m", "n"] == list(extent.get_var_names(isl.dim_type.param))
