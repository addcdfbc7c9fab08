from . import archive, generator, recipe
from .archive import Archive, Best, Entry, archives, best, kernel_key, record, transform_loopy_program, use_best
from .generator import Form, Point, Recipes, recipes_of
from .recipe import Recipe, Step

__all__ = [
    "Archive", "Best", "Entry", "Form", "Point", "Recipe", "Recipes", "Step", "archive", "archives", "best",
    "generator", "kernel_key", "recipe", "recipes_of", "record", "transform_loopy_program", "use_best",
]  # fmt: skip
