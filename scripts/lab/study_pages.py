"""What a study found, written below a folder of docs: CSV and pictures of each device, and the study's page.

A page is ``lab/experiments/<study>.md``; the text below its marker is drawn from ``data/experiments/<device>``.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfmodel.display import cell_text, csv_text
from perfmodel.io import write_whole
from perfmodel.report.drawing import write_figure
from scripts.lab.markdown import below_marker, drawn_between, markdown_table
from scripts.lab.studies import UNSHOWN, VERDICTS, Claim, verdict_of_all

if TYPE_CHECKING:
    from scripts.lab.studies import Findings, Study, StudyData

FOLDER = "experiments"
MARKER = "<!-- what follows is drawn by scripts/papers -->"
FORMULAS, MEASURED = "formulas", "measured"
"""What decides a claim."""
VERDICT, DEVICE, PAGE, DECIDED = "verdict", "device", "page", "decided_by"
SKIPPED = ("kernel", "variant", "sizes", "status", "reason")


def data_folder(docs: Path, slug: str) -> Path:
    """Return the folder of one device's measurements and tables."""
    return docs / "data" / FOLDER / slug


def page_folder(docs: Path) -> Path:
    """Return the folder of the studies' pages, and of a folder of pictures for each device."""
    return docs / "lab" / FOLDER


def measured_devices(docs: Path) -> list[str]:
    """Return the names of the folders of all devices that studies were run on."""
    return sorted({path.parent.name for path in (docs / "data" / FOLDER).glob("*/*-claims.csv")})


def examined(docs: Path, slug: str, studies: Iterable[Study]) -> list[Study]:
    """Return the studies that were run on a device."""
    return [one for one in studies if (data_folder(docs, slug) / f"{_file(one, 'claims')}.csv").is_file()]


def write(docs: Path, slug: str, study: Study, data: StudyData, found: Findings) -> str:
    """Write a study's tables, claims, skipped configurations and pictures, and its page; return what was written.

    Raises OutputError if a file cannot be written.
    """
    folder, pictures = data_folder(docs, slug), page_folder(docs) / slug
    tables = {name: list(records) for name, records in found.tables.items()}
    tables["claims"] = [{DEVICE: data.facts.name, **_record(study.page, one)} for one in found.claims]
    if data.failed:
        tables["skipped"] = [_skipped(row) for row in data.failed]
    for name, records in tables.items():
        names = list(dict.fromkeys(key for record in records for key in record))
        write_whole(folder / f"{_file(study, name)}.csv", csv_text(names, records).encode())
    for name, figure in found.pictures.items():
        write_figure(figure, pictures / f"{_file(study, name)}.png")
    path = page_folder(docs) / f"{study.name}.md"
    text = path.read_text() if path.is_file() else f"# {study.title}\n\n{study.source}\n\n"
    write_whole(path, below_marker(text, MARKER, _sections(docs, study)).encode())
    _write_index(docs)
    return f"{len(tables)} tables in {folder}, {len(found.pictures)} pictures in {pictures}, and {path}"


def _file(study: Study, name: str) -> str:
    return "-".join(filter(None, (study.name, name)))


def _record(page: str, one: Claim) -> dict[str, Any]:
    return {
        PAGE: page, "source": one.source, "paper": one.paper, "found": one.found,
        DECIDED: MEASURED if one.measured else FORMULAS, VERDICT: one.verdict,
    }  # fmt: skip


def _skipped(row: Any) -> dict[str, str]:
    from perfmodel.display import values_text

    cells = (row.kernel, values_text(row.variant), values_text(row.parameters), row.status, row.message)
    return dict(zip(SKIPPED, cells, strict=True))


