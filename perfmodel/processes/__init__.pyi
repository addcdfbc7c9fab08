from . import counting, variants

__all__ = ["counting", "variants"]
