"""Random kernels that nobody wrote: their grammar, what Loopy makes of them, and the file in which they ship."""
