"""The process that checks a device: its answers when a build or a result is wrong."""

from __future__ import annotations

import json

import pytest

from perfmodel import opencl
from perfmodel.opencl import health

pytestmark = pytest.mark.device


def test_build_failure_is_an_unhealthy_answer(monkeypatch):
    import pyopencl as cl

    real = cl.Program
    monkeypatch.setattr(cl, "Program", lambda context, source: real(context, source + "nonsense!"))
    answer = health.health(opencl.find())
    assert not answer["ok"]
    assert "RuntimeError" in answer["message"]
    assert "\n" not in answer["message"]


def test_wrong_result_is_an_unhealthy_answer(monkeypatch):
    import pyopencl as cl

    real = cl.Program
    monkeypatch.setattr(
        cl, "Program", lambda context, source: real(context, source.replace("3*", "5*"))
    )
    answer = health.health(opencl.find())
    assert not answer["ok"]
    assert "element 1 is " in answer["message"]


def test_the_answer_is_the_last_line_of_standard_output(capsys):
    health.main("list")
    (listed,) = json.loads(capsys.readouterr().out.splitlines()[-1]).items()
    assert ("devices", [device.facts.to_json() for device in opencl.devices()]) == listed
