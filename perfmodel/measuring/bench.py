"""An opened device on which variants are compiled, checked and timed, in visits with records."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyopencl as cl
from loopy import TranslationUnit

from perfmodel.counts import KernelCounts, count
from perfmodel.documents import canonical
from perfmodel.errors import BrokenDeviceError
from perfmodel.kernels import Parameters
from perfmodel.kernels.samples import KeptKernel
from perfmodel.measuring import subject as subjects, timing
from perfmodel.measuring.campaign import Campaign, Configuration
from perfmodel.measuring.lock import LoadWatch
from perfmodel.measuring.subject import FailedError, Subject, remembered, stage
from perfmodel.opencl import Device, quiet_compiler
from perfmodel.opencl.health import broken
from perfmodel.progress import FailedStep
from perfmodel.store import Key, Measurement, Visit
from perfmodel.store.measurement import LOADED

OVERHEAD_RUNS, OVERHEAD_DROPPED = 30, 4  # runs of the empty kernel, and the number of first runs that do not count


class Bench:
    """An opened device, and the code that was compiled for it."""

    def __init__(self, device: Device, campaign: Campaign) -> None:
        self.device, self.campaign = device, campaign
        self._compiled: dict[str, timing.CompiledCode] = {}
        self._blocks: dict[np.dtype[Any], Any] = {}

    @cached_property
    def _opened(self) -> tuple[Any, Any]:
        return self.device.context()

    @property
    def queue(self) -> Any:
        """The command queue, in order and with profiling."""
        return self._opened[1]

    def fact(self, key: str) -> int:
        """Return an integer fact of the device."""
        return int(self.device.facts.value(key))

    def fits(self, subject: Subject, parameters: Parameters) -> bool:
        """Whether a variant's arrays fit into the campaign's share of the device's memory."""
        most = self.campaign.memory_fraction * self.fact("global_memory_bytes")
        return subjects.fits(subject.arrays(parameters), most, self.fact("max_alloc_bytes"))

    def compiled(self, subject: Subject) -> timing.CompiledCode:
        """Compile a variant's code for the device, once."""
        generated = subject.generated
        if generated.hash not in self._compiled:
            with stage("compile"), quiet_compiler():
                options = list(generated.kernel.options.build_options)
                program = cl.Program(self._opened[0], generated.text).build(options=options)
            self._compiled[generated.hash] = timing.CompiledCode(generated, self._opened[0], program)
        return self._compiled[generated.hash]

    @contextmanager
    def ready(self, subject: Subject, parameters: Parameters) -> Iterator[tuple[timing.Enqueue, ...]]:
        """Provide the enqueues of one call, whose arguments are set and whose buffers are filled."""
        compiled = self.compiled(subject)
        scalars, arrays = _arguments(subject, parameters)
        with stage("runtime"):
            filled = {array: self._filling(subject, array) for array in arrays}
            with (
                timing.device_buffers(self.queue, filled) as buffers,
                compiled.enqueues(self.queue, {**buffers, **scalars}) as enqueues,
            ):
                yield enqueues

    def trial(self, subject: Subject, parameters: Parameters) -> float:
        """Return the quickest of three runs, or of two long ones [s]. The first run may include compilation."""
        with self.ready(subject, parameters) as enqueues:
            first = timing.sample(self.queue, enqueues, 1).host_s
            return min(first + timing.sample(self.queue, enqueues, 2, self.campaign.longest_s).host_s)

    def timed(self, subject: Subject, parameters: Parameters) -> tuple[str, timing.Samples]:
        """Time the runs of one visit. Return the start of the first run and the times."""
        campaign = self.campaign
        with self.ready(subject, parameters) as enqueues:
            began_at = timing.now("milliseconds")
            return began_at, timing.sample(self.queue, enqueues, campaign.runs, campaign.timeout_s, campaign.enough)

    def launch_overhead(self) -> float:
        """Return the median time of an empty kernel [s], which decides the sizes. Otherwise raise BrokenDeviceError."""
        try:
            with quiet_compiler():
                program = cl.Program(self._opened[0], "__kernel void nothing() {}").build()
            nothing = timing.Enqueue(cl.Kernel(program, "nothing"), (1,), (1,))
            return timing.sample(self.queue, (nothing,), OVERHEAD_RUNS).median(OVERHEAD_DROPPED)
        except cl.Error as error:
            raise broken(self.device.name, " ".join(str(error).split())) from error

    def see_that_it_works(self) -> None:
        """Check that the device runs kernels. If not, for example after a kernel's crash, open the device again."""
        try:
            self.launch_overhead()
        except BrokenDeviceError:
            self._compiled.clear()
            vars(self).pop("_opened", None)
            self.launch_overhead()

    def output(self, subject: Subject, parameters: Parameters) -> tuple[dict[str, Any], dict[str, Any]]:
        """Run once. Return the arguments by name, and all arrays after the run."""
        compiled, queue = self.compiled(subject), self.queue
        scalars, arrays = _arguments(subject, parameters)
        with stage("runtime"), ExitStack() as stack:
            draw = subject.kernel.contents
            memory = {
                array: subjects.host_array(array, self.campaign.seed + position, draw.get(array.name))
                for position, array in enumerate(arrays)
            }
            buffers = stack.enter_context(timing.device_buffers(queue, memory))
            for enqueue in stack.enter_context(compiled.enqueues(queue, {**buffers, **scalars})):
                enqueue(queue)
            after = {}
            for array in arrays:
                flat = np.empty_like(memory[array])
                for name, part in array.parts.items():
                    cl.enqueue_copy(queue, flat[part], buffers[name])
                after[array.name] = array.view(flat)
        return {**{array.name: array.view(memory[array]) for array in arrays}, **scalars}, after

    def check(self, subject: Subject) -> None:
        """Compare a variant's output with its reference at its smallest size, or raise FailedError."""
        arguments, after = self.output(subject, subject.smallest)
        with stage("correctness"):
            for name, array in subject.kernel.reference(arguments, **subject.variant).items():
                np.testing.assert_allclose(after[name], array, rtol=subject.kernel.tolerance, err_msg=name)

    def _filling(self, subject: Subject, array: subjects.ArrayArgument) -> Any:
        draw = subject.kernel.contents.get(array.name)
        if draw is not None:
            return subjects.host_array(array, self.campaign.seed, draw)
        if array.dtype not in self._blocks:
            self._blocks[array.dtype] = subjects.contents(array.dtype, self.campaign.seed)
        return self._blocks[array.dtype]


