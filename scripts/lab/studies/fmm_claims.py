"""What Kim et al. (2012) claim of the U-list's optimisations and of the model of Sim et al., next to the findings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from perfmodel.analyses.benefits import FAMILY
from perfmodel.compare.comparison import Choice
from perfmodel.display import percent
from perfmodel.fitting import geometric_mean_error, relative_errors
from scripts.lab.studies.choices import rank_of_best
from scripts.lab.studies.claim import Claim
from scripts.lab.studies.fmm import (
    BASELINE,
    FLOPS,
    METRICS,
    NEIGHBOURS,
    Combination,
    Combinations,
    added,
    gain,
    intensity,
    least_q,
    named,
    search,
    share,
    speedups,
    steps,
    words_moved,
)

#: Speedups and costs that differ by no more are taken for the same [1].
ALIKE = 0.05
#: The optimisations of the study's fastest code (section 3.5.2), and the first one of its search.
STUDY_BEST, STUDY_FIRST = frozenset(("vecpack", "rsqrt", "shmem")), "shmem"
#: Operations a byte that a GPU of the study could do, and the particles in a box that it takes to need them (3.5).
BALANCE, PRINTED_Q = 10.0, 422
#: The benefits of the study's baseline (section 4.1.3), in a unit that is not named, and B_itilp over all of them [1].
PRINTED = {"itilp": 6068, "memlp": 0, "fp": 9691, "serial": 0}
PRINTED_SHARE = PRINTED["itilp"] / sum(PRINTED.values())
#: Why the study's optimisations gain something else on a CPU.
NO_SHARED_MEMORY = " A CPU's local memory is ordinary memory, it has no unit for rsqrt, and no warps hide latency."


def fmm_claims(
    found: Combinations, families: Sequence[str], operations: float, other: Sequence[Combination] = (),
    judge: str = FAMILY, is_cpu: bool = False,
) -> tuple[Claim, ...]:  # fmt: skip
    """Return all claims about the combinations that ran, with predictions of `families`.

    `operations` are the counted floating-point operations of an interaction [1], `other` the combinations along the
    path of figure 4.5, predicted for a GPU. The model `judge` decides; a CPU does something else with the study's
    optimisations.
    """
    line = steps(found)
    return (
        _intensity(operations),
        _estimated(found, judge, [one for one in families if one != judge], is_cpu),
        _first_choice(found, is_cpu),
        _searched(found),
        _baseline(found, other),
        _shared_memory(found),
        _falling(line, other),
        _prefetch(line, other),
    )


def _intensity(operations: float) -> Claim:
    words, factor = words_moved(), intensity(PRINTED_Q) / BALANCE
    slip = abs(factor - 1) >= ALIKE
    return Claim(
        "Sections 3.3 and 3.5",
        f"{words} words move for each target, so that kappa q/{words} operations a word are done; a balance of "
        f"{BALANCE:g} operations a byte asks for q >= {PRINTED_Q} with kappa = {FLOPS}",
        f"A target moves {words_moved(stored=1)} words if its potential alone is stored, {words} if the particle is. "
        f"The printed ratio has the interactions of one box and the words of {NEIGHBOURS}: with all of them it is "
        f"{factor:.0f} times as high, and q >= {least_q(BALANCE):.0f} is enough. Counted here: {operations:g} "
        "operations an interaction.",
        not slip and operations == FLOPS,
        slip,
        measured=False,
    )


# {{{ speedups: figures 3.5 and 4.2


def _estimated(found: Combinations, judge: str, others: Sequence[str], is_cpu: bool) -> Claim:
    claim = "the model closely estimates the speedup of 44 combinations, and identifies the best one"
    judgements = [_judged(found, family) for family in (judge, *others)]
    regret, words = judgements[0][0], " ".join(words for _, words in judgements) + NO_SHARED_MEMORY * is_cpu
    return Claim("Figure 4.2", claim, words, None if is_cpu or regret is None else regret <= 1 + ALIKE)


def _judged(found: Combinations, family: str) -> tuple[float | None, str]:
    """Return the regret of a family's choice [1], and what it predicts in words; None of fewer than two."""
    measured, predicted = speedups(found), speedups(found, family)
    both = [taken for taken in measured if taken in predicted]
    if len(both) < 2:
        return None, f"`{family}` predicts {len(both)} of the combinations."
    job = Choice(tuple(found[one].measured for one in both), tuple(found[one].seconds(family) for one in both))
    error = geometric_mean_error([float(relative_errors(predicted[one], measured[one])) for one in both if one])
    best, chosen = max(both, key=measured.__getitem__), max(both, key=predicted.__getitem__)
    return job.regret, (
        f"`{family}`, {len(both)} combinations: the fastest is {named(best)} (speedup {measured[best]:.2f}, predicted "
        f"{predicted[best]:.2f}), at place {rank_of_best(job)} of the predictions. Chosen is {named(chosen)}, which "
        f"takes {job.regret:.2f} times as long. Speedups err by {percent(error)}, tau is {job.tau:.2f}."
    )


