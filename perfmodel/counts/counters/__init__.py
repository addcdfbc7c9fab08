"""Counters: what a kernel executes and touches, at each granularity."""
