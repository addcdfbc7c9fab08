"""The recipes of plain kernels are legal, and compute what the plain kernel computes, as NumPy does."""

import math
from functools import cache
from itertools import islice

import loopy as lp
import numpy as np
import pytest

from perfmodel.errors import ArgumentError, KernelError
from perfmodel.facts.device_facts import published
from perfmodel.recipes import Form, Point, Recipe, Step, recipes_of
from perfmodel.recipes.generator import MOST_FORMS, legal
from perfmodel.recipes.own_steps import extract_invariants
from tests.corpus.kernel import make

N = 13  # a size that no tile divides
F32 = np.float32


def made(domain, instructions, arrays, **options):
    arguments = [lp.GlobalArg(name, F32, shape=shape) for name, shape in arrays.items()]
    return lp.make_kernel(
        domain, instructions, [*arguments, lp.ValueArg("n", np.int32)], lang_version=(2018, 2), **options
    )


@cache
def product():
    square = {"a": "n, n", "b": "n, n", "c": "n, n"}
    return made("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])", square)


@cache
def apart():
    """The product with a domain for each loop."""
    square = {"a": "n, n", "b": "n, n", "c": "n, n"}
    domains = [f"{{[{loop}]: 0 <= {loop} < n}}" for loop in "ijk"]
    return made(domains, "c[i, j] = sum(k, a[i, k]*b[k, j])", square)


@cache
def products():
    arrays = {"a": "n, n", "b": "n, n, n", "c": "n, n, n"}
    return made("{[i, j, k, l]: 0 <= i, j, k, l < n}", "c[l, i, j] = sum(k, a[i, k]*b[l, k, j])", arrays)


@cache
def narrow_product():
    shapes = {"a": "n, n", "b": "n, 20", "c": "n, 20"}
    return made("{[i, j, k]: 0 <= i, k < n and 0 <= j < 20}", "c[i, j] = sum(k, a[i, k]*b[k, j])", shapes)


@cache
def stencil():
    arrays = {"u": "n + 2, n + 2", "out": "n, n"}
    return made("{[i, j]: 0 <= i, j < n}", "out[i, j] = u[i, j + 1] + u[i + 2, j + 1] - 2*u[i + 1, j + 1]", arrays)


@cache
def transpose():
    return made("{[i, j]: 0 <= i, j < n}", "out[i, j] = a[j, i]", {"a": "n, n", "out": "n, n"})


@cache
def total():
    return made("{[i]: 0 <= i < n}", "out[0] = sum(i, a[i])", {"a": "n", "out": "1"})


@cache
def softmax():
    return made(
        "{[i, j, k, l]: 0 <= i, j, k, l < n}",
        """
        for i
            <> most = reduce(max, j, a[i, j]) {id=most}
            <> sum = sum(k, exp(a[i, k] - most)) {id=sum, dep=most}
            out[i, l] = exp(a[i, l] - most)/sum {dep=sum}
        end
        """,
        {"a": "n, n", "out": "n, n"},
    )


@cache
def red_black():
    """Only elements with odd indices are written, and these read only the others."""
    text = "y[i + 1] = y[i] + y[i + 2] {if=i % 2 == 0}\nif i == n - 1\nlast[0] = x[i]\nend"
    return made("{[i]: 0 <= i < n}", text, {"last": "1", "x": "n", "y": "n + 2"})


@cache
def sparse():
    return make(["{[i]: 0 <= i < n}", "[length] -> {[j]: 0 <= j < length}"], """
        for i
            <> first = start[i]
            <> length = start[i + 1] - first
            y[i] = sum(j, entry[first + j]*x[column[first + j]])
        end
        """, "int32 start: n + 1; int32 column: 64; entry: 64; x, y: n")  # fmt: skip


@cache
def recurrence():
    arrays = {"u": "n, n", "a": "n, n"}
    return made("{[t, j]: 1 <= t < n and 0 <= j < n}", "u[t, j] = u[t - 1, j]/2 + a[t, j]", arrays)


@cache
def marching():
    """Each step reads neighbours that other iterations of the last step have written."""
    arrays = {"u": "n, n + 2"}
    domain, text = "{[t, i]: 1 <= t < n and 1 <= i <= n}", "u[t, i] = u[t - 1, i - 1] + u[t - 1, i + 1]/2"
    return lp.prioritize_loops(made(domain, text, arrays), "t,i")


@cache
def leapfrog():
    """Two nests in each step, each of which reads neighbours that the other has written."""
    text = """
        for t
            e[i] = e[i] + h[i + 1] - h[i] {id=e, dep=*}
            h[j + 1] = h[j + 1] + (e[j + 1] - e[j])/4 {id=h, dep=*e}
        end
        """
    return made("{[t, i, j]: 0 <= t < 4 and 0 <= i, j < n}", text, {"e": "n + 1", "h": "n + 1"})


@cache
def two_nests():
    return nests("b[i] = 2*a[i] {id=b}\nc[j] = b[n - 1 - j] + 1 {dep=b}")


@cache
def nests_with_barrier():
    return nests("b[i] = 2*a[i] {id=b}\n... gbarrier {id=wait, dep=b}\nc[j] = b[n - 1 - j] + 1 {dep=wait}")


def nests(instructions):
    return made("{[i, j]: 0 <= i, j < n}", instructions, dict.fromkeys("abc", "n"))


@cache
def centred():
    """A kernel with a barrier between its two nests."""
    instructions = """
        m[k] = sum(r, a[r, k])/n {id=m}
        ... gbarrier {id=wait, dep=m}
        c[i, j] = a[i, j] - m[j] {dep=wait}
        """
    return made("{[i, j, k, r]: 0 <= i, j, k, r < n}", instructions, {"a": "n, n", "c": "n, n", "m": "n"})


