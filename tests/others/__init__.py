"""Kernels that other people wrote: captured while their own tests run, counted, and compared with the oracle."""
