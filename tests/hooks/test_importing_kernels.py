"""Configurations find their kernels in a file with a space, which refuses names and values that it does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfmodel.errors import DocumentError, SpaceError
from perfmodel.hooks.importing import kernel_source
from perfmodel.store.exchange import TunerResults
from tests.hooks.spaces import SIZES

SPACE = """
from tests.hooks.spaces import build


def kernel(group, terms, repeats=1):
    if repeats != 1:
        raise ValueError("repeats must be 1")
    return build(group, terms)


def space():
    return {"group": (32, 64), "terms": (1, 2)}
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "spaced.py"
    path.write_text(SPACE)
    return kernel_source(path, TunerResults("results.json", "T4", None, None, ()))


def test_a_configuration_of_the_space(source):
    given = {"group": 32, "terms": 2, "repeats": 1, "block_size_x": 32}
    mapped = source.mapped(given, SIZES)
    assert ({"group": 32, "terms": 2, "repeats": 1}, SIZES) == (mapped.variant, mapped.sizes)
    assert "summed" == mapped.build().default_entrypoint.name


def test_a_size_may_be_in_the_configuration_if_it_is_given_too(source):
    assert SIZES == source.mapped({"group": 32, "terms": 2, **SIZES}, SIZES).sizes


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"group": 128, "terms": 1}, "has group=128, and the values in the space are 32, 64"),
        ({"group": "32", "terms": 1}, "has group='32', and the values in the space are 32, 64"),
        ({"group": 32}, "has no value for terms, which the kernel file needs"),
        ({"group": 32, "terms": 1, "MWG": 16}, "has MWG=16, which is neither a parameter of the kernel nor a size"),
        ({"group": 32, "terms": 1, "n": 64}, "has n=64, where n=4096 was given"),
        ({"group": 32, "terms": 1, "kernel": "other"}, "is for the kernel 'other', not 'spaced'"),
    ],
)
def test_names_and_values_that_the_space_does_not_have_are_refused(source, given, said):
    with pytest.raises(DocumentError) as caught:
        source.mapped(given, SIZES)
    assert said in caught.value.problem


def test_a_recorded_space_takes_what_its_tuners_cache_names():
    path = Path(__file__).parents[2] / "test_kernels" / "recorded" / "convolution.py"
    recorded = kernel_source(path, TunerResults("results.json", "T4", None, None, ()))
    given = {"block_size_x": 16, "block_size_y": 4, "tile_size_x": 1, "tile_size_y": 2, "use_padding": 0}
    given |= {"read_only": 0, "use_shmem": 1, "use_cmem": 1, "filter_width": 15, "filter_height": 15}
    assert given == recorded.mapped(given, {"n": 4096}).variant
    with pytest.raises(DocumentError, match="has tile_size_x=5, and the values in the space are 1, 2, 3, 4"):
        recorded.mapped({**given, "tile_size_x": 5}, {"n": 4096})
    with pytest.raises(SpaceError, match=r"ValueError \(the filter has 15 rows"):
        recorded.mapped({**given, "filter_width": 17}, {"n": 4096}).build()
