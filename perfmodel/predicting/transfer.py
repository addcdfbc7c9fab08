r"""Weights for a device without measurements, from the weights of another device and the facts of both.

A weight w in seconds per unit is a multiple of a rate r of its device (:data:`RATES`), the time for one unit by facts
alone, such as the time of a clock cycle. On a device with the rate r' it is :math:`w' = w r'/r`. For example, an
instruction that takes 1.3 issue slots on one device takes 1.3 slots on the other too. A weight in units per second is
divided by r'/r. A number without a unit is kept. A fact of the new device replaces the fitted weight. A weight that no
measurement determined becomes the rate r'. Quantities are computed with the new facts.

Rates *of a unit* are for quantities of the busiest compute unit. Such rates assume that all units are busy, with equal
shares of the bandwidth of caches and memory. The other rates are for quantities of the whole launch. A device may lack
a latency, a bandwidth of caches or the time of a launch. Both devices are then assumed to have the same latencies and
cache bandwidths in clock cycles, and the same time of a launch.

Intervals come from leaving devices out: ``transfers.json`` has for each family the errors of weights that were
transferred to a device whose times are known. The devices are the groups of :mod:`perfmodel.fitting.conformal`. Errors
are much larger for weights from a platform of another vendor. Each error is therefore divided by the typical error of
its kind c (same vendor or not), and multiplied by the typical error of the requested kind:

.. math:: m_c = \Big(m + \sum_{d \in c} m_d\Big) / (1 + n_c)

with :math:`m_d` the mean error |log(t/p)| on device d, and :math:`n_c` devices of that kind. The mean over all devices,
m, counts as one more device. Errors on a device are divided by the :math:`m_c` of the other devices. If a platform is
unknown, errors are not scaled.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from inspect import signature
from pathlib import Path
from statistics import fmean
from types import MappingProxyType

from pydantic import BaseModel

from perfmodel.documents import read_file, require, value_of
from perfmodel.errors import FactsError, WeightsError, listed
from perfmodel.facts import KEYS, DeviceFacts, with_assumed_facts
from perfmodel.fitting.conformal import Conformal
from perfmodel.fitting.selection import Scatter
from perfmodel.fitting.types import STRICT
from perfmodel.fitting.weights_file import FittedWeight
from perfmodel.models import families
from perfmodel.predicting.model import FittedModel, facts_beside
from perfmodel.values import grouped

SECTOR = 32  # smallest number of bytes that the second-level cache moves


@dataclass(frozen=True)
class Rate:
    """A time [s] that follows from facts."""

    label: str  #: what takes this time
    formula: Callable[..., float]  #: from facts to the time; its arguments have the keys of the facts
    otherwise: str = ""  #: the rate that is used where a device lacks a fact; "" if there is none

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the facts that the rate needs."""
        return tuple(signature(self.formula).parameters)

    def lacking(self, facts: DeviceFacts) -> tuple[str, ...]:
        """Return the keys of needed facts that a device lacks, or that are zero."""
        return tuple(key for key in self.keys if key not in facts or not facts.value(key))

    def seconds(self, facts: DeviceFacts) -> float:
        """Return the time [s] on a device. Raise a FactsError if the device lacks a fact."""
        return float(self.formula(**{key: float(facts.value(key)) for key in self.keys}))


#: Times of which a weight can be a multiple (:attr:`perfmodel.models.model.Weight.scale`), by name.
RATES: Mapping[str, Rate] = MappingProxyType({
    "same": Rate("what takes as long on every device", lambda: 1.0),
    "launch": Rate("a launch", lambda launch_s: launch_s, "same"),
    # of a compute unit
    "cycle": Rate("a cycle of a unit, in which local memory serves one wavefront", lambda clock_hz: 1 / clock_hz),
    "issue": Rate("an instruction of a sub-group on a unit",
                  lambda subgroup_size, lanes_per_unit, clock_hz: subgroup_size / (lanes_per_unit * clock_hz)),
    "single": Rate("a float32 multiply-add of a sub-group on a unit",
                   lambda subgroup_size, compute_units, peak_flops_float32:
                   2 * subgroup_size * compute_units / peak_flops_float32),
    "double": Rate("a float64 multiply-add of a sub-group on a unit",
                   lambda subgroup_size, compute_units, peak_flops_float64:
                   2 * subgroup_size * compute_units / peak_flops_float64),
    "l2": Rate(f"{SECTOR} bytes from the second-level cache to a unit",
               lambda compute_units, l2_bandwidth_bytes_per_s: SECTOR * compute_units / l2_bandwidth_bytes_per_s,
               "cycle"),
    "memory": Rate("a byte of global memory for a unit",
                   lambda compute_units, memory_bandwidth_bytes_per_s:
                   compute_units / memory_bandwidth_bytes_per_s),
    "l1_latency": Rate("waiting for the first-level cache", lambda l1_load_s: l1_load_s, "cycle"),
    "l2_latency": Rate("waiting for the second-level cache", lambda l2_latency_s: l2_latency_s, "cycle"),
    "memory_latency": Rate("waiting for global memory", lambda memory_latency_s: memory_latency_s, "cycle"),
    # of the device
    "unit_cycle": Rate("a cycle of a unit, where all units work",
                       lambda compute_units, clock_hz: 1 / (compute_units * clock_hz)),
    "lane_cycle": Rate("an operation of a work-item, where all lanes work",
                       lambda compute_units, lanes_per_unit, clock_hz:
                       1 / (compute_units * lanes_per_unit * clock_hz)),
    "single_operation": Rate("a float32 operation", lambda peak_flops_float32: 1 / peak_flops_float32),
    "double_operation": Rate("a float64 operation", lambda peak_flops_float64: 1 / peak_flops_float64),
    "memory_byte": Rate("a byte of global memory",
                        lambda memory_bandwidth_bytes_per_s: 1 / memory_bandwidth_bytes_per_s),
})  # fmt: skip


