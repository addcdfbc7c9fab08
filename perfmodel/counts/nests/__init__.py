"""Nests: a nest has the operations and accesses in the same loops, barrier interval and lanes."""
