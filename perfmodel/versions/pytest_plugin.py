"""The pytest fixture ``perf_counts``: a test fails if the formulas of a kernel change.

pytest finds this module by an entry point of the package. Nothing else imports it, so pytest is not required.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from perfmodel.versions import Change

UPDATE = "--perf-counts-update"
FOLDER = "perf_counts"


@dataclass(frozen=True)
class StoredCounts:
    """Compares the formulas of kernels with those in text files next to the test."""

    folder: Path
    test: str
    update: bool

    def __call__(self, kernel: Any, name: str = "") -> tuple[Change, ...]:
        """Fail the test if a formula of a kernel is not the stored one.

        Parameters
        ----------
        kernel
            A Loopy ``TranslationUnit``, or its counts.
        name
            Distinguishes several kernels of one test.

        Returns
        -------
        tuple of Change
            The changes that ``--perf-counts-update`` stored; empty without changes.
        """
        from perfmodel.counts import KernelCounts, count
        from perfmodel.errors import DocumentError
        from perfmodel.io import file_part, write_whole
        from perfmodel.versions import Formulas

        found = Formulas.of(kernel if isinstance(kernel, KernelCounts) else count(kernel))
        path = self.folder / f"{file_part(f'{self.test}-{name}' if name else self.test)}.txt"
        try:
            changes = Formulas.from_text(path.read_text(encoding="utf-8")).changes(found)
        except FileNotFoundError:
            problem, changes = f"no counts of {found.kernel} are stored in '{path}'", ()
        except (DocumentError, UnicodeDecodeError) as error:
            problem, changes = f"'{path}' {getattr(error, 'problem', 'is not text')}", ()
        else:
            if not changes:
                return changes
            problem = "\n  ".join([f"the counts of {found.kernel} in '{path}' changed:", *map(str, changes)]) + "\n"
        if not self.update:
            pytest.fail(f"{problem}; to store them: pytest {UPDATE}".replace("\n; ", "\n"), pytrace=False)
        write_whole(path, found.text.encode())
        return changes


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that stores counts."""
    group = parser.getgroup("perfmodel")
    group.addoption(UPDATE, action="store_true", help="Store the counts of kernels that perf_counts compares.")


@pytest.fixture
def perf_counts(request: pytest.FixtureRequest) -> StoredCounts:
    """Compare the formulas of a kernel with stored ones: ``perf_counts(t_unit)``."""
    name = request.node.nodeid.partition("::")[2]  # with the class
    return StoredCounts(request.path.parent / FOLDER / request.path.stem, name, request.config.getoption(UPDATE))
