"""Whether two descriptions are of one device: by its name, platform and driver, and of a CPU by cores and caches."""

from __future__ import annotations

from perfmodel.facts.device_facts import DeviceFacts

#: Facts that tell devices of one name apart, such as virtual machines on processors of one brand.
TELLING = ("compute_units", "l1_told_bytes", "l2_told_bytes", "l3_told_bytes")


def differences(known: DeviceFacts, used: DeviceFacts) -> tuple[str, ...]:
    """Return what tells a known device from the one in use, in words; what one of them does not say is left out.

    Examples
    --------
    >>> differences(DeviceFacts("H200", "NVIDIA CUDA", "570.1", ()), DeviceFacts("H200", "NVIDIA CUDA", "580.2", ()))
    ("driver '570.1', here '580.2'",)
    """
    words = [(part, getattr(known, part), getattr(used, part)) for part in ("name", "platform", "driver")]
    found = [f"{part} '{one}', here '{other}'" for part, one, other in words if one and other and one != other]
    both = [(key, known.value(key), used.value(key)) for key in TELLING if key in known and key in used]
    return (*found, *(f"{key} {one}, here {other}" for key, one, other in both if one != other))
