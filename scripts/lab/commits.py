"""What git says of the commit that is checked out."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scripts.lab.scoreboard.board import DIRTY

ROOT = Path(__file__).resolve().parents[2]


def commit_name() -> str:
    """Return its tag or hash, and whether files were changed since; figures and pages in docs/ do not count."""
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!docs")
    return "".join(git("describe", "--always")) + DIRTY * bool(changed)


def tags() -> list[str]:
    return git("tag", "--points-at", "HEAD")


def git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
