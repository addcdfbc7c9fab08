"""Generated code: its text and hash, and what one call enqueues."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

import loopy as lp
import pytest

from perfmodel.measuring.subject import GeneratedCode
from perfmodel.measuring.timing import Enqueue, _Recorder, compiled as compiled_code
from tests.campaigns import build
from tests.machine import device


def test_the_hash_is_of_the_text():
    generated = GeneratedCode(build(2))
    assert lp.generate_code_v2(build(2)).device_code() == generated.text
    assert hashlib.sha256(generated.text.encode()).hexdigest() == generated.hash
    assert generated.hash != GeneratedCode(build(3)).hash


def test_a_recorder_notes_enqueues_and_passes_on_the_rest():
    recorder = _Recorder()
    recorder.enqueue_nd_range_kernel("queue", "kernel", [4, 2], [16, 8], "more")
    assert [Enqueue("kernel", (4, 2), (16, 8))] == recorder.enqueues
    import pyopencl as cl

    assert recorder.Buffer is cl.Buffer


def test_an_enqueue_counts_its_grid_in_groups(monkeypatch):
    import pyopencl as cl

    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", lambda *args, **options: (args, options))
    assert (("queue", "kernel", (4,), (16,)), {"g_times_l": True}) == Enqueue("kernel", (4,), (16,))("queue")


@pytest.mark.device
def test_compiled_code_enqueues_one_kernel_on_the_grid_of_its_size():
    import numpy as np
    import pyopencl as cl

    context, queue = device().context()
    compiled = compiled_code(GeneratedCode(build(2)), context)
    a = np.arange(128, dtype=np.float32)
    buffers = SimpleNamespace(
        a=cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=a),
        out=cl.Buffer(context, cl.mem_flags.WRITE_ONLY, a.nbytes),
    )
    (enqueue,) = compiled.enqueues(queue, {**vars(buffers), "n": np.int32(128)})
    assert ((2,), (64,)) == (enqueue.groups, enqueue.work_group)
    enqueue(queue)
    found = np.empty_like(a)
    cl.enqueue_copy(queue, found, buffers.out)
    assert (2 * a == found).all()
