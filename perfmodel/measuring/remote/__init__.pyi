from . import workers

__all__ = ["workers"]
