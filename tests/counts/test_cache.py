"""The cache of counts: in memory, on disk, shared, corrupted, unwritable and switched off."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import loopy as lp
import numpy as np
import pytest
from loopy.target.opencl import vec

from perfmodel.counts import cache, count, counting
from perfmodel.errors import UnknownStatisticWarning
from tests.corpus.kernel import make

ROOT = Path(__file__).parents[2]


def double(name: str = "double", extra: str = "") -> lp.TranslationUnit:
    kernel = make("{ [i]: 0 <= i < n }", f"out[i] = 2*a[i]{extra}", name=name, assumes="n >= 1")
    return lp.add_dtypes(kernel, {"a": np.float32})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PERFMODEL_NO_CACHE", raising=False)
    cache._memory.clear()
    yield tmp_path / "perfmodel" / "counts"
    cache._memory.clear()


@pytest.fixture
def made(monkeypatch):
    """Count how often counts are really made."""
    calls = []
    real = counting.extract

    def counted(*arguments):
        calls.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(counting, "extract", counted)
    return calls


def test_memory_and_disk(folder, made):
    first = count(double())
    assert first is count(double())
    assert 1 == len(made)
    (entry,) = folder.iterdir()
    cache._memory.clear()
    again = count(double())
    assert 1 == len(made)
    assert first.hash == again.hash
    assert first.to_json() == again.to_json()
    assert again.operations(kind="mul") == first.operations(kind="mul")
    assert entry.name == next(folder.iterdir()).name


def test_what_matters_is_part_of_the_key(made):
    count(double())
    count(double(), subgroup_size=16)
    with pytest.warns(UnknownStatisticWarning):
        count(double(), statistics={"i": 3})
    count(double(), include_index_arithmetic=True)
    count(double(extra=" + 1"))
    count(lp.assume(double(), "n >= 16"))
    count(lp.split_iname(double(), "i", 16, inner_tag="l.0", outer_tag="g.0"))
    assert 7 == len(made)


def test_the_source_of_every_folder_is_part_of_the_key(tmp_path, monkeypatch):
    source = tmp_path / "points" / "sizes.py"
    source.parent.mkdir()
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "cache.py"))
    environments = set()
    for text in ("one", "other"):
        source.write_text(text)
        environments.add(cache._environment.__wrapped__())
    assert 2 == len(environments)


def test_switched_off(folder, made, monkeypatch):
    count(double(), cache=False)
    count(double(), cache=False)
    monkeypatch.setenv("PERFMODEL_NO_CACHE", "1")
    count(double())
    count(double())
    assert 4 == len(made)
    assert not folder.exists()


def _cut(entry: Path) -> None:
    entry.write_text(entry.read_text()[:100])


def _alter_a_number(entry: Path) -> None:
    document = json.loads(entry.read_text())
    document["counts"]["subgroup_size"] = 31
    entry.write_text(json.dumps(document))


def _empty(entry: Path) -> None:
    entry.write_bytes(b"")


def _binary(entry: Path) -> None:
    entry.write_bytes(bytes(range(256)))


@pytest.mark.parametrize("spoil", [_cut, _alter_a_number, _empty, _binary])
def test_spoilt_entries_are_made_again(folder, made, spoil):
    first = count(double())
    (entry,) = folder.iterdir()
    spoil(entry)
    cache._memory.clear()
    assert first.hash == count(double()).hash
    assert 2 == len(made)
    cache._memory.clear()
    count(double())
    assert 2 == len(made), "the entry was not mended"


def test_unwritable_folder_is_harmless(tmp_path, monkeypatch, made):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert 10 == count(double()).accesses(array="a")(n=10)
    assert 1 == len(made)


def test_size_is_bounded(folder, monkeypatch):
    count(double("first"))
    size = next(folder.iterdir()).stat().st_size
    os.utime(next(folder.iterdir()), (1, 1))
    monkeypatch.setattr(cache, "ON_DISK_BYTES", int(2.5 * size))
    monkeypatch.setattr(cache, "TRIM_EVERY", 1)
    for name in ("second", "third", "fourth"):
        count(double(name))
        time.sleep(0.02)
    assert 2 == len(list(folder.iterdir()))
    monkeypatch.setattr(cache, "IN_MEMORY", 2)
    for name in ("fifth", "sixth"):
        count(double(name))
    assert 2 == len(cache._memory)


def test_two_processes_at_once(tmp_path, folder):
    script = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from tests.counts.test_cache import double\n"
        "from perfmodel.counts import count\n"
        "print([count(double(f'k{k}')).hash for k in range(5)])"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    running = [
        subprocess.Popen([sys.executable, "-c", script], env=environment, cwd=ROOT,
                         stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = {process.communicate()[0] for process in running}
    assert [0, 0] == [process.returncode for process in running]
    assert 1 == len(outputs)
    assert 5 == len(list(folder.glob("*.json"))) == len(list(folder.iterdir()))


def test_vector_types_are_told_apart() -> None:
    """Loopy's persistent key is the same for all of them."""
    def doubled(dtype: np.dtype) -> lp.TranslationUnit:
        return make("{ [i]: 0 <= i < n }", "out[i] = 2*a[i]", "a, out: n", dtype=dtype)

    kinds = {"float32": vec.float4, "float64": vec.double4, "int32": vec.int4}
    assert 3 == len({cache.key_of(doubled(dtype)) for dtype in kinds.values()})


def test_a_kernel_without_data_is_not_scheduled_again(folder, monkeypatch):
    first = count(double(), arrays=dict)
    cache._memory.clear()
    monkeypatch.setattr(counting.schedule, "schedule", None)
    assert first.to_json() == count(double(), arrays=dict).to_json()