@cache
def three_stages():
    """The third statement reads what the first and the second have written."""
    instructions = "m[i] = 2*a[i] {id=m}\nt[j] = sum(k, a[k]*m[j]) {id=t, dep=m}\nd[p, q] = t[p]*m[q] {dep=t}"
    return made("{[i, j, k, p, q]: 0 <= i, j, k, p, q < n}", instructions, {"a": "n", "d": "n, n", "m": "n", "t": "n"})


@cache
def scaled():
    instructions = "for i\n<> factor = 2*b[i] {id=factor}\nout[i, j] = factor*a[i, j] {dep=factor}\nend"
    return made("{[i, j]: 0 <= i, j < n}", instructions, {"a": "n, n", "b": "n", "out": "n, n"})


@cache
def diffusion():
    """Rows and columns of two nests, with other bounds."""
    instructions = """
        flux[i, j] = a[i, j + 1] - a[i, j] {id=flux}
        new[k, l] = a[k, l] + flux[k, l] - flux[k, l - 1] {dep=flux}
        """
    domains = ["{[i, j]: 0 <= i < n and 0 <= j < n - 1}", "{[k, l]: 0 <= k < n and 1 <= l < n - 1}"]
    return made(domains, instructions, dict.fromkeys(("a", "flux", "new"), "n, n"))


@cache
def pairs():
    """Sums of squared distances to the particles of three neighbouring cells."""
    return made(
        "{[c, p, s, q]: 0 <= c < n and 0 <= p, q < 4 and 0 <= s < 3}",
        """
        for c, p
            <> own = x[c + 1, p] {id=own}
            <float32> total = 0 {id=zero}
            for s, q
                <> distance = own - x[c + s, q] {id=distance, dep=own}
                total = total + distance*distance {id=total, dep=zero:distance}
            end
            y[c, p] = total {dep=total}
        end
        """,
        {"x": "n + 2, 4", "y": "n, 4"},
    )


@cache
def divergence():
    """The sum over x of J*u is the same for all i."""
    return made(
        "{[e, i, j, r, x]: 0 <= e < n and 0 <= i, j < 18 and 0 <= r, x < 2}",
        "out[e, i] = sum([x, r, j], J[x, r, e]*D[r, i, j]*u[x, e, j])",
        {"J": "2, 2, n", "D": "2, 18, 18", "u": "2, n, 18", "out": "n, 18"},
    )


@cache
def spectral():
    """Both sums over m have values that are the same for all i, or for all j; their sums have the same loops."""
    gradient = "(G[{}, e, {r}, {c}]*simul_reduce(sum, o, D[{r}, o]*u[e, o, {c}])" \
               " + G[{}, e, {r}, {c}]*simul_reduce(sum, p, D[{c}, p]*u[e, {r}, p]))"
    down, along = gradient.format(0, 1, r="m", c="j"), gradient.format(1, 2, r="i", c="m")
    return made(
        "{[e, i, j, m, o, p]: 0 <= e < n and 0 <= i, j, m, o, p < 4}",
        f"out[e, i, j] = simul_reduce(sum, m, D[m, i]*{down}) + simul_reduce(sum, m, D[m, j]*{along})",
        {"G": "3, n, 4, 4", "D": "4, 4", "u": "n, 4, 4", "out": "n, 4, 4"},
    )


@cache
def interpolation():
    """In three dimensions: two of the sums are the same for all i, and the inner one is for all j too."""
    return made(
        "{[e, i, j, k, a, b, c]: 0 <= e < n and 0 <= i, j, k, a, b, c < 3}",
        "out[e, i, j, k] = sum(a, D[i, a]*sum(b, D[j, b]*sum(c, D[k, c]*u[e, a, b, c])))",
        {"D": "3, 3", "u": "n, 3, 3, 3", "out": "n, 3, 3, 3"},
    )


@cache
def attention():
    """The exponentials are the same for all d, but each i has its own largest element."""
    return made(
        "{[i, j, k, d]: 0 <= i, j, k < n and 0 <= d < 6}",
        """
        for i
            <> most = reduce(max, k, a[i, k]) {id=most}
            out[i, d] = sum(j, exp(a[i, j] - most)*v[j, d]) {dep=most}
        end
        """,
        {"a": "n, n", "v": "n, 6", "out": "n, 6"},
    )


