"""Who comes when."""

from __future__ import annotations

import random
from types import SimpleNamespace

from perfmodel.kernels import KernelClass, Ladder
from perfmodel.measuring import Campaign
from perfmodel.measuring.campaign import Configuration, ordered, teams


def kernel(name: str, variants: int, **options) -> KernelClass:
    return KernelClass(
        name=name,
        group="vector",
        build=lambda **_: None,
        variants=tuple({"v": v} for v in range(variants)),
        sizes=Ladder(lambda e: ({"n": 2**e},), start=3),
        reference=lambda arguments, **_: {},
        **options,
    )


CLASSES = (kernel("many", 5), kernel("few", 2), kernel("one", 1))


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


def test_sizes_are_found_for_each_class_in_turn():
    found = teams(CLASSES, Campaign("test"), 256)
    names = [team[0].kernel.name for team in found]
    assert ["many", "few", "one", "many", "few", "many", "many", "many"] == names
    assert {1} == {len(team) for team in found}
