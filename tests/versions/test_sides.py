"""Sides of a comparison: files, revisions in git, saved counts and recordings, and refused ones."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from perfmodel.errors import DocumentError, KernelFileError, OptionError, PerfModelError
from perfmodel.versions.sides import at_revision, committed, read_side

KERNEL = '''
import loopy as lp
import numpy as np
from neighbour import TEXT


def kernel():
    unit = lp.make_kernel("{[i]: 0 <= i < n}", TEXT,
                          [lp.GlobalArg("a, out", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
                          assumptions="n >= 1 and n mod 64 = 0", lang_version=(2018, 2))
    return lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
'''
GIT = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *GIT, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose kernel takes its code from a neighbour, which a later commit and the working copy change."""
    folder = tmp_path / "repository" / "kernels"
    folder.mkdir(parents=True)
    git(folder.parent, "init", "-q")
    (folder / "kernel.py").write_text(KERNEL)
    for text in ("out[i] = a[i]", "out[i] = a[i] + 1"):
        (folder / "neighbour.py").write_text(f'TEXT = "{text}"\n')
        git(folder.parent, "add", ".")
        git(folder.parent, "commit", "-q", "-m", "change")
    (folder / "neighbour.py").write_text('TEXT = "out[i] = 2*a[i] + 1"\n')
    monkeypatch.chdir(folder)
    return folder


def operations(text: str) -> set[str]:
    (version,) = read_side(text).kernels.values()
    return {row.kind for row in version.counts.operation_table}


def test_each_revision_imports_its_own_neighbours(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sides = ["HEAD~1:kernel.py", "HEAD:kernel.py", "kernel.py", "HEAD~1:kernels/kernel.py", "HEAD~1:kernel.py"]
    assert [set(), {"add"}, {"add", "mul"}, set(), set()] == list(map(operations, sides))
    monkeypatch.syspath_prepend(str(repository))
    own = importlib.import_module("neighbour")  # of the working copy
    assert {"add"} == operations("HEAD:../kernels/kernel.py")
    assert own is sys.modules.pop("neighbour")
    assert not any("perfmodel-" in (getattr(module, "__file__", "") or "") for module in sys.modules.values())


def test_a_revision_leaves_the_repository_as_it_is(repository: Path) -> None:
    """Files that are left out of archives are extracted too."""
    (repository / ".gitattributes").write_text("*.py export-ignore\n")
    git(repository, "add", ".")
    before = subprocess.run(["git", "status", "--porcelain"], cwd=repository, capture_output=True).stdout
    assert {"add"} == operations("HEAD:kernel.py")
    assert before == subprocess.run(["git", "status", "--porcelain"], cwd=repository, capture_output=True).stdout


def test_a_file_alone_is_compared_with_its_commit(repository: Path) -> None:
    assert "HEAD:kernel.py" == committed("kernel.py")
    with pytest.raises(OptionError, match="give two sides"):
        committed("counts.json")


@pytest.mark.parametrize(("side", "sentence"), [
    ("HEAD:other.py", "the revision 'HEAD' has no file 'other.py'"),
    ("nowhere:kernel.py", "git does not have the revision 'nowhere'"), ("HEAD:", "'HEAD:' is not REVISION:FILE"),
    ("--output=x:kernel.py", "git does not have the revision '--output=x'"),
    ("missing.py", "'missing.py' does not exist; give a kernel file"), (".", "'.' is a folder without a recording"),
])  # fmt: skip
def test_refused_sides(repository: Path, side: str, sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence) as caught:
        read_side(side)
    assert "\n" not in str(caught.value)
    assert not Path("x").exists()


def test_an_error_of_a_file_names_its_revision(repository: Path) -> None:
    (repository / "empty.py").write_text("x = 1\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "empty")
    with pytest.raises(KernelFileError, match=r"^'?HEAD:empty.py'?.* defines neither kernel") as caught:
        read_side("HEAD:empty.py")
    assert "perfmodel-" not in str(caught.value)


def test_a_revision_outside_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(OptionError, match="git cannot read"):
        read_side("HEAD:kernel.py")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OptionError, match="git cannot be run"), at_revision("HEAD", "kernel.py"):
        pass


@pytest.mark.parametrize(("text", "sentence"), [
    ("import sys\nsys.exit(3)", r"raised SystemExit \(3\)"), ("x = 1", "defines neither kernel"),
    ("def variants():\n    return {}", "an empty dict"), ("import nothing_of_this_name", "ModuleNotFoundError"),
])  # fmt: skip
def test_files_without_kernels(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(KernelFileError, match=sentence):
        read_side(str(path))


def test_what_a_file_prints_on_import_is_no_output(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("loud.py").write_text("print('working')\n" + KERNEL)
    read_side("loud.py")
    assert ("", "working\n") == capsys.readouterr()


def test_saved_counts_are_for_the_asked_subgroups(repository: Path) -> None:
    counts = next(iter(read_side("kernel.py").kernels.values())).counts
    document = {"schema": "perfmodel.count/1", "variants": {"k": {"counts": counts.to_json()}}}
    Path("counts.json").write_text(json.dumps(document))
    (version,) = read_side("counts.json", 8).kernels.values()
    assert (8, counts.work_groups()) == (version.counts.subgroup_size, version.counts.work_groups())
    assert version.counts.sub_groups() == 4 * counts.sub_groups()


@pytest.mark.parametrize("document", [
    "[]", "{", '{"schema": "perfmodel.count/1"}', '{"schema": "perfmodel.count/1", "variants": {}}',
    '{"schema": "perfmodel.count/1", "variants": {"k": {"counts": {}}}}',
    '{"schema": "perfmodel.count/1", "variants": {"k": 3}}', '{"schema": "perfmodel.counts/1"}',
])  # fmt: skip
def test_damaged_saved_counts(tmp_path: Path, document: str) -> None:
    path = tmp_path / "counts.json"
    path.write_text(document)
    with pytest.raises(DocumentError, match=r"cannot be used: it .*write it again: perfmodel count"):
        read_side(str(path))


def test_a_kernel_that_cannot_be_counted_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text(
        "import loopy as lp, numpy as np\n"
        "def variants():\n"
        '    unit = lp.make_kernel("{[i]: 0 <= i < 64}", "out[i] = a[i]", lang_version=(2018, 2))\n'
        '    return {"good": lp.add_dtypes(unit, {"a": np.float32}), "untyped": unit}\n'
    )
    side = read_side(str(path))
    assert (["good"], ["untyped"]) == (list(side.kernels), list(side.errors))


def test_a_folder_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "about.json").write_text("{}")
    with pytest.raises(PerfModelError):
        read_side(str(tmp_path))
