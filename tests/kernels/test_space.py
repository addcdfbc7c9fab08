"""Spaces of transformations, beside a plain loop over all values."""

import numpy as np
import pytest

from perfmodel.errors import TuningError
from perfmodel.kernels.space import Space


def pair(tile: int, prefetch: bool) -> tuple[int, bool]:
    return tile, prefetch


VALUES = {"tile": (8, 16, 32), "prefetch": (False, True)}


def test_all_configurations_in_the_order_of_their_values():
    space = Space(pair, VALUES)
    expected = [{"tile": tile, "prefetch": on} for tile in (8, 16, 32) for on in (False, True)]
    assert list(space.configurations) == expected
    assert [build() for build in space.variants.values()] == [(one["tile"], one["prefetch"]) for one in expected]
    assert list(space.variants) == [f"tile={tile} prefetch={on}" for tile in (8, 16, 32) for on in (False, True)]


def test_names_leave_out_what_all_variants_have():
    assert list(Space(pair, {"tile": (8, 16), "prefetch": (True,)}).variants) == ["tile=8", "tile=16"]
    assert list(Space(pair, {"tile": (8,), "prefetch": (True,)}).variants) == ["tile=8 prefetch=True"]


@pytest.mark.parametrize(
    "restriction", [lambda tile, prefetch: prefetch or tile < 32, lambda one: one["prefetch"] or one["tile"] < 32]
)
def test_restrictions_take_parameters_by_name_or_the_whole_configuration(restriction):
    found = Space(pair, VALUES, [restriction, lambda tile: tile > 8]).configurations
    assert [(one["tile"], one["prefetch"]) for one in found] == [(16, False), (16, True), (32, True)]


def test_a_restriction_is_asked_once_for_what_it_takes_and_never_where_one_before_it_says_no():
    asked = []

    def divides(tile, unroll):
        asked.append((tile, unroll))
        return 8 % tile == 0

    values = {"unroll": (1, 2), "tile": (0, 4, 8), "prefetch": (False, True)}
    found = Space(lambda **_: None, values, [lambda tile: tile > 0, divides, lambda unroll: unroll > 1]).configurations
    assert [(4, 1), (8, 1), (4, 2), (8, 2)] == asked
    assert [(2, tile, on) for tile in (4, 8) for on in (False, True)] == [tuple(one.values()) for one in found]


def test_coordinates_keep_the_order_of_numbers_and_nothing_is_further_apart_than_one():
    space = Space(lambda **values: None, {"tile": (32, 8, 16), "order": ("ij", "ji", "k"), "one": (4,)})
    places = space.coordinates
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert apart.max() <= 1.0
    tiles = [one["tile"] for one in space.configurations if one["order"] == "ij"]
    first = [place[0] for place, one in zip(places, space.configurations, strict=True) if one["order"] == "ij"]
    assert np.argsort(first).tolist() == np.argsort(tiles).tolist()
    orders = {one["order"]: place for place, one in zip(places, space.configurations, strict=True) if one["tile"] == 8}
    between = {round(float(np.linalg.norm(orders[a] - orders[b])), 9) for a, b in (("ij", "ji"), ("ij", "k"))}
    assert between == {round(1 / np.sqrt(3), 9)}


@pytest.mark.parametrize(("values", "restrictions", "said"), [
    ({"tile": ()}, (), "parameter 'tile' has no values; give at least one"),
    ({"tile": (0, 1, 0)}, (), "parameter 'tile' has the value 0 twice; give each value once"),
    (VALUES, (lambda tile, unroll: True,), "a restriction takes 'unroll', which is not a parameter; the parameters "
     "are tile, prefetch"),
    ({1: (2,)}, (), "a parameter's name is 1, not a string; give names such as 'tile'"),
    ({"tile": 8}, (), "the values of parameter 'tile' are of type int; give a tuple, a list or a range"),
    ({"tile": "abc"}, (), "the values of parameter 'tile' are of type str"),
    ({"tile": range(10**18)}, (), "the space has more than 10000000 configurations (1000000000000000000 of tile"),
    ({"a": range(10**4), "b": range(10**4)}, (), "(10000 of a * 10000 of b values); give fewer values"),
    ({"tile": range(10**6 + 1)}, (), "more than 1000000 configurations satisfy all restrictions"),
    ({"tile": ([1], [2], [1])}, (), "parameter 'tile' has the value [1] twice"),
    (VALUES, (lambda tile: np.array([True, False]),), "a restriction returned an object of type ndarray for "
     "tile=8; return True or False, as with all() of an array"),
    (VALUES, (lambda tile: None,), "a restriction returned None for tile=8"),
    (VALUES, (lambda tile: "yes",), "a restriction returned an object of type str"),
    (VALUES, (3,), "a restriction cannot be called (3 is not a callable object)"),
    (VALUES, (lambda tile: tile > 99,), "no configuration satisfies all restrictions"),
])  # fmt: skip
def test_a_space_that_makes_no_sense(values, restrictions, said):
    with pytest.raises(TuningError) as raised:
        Space(pair, values, restrictions)
    assert said in str(raised.value)


def test_many_values_are_checked_in_no_time():
    assert 10**5 == len(Space(pair, {"tile": range(10**5)}).configurations)


def test_restrictions_may_return_what_is_true_of_numpy_and_take_all_by_name():
    large, even = (lambda tile: np.int32(tile) > 8), (lambda tile: tile & 16)
    space = Space(pair, VALUES, [large, even, lambda **every: every["prefetch"]])
    assert [{"tile": 16, "prefetch": True}] == list(space.configurations)


def test_two_values_that_look_alike_are_refused_where_variants_are_named():
    with pytest.raises(TuningError, match="two configurations are named 'tile=8'; give values that look different"):
        Space(pair, {"tile": (8, "8")}).variants  # noqa: B018
