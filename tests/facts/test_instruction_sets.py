"""The vector registers of a core, from names as OpenCL reports them, and the assumption for other names."""

import pytest

from perfmodel.facts import DeviceFacts, Fact, vector_registers
from perfmodel.facts.doubts import contradictions

POCL, INTEL = "Portable Computing Language", "Intel(R) OpenCL"


def device(name: str, platform: str = POCL, **facts: object) -> DeviceFacts:
    known = {key: Fact(value, "", "given") for key, value in facts.items()}  # type: ignore[arg-type]
    return DeviceFacts.from_mapping(name, platform, "1", known)


@pytest.mark.parametrize(("name", "registers"), [
    ("pthread-haswell-AMD EPYC", 16), ("pthread-skylake-Intel(R) Core(TM) i7-6700", 16),
    ("pthread-skylake-avx512-AMD EPYC", 32), ("pthread-znver3-AMD EPYC 7763 64-Core Processor", 16),
    ("cpu-znver4-AMD EPYC 9654", 32), ("cpu-alderlake-12th Gen Intel(R) Core(TM)", 16),
    ("pthread-icelake-server-Intel(R) Xeon(R)", 32), ("pthread-neoverse-n1", 32), ("pthread-cortex-a72", 32),
])  # fmt: skip
def test_the_name_of_the_processor_decides(name: str, registers: int) -> None:
    assert registers == vector_registers(device(name)).value
    assert "names the processor" in vector_registers(device(name)).source


def test_the_version_names_the_processor_too() -> None:
    version = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-haswell"
    assert 16 == vector_registers(device("AMD EPYC", opencl_version=version)).value


@pytest.mark.parametrize(
    ("platform", "lanes", "registers"), [(INTEL, 16, 32), (INTEL, 8, 16), (INTEL, 4, 16), (POCL, 16, 32)]
)
def test_lanes_decide_for_other_names(platform: str, lanes: int, registers: int) -> None:
    found = vector_registers(device("AMD EPYC", platform, vector_lanes=lanes))
    assert (registers, f"vectors have {lanes} lanes") == (found.value, found.source.partition(" of ")[0])


def test_a_written_fact_counts_more_than_the_name() -> None:
    assert 24 == vector_registers(device("pthread-haswell-AMD EPYC", vector_registers=24)).value


@pytest.mark.parametrize("facts", [None, device("AMD EPYC"), device("riscv", vector_lanes=4)])
def test_without_an_instruction_set_the_number_is_assumed(facts: DeviceFacts | None) -> None:
    assert "assumed: the device names no instruction set" == vector_registers(facts).source


def test_an_assumed_number_is_in_doubt() -> None:
    (doubt,) = contradictions(device("riscv", device_type="cpu"))
    assert ("vector_registers", 32, 16) == (doubt.key, doubt.assumed, doubt.other)
    assert (
        "the number of vector registers is in doubt (AVX2 has 16, AVX-512 and NEON have 32): 32 registers is assumed, "
        "because the device names no instruction set; intervals also cover the other value; "
        "write vector_registers into facts.yaml"
    ) == str(doubt)


@pytest.mark.parametrize("name", ["pthread-haswell-AMD EPYC", "NVIDIA H200"])
def test_nothing_is_in_doubt_for_a_named_processor_and_for_a_gpu(name: str) -> None:
    kind = "gpu" if name.startswith("NVIDIA") else "cpu"
    assert () == contradictions(device(name, device_type=kind))
