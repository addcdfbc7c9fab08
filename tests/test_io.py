"""A file is replaced completely or not at all, whatever stops the writer."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from perfmodel.errors import OutputError
from perfmodel.io import replace_file, write_whole

WRITERS = (replace_file, write_whole)


@pytest.mark.parametrize("write", WRITERS)
def test_the_content_is_written_and_nothing_else_is_left(tmp_path, write):
    target = tmp_path / "new" / "folder" / "file.bin"
    for content in (b"first\r\n\x00", b"", b"longer than before"):
        write(target, content)
        assert content == target.read_bytes()
        assert [target] == list(target.parent.iterdir())


def test_a_path_may_be_text(tmp_path):
    write_whole(str(tmp_path / "file"), b"content")
    assert b"content" == (tmp_path / "file").read_bytes()


def test_permissions_are_those_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert 0o640 == (tmp_path / "file").stat().st_mode & 0o777


@pytest.mark.parametrize("place", ["file/below", ""], ids=["below a file", "a folder"])
@pytest.mark.parametrize(("write", "expected"), [(replace_file, OSError), (write_whole, OutputError)])
def test_a_place_that_cannot_be_written(tmp_path, place, write, expected):
    (tmp_path / "file").write_text("old")
    with pytest.raises(expected):
        write(tmp_path / place, b"new")
    assert [tmp_path / "file"] == list(tmp_path.iterdir())
    assert "old" == (tmp_path / "file").read_text()


def test_the_error_names_the_path_and_what_the_system_said(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(OutputError, match=r"below': .*exists; give a place that you may write to") as caught:
        write_whole(tmp_path / "file" / "below", b"new")
    assert str(tmp_path / "file" / "below") == caught.value.path
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize("step", ["replace", "open"])
@pytest.mark.parametrize("stop", [PermissionError(13, "no right"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_a_stop_at_any_step_keeps_the_old_file(tmp_path, monkeypatch, step, stop):
    target = tmp_path / "file"
    target.write_text("old")
    seen = []

    def broken(self, *_):
        seen.append(self.parent)
        raise stop

    with monkeypatch.context() as patch:
        patch.setattr(Path, step, broken)
        with pytest.raises((OutputError, KeyboardInterrupt)):
            write_whole(target, b"new")
    assert [tmp_path] == seen  # the temporary file is beside the old one
    assert "old" == target.read_text()
    assert [target] == list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_keeps_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "file"
    target.write_text("old")
    opened = Path.open

    def full(self, mode):
        opened(self, mode).close()
        return opened(Path("/dev/full"), "wb")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        with pytest.raises(OutputError, match="No space left on device"):
            write_whole(target, b"new")
    assert "old" == target.read_text()
    assert [target] == list(tmp_path.iterdir())


def test_readers_find_one_content_or_the_other(tmp_path):
    target, contents = tmp_path / "file", {bytes([digit]) * 100_000 for digit in range(4)}
    write_whole(target, min(contents))
    found: set[bytes] = set()
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            found.add(target.read_bytes())

    def write(content: bytes) -> None:
        for _ in range(50):
            write_whole(target, content)

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    ended.set()
    reader.join()
    assert found
    assert found <= contents
    assert [target] == list(tmp_path.iterdir())
