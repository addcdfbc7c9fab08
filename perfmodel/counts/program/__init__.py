"""The frozen program: what a scheduled kernel executes, its schedule tree and its JSON."""
