"""Whether a kernel can be built: Loopy's refusals in words, and accesses that leave what the code declares."""
