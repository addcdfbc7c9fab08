"""A warning names a statistic that nothing uses, and the keys that the kernel has; once for all variants."""

import warnings

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.unused import statistics_of_variants
from perfmodel.errors import UnknownStatisticWarning
from tests.corpus.kernel import make


def ragged() -> lp.TranslationUnit:
    return lp.make_kernel(
        ["{[i]: 0 <= i < n}", "{[j]: 0 <= j < stop}"],
        """
        for i
            <> stop = row[i]
            y[i] = sum(j, a[column[j]]) {id=sum}
            z[i] = 2*y[i] {if=y[i] > 0 and i > 3, dep=sum, id=last}
        end
        """,
        [lp.GlobalArg("row, column", np.int32, shape=None), lp.GlobalArg("a, y, z", np.float32, shape=None),
         lp.ValueArg("n", np.int32)],
        assumptions="n >= 8", lang_version=(2018, 2),
    )  # fmt: skip


def cold(tag: str | None) -> lp.TranslationUnit:
    """Return a kernel whose test is of a scalar, which becomes an array in an ``ilp`` loop."""
    unit = make("{[k]: 0 <= k < n}", """
        for k
            <> cold = T[k] < 1000 {id=test}
            cp[k] = 2*T[k] {id=use, dep=test, if=cold}
        end
        """, "float64 T, cp: n", assumes="n >= 2 and n mod 2 = 0")  # fmt: skip
    return lp.split_iname(unit, "k", 2, inner_tag=tag)


def warned_of(statistics, *units, **options):
    """Return the texts of the warnings about statistics."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for unit in units:
            count(unit, statistics=statistics, **options)
    return [str(warning.message) for warning in seen if warning.category is UnknownStatisticWarning]


USED = {"j": 2.5, "y[i] > 0": 0.5, "a:span": 8}


@pytest.mark.parametrize(("key", "meant"), [
    ("jj", "did you mean 'j'?"), ("y[k] > 0", "did you mean 'y[i] > 0'?"), ("y", "did you mean 'y[i] > 0'?"),
    ("a", "did you mean 'a:span'?"), ("row:span", "did you mean 'a:span'?"), ("i > 3", "did you mean 'y[i] > 0'?"),
    ("stop", "leave it out"), ("n", "leave it out"), ("i", "did you mean 'y[i] > 0'?"),
])  # fmt: skip
def test_each_count_warns_of_what_it_does_not_use(key, meant):
    for _ in range(2):  # from the cache too
        (text,) = warned_of({**USED, key: 1}, ragged())
        assert text.startswith(f"statistics[{key!r}] is not used: the keys are ")
        assert meant in text
        assert all(repr(used) in text for used in USED)


def test_known_keys_say_nothing_however_they_are_spaced():
    assert [] == warned_of(USED, ragged())
    assert [] == warned_of({"j": 2.5, "y[ i ]>0": 0.5, "a:span": 8}, ragged())


def test_a_part_of_a_kernel_need_not_use_what_the_whole_uses():
    assert [] == warned_of(USED, ragged(), within="id:last")
    assert [] == warned_of({"j": 2.5}, ragged(), access_tags=[])
    assert 1 == len(warned_of({**USED, "jj": 1}, ragged(), within="id:last"))


@pytest.mark.parametrize("tag", [None, "unr", "ilp"])
def test_a_scalar_keeps_its_key_where_loopy_makes_an_array_of_it(tag):
    assert [] == warned_of({"cold": 0.25}, cold(tag))
    assert "1/4*n" == str(count(cold(tag), statistics={"cold": 0.25}).operations(kind="mul"))
    assert "did you mean 'cold" in warned_of({"cold[0]": 0.25}, cold(tag))[0]


def test_variants_need_not_use_the_same():
    keys = {"j": 2.5, "y[i] > 0": 0.5, "cold": 0.5, "nothing": 1}

    @statistics_of_variants()
    def counted():
        for unit in (ragged(), cold(None)):
            assert [] == warned_of(keys, unit)

    with pytest.warns(UnknownStatisticWarning, match=r"'nothing'.*'j'.*'y\[i\] > 0'.*'cold'; leave it out") as seen:
        counted()
    assert 1 == len(seen)