def known_rate(name: str, *devices: DeviceFacts) -> str:
    """Return the name of a rate. If a device lacks a fact for this rate, return the name of the replacement."""
    other = RATES[name].otherwise
    return other if other and any(RATES[name].lacking(device) for device in devices) else name


ERRORS_FILE = Path(__file__).with_name("transfers.json")
TYPE, LANES = "device_type", "subgroup_size"
# the best family with transferable weights for each type of device; ``bottleneck`` has no rates
ADVISED = {"gpu": "multithreaded", "cpu": "roofline"}


class TransferErrors(BaseModel):
    """Errors of predictions by transferred weights.

    Each group of `conformal` is a device that weights were transferred to. For `foreign` devices, the weights came from
    a platform of another vendor.
    """

    model_config = STRICT
    conformal: Conformal
    scatter: Scatter | None = None
    foreign: tuple[str, ...] = ()

    def scores(self, foreign: bool | None) -> Conformal:
        """Return the scores for a device. `foreign` says whether its platform is of another vendor (None: unknown)."""
        errors = grouped(zip(self.conformal.groups, self.conformal.scores, strict=True))
        if foreign is None or not self.foreign or len(errors) < 2:
            return self.conformal
        means = {device: fmean(of_device) for device, of_device in errors.items()}

        def typical(foreign: bool, without: str = "") -> float:
            others = {device: error for device, error in means.items() if device != without}
            alike = [error for device, error in others.items() if (device in self.foreign) == foreign]
            return (fmean(others.values()) + sum(alike)) / (1 + len(alike))

        factors = {device: typical(foreign) / typical(device in self.foreign, device) for device in means}
        scaled = zip(self.conformal.scores, self.conformal.groups, strict=True)
        return self.conformal.model_copy(update={"scores": tuple(score * factors[device] for score, device in scaled)})


@cache
def transfer_errors() -> Mapping[str, TransferErrors]:
    """Return the errors of transferred weights for each family."""
    return value_of(dict[str, TransferErrors], read_file(ERRORS_FILE))


def vendor(facts: DeviceFacts) -> str:
    """Return the vendor of a device's platform, the first word of the platform's name. GPGPU-Sim simulates NVIDIA's."""
    word = facts.platform.partition(" ")[0].lower()
    return "nvidia" if word == "gpgpu-sim" else word


def _foreign(known: DeviceFacts, facts: DeviceFacts) -> bool | None:
    vendors = vendor(known), vendor(facts)
    return vendors[0] != vendors[1] if all(vendors) else None


def transferred(model: FittedModel, facts: DeviceFacts) -> FittedModel:
    """Return a model of another device of the same type, with weights that follow from the facts of both devices.

    Kernels must be counted for the new device's sub-groups, as :meth:`FittedModel.predict` does.
    ``fitted.transferred_from`` is the device of the fit. Raise a WeightsError if a weight of the family has no rate or
    the devices have different types. Raise a FactsError if a rate needs a fact that one of the devices lacks.
    """
    require(isinstance(model, FittedModel), "transferred: model", model, "what fit or load returned")
    require(isinstance(facts, DeviceFacts), "transferred: facts", facts, "what facts.published returned")
    known, facts = _known(model), with_assumed_facts(facts)
    check_types(known, facts)
    if not model.family.transferable:
        allowed = listed(family.name for family in families().values() if family.transferable)
        raise WeightsError(
            f"the weights of '{model.family.name}' cannot be transferred to '{facts.name}', since they have no rates "
            "(Weight.scale)", f"give weights of '{_advised(facts)}', which fits it, or of another of: {allowed}",
        )  # fmt: skip
    _check(model, known, facts)
    errors, foreign = transfer_errors().get(model.family.name), _foreign(known, facts)
    fitted = model.fitted.model_copy(update={
        "device": facts.name, "transferred_from": model.fitted.transferred_from or model.device,
        "subgroup_size": int(facts.value(LANES)), "facts": facts.to_json(), "anchored": None,
        "weights": {name: _moved(model, name, known, facts) for name in model.weights},
        "conformal": errors and errors.scores(foreign), "scatter": errors and errors.scatter,
        "notes": tuple(_notes(model, known, facts, errors)),
    })  # fmt: skip
    return replace(model, fitted=fitted, facts=facts, path=None)


