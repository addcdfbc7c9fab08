"""The convolution in Kernel Tuner's wider space: other ranges, always through local memory, also where it is too small.

The space includes configurations that need more local memory or registers than a card has; they have no time.
"""

from __future__ import annotations

from test_kernels.recorded.convolution import kernel, reference

__all__ = ["allowed", "kernel", "reference", "space"]


def space() -> dict[str, tuple[int, ...]]:
    return {
        "block_size_x": (2, 4, 8, 16, 32, 48, 64, 96, 112, 128),
        "block_size_y": (1, 2, 4, 8, 16, 32),
        "read_only": (0, 1),
        "tile_size_x": tuple(range(1, 9)),
        "tile_size_y": tuple(range(1, 9)),
        "use_padding": (0, 1),
    }


def allowed(block_size_x: int, block_size_y: int, tile_size_x: int, tile_size_y: int) -> bool:
    return 64 <= block_size_x * block_size_y <= 1024 and tile_size_x * tile_size_y < 30
