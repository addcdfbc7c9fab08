"""What is known of a device, each number with its unit and its source.

A model reads numbers of the device only from here, so that a prediction can say where each number
comes from.
"""

from perfmodel.facts.device_facts import SCHEMA, VARYING, DeviceFacts, differences
from perfmodel.facts.fact import Fact, FactValue

__all__ = ["SCHEMA", "VARYING", "DeviceFacts", "Fact", "FactValue", "differences"]
