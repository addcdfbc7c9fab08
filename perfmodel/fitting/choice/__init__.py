"""The choice of the configurations to measure first.

In: configurations with their features, times of trials, and the share to be measured.
Out: positions of the configurations, in batches.
"""
