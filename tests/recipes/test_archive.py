"""The archive of recipes: what it keeps, what it chooses, and what it does with files and entries it cannot use."""

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace

import loopy as lp
import numpy as np
import pytest

from perfmodel.errors import ArgumentError, OutputError, PerfModelWarning, SizeError, StoreError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.recipes import Recipe, Step, archive
from perfmodel.recipes.archive import Archive, best, kernel_key, record, transform_loopy_program, use_best
from tests.corpus.kernel import make

CARD = DeviceFacts.from_mapping("Card", "Makers", "1.0", {"compute_units": Fact(4, "", "a test")})
PLAIN = Recipe()
SMALL, LARGE, OTHER = (
    Recipe((Step.of("split_iname", "i", width, outer_tag="g.0", inner_tag="l.0"),)) for width in (16, 256, 32)
)


def scaling(factor: int = 2) -> lp.TranslationUnit:
    return make("{[i]: 0 <= i < n}", f"y[i] = {factor}*x[i]", "x, y: n", assumes="n >= 1", name="scaling")


def product() -> lp.TranslationUnit:
    return make("{[i, j]: 0 <= i < n and 0 <= j < m}", "y[i, j] = 2*x[i, j]", "x, y: n, m",
                assumes="n >= 1 and n mod 16 = 0 and m >= 1 and m mod 4 = 0", name="scaling")  # fmt: skip


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    archive._transformed.cache_clear()
    return tmp_path


def keep(n: int, seconds, t_unit=None, **options) -> Archive:
    return record(scaling() if t_unit is None else t_unit, {"n": n}, seconds, CARD, **options)


def recipe_at(**sizes) -> Recipe:
    return best(scaling(), CARD, **sizes).recipe


# what it keeps


def test_the_best_recipe_transforms_the_kernel():
    keep(1024, {SMALL: 2e-3, LARGE: 1e-3, PLAIN: 8e-3})
    found = best(scaling(), CARD, n=1024)
    assert LARGE == found.recipe
    assert LARGE.apply(scaling()) == found.unit
    assert found.unit is best(scaling(), CARD, n=9).unit
    assert "measured 1 ms, untransformed 8 ms at n=1024, " == found.note[:-10]
    assert "<Best: " == repr(found)[:7]


def test_an_entry_comes_back_as_it_was_written(data):
    kept = keep(8, {SMALL: 0.25}, measured=False)
    assert data / "perfmodel" / "recipes" / "makers-card.sqlite" == kept.path
    (entry,) = kept.entries()
    assert ("Card (Makers): compute_units 4", "1.0", (("n", 8),)) == (entry.device, entry.driver, entry.sizes)
    assert (SMALL, "scaling", 0.25, False) == (entry.recipe, entry.kernel, entry.seconds, entry.measured)
    assert kernel_key(scaling()) == entry.key
    assert "loopy 20" in entry.versions


def test_a_newer_time_replaces_an_older_one_but_a_prediction_no_measurement():
    keep(8, {SMALL: 2.0}, measured=False)
    keep(8, {SMALL: 3.0})
    keep(8, {SMALL: 4.0})
    kept = keep(8, {SMALL: 5.0}, measured=False)
    assert [(4.0, True)] == [(entry.seconds, entry.measured) for entry in kept.entries()]


def test_kernels_with_other_types_have_other_keys():
    typed = [lp.add_dtypes(lp.make_kernel("{[i]: 0<=i<8}", "y[i] = 2*x[i]", lang_version=(2018, 2)), {"x": kind})
             for kind in (np.float32, np.float64)]  # fmt: skip
    assert 4 == len({kernel_key(one) for one in (*typed, scaling(), scaling(3))})


def test_the_key_is_the_same_in_a_process_with_another_hash_seed():
    code = "from tests.recipes.test_archive import *; print(kernel_key(product()), kernel_key(scaling()))"
    for seed in ("1", "2"):  # they order the sizes of the product differently
        run = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        assert [kernel_key(product()), kernel_key(scaling())] == run.stdout.split()


def test_arguments_in_another_order_do_not_share_a_transformed_unit():
    kernel = scaling().default_entrypoint
    other = scaling().with_kernel(kernel.copy(args=kernel.args[::-1]))
    assert kernel_key(scaling()) == kernel_key(other)
    keep(16, {LARGE: 1.0})
    for unit in (scaling(), other):
        found = best(unit, CARD, n=16).unit.default_entrypoint
        assert [argument.name for argument in unit.default_entrypoint.args] == [one.name for one in found.args]


