"""docs/own-kernels.md runs as one program, and prints what it promises."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "own-kernels.md"
CODE = "\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))


def test_the_page_prints_what_it_promises(capsys):
    exec(compile(CODE, str(PAGE), "exec"), {})
    promised = re.findall(r"# prints (.*)$", CODE, re.MULTILINE)
    assert 6 == len(promised)
    assert promised == capsys.readouterr().out.splitlines()
