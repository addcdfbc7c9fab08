"""C types and memory, against the rules of C written out by hand."""

import re

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.reading.schedule import schedule
from perfmodel.counts.reading.values import array_bytes, promote
from tests.corpus.kernel import make


@pytest.mark.parametrize(("left", "right", "expected"), [
    ("float32", "float64", "float64"),
    ("float32", "int64", "float32"),  # the integer is converted
    ("complex64", "float64", "complex128"),
    ("int8", "int16", "int32"),  # integer promotion
    ("int32", "uint32", "uint32"),  # of equal size the unsigned type wins
    ("int64", "uint32", "int64"),
    ("uint8", "int8", "int32"),
])
def test_promotion(left: str, right: str, expected: str) -> None:
    assert np.dtype(expected) == promote(np.dtype(left), np.dtype(right))
    assert np.dtype(expected) == promote(np.dtype(right), np.dtype(left))


TESTS = (
    "isnan(b[i])", "isnan(b[i]) or b[i] > 0", "not isnan(b[i])", "fabs(b[i]) > 0.5", "sqrt(exp(b[i])) >= 1",
    "pow(b[i], 2.5) > 2", "b[i]**3 > 2", "fmin(b[i], a[i]) > 0", "fmax(b[i], 2*a[i]) > 0", "real(c[i]) > 0",
    "abs(c[i]) < 1", "c[i] == 1j", "c[i] == 1 + 2j", "(m[i] & 3) == 1", "(m[i] | ~m[i] ^ 1) == 0", "(m[i] << 2) > 1",
    "m[i] % 2 == 0", "m[i] // 2 == 1", "(m[i] if isnan(b[i]) else 3) > 1", "a[m[i]] > 0", "b[i] > 1e-30", "-b[i] > 0",
)  # fmt: skip


def kernel(test: str) -> lp.TranslationUnit:
    return make("{[i]: 0 <= i < n}", f"out[i] = (2*a[i] if {test} else a[i])",
                "float64 a, b, out: n; int32 m: n; complex128 c: n", assumes="n >= 4")  # fmt: skip


@pytest.mark.parametrize("test", TESTS)
def test_the_note_shows_the_key(test):
    reasons = count(kernel(test)).accesses(array="out").reasons + count(kernel(test)).operations().reasons
    keys = [match[1] for reason in reasons if (match := re.fullmatch("the probability of '(.*)' is not known", reason))]
    assert keys
    assert all(key.isascii() and key.isprintable() for key in keys)
    assert count(kernel(test), statistics=dict.fromkeys(keys, 0.25)).operations().exact


pytestmark = pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
LOCAL, PRIVATE, GLOBAL = lp.AddressSpace.LOCAL, lp.AddressSpace.PRIVATE, lp.AddressSpace.GLOBAL
BYTES = {"char": 1, "short": 2, "int": 4, "float": 4, "double": 8}
DECLARATION = re.compile(rf"^ *(__local )?({'|'.join(BYTES)})(\d*) \w+((?:\[[^]]*\])?);$", re.MULTILINE)


def declared(unit: lp.TranslationUnit) -> tuple[int, int]:
    """Return the most bytes that a device kernel declares; a vector of three takes up four components."""
    most = [0, 0]
    for code in lp.generate_code_v2(unit).device_code().split("__kernel")[1:]:
        sums = [0, 0]
        for local, kind, width, extent in DECLARATION.findall(code):
            components = {"": 1, "3": 4}.get(width) or int(width)
            sums[not local] += BYTES[kind] * components * eval(extent or "[1]")[0]
        most = [max(pair) for pair in zip(most, sums, strict=True)]
    return most[0], most[1]


def stages(*temporaries: lp.TemporaryVariable) -> lp.TranslationUnit:
    """Return a kernel that uses temporaries t0, t1, ... one after the other."""
    local = temporaries[0].address_space == LOCAL
    code, dep = [], ""
    for k, temporary in enumerate(temporaries):
        rest = ", 0" * (len(temporary.shape) - 1)
        code.append(f"t{k}[i{k}{rest}] = a[g, i{k}] {{id=w{k}{dep}}}")
        code.append(f"out{k}[g, j{k}] = t{k}[15 - j{k}{rest}] {{id=r{k}, dep=w{k}}}")
        dep = f", dep=r{k}"
    inames = ", ".join(f"{name}{k}" for k in range(len(temporaries)) for name in "ij")
    outputs = ", ".join(f"out{k}" for k in range(len(temporaries)))
    unit = make(f"{{ [g, {inames}]: 0 <= g < n and 0 <= {inames} < 16 }}", code,
                [lp.GlobalArg(f"a, {outputs}", np.float32, shape="n, 16"), lp.ValueArg("n", np.int32), *temporaries],
                assumes="n >= 1")  # fmt: skip
    return lp.tag_inames(unit, dict.fromkeys(inames.split(", "), "l.0") | {"g": "g.0"}) if local else unit


