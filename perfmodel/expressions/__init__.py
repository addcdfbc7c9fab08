"""The language of models' formulas: parsing, checks, derivatives, ranges and generated code."""

from __future__ import annotations

from perfmodel.expressions.expression import Expression, linear, parse, weight_units

__all__ = ["Expression", "linear", "parse", "weight_units"]
