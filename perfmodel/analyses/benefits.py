r"""An upper bound of the time that removing each inefficiency of a kernel saves, by the model of Sim et al.

Kim et al. (2012), section 4.1.3 and Eq. 4.25 to 4.30, in seconds:

- :math:`T_{fp}` (4.25), the floating-point operations alone, at the kernel's ITILP, and :math:`T_{mem\_min}` (4.26),
  the footprints at the device's bandwidth. The paper's size_of_data is taken to be the requests of each unit.
- :math:`B_{itilp} = W_{parallel}` minus the value of :math:`W_{parallel}` at ITILP_max (4.27)
- :math:`B_{serial} = W_{serial}` (4.28)
- :math:`B_{fp} = T_{comp} - T_{fp} - B_{itilp} - B_{serial}` (4.29)
- :math:`B_{memlp} = \max(T'_{mem} - T_{mem\_min}, 0)` with :math:`T'_{mem} = T_{mem} - T_{overlap}` (4.30)

All numbers are estimates from static counts, as in :mod:`perfmodel.models.gpuperf`, summed over launches.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from perfmodel.errors import FamilyError
from perfmodel.models import find_family
from perfmodel.predicting.model import FittedModel
from perfmodel.quantities.case import Case, launched
from perfmodel.quantities.instructions import arithmetic, fused_operations
from perfmodel.quantities.traffic import global_bytes

FAMILY = "gpuperf"
_IDEALS = {
    "itilp_max": "unit_warps*insts*w_issue",  # the second term of Eq. 4.27, as avg_inst_lat / ITILP_max is an issue
    "fp": "parallel*fp_insts/insts",  # Eq. 4.25: the kernel's ITILP, as in Eq. 4.3
    "mem_min": "moved/w_bandwidth",  # Eq. 4.26
    "memlp": "max(memory - overlap - mem_min, 0)",  # Eq. 4.30
}
_FP = tuple(f"op_float*_{kind}" for kind in ("add", "mul", "minmax"))


@dataclass(frozen=True)
class Benefits:
    """The time of a kernel, and the parts of this time that could be saved [s]."""

    compute_s: float  # T_comp, without launches
    memory_s: float  # T_mem
    overlap_s: float  # T_overlap
    ideal_compute_s: float  # T_fp
    ideal_memory_s: float  # T_mem_min
    itilp_s: float  # B_itilp: by more parallelism among instructions
    memlp_s: float  # B_memlp: by more parallelism among memory requests
    fp_s: float  # B_fp: by fewer other instructions; negative where T_fp exceeds all instructions at ITILP_max
    serial_s: float  # B_serial: by less serialised work
    most_itilp: float = math.inf
    """ITILP_max, the instructions in flight that hide an instruction's latency [1]; up to 1 B_itilp is always 0."""

    @property
    def seconds(self) -> float:
        """Eq. 4.1 [s]."""
        return self.compute_s + self.memory_s - self.overlap_s


def potential_benefits(model: FittedModel, kernel: Any, sizes: Mapping[str, int]) -> Benefits:
    """Return the benefits of a kernel, a ``TranslationUnit`` or its counts, on the device of a ``gpuperf`` model."""
    family = find_family(FAMILY)
    if model.family.name != FAMILY:
        raise FamilyError(f"the model is of the family '{model.family.name}'", f"fit the family '{FAMILY}' for this")
    widened = replace(
        family, quantities=_quantities, units={**family.units, "fp_insts": "operation", "moved": "B"},
        parts={**family.parts, **_IDEALS},
    )  # fmt: skip
    predicted = replace(model, given=widened).predict(kernel, sizes, allow_unmeasured=True)
    terms = {name: float(value) for name, value in predicted.terms.items()}
    itilp = terms["parallel"] - terms["itilp_max"]
    itilp = itilp if itilp > 1e-12 * terms["parallel"] else 0.0  # rounding
    most_itilp = model.weights["w_arithmetic_latency"] / model.weights["w_issue"]  # Eq. 4.5
    return Benefits(
        compute_s=terms["compute"], memory_s=terms["memory"], overlap_s=terms["overlap"], ideal_compute_s=terms["fp"],
        ideal_memory_s=terms["mem_min"], itilp_s=itilp, serial_s=terms["serial"],
        fp_s=terms["compute"] - terms["fp"] - itilp - terms["serial"], memlp_s=terms["memlp"], most_itilp=most_itilp,
    )  # fmt: skip


def _quantities(case: Case) -> dict[str, Any]:
    fused = arithmetic(case) - fused_operations(case)
    return {
        **find_family(FAMILY).quantities(case), "fp_insts": (case.total(*_FP) - fused) / launched(case)[0],
        "moved": global_bytes(case),
    }  # fmt: skip