def temporary(name: str, shape: tuple[int, ...], space: object, dtype: type = np.float32, **more: object):
    return lp.TemporaryVariable(name, dtype, shape=shape, address_space=space, **more)


def aliased(unit: lp.TranslationUnit, *groups: tuple[str, ...]) -> lp.TranslationUnit:
    for group in groups:
        unit = lp.alias_temporaries(unit, group)
    return lp.allocate_temporaries_for_base_storage(unit)


def check(unit: lp.TranslationUnit, local: int, private: int) -> None:
    assert (local, private) == declared(unit) == array_bytes(schedule(unit))


@pytest.mark.parametrize("space", [LOCAL, PRIVATE])
def test_plain_and_padded_arrays(space: object) -> None:
    padded = temporary("t1", (16, 16), space, np.float64, strides=(17, 1), storage_shape=(16, 17))
    expected = 16*4 + 16*17*8
    check(stages(temporary("t0", (16,), space), padded), *((expected, 0) if space == LOCAL else (0, expected)))


@pytest.mark.parametrize("space", [LOCAL, PRIVATE])
def test_arrays_in_one_storage(space: object) -> None:
    def bytes_of(*groups: tuple[str, ...], second: type = np.float32) -> int:
        kinds = [(20, np.float32), (30, second), (40, np.float32), (50, np.float32)]
        unit = stages(*(temporary(f"t{k}", (size,), space, kind) for k, (size, kind) in enumerate(kinds)))
        unit = aliased(unit, *groups)
        sizes = array_bytes(schedule(unit))
        assert sizes == declared(unit)
        return sizes[space != LOCAL]

    assert 4*(20 + 30 + 40 + 50) == bytes_of()
    assert 4*(40 + 50) == bytes_of(("t0", "t1", "t2"))  # the largest
    assert 4*(30 + 50) == bytes_of(("t0", "t1"), ("t2", "t3"))  # two storages
    assert 4*50 + 8*30 == bytes_of(("t0", "t1", "t2", "t3"), second=np.float64)  # one for each type
    assert 4*50 == bytes_of(("t0", "t1", "t2", "t3"))


@pytest.mark.parametrize("tag", ["vec", "unr"])
@pytest.mark.parametrize("width", [2, 3, 4, 16])
@pytest.mark.parametrize(("space", "dtype"), [(LOCAL, np.float32), (LOCAL, np.int8), (PRIVATE, np.float64)])
def test_vectors(space: object, dtype: type, width: int, tag: str) -> None:
    unit = make(f"{{ [g, i, j, k]: 0 <= g < n and 0 <= i < 16 and 0 <= j, k < {width} }}",
                "t[i, j] = a[g, i, j] {id=w}\nout[g, i, k] = t[i, k] {dep=w}",
                [lp.GlobalArg("a, out", dtype, shape=f"n, 16, {width}"), temporary("t", (16, width), space, dtype),
                 ...], assumes="n >= 1")  # fmt: skip
    unit = lp.tag_array_axes(lp.tag_array_axes(unit, "t", "c, vec"), "a, out", "N1, N0, vec")
    unit = lp.tag_inames(unit, {"g": "g.0", "j": tag, "k": tag, **({"i": "l.0"} if space == LOCAL else {})})
    expected = 16 * (4 if width == 3 else width) * np.dtype(dtype).itemsize
    check(unit, *((expected, 0) if space == LOCAL else (0, expected)))


def test_of_several_launches_the_one_with_most_counts() -> None:
    unit = make(
        "{ [g, i, j, h, p, q]: 0 <= g, h < n and 0 <= i, j, p, q < 16 }",
        """
        t[i] = a[g, i] {id=w}
        b[g, j] = t[15 - j] {id=r, dep=w}
        ... gbarrier {id=all, dep=r}
        u[p, 0] = b[n - 1 - h, p] {id=x, dep=all}
        out[h, q] = u[15 - q, 0] {dep=x}
        """,
        [lp.GlobalArg("a, b, out", np.float32, shape="n, 16"), lp.ValueArg("n", np.int32), temporary("t", (50,), LOCAL),
         temporary("u", (16, 5), LOCAL)], assumes="n >= 1",
    )
    check(lp.tag_inames(unit, "g:g.0,h:g.0,i:l.0,j:l.0,p:l.0,q:l.0"), 4*80, 0)
