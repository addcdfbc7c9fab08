"""How errors behave where Python itself works on them, and what their texts say."""

from __future__ import annotations

import copy
import pickle
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest

from perfmodel.errors import (
    ArgumentTypesError,
    AssumptionError,
    BadTimesError,
    ChargedTwiceError,
    ConfoundedFeaturesError,
    DamagedPackError,
    DiskFullError,
    ExpressionError,
    FactsFileError,
    IncompleteKernelError,
    InfiniteCountError,
    KernelFileExecutionError,
    MissingCountsError,
    MissingFactError,
    NewerSchemaError,
    NoDeviceError,
    NotCountableError,
    OutputError,
    ParameterError,
    PartError,
    PerfModelError,
    ProbabilityError,
    StatisticsNeededError,
    StoreFormatError,
    StoreReadOnlyError,
    TooFewRowsError,
    UnboundedLoopError,
    UnknownArrayError,
    UnknownDeviceNameError,
    UnknownFactError,
    UnknownFamilyError,
    UnknownFeatureError,
    UnknownLossError,
    UntypedArgumentsError,
    WeightsDeviceError,
    WeightsFileError,
)
from perfmodel.facts import published


def test_the_base_takes_a_text():
    error = PerfModelError("it broke")
    for other in (error, copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert "it broke" == str(other)
        assert error == other


def test_a_template_joins_and_counts_names():
    class Mixed(PerfModelError):
        names: tuple[str, ...]
        groups: tuple[tuple[str, ...], ...]
        message = "{names!n}: {names}, {names: or }, {names!r}, {names[0]}, {names[1]:.2}, {groups:; }"

    assert "2: a, b{c}d, a or b{c}d, ('a', 'b{c}d'), a, b{, p, q; r" == str(Mixed(("a", "b{c}d"), (("p", "q"), ("r",))))

    class Listed(PerfModelError):
        names: tuple[str, ...]
        message = "{names!n} {names}"

    assert "0 none" == str(Listed(()))


def test_a_template_leaves_out_the_end_of_thousands_of_names():
    class Many(PerfModelError):
        names: tuple[str, ...]
        message = "one of {names}."

    names = tuple(f"{number:099d}" for number in range(4362))
    assert f"one of {', '.join(names[:30])}, 4332 others." == str(Many(names))
    assert names == Many(names).names


def test_errors_with_other_fields_differ():
    error = UnknownFeatureError("a")
    assert error == UnknownFeatureError("a")
    assert error != UnknownFeatureError("b")
    assert OutputError("a", "b") != StoreReadOnlyError("a", "b")
    assert BadTimesError((1,), (0.0,)) != BadTimesError((1,), (0.0,), ("",))  # the text is the same
    assert 1 == len({UnknownFeatureError("a"), UnknownFeatureError("a")})


def raised(error: PerfModelError, cause: BaseException | None) -> None:
    raise error from cause


def test_raise_from_keeps_cause_and_traceback():
    cause, error = KeyError("k"), UnknownFeatureError("a")
    with pytest.raises(UnknownFeatureError) as caught:
        raised(error, cause)
    assert error is caught.value
    assert cause is error.__cause__
    printed = "".join(traceback.format_exception(error))
    assert "perfmodel.errors.UnknownFeatureError: no feature is called 'a'" in printed
    assert "The above exception was the direct cause" in printed


@contextmanager
def passing():
    try:
        yield
    finally:
        pass


def raised_through_context_managers() -> None:
    def broken(*_: object) -> None:
        raise UnknownFeatureError("second")

    with ExitStack() as stack:
        stack.push(broken)
        stack.enter_context(passing())
        raise UnknownFeatureError("first")


def test_it_passes_through_context_managers():
    """contextlib assigns __traceback__ and __context__."""
    with pytest.raises(UnknownFeatureError, match="'second'") as caught:
        raised_through_context_managers()
    assert UnknownFeatureError("first") == caught.value.__context__


def test_python_may_assign_what_is_no_field():
    error = UnknownFeatureError("a")
    error.__cause__ = KeyError("k")
    error.__suppress_context__ = False
    assert error.with_traceback(None) is error


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes came with Python 3.11")
def test_notes_are_kept():
    error = UnknownFeatureError("a")
    error.add_note("in row 3")
    for other in (error, copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert ["in row 3"] == other.__notes__


@pytest.mark.slow
def test_it_comes_back_from_another_process():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(published, "gtx-481").exception(timeout=100)
    assert isinstance(found, UnknownDeviceNameError)
    assert "gtx-481" == found.name
    assert "gtx-480" in found.allowed


def test_what_a_kernel_file_raised_is_kept_as_text():
    """Its class may be the file's own, which no other process can import."""
    scope: dict[str, type[Exception]] = {}
    with pytest.raises(Exception, match="a  b") as caught:
        exec(compile("class Own(Exception): pass\n\nraise Own('a  b\\nc')", "/k/file.py", "exec"), scope)
    error = KernelFileExecutionError(Path("/k/file.py"), caught.value)
    expected = "'/k/file.py' line 3: raised Own (a b c); the file must run by itself: try 'python /k/file.py'."
    assert (expected, 3) == (str(error), error.line)
    assert expected == str(pickle.loads(pickle.dumps(error)))
    expected = "'/k/other.py': raised SystemExit (no message); the file must run by itself: try 'python /k/other.py'."
    assert expected == str(KernelFileExecutionError("/k/other.py", SystemExit()))


def test_subclasses_set_what_their_base_says():
    needed = StatisticsNeededError(("j",))
    assert ("the trip count of loop 'j'", "it depends on data") == (needed.what, needed.why)
    assert "no type is known for a" == UntypedArgumentsError(("a",)).reason
    assert "n" == InfiniteCountError("n").what
    assert "the loop over i, j" == UnboundedLoopError(("i", "j"), "D").what
    assert "has schema 's/2', newer than 's/1'" == NewerSchemaError("f", 1, "s/2", "s/1").problem
    assert "belongs to the device 'a', not to 'b'" == WeightsDeviceError("f", "a", "b").problem
    assert ("f", "is no YAML") == (FactsFileError("f", "is no YAML").path, FactsFileError("f", "is no YAML").problem)


BOUNDS = "give i a lower and an upper bound, such as 0 <= i < n"
ELSE = "rewrite it as assignments, or leave it out of the counted kernel"
FACTS = (
    "write it into facts.yaml beside the measurements (facts: {banks: {value: ..., unit: ..., source: ...}}; "
    "docs/facts.md lists all keys), or take the facts of a published device there (published: NAME, and facts: {})"
)
FITTED = "or have w_b fitted in its place: without --given-facts, or by FitOptions(fit_facts=True)"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            ParameterError("n", "is missing", ()),
            "size parameter 'n' is missing; the kernel's parameters are: none. Give each a non-negative integer, as in "
            "n=1024.",
        ),
        (
            AssumptionError("n mod 2 = 0", {"n": 3, "m": 4}),
            "n=3, m=4 breaks the kernel's assumption n mod 2 = 0; choose a size that meets it, or build the kernel "
            "without it.",
        ),
        (
            AssumptionError("n mod 2 = 0", {"n": 3}, (2, 5)),
            "n=3 (first of 2 such sizes, at index 2) breaks the kernel's assumption n mod 2 = 0; choose a size that "
            "meets it, or build the kernel without it.",
        ),
        (
            UnknownArrayError("a", ()),
            "the kernel has no accesses to an array 'a' of the kind asked for; there are accesses to: none.",
        ),
        (NotCountableError("x", "it is odd"), f"cannot count x: it is odd; {ELSE}."),
        (NotCountableError("x", "it is odd", "do y"), "cannot count x: it is odd; do y."),
        (UnboundedLoopError(("i", "j"), "D"), f"cannot count the loop over i, j: its domain D has no bound; {BOUNDS}."),
        (
            InfiniteCountError("S"),
            "cannot count S: it has infinitely many points; give each of its dimensions a lower and an upper bound.",
        ),
        (
            StatisticsNeededError(("j",)),
            "cannot count the trip count of loop 'j': it depends on data; give --statistics j=<number>, in Python "
            "statistics={'j': <its mean trip count>}.",
        ),
        (
            StatisticsNeededError(("j", "k"), ("a[i] > 0",)),
            "cannot count the trip counts of loops 'j', 'k': they depend on data; give --statistics j=<number> "
            "--statistics k=<number>, in Python statistics={'j': <its mean trip count>, 'k': <its mean trip count>}; "
            "add the probability of 'a[i] > 0' for exact counts.",
        ),
        (
            ProbabilityError("a > 0", 1.5),
            "statistics['a > 0'] is 1.5; give a test's probability, from 0 to 1.",
        ),
        (
            IncompleteKernelError("it\nloops. "),
            "Loopy cannot build the kernel: it loops; change the kernel until loopy.generate_code_v2 "
            "accepts it.",
        ),
        (
            UntypedArgumentsError(("a", "b", "c", "d")),
            "Loopy cannot build the kernel: no type is known for a, b, c, d; give each its type, as in "
            "count(..., dtypes={'a': numpy.float32, 'b': numpy.float32, 'c': numpy.float32, ...}) or with "
            "loopy.add_dtypes.",
        ),
        (
            ArgumentTypesError("q", "names no argument", ("a", "n")),
            "dtypes['q'] names no argument; the kernel's arguments are: a, n. Give a NumPy type for each that has none "
            "yet, as in dtypes={'a': numpy.float32}.",
        ),
        (
            PartError("within", "id:q*", "matches no instruction", ("first", "second")),
            "within='id:q*' matches no instruction; choose among the kernel's instructions: first, second.",
        ),
        (
            PartError("access_tags", "q", "is on no access", (), "access tags"),
            "access_tags='q' is on no access; choose among the kernel's access tags: none.",
        ),
        (
            BadTimesError((3, 4), (-0.5, 0.0)),
            "2 measured time(s) are not positive and finite, first in row 3: -0.5 s; leave these rows out or measure "
            "them again.",
        ),
        (
            BadTimesError((3,), (0.0,), ("empty n=8",)),
            "1 measured time(s) are not positive and finite, first in row 3 (empty n=8): 0.0 s; leave these rows out "
            "or measure them again.",
        ),
        (
            TooFewRowsError(1, ()),
            "1 usable measurement(s) cannot determine 0 weights (no feature is exercised); measure more kernels or "
            "sizes (perfmodel measure).",
        ),
        (
            ConfoundedFeaturesError((("a", "b"), ("c", "d")), 2, 4),
            "the rows determine 2 of 4 weights and cannot tell apart: a, b; c, d; measure kernels in which these "
            "differ, or pass merge=True to share what they cost together among them.",
        ),
        (
            MissingFactError("banks", "toy", "d"),
            f"the family 'toy' needs the fact 'banks', and the device 'd' has no such fact; {FACTS}.",
        ),
        (
            MissingFactError("banks", "", "", "w_b"),
            f"the model needs the fact 'banks', and no device's facts were given; {FACTS}, {FITTED}.",
        ),
        (
            UnknownFactError("banks", "d", ()),
            "nothing is known of 'banks' for the device 'd'; known are: no facts at all.",
        ),
        (
            FactsFileError("facts.yaml", "is no YAML"),
            "the facts in facts.yaml: the file is no YAML; write under 'facts' a line for each, such as "
            "'clock_hz: {value: 2.6e+9, unit: Hz, source: lscpu}' (docs/facts.md lists keys and units).",
        ),
        (
            NoDeviceError(),
            "no OpenCL device was found; run scripts/setup, or pip install 'perfmodel[cpu]', or as root: "
            "apt-get install pocl-opencl-icd. Then 'perfmodel doctor' says what works.",
        ),
        (ExpressionError("a\n + bc\nd", 5, 7, "bad name", "do it"), "bad name\n     + bc\n       ^^\ndo it."),
        (ExpressionError("ab", 1, 20, "bad name", "do it"), "bad name\n    ab\n     ^\ndo it."),
        (ExpressionError("", 0, 1, "no text", "do it"), "no text\n    \n    ^\ndo it."),
        (OutputError("f", "it is full"), "cannot write 'f': it is full; give a place that you may write to."),
        (
            StoreReadOnlyError("f", "no right"),
            "cannot write 'f': no right; the store is read-only and nothing in it was changed: copy its folder to a "
            "place that you may write to, and give that.",
        ),
        (
            DiskFullError("f", "it is full"),
            "cannot write 'f': it is full; every record before is kept: make room and run the same command again, it "
            "goes on from there.",
        ),
        (
            StoreFormatError(Path("f"), 3, "is not JSON"),
            "'f' line 3: is not JSON; mend or remove that line, or read the file with the version of perfmodel that "
            "wrote it.",
        ),
        (
            DamagedPackError(Path("f"), "it ends early"),
            "'f' is damaged and cannot be unpacked (it ends early); fetch it again ('git checkout f' where it is "
            "committed), or remove it and measure again what it held.",
        ),
        (
            NewerSchemaError(Path("f"), 3, "s/2", "s/1"),
            "'f' line 3 has schema 's/2', and the newest known here is 's/1'; update perfmodel to read it. Nothing was "
            "changed.",
        ),
        (WeightsFileError("w", "is old"), "weights file 'w' is old; give a file that 'perfmodel fit' wrote."),
        (
            MissingCountsError("k", "0123456789abcdef"),
            "the counts of 'k' (hash 0123456789ab) are not in the store; keep counts.jsonl beside measurements.jsonl, "
            "or measure again.",
        ),
        (UnknownFamilyError("x", ("a", "b")), "no model family is called 'x'; choose one of: a, b."),
        (UnknownDeviceNameError("x", ("a",)), "no published device is called 'x'; choose one of: a."),
        (UnknownLossError(None, ("a", "b")), "no loss is called None; choose one of: a, b."),
        (
            ChargedTwiceError("op_*", ("w_a", "w_b")),
            "'op_*' fits the patterns of w_a and of w_b, so its time would count more than once; choose patterns that "
            "give each feature to one of them.",
        ),
    ],
)
def test_texts(error, text):
    assert text == str(error)
