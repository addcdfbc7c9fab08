"""The process that checks a device: its answers when a build or a result is wrong."""

from __future__ import annotations

import json

import pytest

from perfmodel import opencl
from perfmodel.opencl import health

pytestmark = pytest.mark.device


@pytest.mark.parametrize(
    ("old", "new", "message"), [("kernel", "nonsense", "RuntimeError"), ("3*", "5*", "element 1 is ")]
)
def test_a_failed_build_and_a_wrong_result_are_unhealthy(monkeypatch, old, new, message):
    import pyopencl as cl

    real = cl.Program
    monkeypatch.setattr(cl, "Program", lambda context, source: real(context, source.replace(old, new)))
    answer = health.health(opencl.find())
    assert not answer["ok"]
    assert message in answer["message"]
    assert "\n" not in answer["message"]


def test_the_answer_is_the_last_line_of_standard_output(capsys):
    health.main("list")
    (listed,) = json.loads(capsys.readouterr().out.splitlines()[-1]).items()
    assert ("devices", [device.facts.to_json() for device in opencl.devices()]) == listed
