"""Loopy kernels that several kernel classes share.

What goes in: the few words in which the classes differ. What comes out: the kernel, and what its output must be.
"""
