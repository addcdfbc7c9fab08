"""The dataflow of one work-item."""
