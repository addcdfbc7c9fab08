"""Which configurations to measure."""
