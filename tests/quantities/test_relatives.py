"""Which quantities are relatives."""

import pytest

from perfmodel.models import families
from perfmodel.models.bottleneck import FAMILY as BOTTLENECK
from perfmodel.predicting.relatives import groups_of, relatives_of

EVERY_RUN = ("runs", "launched", "instructions")
MULTITHREADED = {*families()["multithreaded"].units} - {"started", "dealt_groups", "arithmetic", "turns"}


@pytest.mark.parametrize("name", sorted({*BOTTLENECK.units} - {*EVERY_RUN}))
def test_each_quantity_of_bottleneck_has_a_relative(name):
    assert [mate for group in groups_of(name) for mate in relatives_of(name, group, BOTTLENECK.units)]


@pytest.mark.parametrize("name", sorted(MULTITHREADED))
def test_each_quantity_of_multithreaded_has_a_relative(name):
    others = families()["multithreaded"].units
    assert [mate for group in groups_of(name) for mate in relatives_of(name, group, others)]
