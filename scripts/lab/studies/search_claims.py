"""The claims of Karsin (2018), chapter 6: by its formulas, by counted addresses, and as measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from scripts.lab.studies.claim import Claim
from scripts.lab.studies.karsin import SPT, WARP
from scripts.lab.studies.search import FORMS, LAYOUTS, local_accesses, worst_serialised
from scripts.lab.studies.search_addresses import local_addresses, serialised, worst_ranks
from scripts.lab.studies.search_points import GLOBAL, LOCAL, Point, quickest
from scripts.lab.studies.study import Records

PRINTED_ERROR = 0.3577
"""The largest average error that section 6.1.4 prints: of the sorted list on UHHPC."""
SPEEDUP = 2.98
READINGS_IN_WORDS = {
    "printed": "as printed, where shared memory waits as M_o = 1 by 4.7,",
    "bandwidth": "with both memories at their bandwidth",
}


def counted_claims(platforms: Records, blocks: Records, conflicts: Records) -> tuple[Claim, ...]:
    """Return the claims that need no device: from the formulas' tables and from counted addresses."""
    return (_fewer_blocks(platforms, blocks), *_conflict_claims(conflicts), *_figure_7(conflicts))


def measured_claims(points: Sequence[Point], families: Sequence[str], is_cpu: bool) -> tuple[Claim, ...]:
    """Return the claims about times; those about banks cannot be shown on a CPU.

    The errors of the dissertation's model decide; the errors of the other `families` are listed too.
    """
    return _fastest_layout(points), _errors(points, families), _local_forms(points, is_cpu)


def _fewer_blocks(platforms: Records, blocks: Records) -> Claim:
    by = {one["layout"]: one for one in platforms}
    formula = ", ".join(f"{by[layout]['blocks']} ({layout})" for layout in LAYOUTS)
    own = {one["layout"]: one for one in blocks}
    warp = ", ".join(f"{own[layout]['warp_blocks']:.0f}" for layout in LAYOUTS)
    query = ", ".join(f"{own[layout]['own_blocks']:.1f}" for layout in LAYOUTS)
    least = [own[layout]["warp_blocks"] for layout in LAYOUTS]
    agrees = least[0] > max(least[1:]) and by["sorted"]["blocks"] > max(by[layout]["blocks"] for layout in LAYOUTS[1:])
    ratios = "; ".join(f"{words} {_times_sorted(platforms, reading)}" for reading, words in READINGS_IN_WORDS.items())
    return Claim(
        "Section 6.1.4",
        "both tree layouts should significantly reduce the global memory accesses of a search in a sorted list",
        f"by the formulas a query among {by['sorted']['keys']} keys takes {formula} blocks; bst and btree are "
        f"faster than sorted, {ratios}. Counted among {own['sorted']['keys']} keys without any cache, the {WARP} "
        f"queries of a warp take {warp} blocks, and a query that keeps its blocks {query}; the top of the BST is not "
        "taken as held in shared memory there",
        agrees, measured=False,
    )  # fmt: skip


def _times_sorted(platforms: Records, reading: str) -> str:
    seconds = {(one["platform"], one["layout"]): one["seconds"] for one in platforms if one["reading"] == reading}
    names = dict.fromkeys(name for name, _ in seconds)
    ratios = [[seconds[name, "sorted"] / seconds[name, layout] for name in names] for layout in LAYOUTS[1:]]
    return " and ".join(f"{min(of):.2f} to {max(of):.2f}" for of in ratios) + " times"


