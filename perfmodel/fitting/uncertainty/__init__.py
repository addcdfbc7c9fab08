"""Intervals of predictions, and warnings about predictions outside of the measured range.

In: predictions of measured rows by fits that have not seen them, and the rows themselves.
Out: conformal scores and ranges, which the weights file keeps.
"""
