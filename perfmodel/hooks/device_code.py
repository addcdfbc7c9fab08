"""What another tuner needs to run a Loopy kernel itself: the OpenCL code, its arguments, and the launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfmodel.counts.reading.schedule import schedule
from perfmodel.errors import ConfigurationError
from perfmodel.hooks.predicted_times import three_axes
from perfmodel.measuring.arguments import array_arguments, host_array, scalar_arguments
from perfmodel.measuring.generated_code import GeneratedCode

if TYPE_CHECKING:
    from loopy import TranslationUnit

    from perfmodel.counts import KernelCounts


@dataclass(frozen=True, eq=False)
class DeviceCode:
    """The one device kernel of a translation unit, at given sizes.

    Parameters
    ----------
    name : str
        Of the kernel in `text`.
    text : str
        OpenCL C.
    arguments : tuple of str
        Their names, in the order of the kernel's parameters.
    global_size : tuple of int
        Work-items along each axis.
    """

    name: str
    text: str
    arguments: tuple[str, ...]
    global_size: tuple[int, ...]


def device_code(
    unit: TranslationUnit, counts: KernelCounts, sizes: Mapping[str, int], configuration: str
) -> DeviceCode:
    """Return the code that Loopy generates, and how it is launched at these sizes.

    Raises
    ------
    ConfigurationError
        If a run of it is not one launch of one device kernel, or needs memory of its own between launches.
    """
    from loopy.schedule.tools import get_subkernel_arg_info
    from pymbolic import evaluate

    if len(counts.launch_table) != 1 or (launches := counts.launches()(**sizes)) != 1:
        found = len(counts.launch_table) if len(counts.launch_table) != 1 else launches
        raise ConfigurationError(configuration, f"takes {found} launches, and the tuner makes one")
    (launch,) = counts.launch_table
    scheduled = schedule(unit)
    kernel = scheduled.default_entrypoint
    passed = get_subkernel_arg_info(kernel, launch.name)
    if passed.passed_temporaries or passed.passed_inames:
        extra = ", ".join((*passed.passed_temporaries, *passed.passed_inames))
        raise ConfigurationError(configuration, f"needs {extra} beside its arguments, which the tuner cannot give")
    groups, _ = kernel.get_grid_size_upper_bounds_as_exprs(scheduled.callables_table)
    global_size = tuple(
        int(evaluate(number, dict(sizes))) * width
        for number, width in zip(three_axes(groups), three_axes(launch.group_shape), strict=True)
    )
    return DeviceCode(launch.name, GeneratedCode(scheduled).text, tuple(passed.passed_arg_names), global_size)


def made_arguments(
    unit: TranslationUnit, sizes: Mapping[str, int], scalars: Mapping[str, float], seed: int = 0
) -> dict[str, Any]:
    """Return values for all arguments by name: arrays with contents in [0.5, 2), shape (elements,), and scalars.

    Raises
    ------
    KernelArgumentError
        If a scalar has no value, or a value no scalar.
    """
    kernel = unit.default_entrypoint
    arrays = {array.name: host_array(array, seed + place) for place, array in enumerate(array_arguments(kernel, sizes))}
    return {**arrays, **scalar_arguments(kernel, sizes, scalars)}