def _first_choice(found: Combinations, is_cpu: bool) -> Claim:
    ratios = {named(taken): ratio for taken, ratio in speedups(found).items() if len(taken) == 1}
    words = ", ".join(f"{name} {ratio:.2f}" for name, ratio in sorted(ratios.items(), key=lambda one: -one[1]))
    known = {STUDY_FIRST, "rsqrt"} <= ratios.keys() and not is_cpu
    return Claim(
        "Figure 3.5(a)",
        "of single optimisations shmem has the biggest pay-off, and rsqrt has none",
        f"Speedups of single optimisations: {words or 'none was measured'}.{NO_SHARED_MEMORY * is_cpu}",
        max(ratios, key=ratios.__getitem__) == STUDY_FIRST and ratios["rsqrt"] < 1 + ALIKE if known else None,
    )


def _searched(found: Combinations) -> Claim:
    seconds = {taken: one.measured for taken, one in found.items()}
    claim = "the search that adds the best optimisation again and again happens to find the best code of a platform "
    claim += f"(of the study's GPU {named(STUDY_BEST)})"
    if BASELINE not in found:
        return Claim("Section 3.5.2, figure 3.5", claim, "The baseline was not measured.", None)
    path, ratios = search(seconds), speedups(found)
    best, end = min(seconds, key=seconds.__getitem__), min(path, key=seconds.__getitem__)
    asked = sum(1 for one in seconds if any(one >= step and len(one) <= len(step) + 1 for step in path))
    study = f", and for the study's {ratios[STUDY_BEST]:.2f}" if STUDY_BEST in ratios else ""
    return Claim(
        "Section 3.5.2, figure 3.5",
        claim,
        f"It goes {' -> '.join(named(one) for one in path)}, and has measured {asked} of {len(seconds)} combinations. "
        f"The best on its way is {named(end)}, {ratios[end]:.2f} times as fast as the baseline. The fastest "
        f"of all is {named(best)} with {ratios[best]:.2f}{study}.",
        seconds[end] <= (1 + ALIKE) * seconds[best],
    )


# }}}


# {{{ benefits: section 4.1.3, figures 4.4 and 4.5


def _baseline(found: Combinations, other: Sequence[Combination]) -> Claim:
    claim = "of the baseline " + ", ".join(f"B_{name} = {value}" for name, value in PRINTED.items())
    claim += f": computation limits it, and B_itilp is {percent(PRINTED_SHARE)} of the possible gain"
    one = found.get(BASELINE)
    if one is None or one.benefits is None:
        return Claim("Section 4.1.3", claim, f"The device has no weights of `{FAMILY}`.", None)
    parts = _shares(one)
    computes = parts["memlp"] < ALIKE and parts["serial"] < ALIKE and max(parts, key=parts.__getitem__) == "fp"
    share = parts["itilp"] / sum(parts.values())
    text = f"Of the predicted time: {_words(parts)}.{_on_a_gpu(_words(_shares(other[0])) if other else '')} "
    text += f"B_itilp is {percent(share)} of the benefits (to agree is to be within 10 points)."
    hidden = one.benefits.most_itilp <= 1
    if hidden:
        text += f" ITILP_max is {one.benefits.most_itilp:.2f}: no latency is left for other warps to hide."
    return Claim(
        "Section 4.1.3", claim, text, (None if hidden else abs(share - PRINTED_SHARE) < 0.1) if computes else False
    )


