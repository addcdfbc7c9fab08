"""A user's own families: files, and definitions on the command line."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from perfmodel.cli import application
from perfmodel.errors import FamilyFileError
from perfmodel.models import Family, find_family
from tests.cli.test_evaluate import DATA


def run(*arguments: str):
    return CliRunner().invoke(application(), list(arguments))


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
