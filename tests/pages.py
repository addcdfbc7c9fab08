"""The pages of the docs and what they show: Python, files that a reader writes, and lines of a shell."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
FENCE = re.compile(r"^```([\w{}-]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (?P<path>[\w/]+\.py)\n")
COMMAND = re.compile(r"^(?:    )?(?:\.venv/bin/)?(?P<line>(?:perfmodel (?=-*[a-z])|scripts/).*)$")


@dataclass(frozen=True)
class Page:
    path: Path
    text: str

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def files(self) -> dict[str, str]:
        """What a reader writes into files: blocks whose first line is a comment with a path."""
        blocks = ((FILE.match(text), text) for language, text in FENCE.findall(self.text) if language == "python")
        return {found["path"]: text for found, text in blocks if found}

    @property
    def program(self) -> str:
        """The page's other Python, as one program."""
        blocks = (text for language, text in FENCE.findall(self.text) if language == "python")
        return "\n".join(text for text in blocks if not FILE.match(text))

    @property
    def promised(self) -> list[str]:
        """The lines that the program prints, as its comments say."""
        return re.findall(r"# prints (.*)$", self.program, re.MULTILINE)

    @property
    def commands(self) -> list[list[str]]:
        """The lines of a shell that begin a command of perfmodel or a script, in code only, each as its words."""
        code = [text for language, text in FENCE.findall(self.text) if language in ("", "sh", "text")]
        code += re.findall(r"^    .*$", FENCE.sub("", self.text), re.MULTILINE)
        lines = (COMMAND.match(line) for text in code for line in text.splitlines())
        return [words(line["line"]) for line in lines if line and not line["line"].startswith("perfmodel: ")]

    @property
    def shown(self) -> list[list[str]]:
        """The commands in blocks that are marked as a shell's."""
        blocks = (text for language, text in FENCE.findall(self.text) if language == "sh")
        return [words(line) for text in blocks for line in text.splitlines() if line.strip()]


def words(line: str) -> list[str]:
    """Return the words of a line; a placeholder as ``<device>`` is a word."""
    return shlex.split(re.sub(r"<(\w+)>", r"\1", line), comments=True)


def pages() -> list[Page]:
    return [Page(path, path.read_text(encoding="utf-8")) for path in PAGES]
