from .expression import Expression, parse, weight_units

__all__ = ["Expression", "parse", "weight_units"]