def _conflict_claims(conflicts: Records) -> tuple[Claim, ...]:
    free = [one for one in conflicts if one["form"] == "free"]
    most = max(one["counted"] / one["accesses"] for one in free)
    n = max(one["list"] for one in conflicts)
    reached = {form: int(serialised(local_addresses(form, n, worst_ranks(form, n))).sum()) for form in FORMS[::2]}
    worst = {form: worst_serialised(form, n) for form in reached}
    typical = {one["form"]: one["counted"] for one in conflicts if one["list"] == n}
    times = reached["naive"] / local_accesses("naive", n)
    stage = {form: reached[form] - (n // WARP).bit_length() + 1 for form in reached}
    return (
        Claim(
            "Section 6.2.2", "the conflict-free search has no bank conflict, for log N - log w + w accesses",
            f"counted from the addresses of random queries on {len(free)} lists: beta is {most:.2f} at most", most == 1,
            measured=False,
        ),
        Claim(
            "Corollary 6.2.1", "some queries make the naive search take w times as long, by w-way conflicts from step "
            "log w + 1 on",
            f"{WARP} queries at distances of N/w take {reached['naive']} serialised accesses on {n} words (the bound "
            f"w log(N/w) + w - 1 is {worst['naive']}). That is {times:.1f} times those without "
            "conflicts, as the first log w steps have fewer than w. "
            f"Random queries take {typical['naive']:.0f}",
            reached["naive"] == worst["naive"], measured=False,
        ),
        Claim(
            "Section 6.2.3", "below w the conflict-limited search takes w - 1 accesses in the worst case",
            f"constructed queries take {stage['limited']} there on {n} words, random ones "
            f"{typical['limited'] - stage_one(n):.1f}", stage["limited"] == WARP - 1, measured=False,
        ),
    )  # fmt: skip


def stage_one(n: int) -> int:
    """Return the steps of w words and more, log(N/w)."""
    return (n // WARP).bit_length() - 1


def _figure_7(conflicts: Records) -> tuple[Claim, ...]:
    """Return the claims of figure 6.7, by the two readings of its lists, whose lengths are not printed."""
    seconds: dict[str, dict[int, float]] = {}
    for one in conflicts:
        seconds.setdefault(one["form"], {})[one["list"]] = one["seconds"]
    most, gains, agree = [], [], []
    for naive, what in (("naive", "for powers of two"), ("printed", "for odd numbers of keys, and Algorithm 1,")):
        slowest = [n for n in seconds["free"] if seconds["free"][n] > max(seconds[naive][n], seconds["limited"][n])]
        ratios = {n: seconds[naive][n] / seconds["limited"][n] for n in seconds["free"]}
        best = max(ratios, key=lambda n: ratios[n])
        keys = {one["list"]: one["keys"] for one in conflicts if one["form"] == naive}
        growth = {form: max(seconds[form].values()) / min(seconds[form].values()) for form in (naive, "limited")}
        up_to = f" (N up to {keys[max(slowest)]})" if slowest else ""
        most.append(
            f"{what} it has at {len(slowest)} of {len(ratios)} lists{up_to}; from the shortest to the longest list the "
            f"naive time grows {growth[naive]:.0f} times, the conflict-limited one {growth['limited']:.0f} times"
        )
        gains.append(f"{what} up to {ratios[best]:.2f} times, at N = {keys[best]}")
        agree.append(2 * len(slowest) > len(ratios) and growth[naive] > growth["limited"])
    return (
        Claim(
            "Figure 6.7, GIBSON", "for most N the conflict-free search has the highest execution time, and the "
            "naive one degrades more quickly", "by the formulas with counted conflicts, " + "; ".join(most),
            any(agree), measured=False,
        ),
        Claim(
            "Section 6.2.4", f"the conflict-limited search is up to {SPEEDUP} times as fast as the naive one "
            "(on any of three GPUs)",
            "neither N nor the GPU is printed. On GIBSON, by the formulas with counted conflicts, " + "; ".join(gains),
            None, measured=False,
        ),
    )  # fmt: skip


def _fastest_layout(points: Sequence[Point]) -> Claim:
    best = quickest(points, GLOBAL)
    paper = "querying the trees takes less time than querying the sorted list, the B-tree least (by the formulas)"
    if set(best) != set(LAYOUTS):
        return Claim("Figures 6.1 to 6.3", paper, f"only {_listed(best) or 'nothing'} was measured", None)
    times = [best[layout].nanoseconds() for layout in LAYOUTS]
    words = "; ".join(f"{best[layout].form} {time:.1f} ns" for layout, time in zip(LAYOUTS, times, strict=True))
    found = (
        f"quickest of each layout among {best['sorted'].keys} keys, for each query: {words}. The trees are "
        f"{times[0] / times[1]:.2f} and {times[0] / times[2]:.2f} times as fast as the list"
    )
    return Claim("Figures 6.1 to 6.3", paper, found, times[0] > times[1] > times[2])


def _errors(points: Sequence[Point], families: Sequence[str]) -> Claim:
    means = {name: _mean_errors(points, name) for name in families}
    words = {
        name: ", ".join(f"{mean:.1%} ({layout})" for layout, mean in own.items()) or "every prediction was withheld"
        for name, own in means.items()
    }
    own = means.get(SPT, {})
    return Claim(
        "Section 6.1.4", "the average error of the estimates is 3 % to 36 % for each layout and platform",
        "; ".join(f"{name}: {said}" for name, said in words.items()) or f"{SPT} has no weights",
        max(own.values()) <= PRINTED_ERROR if own else None,
    )  # fmt: skip


def _mean_errors(points: Sequence[Point], family: str) -> dict[str, float]:
    """Return a family's mean error of each layout [1], of the predictions that were not withheld."""
    errors: dict[str, list[float]] = {}
    for one in points:
        error = one.error(family)
        if one.kernel == GLOBAL and error is not None:
            errors.setdefault(one.layout, []).append(error)
    return {layout: fmean(own) for layout, own in errors.items()}


def _local_forms(points: Sequence[Point], is_cpu: bool) -> Claim:
    best = quickest(points, LOCAL)
    paper = f"on long lists the conflict-limited search is fastest, up to {SPEEDUP} times as fast as the naive one"
    if set(best) != set(FORMS):
        return Claim("Figure 6.7", paper, f"only {_listed(best) or 'nothing'} was measured", None)
    times = {form: best[form].nanoseconds() for form in FORMS}
    found = f"on {best['naive'].keys} words, for each query: {', '.join(f'{k} {v:.1f} ns' for k, v in times.items())}; "
    found += f"conflict-limited is {times['naive'] / times['limited']:.2f} times as fast as naive"
    if is_cpu:
        return Claim("Figure 6.7", paper, f"{found}. A CPU's local memory is cache, which has no such banks", None)
    return Claim("Figure 6.7", paper, found, times["limited"] == min(times.values()))


def _listed(best: Mapping[str, Point]) -> str:
    return ", ".join(sorted(best))
