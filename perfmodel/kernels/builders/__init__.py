"""Loopy kernels that several kernel classes share.

What goes in: what differs between the classes. What comes out: the kernel, and what its output must be.
"""
