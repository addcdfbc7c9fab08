r"""What bounds a kernel: an overhead and a smooth maximum of the resources that its nests use.

.. math:: T = o + \Big(\sum_r R_r^s\Big)^{1/s}, \qquad R_r = \sum_q w_q q

The overhead o is the cost of launches, groups and barriers. The resources r are *chain* (operations and branches whose
latency a work-item waits for), *special* (divisions, roots, functions), *issue* (instructions, vector or scalar),
*near* (lines of the first-level cache) and *far* (lines of the second and last level). No weight is negative.
:mod:`perfmodel.quantities.bottleneck` counts the quantities q in each nest of loops between barriers.

Three facts describe the device as a whole. ``lane_order`` is the order in which the device runs the lanes of a group.
``odd_pitch_access`` is for local arrays whose rows do not have a power of two as length: neighbouring lanes access such
an array as a vector or element by element. ``resource_sharpness`` is the sharpness s. At s = 1 the times of resources
add up. At a larger s the times overlap more. Unknown facts are chosen by the lowest cross-validation error over groups
of measurement kernels.

Sources: S. Williams, A. Waterman, D. Patterson, *Roofline*, 2009, section 4; N. Derumigny et al., *PALMED*, 2022 (arXiv
2012.11473), for resources fitted from run times alone; H. Stengel et al., *Quantifying Performance Bottlenecks of
Stencil Computations Using the Execution-Cache-Memory Model*, 2015, for layer conditions. The choice of quantities is
ours.
"""

from dataclasses import replace

from perfmodel.models.model import SHARPNESS, Family, Weight, overlapping, weighted
from perfmodel.quantities import hints
from perfmodel.quantities.bottleneck import QUANTITIES, RESOURCES, bottleneck_quantities

SHARPNESSES = (3.0, 1.5, 2.0)
"""Values that a fit tries. With the first it chooses the other facts.

At 5 and 8, groups that are left out are predicted as well as at 2 (28.5 to 28.9 %, on PoCL on a Zen 4), but made-up
kernels are not: 64 of them differ by a factor of 1.51 at 5, and of 1.41 at 2.
"""

_OVERLAPPING = tuple(name for name in RESOURCES if name != "overhead")

FAMILY = Family(
    name="bottleneck",
    citation="perfmodel: overheads and a smooth maximum of resources, after Roofline (2009) and PALMED (2022)",
    quantities=bottleneck_quantities, units={name: quantity.unit for name, quantity in QUANTITIES.items()},
    weights=(
        *(
            Weight(f"w_{name}", f"s/{quantity.unit}", start=None, label=quantity.label, counted=quantity.counted)
            for name, quantity in QUANTITIES.items()
        ),
        replace(SHARPNESS, start=SHARPNESSES[0], fact="resource_sharpness"),
    ),
    parts={f"{name}_time": weighted(quantities) for name, quantities in RESOURCES.items()},
    expression="overhead_time + " + overlapping(f"{name}_time" for name in _OVERLAPPING), additive=False,
    resources={name: tuple(RESOURCES[name]) for name in _OVERLAPPING},
    choices={
        "lane_order": ("lockstep", "serial"), "odd_pitch_access": ("vector", "element"),
        "resource_sharpness": SHARPNESSES,
    },
    labels={
        "overhead_time": "launches, work-groups and barriers", "chain_time": "operations that wait for the one before",
        "special_time": "divisions, roots and functions", "issue_time": "issuing instructions",
        "near_time": "cache lines that the first-level cache fetches",
        "far_time": "cache lines from the second-level cache on, and from memory",
    },
    advice={
        "overhead_time": hints.LESS_OVERHEAD, "chain_time": hints.SHORTER_CHAINS,
        "special_time": hints.FEWER_FUNCTIONS, "issue_time": hints.FEWER_INSTRUCTIONS,
        "far_time": hints.FEWER_BYTES, "near_time": hints.SMALLER_TILES,
    },
)  # fmt: skip