def test_sets_with_shared_variables_of_isl_keep_their_meaning():
    """i = 2a + 3b for a and b in bounded ranges: single constraints would lose that a and b are shared."""
    keys = set()
    for last in (4, 5):
        domain = f"[n] -> {{ [i]: exists a, b: i = 2*a + 3*b and 0 <= a < n and 0 <= b < {last} }}"
        keys.add(kernel_key(lp.make_kernel(domain, "x[i] = 1", ["..."], lang_version=(2018, 2))))
    assert 2 == len(keys)


def test_entries_of_a_kernel_are_removed():
    kept = keep(8, {SMALL: 1.0, LARGE: 2.0})
    keep(8, {SMALL: 1.0}, scaling(3))
    assert 2 == kept.remove(kernel_key(scaling())[:8])
    assert [kernel_key(scaling(3))] == [entry.key for entry in kept.entries()]
    assert 0 == replace(kept, path=kept.path.with_name("none.sqlite")).remove("a")


# what it chooses


def test_between_two_sizes_the_recipe_changes_at_the_crossover():
    """Time is n**a times a constant between the sizes: 1 to 4 ms, and 2 to 2.5 ms, so log2(n/64) = 4*1/1.678."""
    keep(64, {SMALL: 1e-3, LARGE: 2e-3})
    keep(1024, {SMALL: 4e-3, LARGE: 2.5e-3})
    crossover = 64 * 2 ** (4 * np.log(2) / (np.log(2) + np.log(4 / 2.5)))
    chosen = {n: recipe_at(n=n) for n in (1, 64, int(crossover) - 1, int(crossover) + 2, 1024, 10**9)}
    assert [SMALL, SMALL, SMALL, LARGE, LARGE, LARGE] == [*chosen.values()]


@pytest.mark.parametrize(("kept", "expected"), [
    # with one recipe for each size the nearest size is taken
    ({16: {SMALL: 1.0}, 1024: {LARGE: 1.0}}, {127: SMALL, 129: LARGE}),
    # only the two sizes around matter
    ({16: {SMALL: 1.0}, 64: {OTHER: 1.0}, 4096: {LARGE: 1.0}}, {31: SMALL, 33: OTHER, 500: OTHER, 513: LARGE}),
    # without sizes the lowest mean slowdown wins, and a recipe that did not run counts as the slowest
    ({16: {SMALL: 1.0, LARGE: 2.0, OTHER: 1.2}, 64: {SMALL: 9.0, LARGE: 3.0, OTHER: 3.3}}, {None: OTHER}),
    ({16: {SMALL: 1.0, LARGE: 1.1, OTHER: 4.0}, 64: {LARGE: 1.0, OTHER: 9.0}}, {None: LARGE}),
])  # fmt: skip
def test_the_choice_between_recipes(kept, expected):
    for n, seconds in kept.items():
        keep(n, seconds)
    assert expected == {n: recipe_at() if n is None else recipe_at(n=n) for n in expected}


def test_with_two_sizes_the_line_between_two_points_counts():
    for (n, m), seconds in {
        (16, 1024): {SMALL: 1.0, LARGE: 4.0}, (1024, 16): {SMALL: 4.0, LARGE: 1.0}, (2**20, 2**20): {OTHER: 1.0},
    }.items():  # fmt: skip
        record(product(), {"n": n, "m": m}, seconds, CARD)
    assert [SMALL, LARGE, OTHER] == [
        best(product(), CARD, n=n, m=m).recipe for n, m in ((100, 200), (200, 100), (2**19, 2**19))
    ]
    assert SMALL == best(product(), CARD, m=1024).recipe


def test_a_recipe_is_not_used_where_its_assumption_fails():
    assumed = Recipe((Step.of("assume", "n mod 16 = 0"), *SMALL.steps))
    keep(16, {assumed: 1.0})
    assert assumed == recipe_at(n=48)
    for sizes in ({"n": 50}, {}):
        found = best(unit := scaling(), CARD, **sizes)
        assert (unit, None) == (found.unit, found.entry)
        assert "the recipes for the kernel scaling are valid only where n mod 16 = 0" == found.note
    keep(16, {LARGE: 2.0})
    assert [assumed, LARGE, LARGE] == [recipe_at(n=48), recipe_at(n=50), recipe_at()]


def test_a_measured_time_wins_over_predictions_at_its_size():
    keep(16, {SMALL: 1.0}, measured=False)
    keep(16, {LARGE: 2.0})
    assert LARGE == recipe_at(n=16)


def test_the_untransformed_kernel_may_be_the_best():
    keep(16, {PLAIN: 1.0, LARGE: 2.0})
    found = best(unit := scaling(), CARD, n=16)
    assert unit is found.unit
    assert (PLAIN, 1.0) == (found.entry.recipe, found.entry.seconds)


