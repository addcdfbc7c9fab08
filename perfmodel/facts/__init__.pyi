from .device_facts import (
    FACTS_FILE,
    ROOFS_FILE,
    SCHEMA,
    VARYING,
    DeviceFacts,
    assumed_facts,
    differences,
    published,
    published_devices,
    read_device,
    read_facts,
    with_assumed_facts,
)
from .fact import KEYS, UNITS, Fact, FactValue
from .instruction_sets import vector_registers

__all__ = [
    "FACTS_FILE", "KEYS", "ROOFS_FILE", "SCHEMA", "UNITS", "VARYING", "DeviceFacts", "Fact", "FactValue",
    "assumed_facts", "differences", "published", "published_devices", "read_device", "read_facts", "vector_registers",
    "with_assumed_facts",
]  # fmt: skip
