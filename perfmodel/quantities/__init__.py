"""What models compute from a kernel's counts and a device's facts: occupancy, transactions, traffic, instructions.

In goes a :class:`~perfmodel.quantities.case.Case`; out come floats, or arrays of the sizes' shape.
A fact that is needed and not known raises FactsError.
"""
