"""Numbers that models compute from counts and facts: functions of a :class:`~perfmodel.quantities.case.Case`."""