# how programs use it


def test_the_decorator_transforms_what_a_function_returns():
    keep(16, {LARGE: 2.0})
    assert LARGE.apply(scaling()) == use_best(device=CARD, n=16)(scaling)()
    assert LARGE.apply(scaling(2)) == use_best(device=CARD)(scaling)(factor=2)
    assert scaling(3) == use_best(device=CARD)(scaling)(3)


def test_the_plain_decorator_takes_the_device_in_use(monkeypatch):
    monkeypatch.setattr(archive, "_identity", {None: CARD}.__getitem__)
    keep(16, {LARGE: 2.0})

    @use_best
    def kernel():
        """Scale."""
        return scaling()

    assert LARGE.apply(scaling()) == kernel()
    assert ("kernel", "Scale.") == (kernel.__name__, kernel.__doc__)


class Context:
    def transform_loopy_program(self, t_unit):
        return lp.split_iname(t_unit, "i", 16, inner_tag="l.0")


class ArchiveContext(Context):
    def transform_loopy_program(self, t_unit):
        return transform_loopy_program(t_unit, super().transform_loopy_program, CARD)


def test_an_array_context_transforms_by_the_archive():
    keep(16, {LARGE: 2.0, SMALL: 3.0})
    context = ArchiveContext()
    assert LARGE.apply(scaling()) == context.transform_loopy_program(scaling())
    assert Context().transform_loopy_program(scaling(3)) == context.transform_loopy_program(scaling(3))
    assert scaling(3) == transform_loopy_program(scaling(3), device=CARD)


@pytest.mark.device
def test_a_device_of_pyopencl_has_the_archive_of_its_facts():
    cl = pytest.importorskip("pyopencl")
    from perfmodel.opencl import identify

    device = identify()
    handle = [one for platform in cl.get_platforms() for one in platform.get_devices()][device.index]
    assert Archive.of() == Archive.of(handle) == Archive.of(device.facts)


# what it cannot use


def test_an_unknown_kernel_comes_back_with_a_note():
    found = best(unit := scaling(), CARD, n=16)
    assert unit is found.unit
    assert found.entry is None
    assert found.note.startswith("the archive has no recipe for the kernel scaling; run 'perfmodel tune ")


@pytest.mark.parametrize("used", [
    DeviceFacts("Card", "Makers", "2.0", CARD.facts), DeviceFacts("Card", "Makers", "1.0", ()),
])  # fmt: skip
def test_recipes_of_another_driver_or_device_are_not_used(used):
    keep(16, {LARGE: 2.0})
    with pytest.warns(PerfModelWarning, match=r"are of Card \(Makers\): compute_units 4, driver 1.0; here is Card"):
        found = best(unit := scaling(), used, n=16)
    assert (unit, None) == (found.unit, found.entry)


def test_a_recipe_that_no_longer_applies_is_not_used():
    keep(16, {Recipe((Step.of("split_iname", "k", 16),)): 2.0})
    with pytest.warns(PerfModelWarning, match="recipe of the kernel scaling no longer applies: Loopy cannot apply"):
        found = best(unit := scaling(), CARD, n=16)
    assert (unit, None) == (found.unit, found.entry)


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + bytes(range(256)) * 40])
def test_a_damaged_file_gives_the_plain_kernel_and_is_not_overwritten(content):
    path = keep(16, {LARGE: 2.0}).path
    path.write_bytes(content)
    with pytest.warns(PerfModelWarning, match="is damaged .*; remove the file"):
        assert scaling() == best(scaling(), CARD, n=16).unit
    with pytest.raises(StoreError, match="is damaged"):
        keep(16, {LARGE: 2.0})
    assert content == path.read_bytes()


def test_an_empty_file_has_no_entries_and_is_used():
    kept = Archive.of(CARD)
    kept.path.parent.mkdir(parents=True)
    kept.path.touch()
    assert ((), 0) == (kept.entries(), kept.remove("a"))
    assert 1 == len(keep(16, {LARGE: 2.0}).entries())


@pytest.mark.parametrize("change", [
    "recipe = '{}'", "recipe = '{'", "recipe = '[1]'", "sizes = '[1]'", "seconds = -1", "sizes = x'ff'",
])  # fmt: skip
def test_a_damaged_entry_is_left_out(change):
    kept = keep(16, {LARGE: 2.0})
    keep(32, {SMALL: 2.0})
    with sqlite3.connect(kept.path) as database:
        database.execute(f"UPDATE recipes SET {change} WHERE sizes = '{{\"n\":16}}'")
    database.close()
    with pytest.warns(PerfModelWarning, match="has 1 damaged entries"):
        assert [SMALL] == [entry.recipe for entry in kept.entries()]


