"""One battery over every family that is found."""

from __future__ import annotations

import pytest

from perfmodel import features
from perfmodel.errors import UnknownFamilyError
from perfmodel.families import Family, families, find_family

CANDIDATES = (
    "op_float32_add",
    "op_float64_special",
    "op_int32_add",
    "global_load_32_stride1",
    "global_store_64_strideN_3of4",
    "global_minloadstore_32_stride1",
    "local_load_32",
    "local_store_32",
    "barrier_local",
    "work_groups",
    "launches",
)


def test_the_core_paper_s_family_is_found():
    assert "stevens_kloeckner_2016" in families()


@pytest.mark.parametrize("family", families().values(), ids=lambda family: family.name)
def test_contract(family):
    assert family is find_family(family.name)
    assert family is find_family(family)
    assert family.name.isidentifier()
    assert family.citation
    taken = family.select(CANDIDATES)
    assert taken == tuple(sorted(set(taken)))
    assert taken
    for name in taken:
        assert f"s/{features.unit(name)}" == family.weight_unit(name)


@pytest.mark.parametrize("family", families().values(), ids=lambda family: family.name)
def test_terms_are_weight_times_value(family):
    taken = family.select(CANDIDATES)
    weights = {name: 2.0**-place for place, name in enumerate(taken)}
    values = {name: 2.0 ** (2 * place) for place, name in enumerate(taken)}
    expected = {name: 2.0**place for place, name in enumerate(taken)}
    assert expected == family.terms(weights, {**values, "op_int8_shift": 5.0})


def test_section_2_takes_no_integer_arithmetic_and_no_local_store():
    family = find_family("stevens_kloeckner_2016")
    left_out = {"op_int32_add", "local_store_32"}
    assert set(CANDIDATES) - left_out == set(family.select(CANDIDATES))


def test_an_unknown_family_is_answered_with_those_that_exist():
    with pytest.raises(UnknownFamilyError) as caught:
        find_family("roofine")
    assert "roofine" == caught.value.name
    assert tuple(families()) == caught.value.allowed
    assert "stevens_kloeckner_2016" in str(caught.value)


def test_families_are_values():
    one = Family("toy", "nowhere", ("launches",))
    assert one == Family("toy", "nowhere", ("launches",))
    assert {one} == {one, Family("toy", "nowhere", ("launches",))}


def test_the_room_can_be_called():
    import perfmodel.families

    assert families() is perfmodel.families()
