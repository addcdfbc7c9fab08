"""Counting the points of sets: formulas for intervals, products of factors, Barvinok, our own summation."""
