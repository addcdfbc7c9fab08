from . import archive, recipe
from .archive import Archive, Best, Entry, archives, best, kernel_key, record, transform_loopy_program, use_best
from .recipe import Recipe, Step

__all__ = [
    "Archive", "Best", "Entry", "Recipe", "Step", "archive", "archives", "best", "kernel_key", "recipe", "record",
    "transform_loopy_program", "use_best",
]  # fmt: skip
