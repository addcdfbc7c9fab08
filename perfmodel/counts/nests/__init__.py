"""Nests: the operations and accesses in the same loops, barrier interval and lanes, one row of counts for each nest."""