def _sections(docs: Path, study: Study) -> list[str]:
    """Return a section with all claims, and one for each device: its own findings, what was skipped, its pictures.

    What was found alike on all devices is in the first section only.
    """
    paths = sorted((docs / "data" / FOLDER).glob(f"*/{study.name}-claims.csv"))
    claims = {path: {(one["source"], one["paper"]): one for one in _rows(path)} for path in paths}
    rows, own = [], set()
    for key in dict.fromkeys(key for found in claims.values() for key in found):
        given = [found[key] for found in claims.values() if key in found]
        verdict = verdict_of_all(one[VERDICT] for one in given)
        alike = len({(one["found"], one[VERDICT]) for one in given}) == 1 and len(given) == len(paths)
        rows.append((": ".join(key), given[0]["found"] if alike else "by device", verdict))
        own |= set() if alike else {key}
    heading = [("claim of the paper", "found here", ""), ("---",) * 3]
    sections = [f"## The claims\n\n{markdown_table([*heading, *map(_escaped, rows)])}\n"]
    for path, found in claims.items():
        slug = path.parent.name
        text = [f"## {next(iter(found.values()))[DEVICE]}"]
        here = [(one["source"], one["found"], one[VERDICT]) for key, one in found.items() if key in own]
        if here:
            text.append(markdown_table([("claim", *heading[0][1:]), heading[1], *map(_escaped, here)]))
        skipped = path.with_name(f"{study.name}-skipped.csv")
        if skipped.is_file():
            left = [(one["kernel"], one["variant"], one["reason"]) for one in _rows(skipped)]
            table = markdown_table([("kernel", "variant", "skipped, because"), ("---",) * 3, *map(_escaped, left)])
            text.append(f"Configurations that this device cannot run:\n\n{table}")
        pictures = sorted((page_folder(docs) / slug).glob(f"{study.name}[-.]*png"))
        text += [f"![{one.stem} on {slug}]({slug}/{one.name})" for one in pictures]
        sections.append("\n\n".join(text) + "\n")
    return sections


def _write_index(docs: Path) -> None:
    """Draw the tables of ``experiments/index.md``: the claims counted, and how each family chooses on each device."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for path in sorted((docs / "data" / FOLDER).glob("*/*-choices.csv")):
        study, records = path.name.removesuffix("-choices.csv"), _rows(path)
        cells = found.setdefault(path.parent.name, {}).setdefault(study, {})
        most = max(records, key=lambda one: int(one["variants"]))
        cells[""] = f"{study}: {most['variants']} variants, {most['choices']} choices"
        for one in records:
            cell = f"{float(one['regret']):.2f}, {float(one['rank']):.1f}" if one["regret"] else "withheld"
            if int(one["withheld"]) and one["regret"]:
                cell += f" ({one['withheld']} withheld)"
            cells[one["family"]] = cell
    sections = []
    for slug, studies in found.items():
        families = sorted({name for cells in studies.values() for name in cells if name})
        rows = [("family", *(cells[""] for cells in studies.values())), ("---",) * (1 + len(studies))]
        rows += [(f"`{name}`", *(cells.get(name, "") for cells in studies.values())) for name in families]
        sections.append(f"### {slug}\n\n{markdown_table(rows)}\n")
    path = page_folder(docs) / "index.md"
    text = path.read_text() if path.is_file() else "# The papers' experiments\n\n"
    text = drawn_between(text, "claims", _counted_claims(docs), "scripts/papers")
    write_whole(path, below_marker(text, MARKER, sections).encode())


def _counted_claims(docs: Path) -> str:
    """Return a table of the claims of each paper by their verdicts, each claim counted once."""
    claims: dict[tuple[str, str], dict[tuple[str, str, str], list[str]]] = {}
    for path in sorted((docs / "data" / FOLDER).glob("*/*-claims.csv")):
        study = path.name.removesuffix("-claims.csv")
        for one in (row for row in _rows(path) if PAGE in row):  # not in files of before claims were counted
            key = study, one["source"], one["paper"]
            claims.setdefault((one[PAGE], one[DECIDED]), {}).setdefault(key, []).append(one[VERDICT])
    rows: list[tuple[str, ...]] = [("paper", "decided by", "claims", *VERDICTS, "devices differ")]
    rows.append(("---", "---", *("---:",) * 6))
    for (page, decided), own in sorted(claims.items()):
        counted = Counter(map(verdict_of_all, own.values()))
        differ = sum(len({*given} - {UNSHOWN}) > 1 for given in own.values())
        rows.append((
            f"[{page}](../../papers/{page}.md)", decided, str(len(own)), *(str(counted[one]) for one in VERDICTS),
            str(differ),
        ))  # fmt: skip
    return markdown_table(rows)


def _rows(path: Path) -> list[Mapping[str, str]]:
    with path.open(newline="") as file:
        return [{name: cell_text(cell) for name, cell in one.items()} for one in csv.DictReader(file)]


def _escaped(cells: tuple[str, ...]) -> tuple[str, ...]:
    """Return cells without what ends a cell of a table or begins a tag."""
    return tuple(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells)
