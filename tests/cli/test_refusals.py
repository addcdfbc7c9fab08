"""Errors as they are printed: one line, and carets that stay under the text."""

from __future__ import annotations

from perfmodel.cli.refusals import print_refusal, refusal_text
from perfmodel.cli.settings import Settings, using
from perfmodel.errors import ExpressionError, OutputError, PerfModelError, VariantError


def test_an_error_is_one_line():
    assert "it broke in two lines; do this" == refusal_text(PerfModelError("it broke\n   in two lines; do this"))


def test_carets_stay_under_the_text():
    text = "w_launch*launches + w_add*op_flaot32_add"
    start = text.index("op_flaot32_add")
    said, line, carets = refusal_text(ExpressionError(text, start, len(text), "no feature", "name one")).split("\n")
    assert "no feature; name one." == said
    assert text == line.strip()
    assert "op_flaot32_add" == line[carets.index("^") : carets.rindex("^") + 1]


def test_an_error_inside_of_another_keeps_its_carets():
    inner = ExpressionError("a + b", 4, 5, "no 'b'", "name one")
    said, line, carets = refusal_text(VariantError("tiled", str(inner))).split("\n")
    assert said.startswith("variant 'tiled': no 'b'; name one.")
    assert ("    a + b", "        ^") == (line, carets)


def test_wide_characters_take_two_columns():
    _said, line, carets = refusal_text(ExpressionError("\u6570 + b\t", 4, 5, "no 'b'", "name one")).split("\n")
    assert "    \u6570 + b " == line
    assert "     " + "    ^" == carets  # the first character takes two columns


def test_a_traceback_where_it_is_asked_for(capsys):
    try:
        raise OutputError("/x", "Permission denied")
    except OutputError as error:
        print_refusal(error)
        assert "Traceback" not in capsys.readouterr().err
        with using(Settings(verbose=True)):
            print_refusal(error)
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert shown.splitlines()[-1].startswith("perfmodel: error: cannot write '/x'")


def test_a_narrow_terminal_shows_the_part_at_fault():
    text = "w_a*launches + " * 6 + "wrong" + " + w_b" * 9
    start = text.index("wrong")
    for width in (20, 40, 80):
        _, line, carets = refusal_text(ExpressionError(text, start, start + 5, "no", "name one"), width).split("\n")
        assert max(len(line), len(carets)) <= width
        assert "wrong" == line[carets.index("^") : carets.rindex("^") + 1]
