"""The language of models' formulas: parsing, checks, derivatives, ranges and generated code."""

from __future__ import annotations

from perfmodel.expressions.expression import Expression, parse, weight_units

__all__ = ["Expression", "parse", "weight_units"]
