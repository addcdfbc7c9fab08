"""Cache traffic: the lines that a cache of some size fetches while a kernel runs, as a model in numbers."""
