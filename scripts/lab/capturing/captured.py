"""Kernels that :mod:`scripts.lab.capturing.capture` kept, as values."""

import pickle
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import loopy as lp


@dataclass(frozen=True, eq=False)
class Captured:
    """A translation unit that somebody else's program scheduled.

    *source* is the test or script that did. *unit* is as it was before Loopy preprocessed it.
    """

    name: str
    source: str
    unit: lp.TranslationUnit


def captured(folder: Path) -> Iterator[Captured]:
    """Yield the kernels of a folder in the order of their files' names.

    Of kernels of one name the later ones are numbered. The pickles are our own: nobody else writes into the folder.
    """
    names: dict[str, int] = {}
    for path in sorted(folder.glob("*.pickle")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                content: dict[str, Any] = pickle.loads(path.read_bytes())
            except (ImportError, AttributeError) as error:  # of a test's own class: put its folder into PYTHONPATH
                sys.stderr.write(f"skipped: {path.name} cannot be read here: {error}\n")
                continue
        unit, test = content["unit"], content["source"].split("::")[-1].split("[")[0]
        number = names[test] = names.get(test, 0) + 1
        yield Captured(f"{test}#{number}", content["source"], unit)
