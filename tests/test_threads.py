"""Several threads count, and each keeps its own standard streams."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from threading import Barrier

import loopy as lp
import numpy as np
import pytest

import perfmodel as pm
from perfmodel.errors import IncompleteKernelError
from perfmodel.threads import guest_streams, redirected
from tests.recorded import POCL

THREADS = 8


def unit(number: int) -> lp.TranslationUnit:
    """Return a kernel that multiplies n (n + 1) / 2 + n number times, a triangle and `number` columns."""
    t_unit = lp.make_kernel(
        f"{{ [i, j]: 0 <= i < n and 0 <= j <= i + {number} }}", "out[i] = sum(j, 3*a[i + j]) + 1",
        [lp.GlobalArg("out, a", np.float32, shape="2*n + 100"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 128 = 0", lang_version=(2018, 2), name=f"triangle_{number}",
    )  # fmt: skip
    return lp.split_iname(t_unit, "i", 128, outer_tag="g.0", inner_tag="l.0")


@pytest.fixture
def quickly():
    """Threads take turns so often that they meet everywhere."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_threads_count_what_one_counts_and_keep_standard_output(quickly, capsys):
    model, streams = pm.load(POCL / "bottleneck.json"), (sys.stdin, sys.stdout, sys.stderr)
    refused = lp.make_kernel("{ [i]: 0 <= i < n }", "out[i] = unknown(a[i])", lang_version=(2018, 2))

    def asked(number: int) -> tuple[object, ...]:
        counts = pm.count(unit(number), cache=False)
        with pytest.raises(IncompleteKernelError):  # Loopy prints such a kernel
            pm.count(refused, cache=False)
        sys.stdout.write(f"thread {number}\n")
        muls = counts.operations(kind="mul")
        predicted = model.predict(counts, n=1024, allow_unmeasured=True)
        return (
            muls(n=1024), str(muls), counts.footprint("a")(n=512), counts.lines("a")(n=256), len(counts.nests),
            counts.traffic("a")(n=256).fetched, predicted.seconds, dict(predicted.terms),
        )  # fmt: skip

    alone = [asked(number) for number in range(THREADS)]
    assert [1024 * 1025 // 2 + 1024 * number for number in range(THREADS)] == [found[0] for found in alone]
    with ThreadPoolExecutor(THREADS) as pool:
        assert 2 * alone == list(pool.map(asked, 2 * [*range(THREADS)]))
    assert streams == (sys.stdin, sys.stdout, sys.stderr)
    assert sorted(3 * [f"thread {number}" for number in range(THREADS)]) == sorted(capsys.readouterr().out.splitlines())


def test_threads_rank_as_one_does(quickly):
    model, variants = pm.load(POCL / "bottleneck.json"), {f"{number}": unit(number) for number in range(3)}

    def ranked(_: int) -> list[tuple[str, float]]:
        return [(one.name, one.seconds) for one in pm.rank(variants, model, n=1024, allow_unmeasured=True)]

    with ThreadPoolExecutor(4) as pool:
        assert [ranked(0)] * 8 == list(pool.map(ranked, range(8)))


def test_blocks_of_threads_may_overlap_and_end_in_any_order(capsys):
    """The first one to begin is the first one to end."""
    usual, begun, ended = sys.stdout, Barrier(3), Barrier(3)
    files = StringIO(), StringIO()

    def first() -> None:
        with redirected(stdout=files[0]):
            begun.wait(20)
            sys.stdout.write("first\n")
        ended.wait(20)
        sys.stdout.write("first, behind\n")

    def second() -> None:
        with redirected(stdout=files[1]):
            begun.wait(20)
            ended.wait(20)
            sys.stdout.write("second\n")
            with redirected(stdout=files[0]):
                sys.stdout.write("inside\n")
            sys.stdout.write("again\n")

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(first), pool.submit(second)]
        begun.wait(20)
        sys.stdout.write("outside\n")
        ended.wait(20)
        for one in both:
            one.result(20)
    assert usual is sys.stdout
    assert ("first\ninside\n", "second\nagain\n") == tuple(file.getvalue() for file in files)
    assert ["first, behind", "outside"] == sorted(capsys.readouterr().out.splitlines())


def test_a_question_is_answered_in_its_own_thread_only(monkeypatch):
    monkeypatch.setattr(sys, "stdin", StringIO("of the user\nmore\n"))
    with redirected(stdin=StringIO("")):
        with pytest.raises(EOFError):
            input()
        with ThreadPoolExecutor(1) as pool:
            assert "of the user" == pool.submit(input).result(20)
    assert ["more\n"] == list(sys.stdin)


def test_streams_that_a_guest_replaces_or_closes_come_back(capsys):
    streams = sys.stdin, sys.stdout, sys.stderr
    for replaced in (None, StringIO()):
        with guest_streams(), guest_streams():
            sys.stdout.write("said by a guest\n")
            sys.stdout.close()
            sys.stderr.close()
            sys.stdin, sys.stdout, sys.stderr = replaced, replaced, replaced
        assert streams == (sys.stdin, sys.stdout, sys.stderr)
    sys.stdout.write("a result\n")
    assert ("a result\n", 2 * "said by a guest\n") == capsys.readouterr()
