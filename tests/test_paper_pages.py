"""The pages of the papers: a row for everything that a paper numbers, and each file and name in it exists."""

import ast
import re
from functools import cache

import pytest

from tests.pages import ROOT

FOLDER = ROOT / "docs" / "papers"
PAGES = sorted(page.name for page in FOLDER.glob("*.md") if page.name not in ("index.md", "models.md"))
#: What each paper numbers: kind to the numbers, in the paper's order. A page has a row for each.
NUMBERED: dict[str, dict[str, list[str]]] = {
    "karsin-2018.md": {
        "Algorithm": ["1"], "Corollary": ["6.2.1"], "Lemma": ["6.2.2"], "Theorem": ["3.1.5", "3.1.7", "6.2.1"],
        "Definition": ["3.1.1", "3.1.2", "3.1.3", "3.1.4", "3.1.6", "3.1.8", "3.1.9", "3.1.10", "6.0.1"],
        "Table": ["3.1", "3.2", "4.1", "4.2"],
        "Figure": [
            f"{chapter}.{number}" for chapter, most in ((1, 4), (2, 1), (3, 4), (4, 6), (5, 4), (6, 7), (7, 10))
            for number in range(1, most + 1)
        ],
    },
    "kim-2012.md": {
        "Eq.": [f"{k}.{n}" for k, last in ((2, 5), (3, 1), (4, 31)) for n in range(1, last + 1)],
        "Table": ["1.1", "1.2", "1.3", "1.4", "4.1", "4.2"],
        "Figure": [f"{k}.{n}" for k, last in ((1, 19), (2, 7), (3, 5), (4, 11)) for n in range(1, last + 1)],
        "Algorithm": ["1"], "Listing": ["3.1", "4.1"],
    },
    "ma-2014.md": {
        "Eq.": [str(number) for number in range(1, 16)], "Table": ["1"],
        "Figure": [str(number) for number in range(1, 6)],
    },
    "stevens-kloeckner-2016.md": {
        "Eq.": ["1"], "Table": ["1", "2"], "Figure": ["1"], "Algorithm": ["1", "2"],
        "Class": [str(number) for number in range(1, 10)],
    },
    "wang-lou.md": {
        "Eq.": ["1", "2", *map(str, range(4, 23))], "Table": ["1"], "Figure": [str(number) for number in range(1, 9)],
    },
}  # fmt: skip
#: A row: what the paper has, what it says, where it is here, what tests it, where we depart.
COLUMNS = 5
#: What a first cell names: "Eq. 4.25 to 4.27", "Tables 1 and 2".
KINDS = r"Eq\.|Table|Figure|Algorithm|Class|Listing|Theorem|Lemma|Definition|Corollary"
NUMBERS = re.compile(rf"({KINDS})s? ((?:[\d.]+[a-z]?(?:, | and | to )?)+)")
#: Names of files in a cell, with or without a name inside of the file.
NAMES = re.compile(r"`([\w./-]+\.(?:py|yaml|json|md|jsonl|png|csv|xz|gz))(?:::([\w.]+))?`")


def rows(name: str) -> list[list[str]]:
    """Return the cells of each row of the page's tables, without their heads."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [row for row in cells if row[0] != "in the paper" and not set("".join(row)) <= set("-: ")]


def numbers(cell: str) -> set[tuple[str, str]]:
    """Return what a first cell names: "Eq. 4.25 to 4.27, Figure 3" is three equations and a figure."""
    named = set()
    for kind, listed in NUMBERS.findall(cell):
        for part in re.split(r", | and ", listed.strip(", ")):
            first, _, last = part.partition(" to ")
            named |= {(kind, number) for number in between(first.strip(" ."), last.strip(" ."))}
    return named


def between(first: str, last: str) -> list[str]:
    """Return the numbers from the first to the last, both included: "4.9" and "4.11" are 4.9, 4.10 and 4.11."""
    if not last:
        return [first]
    chapter, _, start = first.rpartition(".")
    end = last.rpartition(".")[2]
    return [f"{chapter}.{number}".lstrip(".") for number in range(int(start), int(end) + 1)]


@cache
def defined(path: str) -> set[str]:
    """Return what a Python file defines: functions, classes and their methods, values."""
    names = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        names |= _named(node)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{name}" for part in node.body for name in _named(part)}
    return names


def _named(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def test_a_range_of_numbers_is_read():
    assert {("Eq.", "4.9"), ("Eq.", "4.10"), ("Eq.", "4.11"), ("Figure", "3")} == numbers("Eq. 4.9 to 4.11, Figure 3")
    assert {("Table", "1"), ("Table", "2")} == numbers("Tables 1 and 2")


def test_each_page_is_judged():
    assert sorted(NUMBERED) == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_a_row_for_all_that_its_paper_numbers(name):
    named = set[tuple[str, str]]().union(*(numbers(row[0]) for row in rows(name)))
    asked = {(kind, number) for kind, listed in NUMBERED[name].items() for number in listed}
    assert set() == asked - named


@pytest.mark.parametrize("name", PAGES)
def test_each_name_on_a_page_exists(name):
    missing = []
    for path, inside in NAMES.findall((FOLDER / name).read_text(encoding="utf-8")):
        if not (ROOT / path).exists():
            missing.append(path)
        elif inside and inside not in defined(path):
            missing.append(f"{path}::{inside}")
    assert [] == missing


@pytest.mark.parametrize("name", PAGES)
def test_a_row_says_where_it_is_and_what_tests_it_or_why_not(name):
    for row in rows(name):
        assert COLUMNS == len(row), row
        place, test, departs = row[2:]
        assert NAMES.search(place) or departs, row
        assert "`tests/" in test or departs, row
