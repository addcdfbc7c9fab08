"""The program of a scheduled kernel as frozen values, which do not depend on Loopy, and as JSON."""
