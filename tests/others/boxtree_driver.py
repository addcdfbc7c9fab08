"""Runs what boxtree has of Loopy: the kernels that place particles."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl
from boxtree.tools import make_surface_particle_array, make_uniform_particle_array


def main() -> None:
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    for place in (make_surface_particle_array, make_uniform_particle_array):
        for dimensions in (2, 3):
            for dtype in (np.float32, np.float64):
                try:
                    place(queue, 1000, dimensions, dtype)
                except Exception as error:
                    reason = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
                    sys.stderr.write(f"skipped: boxtree's {place.__name__} of {dimensions} {dtype}: {reason}\n")


if __name__ == "__main__":
    main()
