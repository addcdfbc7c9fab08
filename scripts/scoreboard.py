"""Score every family, idea and black box on the measured devices, and draw docs/lab/scoreboard.md and its picture.

Works from the committed measurements, without a device. Figures are added to docs/data/scoreboard.csv.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from perfmodel.cli.output import CommandBar
from perfmodel.errors import PerfModelError
from scripts.lab.scoreboard import board as scores
from scripts.lab.scoreboard.scoring import SCORED, Stamp

ROOT = Path(__file__).resolve().parents[1]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/scoreboard", description=__doc__)
    parser.add_argument("--device", action="append", default=[], help="part of a device's name; all by default")
    parser.add_argument("--model", action="append", default=[], help="part of a model's name; all by default")
    parser.add_argument("--ideas", type=Path, default=ROOT / "docs" / "data" / "ideas.json", help="file of ideas")
    parser.add_argument("--idea", action="append", default=[], metavar="FILE.py", help="a family of your own; is run")
    parser.add_argument("--trees", action="append", default=["stevens_kloeckner_2016"], help="family of a black box")
    parser.add_argument("--groups-only", action="store_true", help="look at no test kernel")
    parser.add_argument("--paper-kernels", nargs="?", const="", metavar="REASON", help="score and log them; at a tag")
    parser.add_argument("--importances", action="store_true", help="only print what the black boxes split on")
    parser.add_argument("--redraw", action="store_true", help="only draw the page and the picture again")
    parser.add_argument("--folders", type=Path, default=ROOT / "fitted_weights", help="folder of the devices' folders")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder of the page and its data")
    given, bar = parser.parse_args(argv), CommandBar()
    board, commit = scores.Board.below(given.out), scores.commit_name()
    try:
        reason = scores.reason_to_score(given.paper_kernels, scores.git("tag", "--points-at", "HEAD"), commit)
        ideas = scores.wanted_ideas(given.ideas, given.idea, given.trees, given.model)
        folders = [] if given.redraw else scores.wanted_folders(given.folders, given.device)
        if given.importances:
            print(scores.importances_text(folders, ideas))
            return 0
        stamp, protocols = Stamp(date.today().isoformat(), commit), () if given.groups_only else SCORED
        if folders:
            scores.score_folders(board, folders, ideas, stamp, protocols=protocols, reason=reason, progress=bar)
        board.draw([idea.name for idea in ideas])
        print(f"wrote {board.table}, {board.page} and {board.picture}{f', {board.log}' * bool(reason)}")
    except PerfModelError as error:
        print(f"scoreboard: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
