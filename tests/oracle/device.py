"""Run the same generated code on an OpenCL device, with the same contents of memory."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyopencl as cl

from .dtypes import CType
from .execute import Memory, initial_memory
from .executed import Executed
from .source import BufferName, Program, launches
from .statements import parameter_types

Array = np.ndarray[Any, Any]


def _contents(kind: CType, length: int, given: Array | None) -> Array:
    memory = initial_memory(kind, given)
    values = np.array([memory[address] for address in range(length)], dtype=kind.dtype)
    return np.ascontiguousarray(values)


def device_memory(
    queue: cl.CommandQueue,
    source: Program,
    parameters: Mapping[str, Any],
    arrays: Mapping[str, Array],
    executed: Executed,
) -> dict[str, Array]:
    """Build and launch *source* as its host code would; the contents of each array afterwards, in memory order.

    A buffer is as long as *executed* touches its array.
    """
    program = cl.Program(queue.context, source.device_code).build()
    buffers: dict[str, tuple[cl.Buffer, Array]] = {}
    for launch in launches(source, parameters):
        given, arguments = dict(launch.arguments), []
        for position, (name, kind, form) in enumerate(parameter_types(source.functions[launch.name])):
            value = given.get(position, BufferName(name))
            if form == "pointer":
                root = value.name if isinstance(value, BufferName) else name
                if root not in buffers:
                    host = _contents(kind, _length(executed, root), arrays.get(root))
                    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
                    buffers[root] = (cl.Buffer(queue.context, flags, hostbuf=host), host)
                arguments.append(buffers[root][0])
            else:
                number = parameters.get(name, 1.5) if isinstance(value, BufferName) else value
                arguments.append(np.dtype(kind.dtype).type(number))
        size = tuple(groups * items for groups, items in zip(launch.groups, launch.items, strict=True))
        cl.Kernel(program, launch.name)(queue, size, launch.items, *arguments)
    for buffer, host in buffers.values():
        cl.enqueue_copy(queue, host, buffer)
    queue.finish()
    return {name: host for name, (_, host) in buffers.items()}


def _length(executed: Executed, array: str) -> int:
    touched = [address for instance in executed.select(array) for _, address in instance.touched]
    return max(touched, default=0) + 1


def oracle_memory(memory: Mapping[str, Memory], name: str, length: int) -> Array:
    return np.array([memory[name][address] for address in range(length)])
