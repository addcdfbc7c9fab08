"""Plain kernels next to their authors' transformed versions, and a runner that times both and what search finds."""