def _known(model: FittedModel) -> DeviceFacts:
    known = model.facts or DeviceFacts(model.device, "", "", ())
    written = facts_beside(model.path) if model.path else None
    return written.updated(dict(known.facts)) if written and written.name == known.name else known


def _moved(model: FittedModel, name: str, known: DeviceFacts, facts: DeviceFacts) -> FittedWeight:
    weight = model.fitted.weights[name]
    if (fact := _fact(model, name)) and fact in facts:
        given = {"value": float(facts.value(fact)), "standard_error": None, "marks": ("given",)}
        return weight.model_copy(update=given)
    if not weight.unit:
        return weight
    rate = RATES[known_rate(model.family.scale(name), known, facts)]
    power = -1 if weight.unit.endswith("/s") else 1
    now, then, error = rate.seconds(facts) ** power, rate.seconds(known) ** power, weight.standard_error
    if "undetermined" in weight.marks and rate != RATES["same"]:
        return weight.model_copy(update={"value": now})
    return weight.model_copy(
        update={"value": weight.value * now / then, "standard_error": None if error is None else error * now / then}
    )


def _notes(model: FittedModel, known: DeviceFacts, facts: DeviceFacts, errors: TransferErrors | None) -> Iterator[str]:
    scales = {weight.unit and model.family.scale(name): None for name, weight in model.fitted.weights.items()}
    for scale in filter(None, scales):
        if (other := known_rate(scale, known, facts)) != scale:
            keys = ", ".join(dict.fromkeys(key for device in (known, facts) for key in RATES[scale].lacking(device)))
            alike = "as long" if other == "same" else "as many cycles"
            yield f"{keys} is unknown for at least one device: {RATES[scale].label} is assumed to take {alike} on both"
    for weight in model.family.weights:
        if weight.scale == "cycle" and weight.fact and weight.fact not in facts:
            yield f"{weight.fact} is unknown: {weight.label} is assumed to take as many cycles as on '{known.name}'"
    if errors is None:
        yield f"no interval: weights of {model.family.name} were never transferred to a device whose times are known"
    else:
        yield f"intervals come from {errors.conformal.group_count} devices that weights were transferred to"
        if _foreign(known, facts):
            foreign = f"the weights are from a platform of another vendor, as on {len(errors.foreign)} of these devices"
            yield f"{foreign}: expect large errors"


def _fact(model: FittedModel, name: str) -> str:
    return next((weight.fact for weight in model.family.weights if weight.name == name), "")


def _check(model: FittedModel, known: DeviceFacts, facts: DeviceFacts) -> None:
    needs = grouped(((key, device), weight) for key, device, weight in _lacking(model, known, facts))
    if needs:
        lacking = listed((
            f"{key} of '{device}' ({KEYS[key].meaning if key in KEYS else 'cpu or gpu'}; for {listed(names, most=60)})"
            for (key, device), names in needs.items()
        ), "; ")  # fmt: skip
        raise FactsError(
            f"weights of '{known.name}' cannot be transferred to '{facts.name}', since facts are unknown: {lacking}",
            "write them under 'facts' of a YAML file, each with value, unit and source (docs/facts.md): for the "
            "weights' device in their folder (facts.yaml), for the other in the file that you give (--facts FILE.yaml)",
        )


def check_types(known: DeviceFacts | None, facts: DeviceFacts) -> None:
    """Raise a WeightsError if the device of the weights and the other device are known to have different types."""
    source, target = (str(device.value(TYPE)) if device and TYPE in device else "" for device in (known, facts))
    if known and source and target and source != target:
        advised = _advised(facts)
        raise WeightsError(
            f"the weights of '{known.name}', a {source}, cannot be used for '{facts.name}', a {target}",
            f"give weights of '{advised}' on a {target} (--weights FOLDER --family {advised}), or facts of a {source} "
            "(--facts)",
        )


def _advised(facts: DeviceFacts) -> str:
    return ADVISED.get(str(facts.known(TYPE)), ADVISED["gpu"])


def _lacking(model: FittedModel, known: DeviceFacts, facts: DeviceFacts) -> Iterator[tuple[str, str, str]]:
    yield from ((TYPE, device.name, "all weights") for device in (known, facts) if TYPE not in device)
    if LANES not in facts:
        yield LANES, facts.name, "counts"
    for name, weight in model.fitted.weights.items():
        fact, scale = _fact(model, name), model.family.scale(name)
        if fact in facts or not weight.unit:
            continue
        if not scale:
            yield fact, facts.name, name
            continue
        rate = RATES[known_rate(scale, known, facts)]
        yield from ((key, device.name, name) for device in (known, facts) for key in rate.lacking(device))
