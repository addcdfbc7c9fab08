"""Products of many small matrices, 8 by 8, in two layouts: the number of the matrix stands first, or last."""

import loopy as lp
import numpy as np


def product(order):
    first = order == "matrix first"
    index = (lambda name, r, c: f"{name}[e, {r}, {c}]") if first else (lambda name, r, c: f"{name}[{r}, {c}, e]")
    shape = "n, 8, 8" if first else "8, 8, n"
    t_unit = lp.make_kernel(
        "{[e, i, j, k]: 0 <= e < n and 0 <= i, j, k < 8}",
        f"{index('c', 'i', 'j')} = sum(k, {index('a', 'i', 'k')}*{index('b', 'k', 'j')})",
        [lp.GlobalArg("a, b, c", np.float32, shape=shape), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 64 = 0", lang_version=(2018, 2))
    return lp.split_iname(t_unit, "e", 64, outer_tag="g.0", inner_tag="l.0")


def variants():
    return {name: product(name) for name in ("matrix first", "matrix last")}


def arguments(n, variant):
    random = np.random.default_rng(0)
    a, b = (random.random((n, 8, 8), dtype=np.float32) for _ in range(2))
    if variant == "matrix last":
        a, b = (np.ascontiguousarray(np.moveaxis(array, 0, -1)) for array in (a, b))
    return {"a": a, "b": b}


def reference(a, b, **others):
    if a.shape[-1] == 8 == a.shape[-2]:
        return {"c": a @ b}
    return {"c": np.einsum("ike,kje->ije", a, b)}
