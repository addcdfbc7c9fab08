"""Numbers that models compute from counts and a device's facts: occupancy, transactions, traffic, instructions.

Each function takes a :class:`~perfmodel.quantities.case.Case` and returns floats, or arrays of the sizes' shape. An
unknown fact raises FactsError.
"""