def data():
    rng = np.random.default_rng(0)
    square = {name: rng.random((N, N), F32) for name in ("a", "b")}
    line = {name: rng.random(N, F32) for name in ("a", "b", "x")}
    start = np.cumsum([0, *rng.integers(0, 4, N)]).astype(np.int32)
    matrix = {"start": start, "column": rng.integers(0, N, 64, np.int32), "entry": rng.random(64, F32)}
    wide = rng.random((N + 2, N + 2), F32)
    exps = np.exp(square["a"])
    coloured = wide[0].copy()
    coloured[1:-1:2] = wide[0, :-2:2] + wide[0, 2::2]
    dense = np.zeros((N, N), F32)
    for row in range(N):
        for at in range(start[row], start[row + 1]):
            dense[row, matrix["column"][at]] += matrix["entry"][at]
    flux = np.diff(square["a"], append=np.zeros((N, 1), F32))
    flux[:, -1] = 0
    new = np.zeros((N, N), F32)
    new[:, 1:-1] = square["a"][:, 1:-1] + flux[:, 1:-1] - flux[:, :-2]
    cells = rng.random((N + 2, 4), F32)
    near = np.stack([cells[:-2], cells[1:-1], cells[2:]], axis=2)
    distances = cells[1:-1, :, None, None] - near[:, None]
    narrow, cube = rng.random((N, 20), F32), rng.random((N, N, N), F32)
    steps = square["b"].copy()
    for t in range(1, N):
        steps[t] = steps[t - 1] / 2 + square["a"][t]
    marched = np.zeros((N, N + 2), F32)
    marched[0] = wide[0]
    for t in range(1, N):
        marched[t, 1:-1] = marched[t - 1, :-2] + marched[t - 1, 2:] / 2
    dg = {"J": rng.random((2, 2, N), F32), "D": rng.random((2, 18, 18), F32), "u": rng.random((2, N, 18), F32)}
    heads = {"a": square["a"], "v": rng.random((N, 6), F32)}
    nodes = {"G": rng.random((3, N, 4, 4), F32), "D": rng.random((4, 4), F32), "u": rng.random((N, 4, 4), F32)}
    across = np.einsum("mo,eoj->emj", nodes["D"], nodes["u"]), np.einsum("jo,emo->emj", nodes["D"], nodes["u"])
    fluxes = [nodes["G"][at] * across[0] + nodes["G"][at + 1] * across[1] for at in range(2)]
    divergences = np.einsum("mi,emj->eij", nodes["D"], fluxes[0]) + np.einsum("mj,eim->eij", nodes["D"], fluxes[1])
    elements = {"D": rng.random((3, 3), F32), "u": rng.random((N, 3, 3, 3), F32)}
    finer = np.einsum("ia,jb,kc,eabc->eijk", *[elements["D"]] * 3, elements["u"])
    electric, magnetic = wide[1, :-1].copy(), wide[2, :-1].copy()
    for _ in range(4):
        electric[:-1] += np.diff(magnetic)
        magnetic[1:] += np.diff(electric) / 4
    return {
        product: (square, {"c": square["a"] @ square["b"]}),
        products: ({"a": square["a"], "b": cube}, {"c": square["a"] @ cube}),
        apart: (square, {"c": square["a"] @ square["b"]}),
        narrow_product: ({"a": square["a"], "b": narrow}, {"c": square["a"] @ narrow}),
        stencil: ({"u": wide}, {"out": wide[:-2, 1:-1] + wide[2:, 1:-1] - 2 * wide[1:-1, 1:-1]}),
        transpose: ({"a": square["a"]}, {"out": square["a"].T}),
        total: ({"a": line["a"]}, {"out": line["a"].sum(keepdims=True)}),
        red_black: ({"x": line["x"], "y": wide[0], "last": line["x"][:1]}, {"last": line["x"][-1:], "y": coloured}),
        softmax: ({"a": square["a"]}, {"out": exps / exps.sum(axis=1, keepdims=True)}),
        sparse: (matrix | {"x": line["x"]}, {"y": dense @ line["x"]}),
        recurrence: ({"u": square["b"], "a": square["a"]}, {"u": steps}),
        marching: ({"u": np.concatenate([wide[:1], np.zeros((N - 1, N + 2), F32)])}, {"u": marched}),
        leapfrog: ({"e": wide[1, :-1], "h": wide[2, :-1]}, {"e": electric, "h": magnetic}),
        two_nests: ({"a": line["a"], "b": 0 * line["a"]}, {"b": 2 * line["a"], "c": 2 * line["a"][::-1] + 1}),
        nests_with_barrier: (
            {"a": line["a"], "b": 0 * line["a"]}, {"b": 2 * line["a"], "c": 2 * line["a"][::-1] + 1}
        ),
        centred: (
            {"a": square["a"], "m": 0 * line["a"]},
            {"c": square["a"] - square["a"].mean(axis=0), "m": square["a"].mean(axis=0)},
        ),
        three_stages: (
            {"a": line["a"], "m": 0 * line["a"], "t": 0 * line["a"]},
            {"m": 2 * line["a"], "t": 2 * line["a"] * line["a"].sum(),
             "d": 4 * line["a"].sum() * np.outer(line["a"], line["a"])},
        ),
        diffusion: ({"a": square["a"], "flux": 0 * new, "new": 0 * new}, {"flux": flux, "new": new}),
        pairs: ({"x": cells}, {"y": (distances**2).sum(axis=(2, 3))}),
        divergence: (dg, {"out": np.einsum("xre,rij,xej->ei", *dg.values())}),
        spectral: (nodes, {"out": divergences}),
        interpolation: (elements, {"out": finer}),
        attention: (heads, {"out": np.exp(heads["a"] - heads["a"].max(axis=1, keepdims=True)) @ heads["v"]}),
        scaled: (
            {"a": square["a"], "b": line["b"]}, {"out": 2 * line["b"][:, None] * square["a"]}
        ),
    }  # fmt: skip


DATA = data()
#: By kernel, a text of forms that must be tried.
FORMS = {
    product: [
        "j:item i:item reduction=split prefetch=a,b", "j:strided i:strided elements=ilp", "j:item i:tile elements=ilp",
        "k:local j:group i:group",
    ],
    products: ["j:item i:strided elements=ilp reduction=split prefetch=a,b"],
    apart: ["j:item i:item reduction=split prefetch=a,b"],
    narrow_product: ["j:strided i:tile elements=ilp", "i:item j:blocked"],
    stencil: ["j:item i:item prefetch=u", "j:blocked i:tile order=i,j"],
    transpose: ["j:item i:item prefetch=a", "i:item j:strided"],
    total: ["i:local"],
    red_black: ["i:item", "i:blocked elements=ilp"],
    softmax: ["i:item reduction=unrolled", "l/j/k:local i:group"],
    sparse: ["i:item", "i:blocked"],
    recurrence: ["j:item", "j:strided order=t,j"],
    marching: ["i:item", "i:strided elements=ilp", "i:tile"],
    leapfrog: ["i/j:item", "i/j:blocked"],
    two_nests: ["i/j:item", "i/j:local"],
    nests_with_barrier: ["i/j:item"],
    centred: ["j/k:item i:item", "j/k:strided i:group", "i/k:item"],
    three_stages: ["q/i/j:item"],
    diffusion: ["l/j:item i/k:group"],
    pairs: ["c:item prefetch=x", "c:item p:lanes prefetch=x"],
    scaled: ["j:item i:group", "i:item"],
    divergence: [
        "e:item i:steps elements=ilp prefetch=without_i", "e:item i:item prefetch=without_i",
        "e:item prefetch=without_i unrolled=r,x", "e:strided prefetch=without_i",
    ],
    spectral: [
        "e:item prefetch=without_j_i,without_j_i_0 unrolled=i,j,m,o,p", "e:item prefetch=without_j",
        "j:lanes i:lanes prefetch=without_j_i,without_j_i_0", "j:lanes e:item prefetch=without_j_i,without_j_i_0",
    ],
    interpolation: [
        "e:item prefetch=without_i_j_0,without_i_j", "i:lanes j:lanes prefetch=without_i_j_0,without_i_j",
    ],
    attention: [
        "i:item d:steps elements=ilp reduction=split prefetch=without_d",
        "i:blocked d:steps elements=ilp reduction=unrolled prefetch=without_d",
    ],
}  # fmt: skip


