"""From Loopy to a program."""
