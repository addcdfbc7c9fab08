"""Scores models on the folders of devices, adds the figures to the scoreboard, and draws it; needs no device."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from perfmodel.display import columns_text
from perfmodel.errors import OptionError
from perfmodel.fitting.device_folder import measured_folders, recorded_folders
from perfmodel.fitting.family_fits import FamilyFits
from perfmodel.io import write_whole
from perfmodel.models import families
from perfmodel.progress import FailedStep, Progress, Silent, task
from perfmodel.store import TESTS_FILE
from scripts.lab.scoreboard.black_box import choose_black_box, group_error, importances
from scripts.lab.scoreboard.ideas import BLACK_BOX, MEASURED_FACTS, Idea, every_idea, read_ideas, with_measured_twins
from scripts.lab.scoreboard.log import log_csv, read_log, read_scoreboard, scoreboard_csv
from scripts.lab.scoreboard.page import scoreboard_page
from scripts.lab.scoreboard.picture import picture_scoreboard
from scripts.lab.scoreboard.scored_device import ScoredDevice, read_scored
from scripts.lab.scoreboard.scoring import SCORED, Scoring, Stamp, score

ROOT = Path(__file__).resolve().parents[3]
DIRTY = "-dirty"
"""End of the name of a commit, if files were changed since."""
UNKNOWN_S = 10.0
"""Time that scoring a model takes where none was scored before [s]."""


@dataclass(frozen=True)
class Board:
    """The files of the scoreboard."""

    table: Path  # every scoring, as CSV
    log: Path  # every scoring of the 2016 paper's test kernels, with its reason, as CSV
    # page, picture: what is drawn from both.
    page: Path
    picture: Path

    @classmethod
    def below(cls, docs: Path) -> Board:
        """Return the files below a folder of docs."""
        data, lab = docs / "data", docs / "lab"
        return cls(data / "scoreboard.csv", data / "scorings.csv", lab / "scoreboard.md", lab / "scoreboard.png")

    def add(self, rows: Iterable[Scoring]) -> None:
        """Add scorings to the table."""
        write_whole(self.table, scoreboard_csv([*read_scoreboard(self.table), *rows]).encode())

    def add_logged(self, reason: str, rows: Iterable[Scoring]) -> None:
        """Add scorings of the paper's kernels to the log."""
        write_whole(self.log, log_csv([*read_log(self.log), *((reason, one) for one in rows)]).encode())

    def draw(self, names: Collection[str] = ()) -> None:
        """Draw the page and the picture from the table and the log: families, black boxes, and ideas with these names.

        Ideas that were removed have rows in the table only.
        """
        text = self.page.read_text("utf-8") if self.page.is_file() else ""
        names = {*families(), *names}
        rows = [
            row for row in read_scoreboard(self.table)
            if row.model.startswith(BLACK_BOX) or row.model.removesuffix(MEASURED_FACTS) in names
        ]  # fmt: skip
        picture_scoreboard(rows, self.picture)
        write_whole(self.page, scoreboard_page(text, rows, read_log(self.log)).encode())


def wanted_ideas(path: Path, files: Sequence[str], trees: Sequence[str], parts: Sequence[str]) -> tuple[Idea, ...]:
    """Return every family, the ideas of a file if it is there, and those of :func:`every_idea`, by parts of the name.

    Raises OptionError if a part is of no name.
    """
    every = every_idea(read_ideas(path) if path.is_file() else (), files, trees)
    for part in parts:
        if not any(part in one.name for one in every):
            names = ", ".join(one.name for one in every)
            raise OptionError(f"no model has '{part}' in its name (there are: {names})", "give a part of such a name")
    return tuple(one for one in every if not parts or any(part in one.name for part in parts))


def wanted_folders(root: Path, parts: Sequence[str]) -> list[Path]:
    """Return the folders of devices below a root, simulated and recorded ones too, by parts of their names.

    Raises OptionError if a part is of no name, or nothing was measured.
    """
    every = [path.parent.name for path in root.glob(f"*/{TESTS_FILE}")]
    return measured_folders(root, tuple(parts or (*every, *(path.name for path in recorded_folders(root)))))


