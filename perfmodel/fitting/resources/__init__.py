"""Fits of families whose run time is an overhead and a smooth maximum of resources.

In: a design whose columns are the resources' quantities. Out: weights that are never negative, with standard errors.
"""
