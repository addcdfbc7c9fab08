"""Counts as functions of the size parameters: arithmetic, comparison, evaluation, printing."""
