"""A user's own families: an expression, or a file."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from perfmodel.cli import application
from perfmodel.errors import ExpressionError, FamilyFileError
from perfmodel.expressions.dimensions import weight_units
from perfmodel.expressions.expression import parse
from perfmodel.features import FEATURE_NAMES, nearest_names, unit
from perfmodel.models import Family, find_family
from perfmodel.models.model import Weight
from tests.cli.test_evaluate import DATA

TEXT = "w_launch*launches + smooth_max(w_add*op_float32_add, w_load*global_load_32_stride1, w_sharpness)"


def run(*arguments: str):
    return CliRunner().invoke(application(), list(arguments))


def test_weights_have_the_units_that_follow():
    family = Family.from_expression(TEXT)
    expected = {"w_launch": "s/launch", "w_add": "s/operation", "w_load": "s/access", "w_sharpness": ""}
    assert expected == {weight.name: weight.unit for weight in family.weights}
    assert family == find_family(f"expr: {TEXT}") == find_family(f"expr:{TEXT}")
    assert not family.takes("launches")
    sharpness = family.weights[-1]
    assert (4.0, 1.0, 64.0) == (sharpness.start, sharpness.lower, sharpness.upper)
    (_, exponent) = Family.from_expression("w_a*launches**w_b").weights
    assert (1.0, 0.0) == (exponent.start, exponent.lower)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("w_a", "s"),
        ("2*w_a*launches/3", "s/launch"),
        ("launches/w_a", "launch/s"),
        ("w_a*launches*op_float32_add", "s/launch/operation"),
        ("w_a*launches/op_float32_add", "s*operation/launch"),
        ("w_a/launches", "s*launch"),
        ("launches/(w_a*op_float32_add)", "launch/operation/s"),
        ("1/w_a", "1/s"),
        ("abs(w_a*launches)", "s/launch"),
        ("where(launches > 1, w_a*launches, 0)", "s/launch"),
        ("launches**w_a", ""),
        ("max(w_a*(launches - 1), 0)", "?"),
    ],
)
def test_units_by_hand(text, expected):
    assert {"w_a": expected} == weight_units(parse(text))


def test_weights_can_be_given():
    given = Weight("w_sharpness", "", start=8.0, lower=1.0, upper=64.0)
    family = Family.from_expression(TEXT, "mine", citation="me, today", weights=[given])
    assert given == family.weights[-1]
    assert ("mine", "me, today") == (family.name, family.citation)
    assert family.weights[0].start is None


def test_bounds_of_weights_are_seen():
    """1 - 1/w cannot be negative where w is at least 1."""
    text = "launches*(1 - 1/w_share)"
    with pytest.raises(ExpressionError, match="below zero"):
        Family.from_expression(text)
    assert Family.from_expression(text, weights=[Weight("w_share", "", lower=1.0, start=2.0)]).weights
    with pytest.raises(ExpressionError, match="below zero"):
        Family.from_expression("w_a*launches", weights=[Weight("w_a", "s/launch", lower=-1.0)])


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("w_a*launches + w_b*op_float32_ad", "op_float32_ad", "did you mean op_float32_add"),
        ("w_a*global_load_32_stride_1", "global_load_32_stride_1", "did you mean global_load_32_stride1"),
        ("w_a*launches + compute_units", "compute_units", "neither a feature nor a weight"),
        ("w_a*floor(w_b*launches)", "floor(w_b*launches)", "not differentiable"),
        ("w_a*launches - w_b*work_groups", "w_a*launches - w_b*work_groups", "below zero"),
        ("2*launches", "2*launches", "there is no weight in it"),
    ],
)
def test_errors_point_into_the_expression(text, at, said):
    with pytest.raises(ExpressionError) as caught:
        Family.from_expression(text)
    error = caught.value
    assert said in str(error)
    assert at == text[error.start : error.end]
    lines = str(error).splitlines()
    assert lines[2].index("^") - 4 == text.index(at)
    assert "^" * len(at) in lines[2]


def test_a_weight_that_is_not_in_the_expression_is_told():
    with pytest.raises(ExpressionError, match="'w_shapness' does not stand in it"):
        Family.from_expression(TEXT, weights=[Weight("w_shapness", "")])


def test_negative_steps_are_seen_through_parts():
    with pytest.raises(ExpressionError, match="below zero") as caught:
        parse("w_a + left", parts={"left": "launches - work_groups"})
    assert "left" == caught.value.text[caught.value.start : caught.value.end]
    assert parse("w_a + max(left, 0)", parts={"left": "launches - work_groups"})


def test_names_that_are_offered_are_features():
    assert len(FEATURE_NAMES) == len(set(FEATURE_NAMES))
    for name in FEATURE_NAMES:
        assert unit(name)
    assert "launches" == nearest_names("launch")[0]


def test_files(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("from perfmodel.models import Family\nFAMILY = Family('mine', 'me', ('launches', 'op_*'))\n")
    assert Family("mine", "me", ("launches", "op_*"), definition=str(path)) == find_family(str(path))


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "does not exist"), ("x = 1", "has no FAMILY"), ("FAMILY = 1", "has no FAMILY"), ("x = ", "SyntaxError"),
     ("import nothing_of_the_kind", "ModuleNotFoundError")],
)  # fmt: skip
def test_files_that_hold_no_family(tmp_path, text, said):
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(FamilyFileError, match=said) as caught:
        find_family(str(path))
    assert "docs/add-a-family.md" in str(caught.value)


def test_on_the_command_line(tmp_path):
    text = "w_launch*launches + w_group*work_groups + w_load*global_load_32_stride1"
    target = tmp_path / "own.json"
    result = run("fit", "--from", str(DATA), "--family", f"expr:{text}", "--output", str(target))
    assert 0 == result.exit_code, result.stderr
    assert "s/access" in result.stdout
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "import loopy as lp\nimport numpy as np\n"
        "def kernel():\n"
        "    t = lp.make_kernel('{[i]: 0<=i<n}', 'b[i] = a[i]', [lp.GlobalArg('a,b', np.float32, shape='n'), ...],\n"
        "                       assumptions='n>=1', lang_version=(2018, 2))\n"
        "    return lp.split_iname(t, 'i', 64, outer_tag='g.0', inner_tag='l.0')\n"
    )
    result = run("predict", str(kernel), "--weights", str(target), "-p", "n=65536")
    assert 0 == result.exit_code, result.output


def test_a_bad_expression_on_the_command_line():
    result = run("fit", "--from", str(DATA), "--family", "expr:w_a*launchs")
    assert 2 == result.exit_code
    assert "^^^^^^^" in result.stderr
    assert "launches" in result.stderr


def test_facts_are_fitted_unless_forbidden(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from perfmodel.models.model import Family, Weight\n"
        "FAMILY = Family('mine', 'me', weights=(Weight('w_wait', 's', start=1e-5, fact='departure_coalesced_s'),),\n"
        "    sums={'busy': ('launches', 'work_groups', 'global_*')}, expression='busy + w_wait', additive=False)\n"
    )
    options = "--from", str(DATA), "--family", str(path)
    for command in (("fit", "--output", str(tmp_path / "w.json")), ("evaluate",)):
        result = run(*command, *options, "--given-facts")
        assert 2 == result.exit_code
        assert "departure_coalesced_s" in result.stderr
        assert "FitOptions(fit_facts=True)" in result.stderr
        result = run(*command, *options)
        assert 0 == result.exit_code, result.stderr
