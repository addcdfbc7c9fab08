"""Counting the points of sets: formulas for intervals, products of factors, Barvinok, our own summation.

In: an isl set over a kernel's size parameters, and the assumptions about these.
Out: a ``Cardinality``: isl's function of the parameters, and whether it is exact or an upper bound.
"""