def reason_to_score(reason: str | None, tags: Sequence[str], commit: str) -> str:
    """Return the reason for which the paper's test kernels are scored: one that is given, else the commit's tag.

    It is empty, and they are not scored, where none is asked for (None).

    Raises
    ------
    OptionError
        If there is neither, or what is scored is not what is tagged. Nobody is to look at these kernels while models
        are worked on.
    """
    if reason is None:
        return ""
    if reason.strip():
        return reason.strip()
    if tags and not commit.endswith(DIRTY):
        return f"tag {', '.join(tags)}"
    problem = "has changes that are not committed" if tags else "has no tag"
    advice = "commit and tag (git tag NAME), or give a reason: --paper-kernels REASON"
    raise OptionError(f"the 2016 paper's test kernels are scored at tagged commits, and {commit} {problem}", advice)


def commit_name() -> str:
    """Return the tag or hash of the commit, and whether files were changed since; pages in docs/ do not count."""
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!docs")
    return "".join(git("describe", "--always")) + DIRTY * bool(changed)


def git(*arguments: str) -> list[str]:
    """Return the words that a git command prints."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()


def score_folders(
    board: Board, folders: Sequence[Path], ideas: Sequence[Idea], stamp: Stamp, *, protocols: Sequence[str] = SCORED,
    reason: str = "", progress: Progress | None = None,
) -> tuple[Scoring, ...]:  # fmt: skip
    """Score models on devices' folders, and add the figures to the board, a model at a time.

    An idea with a weight that the measurements give is scored a second time with that. Test kernels are predicted by
    `protocols`; the paper's test kernels are scored too, and logged, if there is a `reason`. The expected duration
    comes from earlier scorings. Nothing is drawn.
    """
    bar, devices = progress or Silent(), [read_scored(folder) for folder in folders]
    jobs = {one.name: with_measured_twins(ideas, one.plain, one.known) for one in devices}
    known = expected_seconds(read_scoreboard(board.table))
    times = 2 if reason else 1
    total = times * sum(_seconds(known, name, idea) for name, own in jobs.items() for idea in own)
    steps = sum(map(len, jobs.values()))
    bar.report(f"{steps} models to score, devices: {len(devices)}, time: about {total:.0f} s")
    found: list[Scoring] = []
    with task(bar, "scoring", steps, total):
        for device in devices:
            for idea in jobs[device.name]:
                rows = score(device, idea, stamp, protocols)
                board.add(rows)
                if reason:
                    board.add_logged(reason, score(device, idea, stamp, protocols, paper=True))
                bar.advance(_note(device, idea, rows[-1]), times * _seconds(known, device.name, idea))
                found += rows
    return tuple(found)


def expected_seconds(rows: Iterable[Scoring]) -> Mapping[tuple[str, str], float]:
    """Return how long the last scoring of each model on each device took [s]."""
    return {(one.device, one.model): one.score_s for one in rows}


def _seconds(known: Mapping[tuple[str, str], float], device: str, idea: Idea) -> float:
    """Return how long scoring takes: as last time, else as the others on average."""
    return known.get((device, idea.name)) or (fmean(known.values()) if known else UNKNOWN_S)


def _note(device: ScoredDevice, idea: Idea, row: Scoring) -> str:
    name = f"{idea.name} on {device.name}"
    return FailedStep(name, row.problem) if row.problem else name


def importances_text(folders: Iterable[Path], ideas: Iterable[Idea], most: int = 15) -> str:
    """Return the features on which black boxes split, on the measurement kernels of devices, as tables."""
    boxes = [one for one in ideas if one.name.startswith(BLACK_BOX)]
    return "\n\n".join(_importances(read_scored(folder), one, most) for folder in folders for one in boxes)


def _importances(device: ScoredDevice, idea: Idea, most: int) -> str:
    fits = choose_black_box(FamilyFits(device.plain, idea.family, idea.options))
    rows = [("column", "rise"), *((name, f"{rise:.3f}") for name, rise in [*importances(fits).items()][:most])]
    title = f"{idea.name} on {device.name}, {fits.setting.name}: rise of the mean |log(t/p)| of groups left out"
    return f"{title} ({group_error(fits):.3f})\n{columns_text(rows)}"
