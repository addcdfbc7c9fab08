"""The vector registers of a CPU's core, from what its device says of the instruction set."""

import re

from perfmodel.facts.device_facts import ASSUMED, DeviceFacts
from perfmodel.facts.fact import Fact

REGISTERS = "vector_registers"
MANY, FEW = 32, 16  # registers of AVX-512, SVE and NEON of 64 bits; of AVX2 and SSE
WIDEST_OF_FEW = 8  # most float32 lanes of a set with few registers
X86_ONLY = "Intel"  # start of the name of a platform whose CPUs have x86 instructions
# LLVM's names of processors and instruction sets, which PoCL writes into the names of devices
_WITH_MANY = re.compile(
    r"avx512|avx10|knl|knm|skx|cannonlake|icelake|cascadelake|cooperlake|tigerlake|rocketlake|(sapphire|emerald|granite)rapids"
    r"|znver[4-9]|aarch64|arm64|neoverse|cortex-[ax]\d|apple-m|a64fx|thunderx|carmel|ampere1"
)
_WITH_FEW = re.compile(
    r"\b(haswell|broadwell|skylake|znver[1-3]|ivybridge|sandybridge|westmere|nehalem|core2|penryn|k8|amdfam10|barcelona"
    r"|[bj]tver[12]|bdver[1-4]|(alder|raptor|meteor|arrow|lunar)lake|(gold|tre|silver|grace)mont(-plus)?|x86-64(-v[1-3])?"
    r"|avx2?|sse[234.]*)\b"
)


def vector_registers(facts: DeviceFacts | None) -> Fact:
    """Return the number of vector registers of a CPU's core, with its source.

    The fact ``vector_registers`` comes first, then the name of the processor in the name or version of the device, then
    the lanes of its vectors: x86 sets with more than :data:`WIDEST_OF_FEW` lanes have many registers. Otherwise the
    number is assumed.

    >>> from perfmodel.facts import DeviceFacts
    >>> vector_registers(DeviceFacts("pthread-haswell-AMD EPYC", "Portable Computing Language", "3.1", ())).value
    16
    """
    if facts is not None:
        if REGISTERS in facts:
            return facts.fact(REGISTERS)
        text = f"{facts.name} {facts.known('opencl_version', '')}".lower()
        for number, names in ((MANY, _WITH_MANY), (FEW, _WITH_FEW)):
            if found := names.search(text):
                return Fact(number, "registers", f"the device names the processor or instruction set {found[0]}")
        lanes = facts.known("vector_lanes", 0)
        if lanes > WIDEST_OF_FEW:
            return Fact(MANY, "registers", f"vectors have {lanes} lanes of float32, as with AVX-512")
        if lanes and facts.platform.startswith(X86_ONLY):
            return Fact(FEW, "registers", f"vectors have {lanes} lanes of float32, as with AVX2")
    return Fact(MANY, "registers", f"{ASSUMED}: the device names no instruction set")
