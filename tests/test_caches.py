"""Caches of other libraries go to a writable folder in every environment."""

import os
from collections import namedtuple
from pathlib import Path

import pytest

from perfmodel import caches
from perfmodel.caches import VARIABLE, settle_caches, usable
from perfmodel.errors import OutputError
from tests.cli.program import perfmodel

Usage = namedtuple("Usage", "total used free")


def unknown_home(path: Path) -> Path:
    raise RuntimeError("Could not determine home directory.")


@pytest.fixture
def removals(monkeypatch, tmp_path):
    """Folders that would be removed when the process ends; temporary ones are made below `tmp_path`."""
    found = []
    monkeypatch.setattr("atexit.register", lambda function, folder, **_: found.append(folder))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return found


def test_a_usable_folder_is_kept_and_nothing_is_written(tmp_path, monkeypatch, removals):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "not" / "yet"))
    settle_caches()
    assert (str(tmp_path / "not" / "yet"), [], []) == (os.environ[VARIABLE], removals, list(tmp_path.iterdir()))


def test_a_file_a_broken_link_and_a_home_that_is_not_there_are_replaced(tmp_path, monkeypatch, removals):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "pytools").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "link", tmp_path / "half"):
        monkeypatch.setenv(VARIABLE, str(place))
        settle_caches()
        assert removals.pop() == os.environ[VARIABLE] != str(place)
        assert usable(Path(os.environ[VARIABLE]))
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr(Path, "expanduser", unknown_home)
    settle_caches()
    assert [os.environ[VARIABLE]] == removals


@pytest.mark.parametrize("sick", ["read-only", "full"])
def test_a_sick_disk_is_left_alone(tmp_path, monkeypatch, removals, sick):
    place = tmp_path / "disk"
    place.mkdir()
    monkeypatch.setenv(VARIABLE, str(place))
    if sick == "full":
        usage = caches.shutil.disk_usage
        free = {place: 2**20}
        monkeypatch.setattr(caches.shutil, "disk_usage", lambda path: Usage(0, 0, free.get(path) or usage(path).free))
    else:  # as os.access answers; a test that runs as root may write everywhere
        allowed = os.access
        monkeypatch.setattr("os.access", lambda path, mode: path != place and allowed(path, mode))
    settle_caches()
    assert [os.environ[VARIABLE]] == removals
    assert str(place) != os.environ[VARIABLE]


KERNEL = """
import loopy as lp

def small():
    t_unit = lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*i", lang_version=(2018, 2))
    return lp.add_dtypes(t_unit, {"out": "float32"})
"""


def test_a_kernel_is_counted_in_hostile_surroundings(tmp_path):
    """No home, a file instead of the cache folder, an ASCII terminal, and names that are not ASCII."""
    (tmp_path / "helper.py").write_text(KERNEL, encoding="utf-8")
    file = tmp_path / "größe.py"
    file.write_text("from helper import small\ndef variants(): return {'größe': small()}\n", encoding="utf-8")
    (tmp_path / "caches").write_text("")
    surroundings = {"HOME": str(tmp_path / "caches" / "home"), "XDG_CACHE_HOME": str(tmp_path / "caches")}
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = perfmodel("count", str(file), **surroundings, **ascii_only)
    assert (0, "") == (done.returncode, done.stderr)
    assert "gr\\xf6\\xdfe(n)" == done.stdout.splitlines()[0]


def test_where_nothing_can_be_written(monkeypatch, tmp_path, removals):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(OutputError, match="caches cannot be kept there"):
        settle_caches()
