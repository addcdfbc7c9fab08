"""Least squares of relative errors for models that are not linear in their weights.

In: an expression with its derivatives, rows of feature values with their measured times, bounds and starts.
Out: the weights of the best of several runs, with standard errors and marks.
"""
