"""Nests: in which loops, between which barriers and on which lanes each operation and access is executed.

In: a ``Program`` whose statements know their places, and its flow. Out: a table of counts, one row for each nest.
"""
