"""Facts of a device that are derived from its measurements.

In: measured rows with their counts.
Out: roofs, latencies and bandwidths as facts, each with its source.
"""
