"""What a worker does with an order, and what it sends while it does it."""

from __future__ import annotations

import pickle
import zlib
from types import SimpleNamespace

import pytest

from perfmodel import cluster
from perfmodel.measuring import supervised
from perfmodel.measuring.remote import workers as module
from perfmodel.measuring.remote.workers import carry_out, whole_lines


@pytest.fixture
def sent(monkeypatch):
    """Batches that a task has put into its queue."""
    found = SimpleNamespace(batches=[])
    tasks = {"it": SimpleNamespace(state="executing")}
    worker = SimpleNamespace(state=SimpleNamespace(tasks=tasks), get_current_task=lambda: "it")
    queue = SimpleNamespace(put=lambda batch: found.batches.append(pickle.loads(batch)))
    dask = SimpleNamespace(get_worker=lambda: worker, Queue=lambda name: queue)
    monkeypatch.setattr(cluster, "dask", lambda: dask)
    monkeypatch.setattr(module, "own_device", lambda slug: f"the device {slug}")
    return found


def carried_out(function, files, begins=None, arguments=()) -> None:
    compressed = {name: zlib.compress(content) for name, content in files.items()}
    carry_out("a queue", "slug", function, arguments, compressed, begins or {}, 3.0)


def test_a_function_works_on_a_copy_and_what_it_adds_is_sent(sent):
    def work(device, folder, progress, argument):
        assert ("the device slug", "given", b"1\n") == (device, argument, (folder / "rows.jsonl").read_bytes())
        progress.start("measuring", 2, 1.5)
        with (folder / "rows.jsonl").open("a") as file:
            file.write("2\n3\n")
        progress.tell("something")
        (folder / "probes.begun").write_text("one")
        with supervised.named("probe lanes"):
            (folder / "counts.jsonl").write_text("4\n")
        progress.advance("a step")
        progress.stop()

    nothing = {"rows.jsonl": b"", "counts.jsonl": b"", "probes.begun": b""}
    carried_out(work, {**nothing, "rows.jsonl": b"1\n"}, arguments=("given",))
    assert [
        (nothing, []),
        ({**nothing, "rows.jsonl": b"2\n3\n"}, [("start", ("measuring", 2, 1.5)), ("tell", ("something",))]),
        ({**nothing, "probes.begun": b"one"}, [("under_way", ({"name": "probe lanes"},))]),
        (
            {**nothing, "counts.jsonl": b"4\n", "probes.begun": b"one"},
            [("under_way", (None,)), ("advance", ("a step",)), ("stop", ())],
        ),
    ] == sent.batches


def test_it_knows_what_was_before(sent):
    def work(device, folder, progress):
        assert 3.0 == supervised.spent_s()
        assert () == supervised.recorded_before(folder / "rows.jsonl")

    carried_out(work, {"rows.jsonl": b"no record\nno record\n"}, {"rows.jsonl": 10})
    assert 0.0 == supervised.spent_s()


@pytest.mark.parametrize("gone", ["cancelled", "forgotten"])
def test_a_task_without_a_caller_ends_at_its_next_report(sent, gone):
    def work(device, folder, progress):
        progress.advance("one")
        if gone == "cancelled":
            progress._tasks["it"].state = "cancelled"
        else:
            progress._tasks.clear()
        with supervised.named("another"):
            pytest.fail("it goes on")

    with pytest.raises(module.CancelledError, match="caller has ended"):
        carried_out(work, {})
    assert 1 == len(sent.batches)


def test_a_torn_line_does_not_travel(tmp_path):
    path = tmp_path / "rows.jsonl"
    assert b"" == whole_lines(path)
    for content, expected in ((b"1\n2\nto", b"1\n2\n"), (b"to", b""), (b"1\n", b"1\n")):
        path.write_bytes(content)
        assert expected == whole_lines(path)