@pytest.mark.device
@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")  # of the result of a tree, and of a slow scheduler
@pytest.mark.filterwarnings("ignore:Cannot enforce:UserWarning")  # of an order of loops that are parallel now
@pytest.mark.parametrize(("kernel", "text"), [(kernel, text) for kernel, texts in FORMS.items() for text in texts])
def test_outputs_equal_numpy(kernel, text):
    import pyopencl as cl

    recipes = recipes_of(kernel())
    form = next(form for form in recipes.forms if text == str(form))
    recipe = min(recipes.of(form), key=lambda recipe: sum(size for _, size in recipes.point(recipe).tiles))
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    inputs, expected = DATA[kernel]
    legal(recipe, kernel())  # the checks
    given = {name: array.copy() for name, array in inputs.items()}
    _, outputs = recipe.apply(kernel()).executor(queue.context)(queue, n=N, **given, out_host=True)
    for name, output in zip(sorted(expected), outputs, strict=True):
        np.testing.assert_allclose(output, expected[name], rtol=1e-5, atol=1e-6, err_msg=f"{name} of {recipe}")


@pytest.mark.parametrize(("text", "loop", "expected"), [
    ("b[i, j] = sum(k, x[i]*y[j, k]*y[k, j])", "i", {"reduce(sum, [k], y[j, k]*y[k, j])"}),
    ("b[i, j] = x[i]*exp(x[j])", "i", {"exp(x[j])"}),
    ("b[i, j] = sin(sum(k, exp(x[k] - x[j])*y[i, k]))", "i", {"exp(x[k] + (-1)*x[j])"}),
    ("b[i, j] = sum(k, y[i, k]*y[k, j])", "i", set()),  # a load alone
    ("b[i, j] = x[i]*sum(k, y[j, k]) + y[i, j]", "i", {"reduce(sum, [k], y[j, k])"}),
    ("b[i, j] = reduce(max, k, y[i, k]*x[j]*x[k])", "i", set()),  # a factor may be negative
    ("b[i, j] = exp(x[j]) if x[i] > 0 else 0", "i", set()),  # it may not exist for all i
    ("b[i, j] = exp(x[j]) {if=x[i] > 0}", "i", set()),
    ("b[i, j] = sum(l, x[i]*x[l]*y[j, i])", "j", set()),  # the number of l depends on j
    ("b[i, j] = exp(b[0, j])", "i", set()),  # it is written
    ("<> s = y[i, j] {id=s}\nb[i, j] = x[j]*exp(s) {dep=s}", "i", set()),
    ("<> s = x[j] {id=s,inames=j}\nb[i, j] = x[i]*exp(s) {dep=s}", "i", {"exp(s)"}),
])  # fmt: skip
def test_what_does_not_depend_on_a_loop_becomes_a_rule(text, loop, expected):
    arguments = [lp.GlobalArg("x", F32, shape="n"), lp.GlobalArg("y, b", F32, shape="n, n"), lp.ValueArg("n", np.int32)]
    domains = ["{[i, j, k]: 0 <= i, j, k < n}", "[j] -> {[l]: 0 <= l <= j}"]
    unit = lp.make_kernel(domains, text, arguments, lang_version=(2018, 2))
    rules = extract_invariants(unit, loop).default_entrypoint.substitutions
    assert expected == {str(rule.expression) for rule in rules.values()}
    assert {f"without_{loop}"} >= rules.keys()


def test_rules_of_several_loops_use_each_other():
    rules = extract_invariants(interpolation(), "i,j").default_entrypoint.substitutions
    assert rules.keys() == {"without_i_j", "without_i_j_0"}
    assert "reduce(sum, [b], D[j, b]*without_i_j_0(a, b, e, k))" == str(rules["without_i_j"].expression)
    assert "reduce(sum, [c], D[k, c]*u[e, a, b, c])" == str(rules["without_i_j_0"].expression)


@pytest.mark.parametrize(("limits", "text", "assumed", "merged"), [
    ({"i": "n", "k": "n", "j": "n"}, "c[i, k] = sum(j, a[i, j]*a[j, k])", "", ["i,j,k"]),
    ({"i": "n", "k": "m", "j": "l"}, "c[i, k] = sum(j, a[i, j]*a[j, k])", "", []),  # zero if l is 0
    ({"i": "n", "k": "m", "j": "l"}, "c[i, k] = sum(j, a[i, j]*a[j, k])", "l >= 1", ["i,j,k"]),
    ({"i": "n", "k": "m"}, "c[i, k] = a[i, k]", "", ["i,k"]),
    ({"i": "n", "j": "i"}, "b[i] = sum(j, a[i, j])", "", []),  # one domain is inside of the other
    ({"i": "n", "k": "m"}, "b[i] = 0 {id=b}\nc[i, k] = b[i] {dep=b}", "", []),  # the first runs also if m is 0
    ({"i": "n", "k": "5", "j": "n"}, "b[i] = sum(k, a[i, k])\nc[j, 0] = 1", "", ["i,k"]),
])  # fmt: skip
def test_loops_of_one_statement_get_one_domain_if_nothing_changes(limits, text, assumed, merged):
    arrays = [lp.GlobalArg("a, c", F32, shape=(64, 64)), lp.GlobalArg("b", F32, shape=64)]
    sets = [f"{{[{loop}]: 0 <= {loop} < {limit}}}" for loop, limit in limits.items()]
    unit = lp.make_kernel(sets, text, [*arrays, ...], assumptions=assumed, lang_version=(2018, 2))
    assert merged == list(recipes_of(unit).nests[()].split_domains)


