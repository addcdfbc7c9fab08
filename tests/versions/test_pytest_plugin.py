"""The fixture ``perf_counts``: what it stores, compares and refuses."""

import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

from perfmodel.counts import count
from perfmodel.versions.pytest_plugin import StoredCounts
from tests.shadow import ROOT
from tests.versions.test_formulas import unit

TEST = '''
import loopy as lp
import numpy as np


def test_counts(perf_counts):
    unit = lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i]", [lp.GlobalArg("a, out", np.float32, shape="n"), "..."],
                          assumptions="n >= 1", lang_version=(2018, 2))
    perf_counts(unit, "copy")


class TestOther:
    def test_counts(self, perf_counts):
        unit = lp.make_kernel("{[i]: 0 <= i < 8}", "out[i] = 1", lang_version=(2018, 2))
        perf_counts(unit, "copy")
'''
COPY, DOUBLE = "out[i, j] = a[i, j]", "out[i, j] = 2*a[i, j]"


def test_counts_are_stored_compared_and_updated(tmp_path: Path) -> None:
    stored = tmp_path / "test-k.txt"
    compare, update = (StoredCounts(tmp_path, "test", update) for update in (False, True))
    with pytest.raises(pytest.fail.Exception, match=r"no counts of loopy_kernel are stored .*: pytest --perf"):
        compare(unit(COPY), "k")
    assert not stored.exists()
    assert () == update(unit(COPY), "k")
    before = stored.read_text()
    assert () == compare(count(unit("out[i, j] = a[0 + i, j]")), "k")
    with pytest.raises(pytest.fail.Exception, match=r"float32 mul: 0 -> n\^2"):
        compare(unit(DOUBLE), "k")
    assert before == stored.read_text()
    assert ["float32 mul: 0 -> n^2"] == list(map(str, update(unit(DOUBLE), "k")))
    assert () == compare(unit(DOUBLE), "k")


@pytest.mark.parametrize("content", [b"other text", b"\xff\xfe", b""])
def test_damaged_files_are_refused_and_written_again(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "test.txt").write_bytes(content)
    with pytest.raises(pytest.fail.Exception, match="to store them: pytest --perf-counts-update"):
        StoredCounts(tmp_path, "test", update=False)(unit(COPY))
    StoredCounts(tmp_path, "test", update=True)(unit(COPY))
    assert () == StoredCounts(tmp_path, "test", update=False)(unit(COPY))


def test_the_fixture_in_a_run_of_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "-p", "no:cacheprovider", "--rootdir=."]
    command += ["-p", "perfmodel.versions.pytest_plugin", "--perf-counts-update", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert 0 == done.returncode, done.stdout
    assert (tmp_path / "perf_counts" / "test_it" / "test_counts-copy.txt").is_file()
    assert 2 == len([*(tmp_path / "perf_counts" / "test_it").iterdir()])


def test_pytest_finds_the_plugin() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    name, _, module = setup["options.entry_points"]["pytest11"].strip().partition(" = ")
    assert "perfmodel.versions.pytest_plugin" == name == module
