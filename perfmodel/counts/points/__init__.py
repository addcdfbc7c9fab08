"""Counting the points of sets."""
