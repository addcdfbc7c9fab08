"""Whether a kernel can be built: checked once, remembered with its refusal, and asked for."""

import json

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import cache, count
from perfmodel.counts.reading import schedule as scheduling
from perfmodel.errors import KernelError
from tests.corpus.kernel import make


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PERFMODEL_NO_CACHE", raising=False)
    cache._memory.clear()
    yield tmp_path / "perfmodel" / "counts"
    cache._memory.clear()


@pytest.fixture
def built(monkeypatch):
    """The kernels for which Loopy is asked for code."""
    asked = []
    real = lp.generate_code_v2

    def generate(t_unit):
        asked.append(t_unit.default_entrypoint.name)
        return real(t_unit)

    monkeypatch.setattr(lp, "generate_code_v2", generate)
    return asked


def double(index="i", **tags):
    kernel = make("{ [i, j]: 0 <= i, j < n }", ["<> t = 2*a[i] {id=w}", f"out[i, j] = t*a[{index}] {{dep=w}}"],
                  "a: n; out: n, n", assumes="n >= 1")  # fmt: skip
    return lp.tag_inames(kernel, tags)


def forget():
    cache._memory.clear()


def test_code_is_generated_once_and_only_where_it_is_asked_for(built, folder):
    count(double())
    assert [] == built
    first = count(double(), check=True)
    count(double(), check=True)
    forget()
    count(double(), check=True, subgroup_size=16)
    assert 1 == len(built)
    assert first.hash == count(double()).hash
    assert ["", ""] in [json.loads(entry.read_text())["counts"] for entry in folder.iterdir()]


def test_what_only_the_code_generator_refuses(built):
    """The counts exist, but the store to t does not run along the group axis of j."""
    skips_an_axis = double(i="g.0", j="g.1")
    assert 37**2 == count(skips_an_axis).accesses(array="out")(n=37)
    for _ in range(2):
        with pytest.raises(KernelError, match="'w' does not use all group hw axes") as error:
            count(double(i="g.0", j="g.1"), check=True)
        forget()
    assert 1 == len(built), "the refusal was not remembered"
    assert "add_inames_for_unused_hw_axes" in error.value.advice


def test_a_refusal_of_the_scheduler_is_remembered_too(monkeypatch):
    def refused():
        with pytest.raises(KernelError, match=r"'a\[i \+ 1\]'.*out-of-bounds") as caught:
            count(double("i + 1"), check=True)
        return str(caught.value)

    found = refused()
    forget()
    monkeypatch.setattr(scheduling, "check", None)  # not called again
    assert found == refused()
    assert found == refused()


def named(argument="a", temporary="t", iname="j", kernel="sums", target=None):
    return make(f"{{[i, {iname}]: 0 <= i < n and 0 <= {iname} < 4}}",
                f"<float32> {temporary} = sum({iname}, {argument}[i, {iname}])\nout[i] = {temporary}",
                [lp.GlobalArg(argument, np.float32, shape="n, 4"), lp.GlobalArg("out", np.float32, shape="n"), "..."],
                name=kernel, target=target)  # fmt: skip


@pytest.mark.parametrize("names", [
    {"argument": "half"}, {"temporary": "global"}, {"iname": "long"}, {"kernel": "private"}, {"argument": "lambda"},
    {"argument": "queue"}, {"kernel": "pass"},
])  # fmt: skip
def test_names_that_a_compiler_or_the_host_code_does_not_take_are_refused(names):
    (name,) = names.values()
    with pytest.raises(KernelError, match=f"'{name}', which is reserved in"):
        count(named(**names), check=True)


def test_names_that_no_code_holds_are_taken():
    unit = lp.tag_inames(named(iname="long", temporary="lambda"), {"long": "unr"})
    assert count(unit, check=True).launches()(n=64) == 1
    assert count(named("queue", target=lp.OpenCLTarget()), check=True).launches()(n=64) == 1


def guarded(tag: str, vector: str = "t, u") -> lp.TranslationUnit:
    """Return a kernel with a condition on a loop variable, and two private arrays of which some are vectors."""
    unit = make("{[i, j]: 0 <= i < n and 0 <= j < 4}", """
        for i, j
            <> t[j] = a[i, j]
            <> u[j] = 0
            if j > 0
                u[j] = 2*t[j]
            end
            out[i, j] = u[j]
        end
        """, "a, out: n, 4", assumes="n >= 1", seq_dependencies=True)  # fmt: skip
    return lp.tag_inames(lp.tag_array_axes(unit, vector, "vec") if tag == "vec" else unit, {"j": tag})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Loopy's warning that it cannot vectorise uses an old name
@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
def test_a_condition_on_the_lanes_of_a_vector_is_refused():
    with pytest.raises(KernelError, match=r"the loop variable 'j' and has no loop over it"):
        count(guarded("vec"), check=True)


@pytest.mark.parametrize(("iname", "tag"), [("N", "l.0"), ("N", "unr"), ("gid", "l.0"), ("lid", "unr")])
def test_names_of_macros_and_of_their_arguments_are_names_of_loops(iname, tag):
    kernel = make(f"{{ [{iname}, k]: 0 <= {iname} < 16 and 0 <= k < n }}", f"c[k, {iname}] = 2*c[k, {iname}]",
                  [lp.GlobalArg("c", np.float32, shape="n, 16"), lp.ValueArg("n", np.int32)])  # fmt: skip
    counts = count(lp.tag_inames(kernel, {iname: tag, "k": "g.0"}), check=True)
    assert 64 == counts.operations(kind="mul")(n=4)


@pytest.mark.parametrize("tag", ["unr", "l.0", "g.0", "for"])
def test_other_conditions_on_loop_variables_are_not(tag):
    assert "11*n" == str(count(guarded(tag), check=True).accesses(array="u"))


@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
@pytest.mark.parametrize("check", [True, False])
def test_an_array_that_bounds_a_loop_is_refused(check):
    unit = make(
        ["{[i]: 0 <= i < n}", "{[j]: lo <= j < hi}"],
        """
        for i
            <> lo = row[i] {id=lo}
            <> hi = row[i+1] {id=hi}
            y[i] = sum(j, v[j]) {id=y, dep=lo:hi}
        end
        """,
        [lp.GlobalArg("row", np.int32, shape="n+1"), lp.GlobalArg("v, y", np.float64, shape=None),
         lp.ValueArg("n", np.int32)], assumes="n >= 2 and n mod 2 = 0",
    )  # fmt: skip
    assert "4*n" == str(count(unit, statistics={"j": 4}, check=check).operations(kind="add"))
    with pytest.raises(KernelError, match=r"'(lo|hi)' bounds a loop over j and is an array"):
        count(lp.split_iname(unit, "i", 2, inner_tag="ilp"), statistics={"j": 4}, check=check)
