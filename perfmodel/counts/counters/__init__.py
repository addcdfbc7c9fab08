"""Counters: what a kernel executes and touches, at each granularity.

In: a ``Program`` (statements, accesses, barriers, launches) and the size of a sub-group.
Out: a ``Count`` of instances, cells, cache lines, serialised local accesses or active work-items.
"""
