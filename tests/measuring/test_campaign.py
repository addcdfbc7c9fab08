"""Settings of campaigns: which classes and variants they take, and which settings sizes depend on."""

import math
import random
from types import SimpleNamespace

from perfmodel.kernels import KernelClass, Ladder
from perfmodel.measuring import FULL, QUICK, Campaign
from perfmodel.measuring.campaign import Configuration, even_indices, in_turn, ordered


def kernel(name="k", tags=("paper",), variants=({"a": 1}, {"a": 2}, {"a": 3}), dimensions=1) -> KernelClass:
    return KernelClass(
        name, "g", build=lambda **_: None, sizes=Ladder(lambda e: ({"n": 2**e},), 1), reference=lambda **_: {},
        tags=tags, variants=variants, dimensions=dimensions,
    )  # fmt: skip


def test_a_few_variants_are_taken_from_all_over_the_list_its_ends_first():
    seven = kernel(variants=tuple({"a": i} for i in range(7)), dimensions=0)
    for wanted, expected in ((1, [0]), (2, [0, 6]), (3, [0, 6, 3]), (4, [0, 6, 2, 4]), (9, [0, 6, 1, 2, 3, 4, 5])):
        found = Campaign("test", variants=wanted).variants_of(seven, 4096)
        assert expected == [variant["a"] for variant in found]
    assert seven.variants == FULL.variants_of(seven, 4096)
    assert ({},) == QUICK.variants_of(kernel(variants=({},), dimensions=0), 4096)
    found = Campaign("test", variants=2, shapes=1).variants_of(kernel(), 4096)
    assert ({"a": 1, "work_group": (256,)}, {"a": 3, "work_group": (256,)}) == found
    assert 9 == len(FULL.variants_of(kernel(), 4096))


def test_runs_of_a_visit_that_is_cut_short():
    short = Campaign("test", runs=10, dropped=2, enough_s=1.0)
    assert [0.0, 0.5, 1.0, 1.0, 3.0, 30.0] == [short.visit_s(run_s) for run_s in (0.0, 0.05, 0.1, 0.2, 1.0, 10.0)]
    assert 100.0 == Campaign("test").visit_s(10.0)
    assert ((1.0, 3), (math.inf, 3)) == (short.enough, Campaign("test").enough)


def test_places_and_turns():
    assert [(0, 7, 4), (0, 1), (0,), ()] == [even_indices(*given) for given in ((8, 3), (2, 3), (8, 1), (0, 3))]
    given = ["a1", "a2", "a3", "b1", "c1", "c2"]
    assert ["a1", "b1", "c1", "a2", "c2", "a3"] == in_turn(given, owner=lambda item: item[0])


def some(name: str, variants: int) -> KernelClass:
    return kernel(name, variants=tuple({"v": v} for v in range(variants)))


CLASSES = (some("many", 5), some("few", 2), some("one", 1))


def configurations(sizes: int = 3) -> list[Configuration]:
    return [
        Configuration(SimpleNamespace(kernel=k, variant=v), {"n": n}, 0.0, (k.name, str(v), str(n)))
        for k in CLASSES
        for v in k.variants
        for n in range(sizes)
    ]


def test_the_order_hangs_on_the_seed_alone():
    first = ordered(configurations(), Campaign("test", seed=1))
    given = configurations()
    random.Random(0).shuffle(given)
    assert [c.key for c in first] == [c.key for c in ordered(given, Campaign("test", seed=1))]
    assert [c.key for c in first] != [c.key for c in ordered(given, Campaign("test", seed=2))]


def test_with_a_budget_every_class_and_then_every_variant_comes_first():
    order = [c.key for c in ordered(configurations(), Campaign("test", budget_s=1.0))]
    assert {"many", "few", "one"} == {name for name, *_ in order[:3]}
    many = [variant for name, variant, _ in order if name == "many"]
    assert 5 == len(set(many[:5]))
    assert len(configurations()) == len(set(order))