def test_an_archive_of_a_newer_perfmodel_is_not_touched():
    kept = keep(16, {LARGE: 2.0})
    with sqlite3.connect(kept.path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(StoreError, match="was written by a newer perfmodel; use that perfmodel, or remove the file"):
        keep(16, {LARGE: 2.0})
    with pytest.warns(PerfModelWarning, match="newer perfmodel"):
        best(scaling(), CARD, n=16)


def test_a_folder_that_cannot_be_made_is_an_output_error(data):
    (data / "perfmodel").write_text("a file")
    with pytest.raises(OutputError, match=r"cannot write .*recipes': .*XDG_DATA_HOME"):
        keep(16, {LARGE: 2.0})
    assert scaling() == best(scaling(), CARD, n=16).unit


def test_a_locked_archive_is_an_output_error(monkeypatch):
    monkeypatch.setattr(archive, "WAIT_S", 0.01)
    kept = keep(16, {LARGE: 2.0})
    other = sqlite3.connect(kept.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(OutputError, match=r"cannot use the archive .*: database is locked"):
        keep(16, {LARGE: 3.0})
    other.close()


@pytest.mark.parametrize(("kind", "call", "match"), [
    (SizeError, lambda: best(scaling(), CARD, m=16), "the kernel scaling has no size 'm'; its arguments are"),
    (ArgumentError, lambda: best(scaling(), CARD, n=1.5), "the size n is 1.5 .*; give an integer"),
    (ArgumentError, lambda: best(scaling(), CARD, n=-1), "the size n is -1"),
    (ArgumentError, lambda: best("x"), "the kernel is 'x' .*; give a translation unit of Loopy"),
    (ArgumentError, lambda: keep(16, {SMALL: 0.0}), "record: a time is 0.0 .*; give seconds above 0"),
    (ArgumentError, lambda: keep(16, {SMALL: 1.0}).remove(""), "remove: key is '' .*; give the first characters"),
])  # fmt: skip
def test_bad_arguments_are_refused(kind, call, match):
    with pytest.raises(kind, match=match):
        call()


# several processes

FORK = multiprocessing.get_context("fork")


def write_many(first: int, count: int) -> None:
    for n in range(first, first + count):
        keep(n, {SMALL: 1.0, LARGE: 2.0})


def test_two_processes_that_write_at_once_lose_nothing():
    writers = [FORK.Process(target=write_many, args=(first, 25)) for first in (1, 1001)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [0, 0] == [writer.exitcode for writer in writers]
    assert 100 == len(Archive.of(CARD).entries())


def die_in_a_change() -> None:
    """Write a part of a change to the disk, and die before it is complete."""
    database = sqlite3.connect(Archive.of(CARD).path, isolation_level=None)
    database.execute("PRAGMA cache_size = 1")
    database.execute("BEGIN IMMEDIATE")
    (entry,) = Archive.of(CARD).entries()
    rows = [replace(entry, sizes=(("n", n),), kernel="x" * 500).row for n in range(100, 400)]
    database.execute("UPDATE recipes SET seconds = 9")
    database.executemany(archive._ADD, rows)
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_killed_in_a_change_leaves_the_archive_as_it_was():
    kept = keep(16, {LARGE: 2.0})
    writer = FORK.Process(target=die_in_a_change)
    writer.start()
    writer.join()
    assert -signal.SIGKILL == writer.exitcode
    assert kept.path.with_name(f"{kept.path.name}-journal").exists()  # the change had reached the disk
    assert [(16, 2.0)] == [(dict(entry.sizes)["n"], entry.seconds) for entry in kept.entries()]
    assert 2 == len(keep(32, {SMALL: 1.0}).entries())


def write_and_send(pipe) -> None:
    for n in range(1, 10**6):
        keep(n, {SMALL: 1.0, LARGE: 2.0})
        pipe.send(n)


def test_what_a_killed_process_had_added_is_there():
    receiver, sender = FORK.Pipe(duplex=False)
    writer = FORK.Process(target=write_and_send, args=(sender,))
    writer.start()
    assert receiver.poll(60)
    time.sleep(0.05)
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    sender.close()
    sent = []
    while receiver.poll():
        try:
            sent.append(receiver.recv())
        except EOFError:
            break
    found: dict[int, int] = {}
    for entry in Archive.of(CARD).entries():
        found[dict(entry.sizes)["n"]] = found.get(dict(entry.sizes)["n"], 0) + 1
    assert set(sent) <= set(found)
    assert {2} == set(found.values())
