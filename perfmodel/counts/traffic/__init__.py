"""Traffic: the lines that a cache of some size must fetch while a kernel runs.

In: the nests' addresses, the schedule and the order in which a device runs the work-items. Out: a model in numbers,
made at given sizes from what was prepared once.
"""
