"""Tables in Markdown, and pages of which the part below a marker is drawn."""

from __future__ import annotations

from scripts.lab.markdown import below_marker, drawn_between, markdown_table


def test_sections_take_the_place_of_what_stood_below_the_marker():
    page = below_marker("# Title\n\n<!-- -->\n\nold", "<!-- -->", ["new", "newer"])
    assert "# Title\n\n<!-- -->\n\nnew\n\nnewer" == page
    assert page == below_marker(page, "<!-- -->", ["new", "newer"])
    assert "# Title<!-- -->\n\nnew" == below_marker("# Title", "<!-- -->", ["new"])


def test_a_table_has_a_line_for_each_row():
    assert "| kernel | time |\n| --- | ---: |\n| sum | 1 s |" == markdown_table(
        [("kernel", "time"), ("---", "---:"), ("sum", "1 s")]
    )


def test_a_part_is_drawn_between_its_marks():
    page = drawn_between("# Page\n", "part", "first", "scripts/x")
    assert "# Page\n<!-- part: drawn by scripts/x -->\n\nfirst\n\n<!-- end of part -->\n" == page
    assert page.replace("first", "second") + "more" == drawn_between(page + "more", "part", "second", "scripts/x")
