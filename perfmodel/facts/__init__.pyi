from .device_facts import (
    FACTS_FILE,
    KEYS,
    ROOFS_FILE,
    SCHEMA,
    UNITS,
    VARYING,
    DeviceFacts,
    Fact,
    FactValue,
    assumed_facts,
    differences,
    published,
    published_devices,
    read_device,
    read_facts,
    with_assumed_facts,
)
from .doubts import vector_registers

__all__ = [
    "FACTS_FILE", "KEYS", "ROOFS_FILE", "SCHEMA", "UNITS", "VARYING", "DeviceFacts", "Fact", "FactValue",
    "assumed_facts", "differences", "published", "published_devices", "read_device", "read_facts", "vector_registers",
    "with_assumed_facts",
]  # fmt: skip
