"""What is known of a device. Each number has its unit and its source. Models read these numbers only from facts."""

from perfmodel.facts.device_facts import (
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
from perfmodel.facts.fact import KEYS, UNITS, Fact, FactValue
from perfmodel.facts.instruction_sets import vector_registers

__all__ = [
    "FACTS_FILE", "KEYS", "ROOFS_FILE", "SCHEMA", "UNITS", "VARYING", "DeviceFacts", "Fact", "FactValue",
    "assumed_facts", "differences", "published", "published_devices", "read_device", "read_facts", "vector_registers",
    "with_assumed_facts",
]  # fmt: skip
