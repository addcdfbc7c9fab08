"""Counts as functions of the size parameters: arithmetic, comparison, evaluation, printing.

In: isl's piecewise quasi-polynomials and the assumptions under which they hold.
Out: a ``Count``, which gives exact numbers, arrays of numbers, text and JSON.
"""
