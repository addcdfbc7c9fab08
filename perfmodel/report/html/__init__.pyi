from . import page

__all__ = ["page"]
