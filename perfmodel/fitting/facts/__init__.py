"""Facts read off measurements."""
