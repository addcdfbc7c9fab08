"""The gallery: its files load and are predicted, and a page has its code, its picture and a table."""

from __future__ import annotations

import shutil

import pytest

from perfmodel.counts import count
from perfmodel.kernels.files import load_file
from scripts.lab.gallery import DEVICES, EXAMPLES, draw_gallery
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
    first = next(iter(load_file(GALLERY / f"{example.name}.py").values()))
    counts = count(first, statistics=dict(example.statistics))
    sizes = {**example.at, example.across: SMALL[example.name]}
    counted = sum(counts.operations(dtype="float32", kind=kind)(**sizes) for kind in ("add", "mul"))
    assert WORK[example.name] == counted


def test_every_kernel_file_of_the_gallery_has_its_page():
    names = {path.stem for path in GALLERY.glob("*.py")}
    assert names == {example.name for example in EXAMPLES} == {path.stem for path in GALLERY.glob("*.md")} - {"index"}
    assert all((GALLERY / f"{name}.png").is_file() for name in names)


def test_a_page_has_its_code_its_picture_and_the_times_on_each_device(tmp_path):
    example = next(example for example in EXAMPLES if example.name == "fft_stage")
    shutil.copy(GALLERY / "fft_stage.py", tmp_path)
    draw_gallery(ROOT / "fitted_weights", tmp_path, (example,))
    page = (tmp_path / "fft_stage.md").read_text()
    assert page.startswith("# An FFT stage: ")
    assert "def variants()" in page
    assert "    perfmodel rank fft_stage.py -p m=4096,s=256 --device titan-v" in page
    assert f"| variant | {' | '.join(DEVICES)} |" in page
    assert 3 == page.count("**") // 2  # the fastest variant on each device
    assert (tmp_path / "fft_stage.png").stat().st_size > 10_000
    assert "[An FFT stage](fft_stage.md)" in (tmp_path / "index.md").read_text()
