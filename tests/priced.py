"""Kernels that add and multiply, a model that prices only that, and so times that are known by hand."""

from dataclasses import replace

from perfmodel.counts.quasipoly.count import Count
from perfmodel.fitting import FittedWeight
from perfmodel.predicting.model import FittedModel, fit
from tests.fitting.test_weights_file import measurements
from tests.standins import Counts, Operation, count

# One second for 1e12 additions or multiplications, and nothing else costs anything.
PRICES = {"op_float32_add": 1e-12, "op_float32_mul": 1e-12, "work_groups": 0.0, "launches": 0.0}
WEIGHTS = {name: FittedWeight(value=price, unit="s", standard_error=None) for name, price in PRICES.items()}
MODEL = FittedModel(fit(measurements()).fitted.model_copy(update={"weights": WEIGHTS, "measured": None}))
STRICT = replace(MODEL, strict=True)


def adding(text: str, assumptions: str = "{ : }", kind: str = "add", parameters: str = "n") -> Counts:
    added = Count.from_text(f"[{parameters}] -> {{ {text} }}", assumptions)
    names = tuple(parameters.split(", "))
    operations = (Operation("float32", kind, added),)
    return Counts(parameters=names, operation_table=operations, group_count=count("1", ""), assumptions=assumptions)


CUBE, SQUARE = adding("n^3"), adding("64*n^2", kind="mul")
