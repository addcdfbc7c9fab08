r"""The Synchronous Parallel Throughput (SPT) model of Karsin.

.. math::

    T = |K| L_{sync} + \sum_{i=1}^{|K|} \sum_{\phi \in \{g, s, r, y\}} A_{i,\phi} \max(1/B_\phi, L_\phi/M_{i,\phi})

(section 4.8, Definitions 3.1.9 and 3.1.10) with :math:`A_{i,\phi}` the operations of the busiest core in launch i
(:mod:`perfmodel.quantities.multiplicity`):

- g, global memory (4.2): words in blocks of a sub-group's length. An access whose lanes are s words apart counts s
  times, at most once for each lane and block. An indirect access is uncoalesced. If the device's transaction is known,
  a block has its length. The blocks that an access is split into do not wait for each other, so that its :math:`M_I`
  grows by their number too (6.1.1).
- s, local memory (4.3): words, times the bank-conflict factor beta where the number of banks is known.
- r, register operations (4.4): an addition and a multiplication of one type are one operation (fused, 5.2.3).
- y, barriers (4.5): the barriers of each work-item.

:math:`M_g = M_o M_I` etc., but :math:`M_y = M_o`. :math:`M_I` is the kernel's instruction-level parallelism
(:mod:`perfmodel.quantities.instructions`): independent loads for g, and all instructions between barriers for s and r.
If unknown, :math:`M_I` is 1 (4.7). :math:`M_o` (4.7) is the number of work-items per core, in all groups. If local
memory, registers and limits of the device are known, only the groups that fit into these count. :math:`M_o = 1` on a
CPU, or where measurements show that oversubscription hides nothing (fact ``oversubscription``,
:mod:`perfmodel.fitting.throughput`). A core is a lane: ``lanes_per_unit`` of each compute unit, else as many as a
sub-group has. Latencies are in seconds. Bandwidths are of the device, in SI units. An operation's sum has up to
``CLASSES`` terms, for launches or accesses of different M. Further terms are merged with the nearest M. The printed 4.7
has one division by b too many. Sections 5.2.5 and 7.1.3 agree with this file. A barrier's bandwidth is always fitted.
"""

from collections.abc import Mapping
from typing import Any

from perfmodel.models.model import GIVEN_LAUNCH, Family, Weight
from perfmodel.quantities.case import Case
from perfmodel.quantities.hints import FEWER_BYTES, LESS_LOCAL_MEMORY, LESS_OVERHEAD
from perfmodel.quantities.multiplicity import CLASSES, PER_OPERATION, operation_classes


def quantities(case: Case) -> dict[str, Any]:
    """Return the operations of each kind, the operations that wait for each other, and the launches."""
    return {**operation_classes(case), "launched": case.value(case.counts.launches())}


_LATENCIES: Mapping[str, tuple[str, str, str]] = {
    "memory": ("memory_latency_s", "waiting for an access to global memory", "memory_latency"),
    "local": ("local_latency_s", "waiting for an access to local memory", "cycle"),
    "register": ("register_latency_s", "waiting for an operation on registers", "cycle"),
    "barrier": ("barrier_latency_s", "waiting for a barrier", "cycle"),
}
_RATES: Mapping[str, tuple[str, str, str, str]] = {
    "memory": ("B/s", "memory_bandwidth_bytes_per_s", "the bandwidth of global memory", "memory_byte"),
    "local": ("B/s", "local_bandwidth_bytes_per_s", "the bandwidth of local memory", "unit_cycle"),
    "register": ("operation/s", "peak_flops_float32", "the rate of operations on registers", "single_operation"),
    "barrier": ("operation/s", "", "the rate of barriers", "lane_cycle"),
}
_CLASSES = range(1, CLASSES + 1)


def _weights(name: str) -> tuple[Weight, Weight]:
    (latency, waiting, step), (unit, rate, label, scale) = _LATENCIES[name], _RATES[name]
    return (
        Weight(f"w_{name}_latency", "s/operation", start=1e-8, fact=latency, label=waiting, scale=step),
        Weight(f"w_{name}_rate", unit, start=1e10, lower=1e3, fact=rate, label=label, scale=scale),
    )


FAMILY = Family(
    name="synchronous_parallel_throughput",
    citation=(
        "B. Karsin: A Performance Model for GPU Architectures: Analysis and Design of Fundamental Algorithms, "
        "dissertation, University of Hawaii, 2018, chapters 3 and 4"
    ),
    quantities=quantities,
    units={
        **{f"{name}_{kind}_{k}": "operation" for name in _RATES for kind in ("amount", "waits") for k in _CLASSES},
        "launched": "launch",
    },
    weights=(GIVEN_LAUNCH, *(weight for name in _RATES for weight in _weights(name))),
    parts={name: " + ".join(
        f"max({PER_OPERATION[name]}*{name}_amount_{k}/w_{name}_rate, w_{name}_latency*{name}_waits_{k})"
        for k in _CLASSES
    ) for name in _RATES},
    expression=f"w_launch*launched + {' + '.join(_RATES)}",
    labels={
        "memory": "accesses to global memory", "local": "accesses to local memory",
        "register": "operations on registers", "barrier": "barriers",
    },
    advice={"memory": FEWER_BYTES, "local": LESS_LOCAL_MEMORY, "barrier": LESS_OVERHEAD},
)  # fmt: skip
