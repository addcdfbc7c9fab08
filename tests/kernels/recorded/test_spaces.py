"""The spaces of `test_kernels/recorded/`: the configurations are those that were recorded."""

import pytest

from test_kernels.recorded import SIZES, cards, recorded, space


def test_a_card_that_is_not_there_is_named():
    with pytest.raises(LookupError, match="recorded on rtx-2080-ti, rtx-3090, and not on a100"):
        recorded("gemm", "a100")


@pytest.mark.parametrize("name", SIZES)
def test_the_configurations_are_those_that_were_recorded(name):
    allowed = {tuple(sorted(configuration.items())) for configuration in space(name).configurations}
    for card in cards(name):
        assert allowed == {tuple(sorted(row.configuration.items())) for row in recorded(name, card)}


@pytest.mark.parametrize(("name", "card", "valid", "best_ms"), [
    ("convolution15", "a100", 4201, 0.548), ("convolution15", "a4000", 4201, 0.994),
    ("convolution15", "mi250x", 4362, 0.652), ("convolution15", "w6600", 4362, 1.42),
    ("convolution15-wide", "rtx-2080-ti", 5256, 0.898), ("convolution15-wide", "rtx-3090", 5220, 0.521),
    ("dedispersion", "a4000", 11130, 144), ("dedispersion", "a6000", 11130, 74.7),
    ("dedispersion", "w6600", 11130, 128), ("gemm", "rtx-2080-ti", 17956, 10.3), ("gemm", "rtx-3090", 17956, 5.63),
])  # fmt: skip
def test_the_times_are_those_of_the_collection(name, card, valid, best_ms):
    rows = recorded(name, card)
    assert valid == sum(row.seconds is not None for row in rows)
    assert all((row.seconds is None) == bool(row.invalid) == (row.runs == 0) for row in rows)
    assert best_ms == pytest.approx(1e3 * min(row.seconds for row in rows if row.seconds), rel=5e-3)
