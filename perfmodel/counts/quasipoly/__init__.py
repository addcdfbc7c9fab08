"""Counts as piecewise quasi-polynomials."""
