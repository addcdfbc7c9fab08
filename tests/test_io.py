"""A file is replaced completely or not at all, whatever stops the writer; a device, a pipe or a link stays one."""

import os
import resource
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from perfmodel import io
from perfmodel.errors import OutputError
from perfmodel.io import check_output_path, file_part, replace_file, shipped, write_whole

ROOT = Path(__file__).parents[1]
WRITERS = (replace_file, write_whole)


def test_shipped_folders_are_in_the_installed_package_or_next_to_it_in_a_clone(tmp_path, monkeypatch):
    monkeypatch.setattr(io, "__file__", str(tmp_path / "perfmodel" / "io.py"))
    assert tmp_path / "kernels" == shipped("kernels")
    (tmp_path / "perfmodel" / "kernels").mkdir(parents=True)
    assert tmp_path / "perfmodel" / "kernels" == shipped("kernels")


@pytest.mark.parametrize("write", WRITERS)
def test_the_content_is_written_and_nothing_else_is_left(tmp_path, write):
    target = tmp_path / "new" / "folder" / "file.bin"
    for content in (b"first\r\n\x00", b"", b"longer than before"):
        write(target, content)
        assert content == target.read_bytes()
        assert [target] == list(target.parent.iterdir())


@pytest.mark.parametrize("place", ["file/below", ""], ids=["below a file", "a folder"])
@pytest.mark.parametrize(("write", "expected"), [(replace_file, OSError), (write_whole, OutputError)])
def test_a_place_that_cannot_be_written(tmp_path, place, write, expected):
    (tmp_path / "file").write_text("old")
    with pytest.raises(expected):
        write(tmp_path / place, b"new")
    assert [tmp_path / "file"] == list(tmp_path.iterdir())
    assert "old" == (tmp_path / "file").read_text()


def test_a_place_is_checked_before_anything_is_written(tmp_path):
    (tmp_path / "file").write_text("old")
    check_output_path(tmp_path / "new" / "below")
    with pytest.raises(OutputError, match="below': Not a directory"):
        check_output_path(tmp_path / "file" / "below")


@pytest.mark.parametrize("step", ["perfmodel.io.os.open", "perfmodel.io.os.fsync", "pathlib.Path.replace"])
@pytest.mark.parametrize("stop", [PermissionError(13, "no right"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_a_stop_at_any_step_keeps_the_old_file(tmp_path, monkeypatch, step, stop):
    target = tmp_path / "file"
    target.write_text("old")
    seen = []

    def broken(place, *_, **__):
        seen.append(place)
        raise stop

    with monkeypatch.context() as patch:
        patch.setattr(step, broken)
        with pytest.raises((OutputError, KeyboardInterrupt)):
            write_whole(target, b"new")
    assert 1 == len(seen)
    assert isinstance(seen[0], int) or tmp_path == Path(seen[0]).parent != seen[0]  # in the folder of the old file
    assert "old" == target.read_text()
    assert [target] == list(tmp_path.iterdir())


def test_a_full_disk_keeps_the_old_file(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, before[1]))  # the system writes a part of the content
    try:
        with pytest.raises(OutputError, match="make room, or give a path on another disk"):
            write_whole(target, bytes(2**20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "old" == target.read_text()
    assert [target] == list(tmp_path.iterdir())


# {{{ devices, pipes and links


class Pipe(NamedTuple):
    """A named pipe that is open for reading, so that a writer need not wait."""

    path: Path
    reading: int  # number of the open file


@pytest.fixture
def pipe(tmp_path) -> Iterator[Pipe]:
    os.mkfifo(tmp_path / "pipe")
    made = Pipe(tmp_path / "pipe", os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK))
    yield made
    os.close(made.reading)


@pytest.fixture
def device(tmp_path, monkeypatch) -> Path:
    """A character device that accepts everything, or a file with that status if none can be made."""
    path = tmp_path / "device"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        path.write_bytes(b"")  # not on every file system
    except OSError:
        path.unlink(missing_ok=True)
        path.touch()
        as_found = Path.stat

        def as_device(place, **options):
            found = as_found(place, **options)
            return os.stat_result((stat.S_IFCHR | 0o666, *found[1:])) if place == path else found

        monkeypatch.setattr(Path, "stat", as_device)
    return path


@pytest.mark.parametrize("write", WRITERS)
def test_a_device_is_written_into(tmp_path, device, write):
    before = device.lstat()
    write(device, b"content")
    assert (before.st_ino, before.st_mode) == (device.lstat().st_ino, device.lstat().st_mode)
    assert [device] == list(tmp_path.iterdir())


@pytest.mark.parametrize("write", WRITERS)
def test_a_pipe_is_written_into(pipe, write):
    write(pipe.path, b"content")
    assert b"content" == os.read(pipe.reading, 100)
    assert pipe.path.is_fifo()


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing yet"])
def test_a_symbolic_link_is_followed(tmp_path, there):
    link, target = tmp_path / "link", tmp_path / "folder" / "target"
    target.parent.mkdir()
    if there:
        target.write_text("old")
    link.symlink_to(Path("folder") / "target")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert b"new" == target.read_bytes()
    assert [target] == list(target.parent.iterdir())
    assert {link, target.parent} == set(tmp_path.iterdir())


def test_a_file_that_may_not_be_written_stays(tmp_path, monkeypatch):
    target = tmp_path / "file"
    target.write_text("old")
    target.chmod(0o444)
    monkeypatch.setattr("perfmodel.io.os.access", lambda place, mode: not (target == place and mode == os.W_OK))
    with pytest.raises(OutputError, match="the file may not be written; give a path that you may write to"):
        write_whole(target, b"new")
    assert "old" == target.read_text()


def test_a_dash_is_standard_output(capsysbinary):
    sys.stdout.write("before\n")
    write_whole("-", b"\x89content")
    assert b"before\n\x89content" == capsysbinary.readouterr().out
    assert not Path("-").exists()


# }}}


@pytest.mark.parametrize(("name", "expected"), [
    ("tile=8 unroll=(1, 2)", "tile=8 unroll=(1, 2)"), ("größer", "größer"),
    ("../../etc/passwd", "..%2F..%2Fetc%2Fpasswd"), ("..", ".."), ("a\0b\n", "a%00b%0A"), ("\ud800", "%ED%A0%80"),
    ("a%2Fb", "a%252Fb"), ("", ""),
])  # fmt: skip
def test_a_users_name_is_a_part_of_a_files_name(tmp_path, name, expected):
    assert expected == file_part(name)
    path = tmp_path / f"picture-{file_part(name)}.png"
    path.write_bytes(b"")
    assert [path] == list(tmp_path.iterdir())


def test_standard_output_that_is_closed_is_an_error(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with suppress(BrokenPipeError), os.fdopen(writer, "w") as stream:  # closing flushes the buffer
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(OutputError, match=r"cannot write '-': Broken pipe"):
            write_whole("-", b"content")
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OutputError, match="standard output is closed"):
        write_whole("-", b"content")
