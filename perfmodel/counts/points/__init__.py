"""The numbers of points of sets: by formulas for intervals, products of factors, Barvinok's algorithm, or sums."""