def test_a_product_has_thousands_of_recipes_and_a_copy_dozens():
    recipes = recipes_of(product(), {"n": 1024})
    assert "j:item i:item" == str(recipes.forms[0])  # the accesses of b and c are contiguous in j
    assert recipes.number > 1000
    copy = made("{[i]: 0 <= i < n}", "y[i] = 2*x[i]", {"x": "n", "y": "n"})
    assert 24 < recipes_of(copy, {"n": 2**20}).number < 200


def test_most_first_recipes_are_legal_and_differ():
    recipes = recipes_of(product(), {"n": 64})
    units = [legal(recipes.first(form), product()) for form in recipes.forms[:8]]
    assert 8 == len({lp.generate_code_v2(unit).device_code() for unit in units})


def delays(text):
    arguments = [lp.GlobalArg("x, out", np.float64, shape="n"), lp.TemporaryVariable("d", np.float64, shape=(2,)), ...]
    return lp.make_kernel("{[i]: 0 <= i < n}", text, arguments, lang_version=(2018, 2), silenced_warnings="*")


@pytest.mark.parametrize(("text", "parallel"), [
    ("y[i + 1] = y[i]", False),
    ("y[i + 1] = y[i] {if=i % 2 == 0}", True),  # even elements are read, odd ones written
    ("y[i + 1] = y[i] {if=i % 3 == 0 or i % 3 == 1}", False),  # y[1] is written for i = 0 and read for i = 1
    ("last = x[i]", False),
    ("last = x[i] {if=i == n - 1}", True),
    ("last = x[i] {if=x[i] > 0}", False),
    ("last = x[i] {if=i < 2}", False),
    ("last = x[i] {if=i == 0, id=last}\ny[i] = last {dep=last}", False),  # the others read what one writes
    ("y[i] = 1 {if=i <= 5, id=one}\ny[i - 6] = 2 {if=i >= 6 and i <= 9, dep=one}", False),
    ("y[i] = 1 {if=i <= 5, id=one}\ny[i] = 2 {if=i >= 6, dep=one}", True),
])  # fmt: skip
def test_conditions_decide_which_iterations_depend_on_each_other(text, parallel):
    last = lp.GlobalArg("last", F32, shape=(), is_output=True)
    arguments = [lp.GlobalArg("x, y", F32, shape="n + 1"), last, lp.ValueArg("n", np.int32)]
    unit = lp.make_kernel("{[i]: 0 <= i < n}", text, arguments, lang_version=(2018, 2), assumptions="n >= 12")
    recipes = recipes_of(unit)
    assert parallel == bool(recipes)
    if parallel:
        legal(recipes.first(recipes.forms[0]), unit)


def test_loops_that_carry_dependencies_stay_sequential():
    recipes = recipes_of(recurrence())
    assert ("loop t carries a dependency of `u`",) == recipes.notes
    assert {"j"} == {loop for form in recipes.forms for axis in form.axes for loop in axis.loops}
    prefix = lp.make_kernel("{[i]: 0 <= i < n}", """
        if i == 0
            <float64> s = 0 {id=zero}
        end
        s = s + x[i] {id=add, dep=zero}
        out[i] = s {dep=add}
        """, [lp.GlobalArg("x, out", np.float64, shape="n"), ...], lang_version=(2018, 2))  # fmt: skip
    assert "loop i carries a dependency of `s`" in recipes_of(prefix).notes
    delay = delays("d[0] = x[i] {id=first}\nout[i] = d[0] + d[1] {id=sum, dep=first}\nd[1] = d[0] {dep=sum, inames=i}")
    assert "loop i carries a dependency of `d`" in recipes_of(delay).notes
    both = delays("d[0] = x[i] {id=first}\nd[1] = 2 {id=second, inames=i}\nout[i] = d[0] + d[1] {dep=first:second}")
    assert () == recipes_of(both).notes
    later = delays("d[0] = x[i] {id=first}\nout[i] = d[1] {id=sum, dep=first}\nd[1] = 1 {dep=sum, inames=i}")
    assert "loop i carries a dependency of `d`" in recipes_of(later).notes
    branches = delays("""
        <float64> s = 0 {if=x[i] > 0, id=one}
        s = 1 {if=not (x[i] > 0), id=two}
        out[i] = s {dep=one:two}""")
    assert () == recipes_of(branches).notes
    refused = Recipe((Step.of("tag_inames", "t:g.0"),))
    indexed = made("{[i]: 0 <= i < n}", "y[x[i]] = i", {"x": "n", "y": "n"})
    assert not recipes_of(indexed)
    race = made("{[i]: 0 <= i < n}", "y[0] = y[0] + x[i]", {"x": "n", "y": "1"})
    with pytest.raises(KernelError, match="contains a write race") as caught:
        legal(Recipe((Step.of("tag_inames", "i:g.0"),)), race)
    assert "write race" in caught.value.reason
    assert refused not in set(recipes)


