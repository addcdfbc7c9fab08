from . import recipe
from .recipe import Recipe, Step

__all__ = ["Recipe", "Step", "recipe"]
