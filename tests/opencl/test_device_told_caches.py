"""Caches and pages as Linux tells them, from a folder like its own."""

import mmap

import pytest

from perfmodel.opencl.device import system_caches, system_page


def cache(folder, number, **words):
    place = folder / f"index{number}"
    place.mkdir(parents=True)
    for name, word in words.items():
        (place / name).write_text(f"{word}\n")


def test_sizes_and_ways(tmp_path):
    cache(tmp_path, 0, level=1, type="Data", size="48K", ways_of_associativity=12)
    cache(tmp_path, 1, level=1, type="Instruction", size="32K", ways_of_associativity=8)
    cache(tmp_path, 2, level=2, type="Unified", size="2M", ways_of_associativity=0)
    cache(tmp_path, 3, level=3, type="Unified", size="what", ways_of_associativity=16)
    found = system_caches(tmp_path)
    expected = {"l1_told_bytes": 49152, "l1_told_ways": 12, "l2_told_bytes": 2**21}
    assert expected == {key: fact.value for key, fact in found.items()}
    assert f"told by the operating system: {tmp_path}/index0/size" == found["l1_told_bytes"].source


@pytest.mark.parametrize(
    ("enabled", "page"), [("[always] madvise never", 2**21), ("always [madvise] never", mmap.PAGESIZE)]
)
def test_a_page_is_huge_where_the_system_gives_such_pages_to_all(tmp_path, enabled, page):
    (tmp_path / "enabled").write_text(f"{enabled}\n")
    (tmp_path / "hpage_pmd_size").write_text("2097152\n")
    assert page == system_page(tmp_path).value
    assert mmap.PAGESIZE == system_page(tmp_path / "none").value
