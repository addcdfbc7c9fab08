"""A report of recorded measurements for the tests of its parts, and its page as a tree."""

from dataclasses import dataclass, field, replace
from functools import cache
from html.parser import HTMLParser

from perfmodel import store
from perfmodel.analyses.report_data import ReportData, report_data
from perfmodel.predicting.model import load
from perfmodel.report.html.page import report_page
from tests.recorded import SIMULATED

#: Names that would do harm where they are not escaped.
HOSTILE = ("<script>alert(1)</script>", "\"><img src=x onerror=alert(2)> & 'q'", "</script><!-- {{ 7*7 }} %{x}")
MADE = {"written": "2026-11-22", "command": "perfmodel report '<b>'"}
VOID = {"meta", "br", "img", "link", "input", "hr"}


@cache
def reported() -> ReportData:
    """A device with facts, roofs, families and test kernels; three variants of a user with hostile names, ranked."""
    tests = store.read(SIMULATED / "test.jsonl")
    rows = {str(row.variant): row for row in tests if row.kernel == "nbody_variants"}
    counts = [tests.counts[row.counts_hash] for row in rows.values()]
    model = load(SIMULATED / "stevens_kloeckner_2016.json")
    found = report_data(model, SIMULATED, dict(zip(HOSTILE, counts, strict=False)), {"n": 2048})
    return replace(found, withheld={"<i>broken</i>": "a reason with <u>tags</u>"})


@cache
def page() -> str:
    """Its page."""
    return report_page(reported(), MADE)


@dataclass
class Element:
    """An element with its attributes, its children and its texts."""

    tag: str
    attributes: dict[str, str | None]
    children: list["Element"] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def every(self, *tags: str) -> list["Element"]:
        """Return this and all elements below, or those with one of the tags, in their order."""
        own = [self] if not tags or self.tag in tags else []
        return own + [one for child in self.children for one in child.every(*tags)]

    @property
    def text(self) -> str:
        """All text in it, without that of scripts and styles."""
        skipped = self.tag in ("script", "style")
        return "" if skipped else " ".join([*self.texts, *(child.text for child in self.children)])


class Tree(HTMLParser):
    """Reads a page; every element but void ones must be closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.root = Element("document", {})
        self.open = [self.root]
        self.feed(text)
        self.close()
        assert [self.root] == self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), attrs
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert tag == self.open.pop().tag

    def handle_data(self, data: str) -> None:
        self.open[-1].texts.append(data)


@cache
def tree() -> Element:
    """The page as a tree."""
    return Tree(page()).root
