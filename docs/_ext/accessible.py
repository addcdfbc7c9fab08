"""What Furo's pages lack: levels of the headings of its menu, names of its two asides, and scrolling by the keyboard.

A heading of a table without a text is an empty cell.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

REPAIRS = (
    (re.compile(r'<p class="caption" role="heading">'), '<p class="caption" role="heading" aria-level="2">'),
    (re.compile(r'<aside class="sidebar-drawer">'), '<aside class="sidebar-drawer" aria-label="All pages">'),
    (re.compile(r'<aside class="toc-drawer( no-toc)?">'), r'<aside class="toc-drawer\1" aria-label="This page">'),
    (re.compile(r"<pre>"), '<pre tabindex="0">'),
    (re.compile(r'<div class="(table-wrapper|math )'), r'<div tabindex="0" class="\1'),
    (re.compile(r'<th class="head([^"]*)">(?:<p>\s*</p>)?\s*</th>'), r'<td class="head\1"></td>'),
)


def repaired(page: str) -> str:
    """Return a page with the missing labels."""
    for pattern, text in REPAIRS:
        page = pattern.sub(text, page)
    return page


def mend_pages(app: Sphinx, failure: Exception | None) -> None:
    """Repair each page of the site after it is written."""
    if failure is None and app.builder.format == "html":
        for path in Path(app.outdir).rglob("*.html"):
            path.write_text(repaired(path.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect it to the end of a build."""
    app.connect("build-finished", mend_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