def _shared_memory(found: Combinations) -> Claim:
    claim = "B_itilp predicts closely what shmem gains on top of other optimisations, except on top of tight"
    pairs = [(before, gain(before, after)) for before, after in added(found, "shmem") if before.benefits]
    if not pairs:
        return Claim("Figure 4.4", claim, "No pair with and without shmem has both.", None)
    deviations = {
        kind: [abs(saved - share(one, "itilp")) for one, saved in pairs if ("tight" in one.taken) == kind]
        for kind in (False, True)
    }
    saved = sorted(value for _, value in pairs)
    expected = sorted(share(one, "itilp") for one, _ in pairs)
    names = {True: "with", False: "without"}
    words = [f"{median(values):.2f} {names[kind]} tight" for kind, values in deviations.items() if values]
    text = (
        f"shmem saves {percent(saved[0])} to {percent(saved[-1])} of the time in {len(pairs)} pairs, and B_itilp is "
        f"{percent(expected[0])} to {percent(expected[-1])}. They differ in the median by {' and '.join(words)}."
    )
    if expected[-1] < ALIKE:
        text += " So many instructions are in flight already that the model sees nothing to gain from more of them."
    close = None if expected[-1] < ALIKE or not deviations[False] else median(deviations[False]) < 2 * ALIKE
    return Claim("Figure 4.4", claim, text, close)


def _falling(line: Sequence[Combination], other: Sequence[Combination]) -> Claim:
    claim = "as vecpack, rsqrt, shmem and ujam are applied one by one, the potential benefits fall, to a small rest"
    line = [one for one in line if "pref" not in one.taken]
    if len(line) < 2 or line[0].benefits is None:
        return Claim("Figure 4.5", claim, "Too few combinations of this path have benefits.", None)
    rests = [_rest(one, line[0]) for one in line]
    ratio = line[0].measured / line[-1].measured
    on_a_gpu = _on_a_gpu(_path([one for one in other if "pref" not in one.taken]))
    return Claim(
        "Figure 4.5",
        claim,
        f"All benefits together, over the baseline's predicted time: {_path(line)}. The measured speedup is then "
        f"{ratio:.2f}. (To agree: no step adds more than {100 * ALIKE:.0f} points, the rest is below half, and "
        f"the code got faster.){on_a_gpu}",
        all(after <= before + ALIKE for before, after in pairwise(rests)) and rests[-1] < 0.5 * rests[0] and ratio > 1,
    )


def _prefetch(line: Sequence[Combination], other: Sequence[Combination]) -> Claim:
    claim = "pref, applied last, does not gain any more; B_fp slightly rises by the code that prefetches"
    if len(line) < 2 or "pref" not in line[-1].taken:
        return Claim("Figure 4.5", claim, "The last combination of this path was not measured.", None)
    before, after = line[-2:]
    saved, rise = gain(before, after), _rise(before, after)
    shown = "" if math.isnan(rise) else f", and B_fp changes by {100 * rise:+.2f} % of the predicted time before"
    if rise == 0:
        shown += ": copies between registers are not counted, so it cannot show them"
    on_a_gpu = _on_a_gpu(f"by {100 * _rise(*other[-2:]):+.2f} %" if len(other) > 1 else "")
    known = rise > 0 or rise < 0
    return Claim(
        "Figure 4.5",
        claim,
        f"On top of {before.name}, pref saves {100 * saved:+.1f} % of the time{shown}.{on_a_gpu}",
        False if saved >= ALIKE else rise > 0 if known else None,
    )


def _shares(one: Combination, base: Combination | None = None) -> dict[str, float]:
    return {name: share(one, name, base) for name in METRICS}


def _rest(one: Combination, base: Combination) -> float:
    """Return all benefits of a combination together over the predicted time of the baseline [1]."""
    return sum(_shares(one, base).values())


def _rise(before: Combination, after: Combination) -> float:
    """Return by how much B_fp rises, over the predicted time before [1]."""
    return share(after, "fp", before) - share(before, "fp")


def _words(parts: Mapping[str, float]) -> str:
    return ", ".join(f"B_{name} {100 * value:.1f} %" for name, value in parts.items())


def _path(line: Sequence[Combination]) -> str:
    return ", ".join(f"{100 * _rest(one, line[0]):.0f} % ({one.name})" for one in line)


def _on_a_gpu(words: str) -> str:
    return f" With the weights of the simulated GTX 480: {words}." if words else ""


# }}}
