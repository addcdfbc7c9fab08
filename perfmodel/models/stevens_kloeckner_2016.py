r"""The unified, hardware-fitted linear model of Stevens and Klöckner.

.. math:: T_{wall}(n) \approx \sum_i \alpha_i p_i(n)

with the properties :math:`p_i` of section 2 of the paper:

- 2.1 Data motion: global accesses by size, direction and amortised stride fraction. The numerator of this fraction
  counts all accesses to an array (Algorithm 2). Each of these types also has the minimum of loads and stores. Local
  loads (not stores) are by size.
- 2.2 Arithmetic: additions and subtractions, multiplications, divisions, exponentiations and other special functions on
  floating-point operands, by type. Minimum and maximum, special functions in the paper, have a weight of their own.
- 2.3 Synchronisation: barriers. Each barrier counts once per work-item.
- 2.4 Overhead: a constant for a launch, and the number of work-groups.

The paper has no stride class for indices that depend on data. Here such indices are one more class (``indirect``).
"""

from perfmodel.features import Classes
from perfmodel.models.model import Family

FAMILY = Family(
    name="stevens_kloeckner_2016",
    citation="J. D. Stevens, A. Klöckner: A Unified, Hardware-Fitted, Cross-GPU Performance Model, 2016, section 2",
    features=(
        "global_load_*", "global_store_*", "global_minloadstore_*", "local_load_*", "op_float*_add", "op_float*_mul",
        "op_float*_div", "op_float*_pow", "op_float*_minmax", "op_float*_special", "barrier_local", "work_groups",
        "launches",
    ),
    classes=Classes(utilization="array"),
)  # fmt: skip
