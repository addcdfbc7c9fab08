"""The facts of a measured device, each with its source: told, measured, assumed or written by a user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfmodel.cli.output import print_document, print_text
from perfmodel.cli.settings import table_width
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts, Fact
    from perfmodel.store import Measurements

SCHEMA = "perfmodel.facts/1"


def show_facts(measured: Measurements, json: bool) -> None:
    """Print all that is known of the device of measurements, as a table or as one document.

    Raises
    ------
    OptionError
        If the measurements do not say of which device they are.
    """
    facts = measured.facts
    if facts is None:
        raise OptionError("the folder does not describe its device", "give a folder with a device.json")
    if json:
        print_document({**facts.to_json(), "schema": SCHEMA})
        return
    print_text(f"{facts.name} ({facts.platform}, {facts.driver})\n\n{facts_table(facts)}")


def facts_table(facts: DeviceFacts) -> str:
    """Return a row for each fact: key, value, unit and source."""
    from perfmodel.report.fitted import stacked_text

    return stacked_text([(key, value_text(fact), fact.source) for key, fact in facts.facts], 3, table_width())


def value_text(fact: Fact) -> str:
    """Write a fact's value with its unit.

    >>> from perfmodel.facts import Fact
    >>> value_text(Fact(1.3344e-9, "s", "measured")), value_text(Fact("serial", "", "measured"))
    ('1.334e-09 s', 'serial')
    """
    value: Any = fact.value
    number = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{number} {fact.unit}".strip()
