"""Makes the file of samples that ships: seeds in turn, those that cannot be built, counted or timed left out.

    python -m scripts.lab.samples.archive [COUNT]

It takes minutes, and a device on which each sample is run at its smallest size.
"""

from __future__ import annotations

import json
import lzma
import sys
import warnings
from collections.abc import Iterator, Mapping
from itertools import count as numbers
from pathlib import Path
from time import process_time
from typing import Any

from perfmodel import features
from perfmodel.counts import KernelCounts, count
from perfmodel.errors import PerfModelError
from perfmodel.kernels.kernel_class import Parameters
from perfmodel.kernels.samples import SCHEMA, KeptKernel, sample_class
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.campaign import SAMPLES
from perfmodel.measuring.subject import FailedError, GeneratedCode, Subject
from perfmodel.opencl import find
from scripts.lab.samples.building import built
from scripts.lab.samples.grammar import DrawnKernel, draw

FILE = Path(__file__).parents[3] / "test_kernels/samples/samples.jsonl.xz"
COUNT = 150
#: What a run at the smallest size may take on two cores [s].
SHORTEST_S, LONGEST_S = 5e-5, 1.3e-3
#: Most that the features of a sample may take at two sizes: every fit evaluates them all [s].
MOST_EVALUATION_S = 0.25
#: Most bytes of a work-group's tiles.
MOST_LOCAL = 32768


def kept_document(
    generated: Any, counts: KernelCounts, sizes: Parameters, grow: tuple[str, ...], near: Mapping[str, int]
) -> dict[str, Any]:
    """Return the document of a kernel with its smallest sizes and the sizes that grow.

    `near` maps an index array to the largest distance of its entries from their own position [cells]; 0 is anywhere.
    """
    from loopy.kernel.array import ArrayBase, get_strides

    arrays = [
        [a.name, a.dtype.numpy_dtype.name, [*map(str, a.shape)], [*map(str, get_strides(a))]]
        for a in generated.kernel.args if isinstance(a, ArrayBase)
    ]
    return {
        "schema": SCHEMA, "name": generated.kernel.name, "code": generated.text, "host": [*generated.host_function],
        "arrays": arrays, "sizes": dict(sizes), "grow": [*grow], "near": dict(near), "counts": counts.to_json(),
    }  # fmt: skip


def document(drawn: DrawnKernel) -> dict[str, Any]:
    """Return the document of a drawn kernel; what Loopy or the counters refuse is raised."""
    generated = GeneratedCode(built(drawn))
    counts = count(generated.t_unit, subgroup_size=8, check=False)
    near = {array.name: array.near for array in drawn.arrays if array.near is not None}
    return kept_document(generated, counts, drawn.sizes, drawn.grow, near)


def evaluation_s(subject: Subject) -> float:
    """Return how long the features of a sample take at its two smallest sizes [s]."""
    kept, began = KeptKernel(subject.kernel.build().document), process_time()
    for rung in range(2):
        features.evaluate(kept.counts(8), subject.kernel.sizes.at(rung)[0])
    return process_time() - began


def accepted(seeds: Iterator[int], bench: Bench, wanted: int) -> Iterator[dict[str, Any]]:
    """Yield the documents of the first so many seeds whose kernels run neither too short nor too long."""
    left = wanted
    while left:
        seed = next(seeds)
        try:
            made = document(draw(seed))
            subject = Subject(sample_class(made), {})
            seconds = bench.trial(subject, subject.smallest)
        except (FailedError, PerfModelError, RuntimeError) as error:
            print(f"{seed}: {type(error).__name__}: {str(error).splitlines()[0][:120]}")
            continue
        fits = made["counts"]["launch"]["local_bytes"] <= MOST_LOCAL
        evaluated_s = evaluation_s(subject)
        if not (fits and SHORTEST_S <= seconds <= LONGEST_S and evaluated_s <= MOST_EVALUATION_S):
            print(f"{seed}: runs {seconds:.2g} s, its features take {evaluated_s:.2g} s")
            continue
        yield made
        left -= 1


def pack_samples(path: Path, documents: list[dict[str, Any]]) -> None:
    """Write a file of samples; the same documents give the same bytes."""
    text = "".join(json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n" for document in documents)
    path.write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    documents = [*accepted(numbers(1), Bench(find(None), SAMPLES), int(sys.argv[1]) if sys.argv[1:] else COUNT)]
    pack_samples(FILE, documents)
    print(f"{len(documents)} samples in {FILE}: {FILE.stat().st_size} bytes")
