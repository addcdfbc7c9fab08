"""Loopy kernels that several kernel classes share, with their correct outputs."""