@pytest.mark.parametrize("instructions", [
    # each iteration may have another value of s
    "<int32> s = c[i] {id=s}\ny[0] = 0.5*y[0] + x[j] {dep=s, if=s == i}",
    "<int32> s = c[i] {id=s}\ny[i - s] = 0.5*y[i - s] + x[j] {dep=s}",
    # the second branch is after the reader
    "<> s = x[i] {id=one, if=i % 2 == 0}\ny[i] = s {id=sum, dep=one}\ns = 1 {dep=sum, if=not (i % 2 == 0)}",
    # the condition changes between the branches
    "<int32> f = c[i] {id=f}\n<> s = x[i] {id=one, dep=f, if=f > 0}\nf = 1 {id=set, dep=one}\n"
    "s = 2 {id=two, dep=one:set, if=not (f > 0)}\ny[i] = s {dep=one:two}",
])  # fmt: skip
def test_iterations_that_share_a_value_are_not_parallel(instructions):
    domains = ["{[i]: 0 <= i < n}", "[s] -> {[j]: 0 <= j < s}"] if "j" in instructions else "{[i]: 0 <= i < n}"
    arguments = [lp.GlobalArg("x, y", F32, shape="n"), lp.GlobalArg("c", np.int32, shape="n"), ...]
    unit = lp.make_kernel(domains, f"for i\n{instructions}\nend", arguments, lang_version=(2018, 2))
    recipes = recipes_of(unit)
    assert "i" not in {loop for form in recipes.forms for axis in form.axes for loop in axis.loops}
    assert any(note.startswith("loop i carries a dependency") for note in recipes.notes)


@pytest.mark.parametrize(("text", "parallel"), [
    ("for j\np[j] = x[i, j] {id=p}\nout[i, j] = p[j] {dep=p}\nend", True),
    ("for j\np[j] = x[i, j] {id=p}\nout[i, j] = p[j + 1] {dep=p}\nend", False),  # of the last iteration of i
    ("for j\np[j] = x[i, j] {id=p}\nend\nfor k\nout[i, k] = p[7 - k] {dep=p}\nend", True),
    ("for j\np[j] = x[i, j] {id=p}\nend\nfor k\nout[i, k] = p[k + 1] {dep=p}\nend", False),
    ("for j\np[j] = x[i, j] {id=p, if=j < 4}\nend\nfor k\nout[i, k] = p[k] {dep=p}\nend", False),
    ("for j\np[c[j]] = x[i, j] {id=p}\nend\nfor k\nout[i, k] = p[k] {dep=p}\nend", False),
    ("for j\np[j + 1] = x[i, j] {id=p}\nend\np[0] = 0 {id=zero}\nfor k\nout[i, k] = p[c[k]] {dep=p:zero}\nend", True),
    ("if x[i, 0] > 0\nfor j\np[j] = x[i, j] {id=p}\nend\nfor k\nout[i, k] = p[7 - k] {dep=p}\nend\nend", True),
    ("if x[i, 0] > 0\nfor j\n<> s = x[i, j] {id=s}\nout[i, j] = s {dep=s}\nend\nend", True),
    ("for j\nif x[i, j] > 0\n<> s = x[i, j] {id=s}\nend\nif x[i, j] > 1\nout[i, j] = s {dep=s}\nend\nend", False),
    ("<> t = x[i, 0] {id=t}\np[0] = 1 {id=p, if=t > 0, dep=t}\nt = x[i, 1] {id=u, dep=p}\n"
     "out[i, 0] = p[0] {dep=u:p, if=t > 0}", False),  # the condition changes in between
    ("for j\nif x[i, j] > 0\np[j] = x[i, j] {id=p}\nfor k\nout[i, k] = p[k] {dep=p}\nend\nend\nend", False),
])
def test_elements_of_private_arrays_are_written_before_they_are_read(text, parallel):
    arguments = [lp.TemporaryVariable("p", F32, shape=(9,), address_space=lp.AddressSpace.PRIVATE),
                 lp.GlobalArg("c", np.int32, shape=8), lp.GlobalArg("x, out", F32, shape="n, 8"), ...]  # fmt: skip
    unit = lp.make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j, k < 8}", f"for i\n{text}\nend", arguments,
                          lang_version=(2018, 2), silenced_warnings="*")  # fmt: skip
    kinds = {loop.name: loop.kind for loop in recipes_of(unit).nests[()].loops}
    assert ("parallel" if parallel else "serial") == kinds["i"]


def scattered(text, **options):
    arguments = [lp.GlobalArg("t", np.int32, shape="n"), lp.GlobalArg("x, y", F32, shape="n, n"), ...]
    return lp.make_kernel("{[i, k]: 0 <= i, k < n}", text, arguments, lang_version=(2018, 2), **options)


@pytest.mark.parametrize(("text", "loops"), [
    ("y[t[i], 0] = x[i, 0] {id=store}", {"i"}),
    ("for i\n<> at = t[i] {id=at}\ny[at, k] = x[i, k] {id=store, dep=at}\nend", {"i", "k"}),
    ("y[t[i], 0] = y[t[i], 0] + x[i, k] {id=store}", {"i"}),  # iterations of k write the same element
])
def test_authors_may_state_that_stores_differ(text, loops):
    plain = scattered(text)
    silenced = scattered(text, silenced_warnings="write_race(store)")
    assert "i" not in {loop for form in recipes_of(plain).forms for axis in form.axes for loop in axis.loops}
    recipes = recipes_of(silenced)
    assert loops == {loop for form in recipes.forms for axis in form.axes for loop in axis.loops}
    assert "recipes rely on silenced_warnings: no two iterations of store write one element" in recipes.notes
    legal(recipes.first(recipes.forms[0]), silenced)


def test_loops_that_carry_keep_the_order_of_the_plain_kernel():
    unit = made("{[p, q, j]: 0 <= p < 3 and 1 <= q < n - 1 and 0 <= j < n}",
                "u[q, j] = u[q - 1, j] + 2*u[q + 1, j] + a[j] + p", {"a": "n", "u": "n, n"})  # fmt: skip
    plain = lp.generate_code_v2(unit).device_code()
    for recipe in list(recipes_of(unit))[:6]:
        (order,) = (step.arguments[0] for step in recipe.steps if step.name == "prioritize_loops")
        assert sorted(order.split(",")) == ["p", "q"]
        assert order.split(",") == sorted(["p", "q"], key=lambda name: plain.index(f" {name} = "))


