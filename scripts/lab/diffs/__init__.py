"""Pairs of kernel versions that judge ``perfmodel diff``: seeded changes in kernels of other projects."""
