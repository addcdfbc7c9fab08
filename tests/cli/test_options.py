"""Values that options stand for."""

from __future__ import annotations

import pytest

from perfmodel.cli.options import about, share, sizes
from perfmodel.errors import OptionError, SizeOptionError, UnknownVariantError, VariantError


@pytest.mark.parametrize(("text", "expected"), [("25%", 0.25), ("0.25", 0.25), ("100%", 1.0), ("1", 1.0), (None, None)])
def test_shares(text, expected):
    assert expected == share(text)


@pytest.mark.parametrize("text", ["0", "0%", "101%", "1.5", "-1", "nan", "a quarter", ""])
def test_what_is_no_share(text):
    with pytest.raises(OptionError, match="is no share"):
        share(text)


@pytest.mark.parametrize("text", ["n", "n=", "=5", "n=1.5", "1=1", "n==1"])
def test_sizes_of_another_form_are_refused(text):
    with pytest.raises(SizeOptionError):
        sizes([text])


def test_an_error_of_one_of_several_variants_names_it():
    with pytest.raises(VariantError) as caught, about("tiled", ("tiled", "naive")):
        raise SizeOptionError("n=x")
    assert str(caught.value).startswith(f"variant 'tiled': {SizeOptionError('n=x')}")
    with pytest.raises(SizeOptionError), about("kernel", ("kernel",)):
        raise SizeOptionError("n=x")
    with pytest.raises(VariantError) as caught, about("outer", ("outer", "b")), about("inner", ("inner", "b")):
        raise UnknownVariantError("x", ("y",))
    assert "inner" == caught.value.name
