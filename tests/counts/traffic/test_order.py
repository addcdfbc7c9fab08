"""The order of loops and work-items, by hand."""

from perfmodel.counts.program.program import DeviceKernel, Launch, Loop, Node, Run, Wait
from perfmodel.counts.traffic.order import Path, paths

GRID = (None, None)


def paths_of(
    order: str, *nodes: Node, unrolled: tuple[str, ...] = (), lanes: int = 1
) -> dict[tuple[int | str, ...], Path]:
    launch = Launch("kernel", (16, 4), GRID, None)
    return dict(paths(DeviceKernel("kernel", nodes), launch, unrolled, order, lanes))


def test_without_barriers_serial_work_items_are_outside_of_all_loops() -> None:
    places = paths_of("serial", Run("first"), Loop("k", (Run("add"),)), Run("last"))
    assert ("g.1", "g.0", "l.1", "l.0", 0) == places[0,]
    assert ("g.1", "g.0", "l.1", "l.0", 2, "k", 0) == places[2, "k", 0]
    assert ("g.1", "g.0", "l.1", "l.0", 4) == places[4,]


def test_with_barriers_serial_work_items_are_inside_each_loop() -> None:
    inner = Loop("i", (Run("add"), Run("multiply")))
    places = paths_of("serial", Loop("k", (Run("fetch"), Wait("local"), inner, Wait("local"))), Run("last"))
    lanes = ("l.1", "l.0")
    assert ("g.1", "g.0", 1, "k", 0, *lanes, 0) == places[0, "k", 0]
    assert ("g.1", "g.0", 1, "k", 3, "i", 0, *lanes, 0) == places[0, "k", 4, "i", 0]
    # both statements of the loop in one run over the work-items
    assert ("g.1", "g.0", 1, "k", 3, "i", 0, *lanes, 2) == places[0, "k", 4, "i", 2]
    assert ("g.1", "g.0", 2, *lanes, 2) == places[2,]


def test_a_loop_that_is_written_out_is_inside_the_work_items() -> None:
    places = paths_of("serial", Wait("local"), Loop("u", (Run("add"),)), unrolled=("u",))
    assert ("g.1", "g.0", 2, "l.1", "l.0", 2, "u", 0) == places[2, "u", 0]


def test_in_lockstep_neighbours_are_innermost() -> None:
    places = paths_of("lockstep", Loop("k", (Run("fetch"), Wait("local"), Loop("i", (Run("add"),)))))
    assert ("g.1", "g.0", 1, "k", 0, "l.1", 0, "l.0") == places[0, "k", 0]
    assert ("g.1", "g.0", 1, "k", 2, "l.1", 4, "i", 0, "l.0") == places[0, "k", 4, "i", 0]


def test_vectors_are_where_serial_work_items_are_and_their_lanes_innermost() -> None:
    loop = Loop("k", (Run("add"),))
    assert ("g.1", "g.0", "l.1", "l.0/8", 0, "k", 0, "l.0") == paths_of("vectors", loop, lanes=8)[0, "k", 0]
    # a group is one vector at most
    assert paths_of("lockstep", loop) == paths_of("vectors", loop, lanes=16)
