"""The gallery's files load and are predicted, its pages are whole; and the example notebooks run."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest

from perfmodel import store
from perfmodel.counts import count
from perfmodel.kernels.files import load_kernel_file
from perfmodel.store import Measurement
from scripts.lab.gallery import DEVICES, EXAMPLES, draw_gallery
from scripts.lab.notebooks import NOTEBOOKS, executed, texts
from tests.shadow import ROOT

GALLERY = ROOT / "docs" / "lab" / "gallery"
SMALL = {"dg_operator": 32, "halo_stencil": 32, "gemm": 64, "reduction": 64, "sparse_product": 256, "n_body": 256,
         "image_filter": 32, "fft_stage": 16}  # fmt: skip
#: Additions and products by hand, at that size; of the FFT stage with s = 256, of the sparse product with 16 a row.
#: Loopy writes the square of a difference as a product of two.
WORK = {
    "dg_operator": 2 * 3 * 32 * 64 * 64, "halo_stencil": 6 * 32**2, "gemm": 2 * 64**3, "reduction": 64**2,
    "sparse_product": 2 * 16 * 256, "n_body": 256**2 * (6 + 3 + 4), "image_filter": 2 * 25 * 32**2,
    "fft_stage": 16 * 256 * (4 + 4 + 2),
}  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_first_variant_does_the_work_that_its_name_says(example):
    first = next(iter(load_kernel_file(GALLERY / f"{example.name}.py").variants.values()))
    counts = count(first, statistics=dict(example.statistics))
    sizes = {**example.at, example.across: SMALL[example.name]}
    counted = sum(counts.operations(dtype="float32", kind=kind)(**sizes) for kind in ("add", "mul"))
    assert WORK[example.name] == counted


def test_every_kernel_file_of_the_gallery_has_its_page():
    names = {path.stem for path in GALLERY.glob("*.py")}
    assert names == {example.name for example in EXAMPLES} == {path.stem for path in GALLERY.glob("*.md")} - {"index"}
    assert all((GALLERY / f"{name}.png").is_file() for name in names)


def row(kernel: str, variant: str, sizes: dict[str, int], seconds: float) -> Measurement:
    """A record of one visit with two runs of these seconds, after one that is dropped."""
    return Measurement(
        kernel=kernel, group=kernel, variant={"variant": variant}, parameters=sizes, device="d", platform="p",
        driver="1", versions={}, kernel_hash=variant, counts_hash="", samples_s=(9.0, seconds, seconds), dropped=1,
        status="ok",
    )  # fmt: skip


FFT = next(example for example in EXAMPLES if example.name == "fft_stage")
MADE_UP = {"along": {256: 1e-3, 1024: 4e-3, 4096: 2e-2}, "across": {256: 5e-3, 1024: 2e-2, 4096: 1e-2}}


def made_up(folder: Path) -> Path:
    """A store of an FFT stage, with a size that is not asked for and another kernel."""
    folder.mkdir(parents=True)
    for variant, times in MADE_UP.items():
        for size, seconds in times.items():
            store.append(folder, row("fft_stage", variant, {"m": size, "s": 256}, seconds))
    store.append(folder, row("fft_stage", "along", {"m": 512, "s": 256}, 2e-3))
    store.append(folder, row("fft_stage", "along", {"m": 1024, "s": 32}, 6e-4))
    store.append(folder, row("gemm", "plain", {"n": 256}, 7.0))
    return folder


@pytest.mark.nightly
def test_a_page_has_its_code_its_picture_and_the_times_on_each_device(tmp_path):
    """The first device was measured, by made-up rows; of the others only predictions are known."""
    shutil.copy(GALLERY / "fft_stage.py", tmp_path)
    words, slug = next(iter(DEVICES.items()))
    made_up(tmp_path / "times" / slug)
    draw_gallery(ROOT / "fitted_weights", tmp_path, tmp_path / "times", (FFT,))
    drawn = (tmp_path / "fft_stage.md").read_text()
    assert drawn.startswith("# An FFT stage: ")
    assert "def variants()" in drawn
    assert "    perfmodel rank fft_stage.py -p m=4096,s=256 --device titan-v" in drawn
    assert f"| variant | {' | '.join(DEVICES)} |" in drawn
    assert 3 == drawn.count("**") // 2  # the fastest variant on each device
    assert (tmp_path / "fft_stage.png").stat().st_size > 10_000
    assert "Nothing here was run" not in drawn
    measured = re.findall(r"^\| PoCL.* \| `(\w+)` \| ([\d.]+ \ws) ", drawn, re.MULTILINE)
    assert [("across", "10 ms"), ("along", "20 ms")] == measured  # the fastest first
    assert f"- {words}: 6 measured times, " in drawn
    index = (tmp_path / "index.md").read_text()
    assert "[An FFT stage](fft_stage.md) | along; measured: across, 2.00 times as fast |" in index
    assert f"- {words}: 6 measured times, " in index


@pytest.mark.filterwarnings('ignore::DeprecationWarning')
@pytest.mark.nightly
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_gives_the_committed_outputs(path: Path):
    """Pictures may differ by a pixel from one version of matplotlib to the next; tables and numbers do not."""
    committed, new = nbformat.read(path, as_version=4), executed(path)
    assert not [output for cell in new.cells for output in cell.get("outputs", []) if output.output_type == "error"]
    shown = [output.get("data", {}) for cell in new.cells for output in cell.get("outputs", [])]
    assert {"image/png", "text/html"} <= {kind for data in shown for kind in data}
    assert texts(committed) == texts(new)


@pytest.mark.filterwarnings('ignore::DeprecationWarning')
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_small_and_says_nothing_of_the_machine_that_ran_it(path: Path):
    content = path.read_text(encoding="utf-8")
    assert len(content) < 400_000
    for word in ("/home/", "/root/", "/tmp/", "site-packages", "Traceback", "Warning"):
        assert word not in content
