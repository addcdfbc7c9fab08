from . import archive, generator, recipe, search
from .archive import Archive, Best, Entry, archives, best, kernel_key, record, transform_loopy_program, use_best
from .generator import Form, Point, Recipes, recipes_of
from .recipe import Recipe, Step
from .search import Candidate, Transformed, transformed

__all__ = [
    "Archive", "Best", "Candidate", "Entry", "Form", "Point", "Recipe", "Recipes", "Step", "Transformed", "archive",
    "archives", "best", "generator", "kernel_key", "recipe", "recipes_of", "record", "search",
    "transform_loopy_program", "transformed", "use_best",
]  # fmt: skip
