"""What every test finds."""

import gc
import tempfile
from collections.abc import Iterator
from functools import lru_cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from perfmodel.measuring.lock import MachineTimes
from perfmodel.opencl import Device, Health, health
from perfmodel.store import files

if TYPE_CHECKING:
    from xdist.scheduler import LoadFileScheduling

#: Files that are split: tests of one kernel, class or family need the same costly values, also in several files.
BY_SUBJECT = {
    "tests/counts/nests/test_nests.py": "corpus", "tests/counts/test_against_oracle.py": "corpus",
    "tests/oracle/test_device.py": "corpus",
    "tests/kernels/test_contract.py": "class", "tests/models/test_contract.py": "family",
}  # fmt: skip
#: Folders whose files need the same costly values, as a report, a space or what was read of a store: each is a unit.
TOGETHER = ("tests/kernels/recorded/", "tests/lab/", "tests/report/html/")
#: Lines of stores that are kept: more than all committed ones.
LINES = 2**14


class Shared(dict[str, Any]):
    """Counts by hash, shared by all tests of a process; a copy is empty."""

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, ()


def pytest_sessionstart() -> None:
    """Turn off garbage collection while tests are collected: it took a third of that time."""
    gc.disable()


@pytest.fixture(autouse=True, scope="session")
def no_weights_of_this_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use an empty data folder: weights of this user must not change a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


def pytest_collection_finish() -> None:
    """Collect garbage less often, and nothing of what was made so far: each pass over shared counts takes 0.5 s."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report no load: other programs on this machine change no test, and no command waits for them."""
    monkeypatch.setattr("perfmodel.measuring.lock.reading", lambda: MachineTimes(monotonic(), 0.0, 0.0))
    monkeypatch.setenv("PERFMODEL_WAIT_S", "0")
    monkeypatch.setattr("os.fsync", lambda number: None)  # a busy disk takes seconds for each record


@pytest.fixture
def times_are_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept every measured time: short runs may take a hundred times as long on a loaded machine."""
    accepted = {"below_launch": lambda row: "", "odd_visits": lambda visits: {}, "unsupported": lambda rows, work: {}}
    for judge, nothing in accepted.items():
        monkeypatch.setattr(f"perfmodel.store.measurements.{judge}", nothing)


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluate measured rows in this process: starting others takes longer than evaluating a few hundred rows."""
    monkeypatch.setattr("perfmodel.calibration.calibrate.evaluated_in_processes", lambda *given: None)


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the width of the terminal that pytest sets for its workers: output would be cut to it."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="session", autouse=True)
def temporary_files_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give each process its own temporary files and device locks: no test waits for another's campaign."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("t")))
        patch.setattr(tempfile, "tempdir", None)
        yield


@pytest.fixture(scope="session", autouse=True)
def lines_are_read_once() -> Iterator[None]:
    """Read each line of a store, and its counts, once for all tests of a process: many fit committed stores."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("read_row", "read_counts"):
            patch.setattr(files, name, lru_cache(LINES)(getattr(files, name)))
        patch.setattr(files, "Measurements", partial(files.Measurements, _read=Shared()))
        yield


@pytest.fixture(scope="session", autouse=True)
def a_device_is_checked_once() -> Iterator[None]:
    """Check a device once, not for each command that a test calls."""
    healthy: dict[tuple[int, str], Health] = {}
    check = health.check

    def checked(device: Device, time_limit: float = health.TIME_LIMIT_S) -> Health:
        key = device.index, device.name
        known = healthy.get(key) or check(device, time_limit)
        if known.ok:
            healthy[key] = known
        return known

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(health, "check", checked)
        yield


def work_unit(nodeid: str) -> str:
    """Return the unit of a test: tests of a unit (a file, a subject or a folder) run in one process.

    >>> work_unit("tests/kernels/test_contract.py::test_rungs_get_larger[gemm]")
    'class gemm'
    >>> work_unit("tests/test_io.py::test_a_path[gemm]")
    'tests/test_io.py'
    >>> work_unit("tests/report/html/test_page.py::test_it_is_small")
    'tests/report/html/'
    """
    file, _, test = nodeid.partition("::")
    kind, subject = BY_SUBJECT.get(file), test.partition("[")[2].removesuffix("]").partition("-")[0]
    if kind and subject:
        return f"{kind} {subject}"
    return next((folder for folder in TOGETHER if file.startswith(folder)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> "LoadFileScheduling | None":
    """Spread files, and subjects of the largest files, over processes in their order: the small ones come last."""
    from xdist.scheduler import LoadFileScheduling

    class BySubject(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return work_unit(nodeid)

    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return BySubject(config, log)
