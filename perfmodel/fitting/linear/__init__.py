"""Linear least squares."""
