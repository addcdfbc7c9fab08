"""The resources that a kernel's nests use, as quantities of the family ``bottleneck``.

In: a :class:`~perfmodel.quantities.case.Case`: counts with nests and traffic, sizes, facts of the device.
Out: one number for each quantity of :data:`RESOURCES`, summed over all launches.
"""

from perfmodel.quantities.bottleneck.device import ASSUMED
from perfmodel.quantities.bottleneck.quantities import QUANTITIES, RESOURCES, bottleneck_quantities

__all__ = ["ASSUMED", "QUANTITIES", "RESOURCES", "bottleneck_quantities"]
