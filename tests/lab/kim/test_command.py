"""``python -m scripts.lab.kim``: pictures, what is printed with them, and the search for the best change."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from scripts.lab.kim import __main__ as command
from scripts.lab.kim.stepwise import next_step, search
from scripts.lab.studies import fmm

KERNEL = "from measurement_kernels import matmul_tiled\n\n\ndef kernel():\n    return matmul_tiled.KERNEL.build()\n"
SIZES = [word for name in "lmn" for word in ("-p", f"{name}=64")]
LATENCIES = "facts:\n" + "".join(
    f"  {key}: {{value: 1.0e-8, unit: s, source: test}}\n"
    for key in ("issue_s", "arithmetic_latency_s", "memory_latency_s", "local_latency_s")
)
DATA = """
import loopy as lp
import numpy as np


def kernel():
    text = "if x[i] > 0\\n y[i] = 2*x[i] {id=put}\\nend"
    unit = lp.make_kernel("{[i]: 0 <= i < n}", text, assumptions="n >= 1", lang_version=(2018, 2))
    return lp.tag_inames(lp.add_dtypes(unit, {"x": np.float32}), {"i": "g.0"})
"""
FACTS = """
facts:
  l1_bytes: {value: 16384, unit: B, source: test}
  l2_bytes: {value: 786432, unit: B, source: test}
  cache_line_bytes: {value: 128, unit: B, source: test}
"""


@pytest.fixture
def run(tmp_path, capsys):
    """Return a function that runs the command in a folder with a kernel and facts: its status, output and errors."""
    for name, text in (("kernel.py", KERNEL), ("data.py", DATA), ("toy.yaml", FACTS), ("own.yaml", LATENCIES)):
        (tmp_path / name).write_text(text)

    def run(*arguments: str, kernel: str = "kernel.py", sizes: list[str] = SIZES) -> tuple[int, str, str]:
        status = command.main([str(tmp_path / kernel), *sizes, *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def test_the_graph_without_and_with_facts(run, tmp_path: Path) -> None:
    graph = ("--graph", str(tmp_path / "graph.svg"))
    plain, timed = run(*graph), run(*graph, "--facts", "tesla-k40m")
    assert (0, 0) == (plain[0], timed[0])
    assert "without --facts it has no latencies" in plain[1]
    assert "together would hide the waits" in timed[1]
    assert "balanced: no, as " in timed[1]
    assert "'compute_units'" in run(*graph, "--facts", str(tmp_path / "own.yaml"))[1]
    for _, printed, _ in (plain, timed):  # 64^3 multiplications and additions, none of them guarded
        *_, line = (line for line in printed.splitlines() if line.startswith(("1 add, 1 mul", "1 mul, 1 add")))
        assert ["524288", "16384", "100.0", "%"] == line.split()[-4:]
    assert (tmp_path / "graph.svg").exists()


def test_the_search_runs_one_change_after_the_other() -> None:
    """Repeats of 400 are the baseline; 16 is the better step, then groups of 64 with it. The space has 6 variants."""
    space = [{"repeats": repeats, "group": group} for repeats in (400, 1000, 16) for group in (32, 64)]
    names = [f"{one['repeats']} {one['group']}" for one in space]
    found = search(space, names, lambda name: eval(name.replace(" ", "/")))
    assert ["400 32", "400 64", "1000 32", "16 32", "16 64"] == list(found)
    assert "16 64" == min(found, key=found.__getitem__)


NAMES = "abcd"


def walked(space, times):
    """Return the places that the search runs, in their order."""
    ran: dict[int, float | None] = {}
    while (place := next_step(space, ran)) is not None:
        assert place not in ran
        ran[place] = times[place]
    return list(ran)


@pytest.mark.parametrize("seed", range(5))
def test_its_way_is_that_of_section_3_5_2(seed):
    """Of four optimisations: the baseline, then 4, 3, 2 and 1 codes, each stage on top of the best of the last one."""
    space = [dict(zip(NAMES, values, strict=True)) for values in product((False, True), repeat=4)]
    seconds = np.random.default_rng(seed).random(len(space)).tolist()
    taken = [frozenset(name for name, value in one.items() if value) for one in space]
    path = fmm.search(dict(zip(taken, seconds, strict=True)))
    ran = walked(space, seconds)
    assert 1 + 4 + 3 + 2 + 1 == len(ran)
    assert {taken.index(step) for step in path} <= set(ran)
    assert [0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4] == [len(taken[place]) for place in ran]
