"""Subjects, and the status that a failure gets by where it happens."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from perfmodel.measuring.subject import FailedError, Subject, stage
from tests.campaigns import SCALE


def test_an_exception_gets_the_status_of_its_stage_and_one_line():
    with pytest.raises(FailedError) as caught, stage("compile"):
        raise ValueError("two\n   lines")
    assert ("compile", "ValueError: two lines") == (caught.value.status, caught.value.message)


def test_a_subject_that_cannot_be_built_has_no_hash():
    def fails(**_):
        raise ZeroDivisionError("on purpose")

    subject = Subject(replace(SCALE, build=fails), {"factor": 2})
    assert "" == subject.hash
    with pytest.raises(FailedError, match="on purpose"):
        subject.generated  # noqa: B018 -- raises


def test_what_a_class_or_loopy_prints_does_not_mix_with_a_commands_output(capsys):
    def build(**variant):
        sys.stdout.write("mine\n")
        t_unit = SCALE.build(**variant)
        return t_unit.with_kernel(t_unit.default_entrypoint.copy(assumptions="n >= -64"))

    wrong = Subject(replace(SCALE, build=lambda **variant: outside(build(**variant))), {"factor": 2})
    with pytest.raises(FailedError):
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
    with pytest.raises(FailedError) as caught, stage("compile"):
        raise RuntimeError(log)
    assert "the compiler says: error: line 9: no type" == caught.value.message
