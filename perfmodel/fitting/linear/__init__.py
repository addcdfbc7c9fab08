"""Linear least squares of relative errors.

In: rows of feature values with their measured times and the weights of the rows (``rows``).
Out: a weight for each feature with its standard error, marks and groups that the rows cannot tell apart.
"""
