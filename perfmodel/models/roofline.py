r"""The roofline model of Kim et al. (2012), Eq. 4.31 (section 4.2.4), after Williams, Waterman and Patterson (2009).

.. math:: \text{attainable flop/s} = \min(\text{peak flop/s}, \text{bandwidth} \times \text{flop : byte ratio})

A kernel of F operations that moves Q bytes at that rate takes :math:`\max(F/\text{peak}, Q/\text{bandwidth})` seconds.
Here the times of the floating-point types add up, local memory is one more roof (section 4.2.4: "one can map specific
architectural features to other roofs"), and each launch costs its overhead:

.. math:: T = \text{overhead} + \max(F_{32}/P_{32} + F_{64}/P_{64},\; Q/B,\; Q_{local}/B_{local})

Each floating-point operation counts as one, also a division or a square root. Index arithmetic does not count. Q is the
least number of bytes to move (:func:`~perfmodel.quantities.traffic.global_bytes`), so the maximum is a lower bound.
With the fact ``on_chip_bytes``, Q is what a cache of that size moves. The peaks are measured
(:mod:`perfmodel.fitting.throughput`) or known facts of the device. The overhead is fitted.
"""

from typing import Any

from perfmodel.models.model import BANDWIDTH, KIM_2012, LAUNCH, Family, Weight
from perfmodel.quantities.case import Case
from perfmodel.quantities.hints import FEWER_BYTES, FEWER_INSTRUCTIONS, LESS_LOCAL_MEMORY, LESS_OVERHEAD
from perfmodel.quantities.instructions import float_operations
from perfmodel.quantities.traffic import global_bytes, local_bytes


def quantities(case: Case) -> dict[str, Any]:
    """Return the operations, the bytes that must be moved, and the launches."""
    single, double = float_operations(case)
    return {
        "flops_float32": single, "flops_float64": double, "global_bytes": global_bytes(case),
        "local_bytes": local_bytes(case), "launched": case.value(case.counts.launches()),
    }  # fmt: skip


FAMILY = Family(
    name="roofline",
    citation=(
        f"{KIM_2012}, Eq. 4.31; S. Williams, A. Waterman, D. Patterson: Roofline: An Insightful Visual Performance "
        "Model for Multicore Architectures, CACM 52(4), 2009"
    ),
    quantities=quantities,
    units={
        "flops_float32": "operation", "flops_float64": "operation", "global_bytes": "B", "local_bytes": "B",
        "launched": "launch",
    },
    weights=(
        Weight("w_peak_float32", "operation/s", start=1e10, lower=1e3, fact="peak_flops_float32",
               label="the peak rate of float32 operations"),
        Weight("w_peak_float64", "operation/s", start=1e10, lower=1e3, fact="peak_flops_float64",
               label="the peak rate of float64 operations"),
        BANDWIDTH,
        Weight("w_local_bandwidth", "B/s", start=1e10, lower=1e3, fact="local_bandwidth_bytes_per_s",
               label="the bandwidth of local memory", scale="unit_cycle"),
        LAUNCH,
    ),
    parts={
        "compute": "flops_float32/w_peak_float32 + flops_float64/w_peak_float64", "memory": "global_bytes/w_bandwidth",
        "local": "local_bytes/w_local_bandwidth", "overhead": "w_launch*launched",
    },
    expression="overhead + max(compute, memory, local)",
    additive=False,
    labels={
        "compute": "floating-point operations at the peak rate", "memory": "moving data in global memory",
        "local": "moving data in local memory", "overhead": "launches",
    },
    advice={
        "compute": FEWER_INSTRUCTIONS, "memory": FEWER_BYTES, "local": LESS_LOCAL_MEMORY, "overhead": LESS_OVERHEAD,
    },
)  # fmt: skip