def test_a_test_of_data_in_a_time_step_stays_on_the_device():
    unit = made("{[t, i]: 0 <= t < n and 1 <= i < n - 1}", """
        for t, i
            u[t + 1, i] = u[t, i - 1] + u[t, i + 1] {if=a[t] > 0}
        end""", {"u": "n + 1, n", "a": "n"})  # fmt: skip
    names = {step.name for recipe in recipes_of(lp.prioritize_loops(unit, "t,i")) for step in recipe.steps}
    assert "add_barrier" not in names


def test_a_loop_without_statements_has_no_part_in_recipes():
    recipes = recipes_of(made("{[i, j]: 0 <= i, j < n}", "y[i] = 1", {"y": "n"}))
    assert ["i"] == [loop.name for loop in recipes.nests[()].loops]


@pytest.mark.parametrize(("instruction", "tags", "note"), [
    ("y[i] = 2*x[i]", {"i": "g.0"}, "all loops have tags already"),
    ("y[0] = y[0]*x[i] + 1", {}, "loop i carries a dependency of `y`"),
])  # fmt: skip
def test_a_kernel_without_recipes_has_a_note(instruction, tags, note):
    recipes = recipes_of(lp.tag_inames(made("{[i]: 0 <= i < n}", instruction, {"x": "n", "y": "n"}), tags))
    assert (0, ()) == (recipes.number, recipes.forms)
    assert note in recipes.notes
    assert [] == list(recipes)


def test_only_the_outermost_loop_becomes_a_loop_of_the_host():
    stepped = {form.axes[0].loops for form in recipes_of(marching()).forms}
    assert {("i",)} == stepped
    assert ("loop t carries a dependency of `u`",) == recipes_of(marching()).notes
    # with t inside, elements of the next column have old values, so that no order but this one is right
    kernel = marching().default_entrypoint.copy(loop_priority=frozenset([("i", "t")]))
    inside = recipes_of(marching().with_kernel(kernel))
    assert "i" not in {loop for form in inside.forms for axis in form.axes for loop in axis.loops}


def test_a_kernel_that_loopy_refuses_has_a_note(monkeypatch):
    monkeypatch.setattr("loopy.preprocess_program", lambda t_unit: t_unit.no_such_attribute)
    (note,) = recipes_of(total()).notes
    assert note.startswith("Loopy refuses the untransformed kernel: ")
    with pytest.raises(ArgumentError, match=r"t_unit is of the type str; give a loopy.TranslationUnit"):
        recipes_of("kernel")


def test_a_tagged_loop_keeps_its_axis():
    recipes = recipes_of(lp.tag_inames(transpose(), "i:g.0"))
    text = "j:item"
    recipe = recipes.first(next(form for form in recipes.forms if text == str(form)))
    assert "g.1=j l.0=j:128" == str(recipe)
    assert {"j"} == {loop for form in recipes.forms for axis in form.axes for loop in axis.loops}
    legal(recipe, recipes.t_unit)


def test_many_loops_give_a_limited_number_of_forms():
    deep = made("{[h, i, j, k, l]: 0 <= h, i, j, k, l < n}", "y[h, i, j, k, l] = 1", {"y": "n, n, n, n, n"})
    recipes = recipes_of(deep)
    assert MOST_FORMS == len(recipes.forms)
    assert str(recipes.forms[0]).startswith("l:item k:item")


def test_several_kernels_have_a_note():
    (note,) = recipes_of(lp.merge([total(), made("{[i]: i = 0}", "y[i] = 1", {"y": "n"}, name="other")])).notes
    assert "the unit has 2 kernels; recipes need one, with its callees inlined" == note


def test_limits_of_the_device_hold():
    facts = published("a100")
    recipes = recipes_of(product(), {"n": 4096}, facts)
    assert (1024, False) == (recipes.largest_group, recipes.cpu)
    sizes = set()
    for form in recipes.forms[:40]:
        for recipe in islice(recipes.of(form), 50):
            tiles = dict(recipes.point(recipe).tiles)
            sizes.add(tiles.get("L0", 1) * tiles.get("L1", 1))
            if form.prefetch == ("a", "b") and str(form).startswith("j:item i:item"):
                assert 4 * tiles["K"] * (tiles["L0"] + tiles["L1"]) <= recipes.local_bytes
    assert 1024 == max(sizes)


def test_neighbours_differ_in_one_choice():
    recipes = recipes_of(product(), {"n": 1024})
    recipe = recipes.first(recipes.forms[0])
    neighbours = list(recipes.neighbours(recipe))
    here = recipes.point(recipe)
    tiles = {Point(here.form, point.tiles) for point in map(recipes.point, neighbours) if point.form == here.form}
    assert {(("L0", 16), ("L1", 8)), (("L0", 32), ("L1", 4))} <= {point.tiles for point in tiles}
    assert any(point.form.reduction == "unrolled" for point in map(recipes.point, neighbours))
    with pytest.raises(ArgumentError, match="is not a recipe of this kernel"):
        recipes_of(total()).point(recipe)


def test_divisors_come_first():
    recipes = recipes_of(made("{[i]: 0 <= i < 96}", "y[i] = 2*x[i]", {"x": "96", "y": "96"}))
    form = next(form for form in recipes.forms if str(form) == "i:item")
    assert (32, 16, 128, 64) == recipes.choices(form)["L0"]  # of 256 work-items more than half would have no work
    strided = next(form for form in recipes.forms if str(form) == "i:strided")
    tiles = [dict(recipes.point(recipe).tiles) for recipe in recipes.of(strided)]
    assert {32, 64, 128} == {tile["L0"] * tile["E0"] for tile in tiles}
    assert Form() != form