def _arguments(subject: Subject, parameters: Parameters) -> tuple[Mapping[str, Any], tuple[Any, ...]]:
    with stage("constraint"):
        scalars = subjects.scalar_arguments(subject.generated.kernel, parameters, subject.scalars)
        return scalars, subject.arrays(parameters)


NOTHING = timing.Samples((), ())


def record(
    bench: Bench, subject: Subject, parameters: Parameters, samples: timing.Samples = NOTHING, **others: Any
) -> Measurement:
    """Return the record of a configuration with its samples and other fields."""
    kernel, campaign = subject.kernel, bench.campaign
    return Measurement(
        **origin(bench, subject), group=kernel.group, tags=kernel.tags, isolates=kernel.isolated(subject.variant),
        parameters=dict(parameters), samples_s=samples.host_s, device_samples_s=samples.device_s,
        dropped=campaign.dropped, seed=campaign.seed, **{"counts_hash": "", "status": "ok", **others},
    )  # fmt: skip


def origin(bench: Bench, subject: Subject) -> dict[str, Any]:
    """Return the fields of all records of a variant: variant, device, versions, code, and time."""
    facts = bench.device.facts
    return {
        "kernel": subject.kernel.name, "variant": dict(subject.variant), "device": facts.name,
        "platform": facts.platform, "driver": facts.driver, "versions": timing.versions(), "kernel_hash": subject.hash,
        "taken_at": timing.now("seconds"),
    }  # fmt: skip


def outcome(row: Measurement) -> str:
    """Return the kernel class of a record, with its failure, if any."""
    return row.kernel if row.status == "ok" else FailedStep(row.kernel, f"{row.status} ({row.message})")


