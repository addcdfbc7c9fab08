"""Subjects, and the status that a failure gets by where it happens."""

import pickle
import sys
from dataclasses import replace

import loopy as lp
import numpy as np
import pytest

from perfmodel.errors import ArgumentError
from perfmodel.measuring import subject
from tests.campaigns import SCALE, build
from tests.corpus.kernel import make


def test_an_exception_gets_the_status_of_its_stage_and_one_line():
    with pytest.raises(subject.FailedError) as caught, subject.stage("compile"):
        raise ValueError("two\n   lines")
    assert ("compile", "ValueError: two lines") == (caught.value.status, caught.value.message)


def test_what_a_class_or_loopy_prints_does_not_mix_with_a_commands_output(capsys):
    def build(**variant):
        sys.stdout.write("mine\n")
        t_unit = SCALE.build(**variant)
        return t_unit.with_kernel(t_unit.default_entrypoint.copy(assumptions="n >= -64"))

    wrong = subject.Subject(replace(SCALE, build=lambda **variant: outside(build(**variant))), {"factor": 2})
    with pytest.raises(subject.FailedError):
        wrong.generated  # noqa: B018
    captured = capsys.readouterr()
    assert ("", "mine\n") == (captured.out, captured.err)


def outside(t_unit):
    """Let a kernel access a cell that its array does not have, which Loopy refuses with a listing of the kernel."""
    kernel = t_unit.default_entrypoint
    return t_unit.with_kernel(kernel.copy(args=[
        argument.copy(shape=(1,)) if argument.name == "out" else argument for argument in kernel.args
    ]))


def test_a_compilers_log_has_no_paths():
    """As PoCL writes it; the first part is said three times."""
    log = "clBuildProgram failed: BUILD_PROGRAM_FAILURE - Build on <Device>:\n\nerror: /a/b.cl:9:218: no type"
    with pytest.raises(subject.FailedError) as caught, subject.stage("compile"):
        raise RuntimeError(log)
    assert "the compiler says: error: line 9: no type" == caught.value.message


def part_of(parts):
    """One sixteenth of the work has the same OpenCL code."""
    t_unit = make(f"{{[i]: 0 <= i < n//{parts}}}", "out[i] = a[i] + 1", "a, out: n",
                  assumes="n >= 1024 and n mod 1024 = 0")  # fmt: skip
    return lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0")


def test_the_hash_is_of_the_text_the_launches_and_the_options():
    whole, part, options = (
        subject.GeneratedCode(unit)
        for unit in (part_of(1), part_of(16), lp.set_options(part_of(1), build_options=("-cl-fast-relaxed-math",)))
    )
    assert lp.generate_code_v2(part_of(1)).device_code() == whole.text == part.text == options.text
    assert 3 == len({whole.hash, part.hash, options.hash})
    assert whole.hash == subject.GeneratedCode(part_of(1)).hash
    assert subject.GeneratedCode(build(2)).hash != subject.GeneratedCode(build(3)).hash


def test_code_travels_as_it_is():
    code = subject.GeneratedCode(part_of(16))
    there = pickle.loads(pickle.dumps(code))
    assert "_generated" not in vars(there)
    assert (code.text, code.hash, code.host_function) == (there.text, there.hash, there.host_function)


KERNEL = lp.make_kernel(
    "{[i, j]: 0 <= i < n and 0 <= j < 3}",
    "out[j, i] = s*a[i, j]",
    [
        lp.GlobalArg("out", np.float32, shape="3, n", order="F"),
        lp.GlobalArg("a", np.float64, shape="n, 3", order="C"), lp.ValueArg("s", np.float32),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
).default_entrypoint  # fmt: skip


def array(elements: int) -> subject.ArrayArgument:
    return subject.ArrayArgument("a", np.dtype(np.float32), (elements,), (1,))


def test_both_orders_have_their_strides():
    out, a = subject.array_arguments(KERNEL, {"n": 5})
    assert ((3, 5), (1, 3), 60) == (out.shape, out.strides, out.octets)
    assert ((5, 3), (3, 1), 120) == (a.shape, a.strides, a.octets)


def test_a_view_shows_column_major_memory():
    out, _ = subject.array_arguments(KERNEL, {"n": 5})
    flat = np.arange(15, dtype=np.float32)
    assert (flat.reshape(5, 3).T == out.view(flat)).all()


def test_scalars_get_the_type_of_their_argument():
    values = subject.scalar_arguments(KERNEL, {"n": 5}, {"s": 0.1})
    assert {"s": np.float32(0.1), "n": 5} == values
    assert np.int32 is type(values["n"])


def test_offsets_that_loopy_adds_are_zero():
    kernel = make("{[i]: 0 <= i < n}", "out[i] = a[i]",
                  [lp.GlobalArg("out, a", np.float32, shape="n", offset=lp.auto),
                   lp.ValueArg("n", np.int32)])  # fmt: skip
    values = subject.scalar_arguments(kernel.default_entrypoint, {"n": 5}, {})
    assert {"n": 5, "a_offset": 0, "out_offset": 0} == values
    ready = lp.preprocess_program(kernel).default_entrypoint
    assert {"a_offset", "out_offset"} == subject.offset_arguments(ready)
    assert values == subject.scalar_arguments(ready, {"n": 5}, {"a_offset": 0, "out_offset": 0})


@pytest.mark.parametrize(("sizes", "scalars"), [({}, {"s": 1.0}), ({"n": 1}, {}), ({"n": 1, "m": 2}, {"s": 1.0})])
def test_missing_and_superfluous_scalars_are_named(sizes, scalars):
    with pytest.raises(ArgumentError, match=r"\(n, s\)"):
        subject.scalar_arguments(KERNEL, sizes, scalars)


def test_a_size_of_an_array_without_a_value_is_named():
    with pytest.raises(ArgumentError, match=r"\(n, s\), but values were given for \(s\)"):
        subject.array_arguments(KERNEL, {"s": 1.0})


@pytest.mark.parametrize(("elements", "expected"), [((100,), True), ((100, 100), False), ((126,), False), ((), True)])
def test_memory_bounds_hold_for_all_and_for_each(elements, expected):
    assert expected == subject.fits(tuple(map(array, elements)), most_octets=600, largest_octets=500)


def test_a_class_may_draw_the_contents_of_an_array():
    indices = subject.ArrayArgument("index", np.dtype(np.int32), (3, 5), (1, 3))
    flat = subject.host_array(indices, 7, lambda generator, shape: generator.integers(10, 20, shape))
    assert (np.random.default_rng(7).integers(10, 20, (3, 5)) == indices.view(flat)).all()
    assert np.int32 == flat.dtype