def test_recipes_assume_that_tiles_divide_the_given_sizes():
    def assumed(t_unit, text, **sizes):
        recipes = recipes_of(t_unit, sizes)
        form = next(form for form in recipes.forms if text == str(form))
        return {recipes.point(recipe).tiles: recipe.assumptions for recipe in recipes.of(form)}

    found = assumed(product(), "j:item i:item", n=96)
    assert ("n mod 32 = 0",) == found[("L0", 32), ("L1", 8)]
    assert ("n mod 16 = 0",) == found[("L0", 16), ("L1", 8)]
    assert {()} == set(assumed(product(), "j:item i:item").values())  # the sizes are not given
    inner = made("{[i]: 1 <= i < n}", "y[i] = 1", {"y": "n"})  # the first and the last tile are not whole
    assert {()} == set(assumed(inner, "i:item", n=129).values())
    wide = made("{[i]: 0 <= i < 2*n + 4}", "y[i] = 1", {"y": "2*n + 4"}, assumptions="n mod 16 = 6")
    found = assumed(wide, "i:item", n=30)
    assert () == found[(("L0", 16),)]  # the kernel's assumption implies it
    assert (("L0", 128),) not in found
    assert ("(4 + 2*n) mod 64 = 0",) == found[(("L0", 64),)]


def test_only_boxes_are_fetched_and_no_bounds_of_loops():
    star = "out[i, j] = u[i + 1, j + 2] + u[i + 1, j] + u[i + 2, j + 1] + u[i, j + 1]"
    box = "out[i, j] = u[i + 1, j + 1] + u[i + 1, j] + u[i, j + 1] + u[i, j]"
    for text, expected in ((star, set()), (box, {"u"})):
        t_unit = made("{[i, j]: 0 <= i, j < n}", text, {"u": "n + 2, n + 2", "out": "n, n"})
        assert expected == {array for form in recipes_of(t_unit).forms for array in form.prefetch}
    assert "start" not in {array for form in recipes_of(sparse()).forms for array in form.prefetch}


def test_the_loads_of_the_innermost_statements_are_fetched():
    """The particle itself is read in other loops than its neighbours."""
    recipes = recipes_of(pairs())
    form = next(form for form in recipes.forms if "c:item prefetch=x" == str(form))
    steps = [step for step in recipes.first(form).steps if step.name == "add_prefetch"]
    assert ["id:distance"] == [dict(step.options)["within"] for step in steps]


def test_divisors_of_a_short_loop_are_tiles():
    arrays = dict.fromkeys("xy", "n, 35")
    recipes = recipes_of(made("{[i, j]: 0 <= i < n and 0 <= j < 35}", "y[i, j] = 2*x[i, j]", arrays))
    form = next(form for form in recipes.forms if "i:item j:steps elements=ilp" == str(form))
    assert {5, 7, 2, 4, 8, 16} == set(recipes.choices(form)["E1"])
    point = Point(form, (("L0", 128), ("E1", 5)))
    near = {dict(recipes.point(one).tiles)["E1"] for one in recipes.neighbours(recipes.recipe(point))
            if recipes.point(one).form == form}  # fmt: skip
    assert {4, 5, 7} == near


def test_a_tree_computes_one_element():
    forms = recipes_of(product()).forms
    trees = [form for form in forms if any("k" in axis.loops for axis in form.axes)]
    assert {""} == {form.elements for form in trees}


def test_a_bound_with_a_subtracted_size_is_assumed():
    unit = make("{[i]: 0 <= i < n - m}", "out[i] = 2*a[i]", "a, out: n", assumes="n >= m + 1 and m >= 0")
    recipes = recipes_of(unit, {"n": 2048, "m": 1024})
    (assumption,) = recipes.first(recipes.forms[0]).assumptions
    assert "mod" in assumption
    recipe = recipes.first(recipes.forms[0])
    assert [True, False] == [recipe.allows({"n": n, "m": 1024}) for n in (2048, 2047)]
    legal(recipe, unit)


def test_no_recipe_has_code_that_compilers_take_long_for():
    offsets = "{[y, x, p, q]: 0 <= y, x < n and 0 <= p, q < 5}"
    arrays = {"c": "n, n", "w": "5, 5", "b": "n + 4, n + 4"}
    filtered = made(offsets, "c[y, x] = sum((p, q), w[p, q]*b[y + p, x + q])", arrays)
    recipes = recipes_of(filtered, {"n": 1024})
    copies = set()
    for form in recipes.forms:
        for recipe in recipes.of(form):
            tags = [dict(step.options).get("inner_tag") for step in recipe.steps]
            sizes = [step.arguments[1] for step, tag in zip(recipe.steps, tags, strict=True) if tag in ("ilp", "unr")]
            unrolled = sum(str(recipe).count(f"unr={loop}") for loop in "pq")
            copies.add(math.prod(sizes) * 5**unrolled)
    assert {25, 50, 400} <= copies
    assert max(copies) * 3 <= 1200  # three accesses


@pytest.mark.parametrize(("tags", "most"), [("", 128), ("p:l.0", 64)])
def test_only_a_lone_work_item_keeps_128_results(tags: str, most: int) -> None:
    batch = "p, " if tags else ""
    loops = "{[p, i, j, k]: 0 <= p < 4 and 0 <= i, j, k < n}" if tags else "{[i, j, k]: 0 <= i, j, k < n}"
    arrays = {"a": f"{'4, ' * bool(tags)}n, n", "b": "n, n", "c": f"{'4, ' * bool(tags)}n, n"}
    unit = made(loops, f"c[{batch}i, j] = sum(k, a[{batch}i, k]*b[k, j])", arrays)
    recipes = recipes_of(lp.tag_inames(unit, tags) if tags else unit, {"n": 1024})
    tiled = [form for form in recipes.forms if form.elements and {axis.kind.tiles for axis in form.axes} == {"E"}]
    points = (recipes.point(recipe) for form in tiled for recipe in recipes.of(form))
    assert most == max(math.prod(size for name, size in point.tiles if name[0] == "E") for point in points)
