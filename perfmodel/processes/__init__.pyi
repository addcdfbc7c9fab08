from . import pool, variants

__all__ = ["pool", "variants"]
