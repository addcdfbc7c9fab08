"""Work-groups against the limits of a device, as far as they are known."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from perfmodel.counts import KernelCounts
from perfmodel.errors import KernelError
from perfmodel.facts import DeviceFacts, Fact

COUNTS = SimpleNamespace(name="work", launch=SimpleNamespace(group_shape=(16, 16), local_bytes=4096))


def device(**known):
    return DeviceFacts("D", "P", "1", tuple((key, Fact(value, "", "by hand")) for key, value in known.items()))


def test_what_fits_or_is_not_known_passes():
    KernelCounts.check_launch(COUNTS, device())
    KernelCounts.check_launch(COUNTS, device(max_work_group_size=256, local_memory_bytes=4096))


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"max_work_group_size": 255}, "needs 256 work-items, and 'D' has 255"),
        ({"local_memory_bytes": 4095}, "needs 4096 bytes of local memory, and 'D' has 4095"),
    ],
)
def test_what_is_too_large_is_refused(known, words):
    with pytest.raises(KernelError, match=words):
        KernelCounts.check_launch(COUNTS, device(**known))