@dataclass(eq=False)
class Timekeeper:
    """Times configurations on a bench, one visit at a time. Each variant is counted and checked once."""

    bench: Bench
    overhead_s: float  # of a launch [s]
    statistics: Mapping[str, float] = field(default_factory=dict)  # they replace a class's own statistics
    sizes: Parameters = field(default_factory=dict)  # for variants whose work-group depends on sizes
    counted: dict[Key, KernelCounts] = field(default_factory=dict)
    checked: dict[Key, FailedError | None] = field(default_factory=dict)
    watch: LoadWatch = field(default_factory=LoadWatch)

    def configuration(self, subject: Subject, parameters: Parameters, seconds: float) -> Configuration:
        """Return a configuration. One run of the configuration takes `seconds` [s]."""
        return Configuration(subject, parameters, seconds, record(self.bench, subject, parameters).key)

    def failed(self, subject: Subject, failure: FailedError, parameters: Parameters | None = None) -> Measurement:
        """Return the record of a failure. By default the record is at the smallest size."""
        return record(
            self.bench, subject, parameters or subject.smallest,
            status=failure.status, message=failure.message, launch_overhead_s=self.overhead_s,
        )  # fmt: skip

    def measured(self, configuration: Configuration, position: int | None = None) -> Measurement:
        """Visit a configuration and return the record, also of a failure. Raise BrokenDeviceError if no kernel runs."""
        subject, parameters = configuration.subject, configuration.parameters
        fields: dict[str, Any] = {"place_in_order": position, "launch_overhead_s": self.overhead_s}
        campaign = self.bench.campaign
        try:
            self.check(subject)
            counts = self.count(subject)
            fields["counts_hash"] = counts.hash
            began_at, samples = self.bench.timed(subject, parameters)
        except FailedError as failure:
            if failure.status == "runtime":
                self.bench.see_that_it_works()
            fields.update(status=failure.status, message=failure.message)
            return record(self.bench, subject, parameters, **fields)
        runs, load = len(samples.host_s), self.watch.look()
        fields["visits"] = (Visit(began_at=began_at, runs=runs, dropped=campaign.dropped, load=load),)
        if samples.complete:
            least_s = timing.least_seconds(counts, parameters, self.bench.device.facts)
            flags = timing.flags(samples, campaign, self.overhead_s, least_s)
            fields["flags"] = (*flags, *[LOADED] * self.watch.busy)
        else:
            fields.update(status="timeout", message=f"{runs} runs took over {campaign.timeout_s} s")
        return record(self.bench, subject, parameters, samples, **fields)

    def count(self, subject: Subject) -> KernelCounts:
        """Return the counts of a variant. Raise FailedError if its work-groups do not fit on the device."""
        generated, key = subject.generated, subject.key
        if key not in self.counted:
            with stage("constraint"):
                if isinstance(generated, KeptKernel):
                    counts = generated.counts(self.bench.fact("subgroup_size"))
                else:
                    counts = self.count_unit(generated.t_unit, statistics=subject.statistics)
                counts.check_launch(self.bench.device.facts)  # some drivers end the process if a group is too large
            self.counted[key] = counts
        return self.counted[key]

    def counts_of(self, row: Measurement) -> KernelCounts | None:
        """Return the counts of a record's variant, if there are any."""
        return self.counted.get((row.kernel, canonical(row.variant), row.kernel_hash))

    def count_unit(
        self, unit: TranslationUnit, check: bool = True, statistics: Mapping[str, float] | None = None
    ) -> KernelCounts:
        """Return the counts of a translation unit for the device; `check` generates its code too."""
        known = {**(statistics or {}), **self.statistics}
        return count(unit, self.bench.fact("subgroup_size"), known, check=check, sizes=self.sizes)

    def work_groups(self, subject: Subject, parameters: Parameters) -> int:
        """Return the number of work-groups. Raise FailedError if sizes break assumptions, which the code ignores."""
        with stage("constraint"):
            return int(self.count(subject).work_groups()(**parameters))

    def check(self, subject: Subject) -> None:
        """Compare the output with the reference, once for each variant, or raise FailedError."""

        def compare() -> None:
            self.work_groups(subject, subject.smallest)
            self.bench.check(subject)

        remembered(self.checked, subject.key, compare)
