"""A failure of a library outside of its range names the library, its version, the range and a command."""

import subprocess
import sys
from importlib import metadata
from typing import Any

import loopy as lp
import pytest

from perfmodel import libraries
from perfmodel.cli.program import USER_ERROR
from perfmodel.counts import count, counting
from perfmodel.errors import KernelFileError, VersionError
from perfmodel.kernels.files import load_kernel_file
from perfmodel.libraries import REPAIR_COMMAND, bounded, failure_in_library


def fails(*_: Any) -> None:
    raise AttributeError("'Aff' object has no attribute 'is_equal'")


def fails_to_import(_: str) -> Any:
    raise ImportError("cannot import NewerError")


def kernel() -> lp.TranslationUnit:
    return lp.make_kernel("{[i]: 0 <= i < 8}", "out[i] = 2.0", lang_version=(2018, 2))


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Versions of distributions that are installed, for a test to change; "" is one that is not."""
    if libraries.with_main():
        pytest.skip("the ranges are for the released Loopy")
    said: dict[str, str] = {"islpy-barvinok": ""}
    original = metadata.version

    def version(name: str) -> str:
        if said.get(name) == "":
            raise metadata.PackageNotFoundError(name)
        return said.get(name) or original(name)

    monkeypatch.setattr(metadata, "version", version)
    return said


def test_a_newer_islpy_is_named_with_its_range_and_the_command_that_replaces_it(versions, monkeypatch):
    versions["islpy"] = "2026.2.2"
    monkeypatch.setattr(counting.schedule, "schedule", fails)
    with pytest.raises(VersionError) as raised:
        count(kernel(), cache=False)
    text = str(raised.value)
    assert "\n" not in text
    assert "no attribute 'is_equal'" in text
    assert "with islpy 2026.2.2; perfmodel needs islpy<2026.2,>=2025.2.5" in text
    assert text.endswith(" -m pip install 'islpy<2026.2,>=2025.2.5'.")


@pytest.mark.parametrize(("text", "named"), [
    ("from loopy import Missing", True), ("import loopy\nloopy.Missing", True), ("import older_inside", True),
    ("import not_installed_here", False), ("missing", False), ("import own_module", False),
])  # fmt: skip
def test_what_a_kernel_file_runs_into_with_an_older_loopy(versions, tmp_path, monkeypatch, text, named):
    """A name that Loopy lacks, or an error inside of a library, and not what the file itself does wrong."""
    versions["loopy"] = "2024.1"
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed" / "older_inside.py").write_text("import immutables_that_is_missing\n")
    monkeypatch.syspath_prepend(tmp_path / "installed")
    (tmp_path / "own_module.py").write_text("1/0\n")
    path = tmp_path / "kernels.py"
    path.write_text(f"{text}\n")
    with pytest.raises(VersionError if named else KernelFileError) as raised:
        _ = load_kernel_file(path).variants
    if named:
        assert "with loopy 2024.1; perfmodel needs loopy<2026,>=2025.2; run " in str(raised.value)
    else:
        assert "loopy" not in str(raised.value)
    versions.clear()
    with pytest.raises(KernelFileError):
        _ = load_kernel_file(path).variants


@pytest.mark.usefixtures("versions")  # it skips for the main branch
@pytest.mark.parametrize("version", ["2020.2.1", metadata.version("loopy")])
def test_a_command_that_fails_in_an_older_loopy_ends_with_one_line(version, tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text("def kernel():\n    return 1\n")
    code = f"""
from importlib import metadata
original = metadata.version
metadata.version = lambda name: "{version}" if name == "loopy" else original(name)
import loopy
del loopy.TranslationUnit
from perfmodel.cli import main
main()
"""
    found = subprocess.run([sys.executable, "-c", code, "count", path], capture_output=True, text=True, check=False)
    old = version == "2020.2.1"
    assert (USER_ERROR if old else 1) == found.returncode
    assert old == ("with loopy 2020.2.1; perfmodel needs" in found.stderr)
    assert old != ("Traceback" in found.stderr)


def test_barvinok_is_put_back_into_another_islpy_and_replaces_a_newer_one_of_itself(versions):
    versions.update({"islpy": "2026.2.2", "islpy-barvinok": "2025.2.5.post1"})
    assert failure_in_library(TypeError()).command.endswith(f"'islpy<2026.2,>=2025.2.5' && {REPAIR_COMMAND}")
    versions.update({"islpy": "2025.2.5", "islpy-barvinok": "2026.2.2"})
    assert REPAIR_COMMAND == failure_in_library(TypeError()).command


def test_with_versions_in_range_an_error_stays_what_it_is(monkeypatch):
    assert {"islpy", "loopy", "pymbolic", "pyopencl", "pytools"} < {one.name for one in bounded()}
    assert failure_in_library(AttributeError("x")) is None
    monkeypatch.setattr(counting.schedule, "schedule", fails)
    with pytest.raises(AttributeError, match="is_equal"):
        count(kernel(), cache=False)
