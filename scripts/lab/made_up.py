"""Kernels of kinds that no other set has, as users might write them, predicted before they ran.

The committed rows (half ``made`` of ``docs/data/others.csv``) were predicted before the first run of any of them::

    python -m scripts.lab.made_up pocl intel --weights fitted_weights/DEVICE_OF_POCL fitted_weights/DEVICE_OF_INTEL
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import loopy as lp
import numpy as np
from loopy import TranslationUnit as Unit

import perfmodel as pm
from perfmodel.calibration.recommended import recommended_weights
from perfmodel.counts.counting import statistics_of
from perfmodel.display import values_text
from perfmodel.measuring import pin_threads
from perfmodel.opencl import find
from perfmodel.predicting.model import load
from perfmodel.tuning.trials import TRIALS, Trials
from scripts.lab.others import LEVEL, MADE, Row, read_rows, table, write_rows

Data = Callable[..., Mapping[str, Any]]
F4, F8, I4, U4 = np.float32, np.float64, np.int32, np.uint32
U1, I1, I2 = np.uint8, np.int8, np.int16
RANDOM = np.random.default_rng(43)
QUICK = replace(TRIALS, visits=1, apart_s=0.0, runs=12, enough_s=0.4, timeout_s=20.0)


class Case(NamedTuple):
    """A kernel with the sizes of its run, and a function from the sizes to its arguments."""

    build: Callable[[], Unit]
    sizes: Mapping[str, int]
    data: Data

    def arguments(self, unit: Unit, **sizes: int) -> dict[str, Any]:
        """Return the arguments that a kernel has."""
        values = self.data(**{name: sizes[name] for name in signature(self.data).parameters})
        return {name: value for name, value in values.items() if name in unit.default_entrypoint.arg_dict}


CASES: dict[str, Case] = {}


def array(names: str, dtype: Any, shape: Any = lp.auto) -> lp.GlobalArg:
    return lp.GlobalArg(names, dtype, shape=shape)


def scalar(names: str, dtype: Any = F4) -> lp.ValueArg:
    return lp.ValueArg(names, dtype)


def made(domain: str | list[str], text: str, arguments: Sequence[Any], **options: Any) -> Unit:
    return lp.make_kernel(domain, text, [*arguments, "..."], lang_version=(2018, 2), **options)


def lanes(unit: Unit, iname: str = "i", size: int = 128, axis: int = 0) -> Unit:
    return lp.split_iname(unit, iname, size, outer_tag=f"g.{axis}", inner_tag=f"l.{axis}")


def tile(unit: Unit, inner: str = "j", outer: str = "i", shape: tuple[int, int] = (16, 16)) -> Unit:
    return lanes(lanes(unit, inner, shape[0]), outer, shape[1], 1)


def case(name: str, data: Data, **sizes: int) -> Callable[[Callable[[], Unit]], Callable[[], Unit]]:
    def keep(build: Callable[[], Unit]) -> Callable[[], Unit]:
        CASES[name] = Case(build, sizes, data)
        return build

    return keep


def singles(*shape: int) -> Any:
    return RANDOM.random(shape, dtype=F4)


def doubles(*shape: int) -> Any:
    return RANDOM.random(shape)


def bytes_(*shape: int) -> Any:
    return RANDOM.integers(0, 256, shape).astype(U1)


def zeros(dtype: Any, *shape: int) -> Any:
    return np.zeros(shape, dtype)


# ---- integers
@case("integers/xorshift", lambda n: {"seed": RANDOM.integers(1, 2**31, n).astype(U4), "out": zeros(F4, n)}, n=400_000)
def xorshift() -> Unit:
    k = made(
        "{[i,t]: 0<=i<n and 0<=t<32}",
        """
        for i
            <uint32> s = seed[i]
            <float32> acc = 0
            for t
                s = s ^ (s << 13)
                s = s ^ (s >> 17)
                s = s ^ (s << 5)
                acc = acc + s * 2.3283064e-10
            end
            out[i] = acc
        end""",
        [array("seed", U4), array("out", F4)],
        seq_dependencies=True,
    )
    return lanes(k)


@case(
    "integers/hamming",
    lambda m, n: {
        "a": RANDOM.integers(0, 2**31, (m, 8)).astype(U4),
        "b": RANDOM.integers(0, 2**31, (n, 8)).astype(U4),
        "out": zeros(U4, m),
    },
    m=2000,
    n=500,
)
def hamming() -> Unit:
    k = made(
        "{[i,j,w]: 0<=i<m and 0<=j<n and 0<=w<8}",
        """
        for i
            <uint32> best = 1000
            for j
                <uint32> d = 0
                for w
                    <uint32> x = a[i,w] ^ b[j,w]
                    x = x - ((x >> 1) & 1431655765)
                    x = (x & 858993459) + ((x >> 2) & 858993459)
                    x = (x + (x >> 4)) & 252645135
                    d = d + ((x * 16843009) >> 24)
                end
                best = d if d < best else best
            end
            out[i] = best
        end""",
        [array("a", U4, "m,8"), array("b", U4, "n,8"), array("out", U4)],
        seq_dependencies=True,
    )
    return lanes(k, size=64)


@case(
    "integers/murmur",
    lambda n: {"key": RANDOM.integers(0, 2**31, n).astype(U4), "out": zeros(U4, n)},
    n=2_000_000,
    m=1000,
)
def murmur() -> Unit:
    k = made(
        "{[i]: 0<=i<n}",
        """
        for i
            <uint32> h = key[i]
            h = h ^ (h >> 16)
            h = h * 2246822507
            h = h ^ (h >> 13)
            h = h * 3266489909
            h = h ^ (h >> 16)
            out[i] = h % m
        end""",
        [array("key", U4), array("out", U4), scalar("m", U4)],
        seq_dependencies=True,
    )
    return lanes(k, size=256)


@case("integers/histogram", lambda n: {"value": bytes_(n), "hist": zeros(I4, 256)}, n=2_000_000)
def histogram() -> Unit:
    k = made(
        "{[i]: 0<=i<n}",
        "hist[value[i]] = hist[value[i]] + 1 {atomic}",
        [array("value", U1), lp.GlobalArg("hist", I4, shape=(256,), for_atomic=True)],
    )
    return lanes(k)


@case(
    "integers/quantised_dot",
    lambda m, n: {
        "a": RANDOM.integers(-9, 9, (m, n)).astype(I1),
        "x": RANDOM.integers(-9, 9, n).astype(I1),
        "out": zeros(I4, m),
    },
    m=16000,
    n=1024,
)
def quantised_dot() -> Unit:
    k = made(
        "{[i,j]: 0<=i<m and 0<=j<n}",
        """
        for i
            <int32> acc = 0
            for j
                <int32> p = a[i,j]
                <int32> q = x[j]
                acc = acc + p*q
            end
            out[i] = acc
        end""",
        [array("a", I1, "m,n"), array("x", I1), array("out", I4)],
        seq_dependencies=True,
    )
    return lanes(k, size=64)


@case(
    "integers/edit_distance", lambda n: {"a": bytes_(n, 24) % 4, "b": bytes_(n, 24) % 4, "out": zeros(I4, n)}, n=40000
)
def edit_distance() -> Unit:
    k = made(
        "{[p,i,j,k]: 0<=p<n and 0<=i,j<24 and 0<=k<25}",
        """
        for p
            for k
                row[k] = k
            end
            for i
                <int32> diagonal = row[0]
                row[0] = i + 1
                for j
                    <int32> up = row[j+1]
                    <int32> cost = 0 if a[p,i] == b[p,j] else 1
                    <int32> near = up if up < row[j] else row[j]
                    <int32> cell = near + 1 if near + 1 < diagonal + cost else diagonal + cost
                    row[j+1] = cell
                    diagonal = up
                end
            end
            out[p] = row[24]
        end""",
        [array("a,b", U1, "n,24"), array("out", I4), lp.TemporaryVariable("row", I4, shape=(25,))],
        seq_dependencies=True,
    )
    return lanes(k, "p", 64)


# ---- images
@case("images/grey", lambda n: {"rgb": bytes_(n, 3), "grey": zeros(U1, n)}, n=5_000_000)
def grey() -> Unit:
    k = made(
        "{[i]: 0<=i<n}",
        """
        <int32> r = rgb[i,0]
        <int32> g = rgb[i,1]
        <int32> b = rgb[i,2]
        grey[i] = (77*r + 150*g + 29*b) >> 8""",
        [array("rgb", U1, "n,3"), array("grey", U1)],
    )
    return lanes(k, size=256)


@case("images/blur_u8", lambda h, w: {"a": bytes_(h, w), "out": zeros(U1, h, w)}, h=1500, w=2000)
def blur_u8() -> Unit:
    k = made(
        "{[y,x]: 1<=y<h-1 and 1<=x<w-1}",
        """
        <int32> s = a[y-1,x-1] + a[y-1,x] + a[y-1,x+1] + a[y,x-1] + a[y,x] + a[y,x+1] \
            + a[y+1,x-1] + a[y+1,x] + a[y+1,x+1]
        out[y,x] = s // 9""",
        [array("a,out", U1, "h,w")],
    )
    return tile(k, "x", "y", (32, 8))


@case(
    "images/bilinear",
    lambda h, w: {"a": singles(h, w), "out": zeros(F4, h, w), "scale": F4(0.83), "y0": F4(3.3), "x0": F4(5.7)},
    h=1000,
    w=1500,
)
def bilinear() -> Unit:
    k = made(
        "{[y,x]: 0<=y<h and 0<=x<w}",
        """
        for y,x
            <float32> fy = scale*y + y0
            <float32> fx = scale*x + x0
            <int32> iy = fy
            <int32> ix = fx
            <> ty = fy - iy
            <> tx = fx - ix
            out[y,x] = (1-ty)*((1-tx)*a[iy,ix] + tx*a[iy,ix+1]) + ty*((1-tx)*a[iy+1,ix] + tx*a[iy+1,ix+1])
        end
        """,
        [array("a,out", F4, "h,w"), scalar("scale,x0,y0")],
    )
    return tile(k, "x", "y")


@case("images/median9", lambda h, w: {"a": singles(h, w), "out": zeros(F4, h, w)}, h=1200, w=1600)
def median9() -> Unit:
    swaps = [
        (1, 2),
        (4, 5),
        (7, 8),
        (0, 1),
        (3, 4),
        (6, 7),
        (1, 2),
        (4, 5),
        (7, 8),
        (0, 3),
        (5, 8),
        (4, 7),
        (3, 6),
        (1, 4),
        (2, 5),
        (4, 7),
        (4, 2),
        (6, 4),
        (4, 2),
    ]
    lines, names = [], {}
    for q in range(9):
        lines.append(f"<> p{q} = a[y+{q // 3 - 1}, x+{q % 3 - 1}]".replace("+-", "-"))
        names[q] = f"p{q}"
    for t, (u, v) in enumerate(swaps):
        lines += [f"<> lo{t} = fmin({names[u]}, {names[v]})", f"<> hi{t} = fmax({names[u]}, {names[v]})"]
        names[u], names[v] = f"lo{t}", f"hi{t}"
    lines.append(f"out[y,x] = {names[4]}")
    return tile(
        made("{[y,x]: 1<=y<h-1 and 1<=x<w-1}", "\n".join(lines), [array("a,out", F4, "h,w")]), "x", "y", (64, 2)
    )


@case("images/gamma_table", lambda n: {"a": bytes_(n), "table": bytes_(256), "out": zeros(U1, n)}, n=4_000_000)
def gamma_table() -> Unit:
    return lanes(
        made("{[i]: 0<=i<n}", "out[i] = table[a[i]]", [array("a,out", U1, "n"), array("table", U1, (256,))]), size=256
    )


@case("images/sobel", lambda h, w: {"a": singles(h, w), "out": zeros(F4, h, w)}, h=1500, w=2000)
def sobel() -> Unit:
    k = made(
        "{[y,x]: 1<=y<h-1 and 1<=x<w-1}",
        """
        <> gx = a[y-1,x+1] + 2*a[y,x+1] + a[y+1,x+1] - a[y-1,x-1] - 2*a[y,x-1] - a[y+1,x-1]
        <> gy = a[y+1,x-1] + 2*a[y+1,x] + a[y+1,x+1] - a[y-1,x-1] - 2*a[y-1,x] - a[y-1,x+1]
        out[y,x] = sqrt(gx*gx + gy*gy)""",
        [array("a,out", F4, "h,w")],
    )
    return tile(k, "x", "y", (64, 4))


@case("images/dilate", lambda h, w: {"a": singles(h + 4, w + 4), "out": zeros(F4, h, w)}, h=900, w=1200)
def dilate() -> Unit:
    k = made(
        "{[y,x,r,c]: 0<=y<h and 0<=x<w and 0<=r,c<5}",
        "out[y,x] = max((r,c), a[y+r,x+c])",
        [array("a", F4, "h+4,w+4"), array("out", F4, "h,w")],
    )
    return tile(k, "x", "y", (32, 4))


@case(
    "images/saturating_add",
    lambda n: {
        "a": RANDOM.integers(-30000, 30000, n).astype(I2),
        "b": RANDOM.integers(-30000, 30000, n).astype(I2),
        "out": zeros(I2, n),
    },
    n=5_000_000,
)
def saturating_add() -> Unit:
    k = made(
        "{[i]: 0<=i<n}",
        """
        <int32> x = a[i]
        <int32> y = b[i]
        <int32> t = x + y
        <int32> c = t if t < 32767 else 32767
        out[i] = c if c > -32768 else -32768""",
        [array("a,b,out", I2, "n")],
    )
    return lanes(k, size=256)


# ---- interpolation
@case(
    "interpolation/table",
    lambda n, m: {"x": singles(n), "table": singles(m + 2), "out": zeros(F4, n)},
    n=1_000_000,
    m=1024,
)
def table_lookup() -> Unit:
    k = made(
        "{[i]: 0<=i<n}",
        """
        <> s = x[i]*m
        <int32> k = floor(s)
        <> t = s - k
        out[i] = (1-t)*table[k] + t*table[k+1]""",
        [array("x,out", F4, "n"), array("table", F4, "m+2"), scalar("m", I4)],
    )
    return lanes(k)


@case(
    "interpolation/trilinear",
    lambda n, m: {
        "x": doubles(n) * (m - 1),
        "y": doubles(n) * (m - 1),
        "z": doubles(n) * (m - 1),
        "g": doubles(m, m, m),
        "out": zeros(F8, n),
    },
    n=200_000,
    m=64,
)
def trilinear() -> Unit:
    k = made(
        "{[i]: 0<=i<n}",
        """
        <int32> a = x[i]
        <int32> b = y[i]
        <int32> c = z[i]
        <> u = x[i] - a
        <> v = y[i] - b
        <> w = z[i] - c
        out[i] = (1-u)*((1-v)*((1-w)*g[a,b,c]+w*g[a,b,c+1]) + v*((1-w)*g[a,b+1,c]+w*g[a,b+1,c+1])) \
            + u*((1-v)*((1-w)*g[a+1,b,c]+w*g[a+1,b,c+1]) + v*((1-w)*g[a+1,b+1,c]+w*g[a+1,b+1,c+1]))
        """,
        [array("x,y,z,out", F8, "n"), array("g", F8, "m,m,m"), scalar("m", I4)],
    )
    return lanes(k, size=64)


@case(
    "interpolation/binary_search",
    lambda n: {"x": singles(n), "t": np.sort(singles(65536)), "out": zeros(I4, n)},
    n=200_000,
)
def binary_search() -> Unit:
    k = made(
        "{[i,s]: 0<=i<n and 0<=s<16}",
        """
        for i
            <int32> lo = 0
            <int32> hi = 65535
            for s
                <int32> mid = (lo + hi) >> 1
                <int32> right = 1 if t[mid] < x[i] else 0
                lo = mid if right == 1 else lo
                hi = hi if right == 1 else mid
            end
            out[i] = hi
        end""",
        [array("x", F4, "n"), array("t", F4, (65536,)), array("out", I4, "n")],
        seq_dependencies=True,
    )
    return lanes(k, size=64)


@case(
    "interpolation/catmull_rom",
    lambda n, m: {"x": singles(n) * (m - 4) + 1, "p": singles(m), "out": zeros(F4, n)},
    n=600_000,
    m=100_000,
)
def catmull_rom() -> Unit:
    k = made(
        "{[i]: 0<=i<n}",
        """
        <int32> k = x[i]
        <> t = x[i] - k
        out[i] = p[k] + 0.5*t*(p[k+1] - p[k-1] \
            + t*(2*p[k-1] - 5*p[k] + 4*p[k+1] - p[k+2] + t*(3*(p[k]-p[k+1]) + p[k+2] - p[k-1])))
        """,
        [array("x,out", F4, "n"), array("p", F4, "m"), scalar("m", I4)],
    )
    return lanes(k)


# ---- recurrences
@case("recurrences/cumsum_rows", lambda m, n: {"a": singles(m, n), "out": zeros(F4, m, n)}, m=1000, n=1000)
def cumsum_rows() -> Unit:
    k = made(
        "{[i,j]: 0<=i<m and 0<=j<n}",
        """
        for i
            <float32> acc = 0
            for j
                acc = acc + a[i,j]
                out[i,j] = acc
            end
        end""",
        [array("a,out", F4, "m,n")],
        seq_dependencies=True,
    )
    return lanes(k, size=32)


@case(
    "recurrences/radiation",
    lambda nz, n: {"tau": doubles(nz, n), "s": doubles(nz, n), "up": zeros(F8, nz, n)},
    nz=60,
    n=10_000,
)
def radiation() -> Unit:
    k = made(
        "{[c,z]: 0<=c<n and 0<=z<nz}",
        """
        for c
            <float64> intensity = 0
            for z
                <> t = exp(-tau[z,c])
                intensity = intensity*t + s[z,c]*(1 - t)
                up[z,c] = intensity
            end
        end""",
        [array("tau,s,up", F8, "nz,n")],
        seq_dependencies=True,
    )
    return lanes(k, "c", 64)


@case(
    "recurrences/biquad",
    lambda n, nt: {
        "x": singles(nt, n),
        "y": zeros(F4, nt, n),
        "b0": F4(0.2),
        "b1": F4(0.3),
        "b2": F4(0.1),
        "a1": F4(0.4),
        "a2": F4(0.2),
    },
    n=2048,
    nt=800,
)
def biquad() -> Unit:
    k = made(
        "{[c,t]: 0<=c<n and 0<=t<nt}",
        """
        for c
            <float32> s1 = 0
            <float32> s2 = 0
            for t
                <float32> v = x[t,c]
                <float32> o = b0*v + s1
                s1 = b1*v - a1*o + s2
                s2 = b2*v - a2*o
                y[t,c] = o
            end
        end""",
        [array("x,y", F4, "nt,n"), scalar("b0,b1,b2,a1,a2")],
        seq_dependencies=True,
    )
    return lanes(k, "c", 64)


@case("recurrences/horner", lambda n: {"x": doubles(n), "c": doubles(13), "y": zeros(F8, n)}, n=1_000_000)
def horner() -> Unit:
    k = made(
        "{[i,k]: 0<=i<n and 0<=k<13}",
        """
        for i
            <float64> acc = 0
            for k
                acc = acc*x[i] + c[k]
            end
            y[i] = acc
        end""",
        [array("x,y", F8, "n"), array("c", F8, (13,))],
        seq_dependencies=True,
    )
    return lanes(k)


@case("recurrences/logistic", lambda n: {"r": doubles(n) + 3, "x": zeros(F8, n)}, n=20_000)
def logistic() -> Unit:
    k = made(
        "{[i,t]: 0<=i<n and 0<=t<300}",
        """
        for i
            <float64> v = 0.5
            for t
                v = r[i]*v*(1 - v)
            end
            x[i] = v
        end""",
        [array("r,x", F8, "n")],
        seq_dependencies=True,
    )
    return lanes(k)


# ---- physics
@case("physics/chemistry", lambda n: {"c": doubles(3, n), "temp": doubles(n) * 500 + 800, "dt": 1e-9}, n=18000)
def chemistry() -> Unit:
    k = made(
        "{[i,s]: 0<=i<n and 0<=s<5}",
        """
        for i
            <float64> a = c[0,i]
            <float64> b = c[1,i]
            <float64> d = c[2,i]
            <float64> T = temp[i]
            for s
                <float64> k1 = 1.2e5 * T**0.7 * exp(-1500.0/T)
                <float64> k2 = 3.1e4 * T**(-0.5) * exp(-900.0/T)
                <float64> k3 = 7.0e2 * exp(-2500.0/T)
                <float64> r1 = k1*a
                <float64> r2 = k2*b*d
                <float64> r3 = k3*b*b
                a = a + dt*(r2 - r1)
                b = b + dt*(r1 - r2 - r3)
                d = d + dt*r3
                T = T + dt*1e3*(r1 + r3)
            end
            c[0,i] = a
            c[1,i] = b
            c[2,i] = d
        end""",
        [array("c", F8, "3,n"), array("temp", F8, "n"), scalar("dt", F8)],
        seq_dependencies=True,
    )
    return lanes(k, size=64)


@case("physics/lorenz_rk4", lambda n: {"p": doubles(n, 3), "h": 0.01}, n=60_000)
def lorenz_rk4() -> Unit:
    text = ["for i", "<float64> x = p[i,0]", "<float64> y = p[i,1]", "<float64> z = p[i,2]", "for t"]
    at = ("x", "y", "z")
    for s, f in enumerate(("0.5*h", "0.5*h", "h", "")):
        x, y, z = at
        text += [
            f"<float64> kx{s} = 10.0*({y} - {x})",
            f"<float64> ky{s} = {x}*(28.0 - {z}) - {y}",
            f"<float64> kz{s} = {x}*{y} - 2.5*{z}",
        ]
        if f:
            text += [f"<float64> {v}{s} = {v} + {f}*k{v}{s}" for v in "xyz"]
            at = (f"x{s}", f"y{s}", f"z{s}")
    text += [f"{v} = {v} + h*(k{v}0 + 2.0*k{v}1 + 2.0*k{v}2 + k{v}3)*0.16666" for v in "xyz"] + ["end"]
    text += [f"p[i,{q}] = {v}" for q, v in enumerate("xyz")] + ["end"]
    return lanes(
        made(
            "{[i,t]: 0<=i<n and 0<=t<20}",
            "\n".join(text),
            [array("p", F8, "n,3"), scalar("h", F8)],
            seq_dependencies=True,
        ),
        size=64,
    )


@case("physics/weno5", lambda n: {"f": doubles(n + 5), "out": zeros(F8, n)}, n=1_000_000)
def weno5() -> Unit:
    k = made(
        "{[i]: 0<=i<n}",
        """
        <> q0 = (2*f[i] - 7*f[i+1] + 11*f[i+2])/6
        <> q1 = (-f[i+1] + 5*f[i+2] + 2*f[i+3])/6
        <> q2 = (2*f[i+2] + 5*f[i+3] - f[i+4])/6
        <> s0 = 13.0/12*(f[i] - 2*f[i+1] + f[i+2])**2 + 0.25*(f[i] - 4*f[i+1] + 3*f[i+2])**2
        <> s1 = 13.0/12*(f[i+1] - 2*f[i+2] + f[i+3])**2 + 0.25*(f[i+1] - f[i+3])**2
        <> s2 = 13.0/12*(f[i+2] - 2*f[i+3] + f[i+4])**2 + 0.25*(3*f[i+2] - 4*f[i+3] + f[i+4])**2
        <> w0 = 0.1/((1e-6 + s0)*(1e-6 + s0))
        <> w1 = 0.6/((1e-6 + s1)*(1e-6 + s1))
        <> w2 = 0.3/((1e-6 + s2)*(1e-6 + s2))
        out[i] = (w0*q0 + w1*q1 + w2*q2)/(w0 + w1 + w2)""",
        [array("f", F8, "n+5"), array("out", F8, "n")],
    )
    return lanes(k, size=256)


@case(
    "physics/hll",
    lambda n: {"rho": doubles(n + 1) + 1, "mom": doubles(n + 1), "en": doubles(n + 1) + 4, "flux": zeros(F8, 3, n)},
    n=400_000,
)
def hll() -> Unit:
    text = []
    for s, o in (("l", "i"), ("r", "i+1")):
        text += [
            f"<> r{s} = rho[{o}]",
            f"<> m{s} = mom[{o}]",
            f"<> e{s} = en[{o}]",
            f"<> u{s} = m{s}/r{s}",
            f"<> p{s} = 0.4*(e{s} - 0.5*m{s}*u{s})",
            f"<> c{s} = sqrt(1.4*p{s}/r{s})",
        ]
    text += ["<> sl = fmin(ul - cl, ur - cr)", "<> sr = fmax(ul + cl, ur + cr)"]
    for q, (state, flux) in enumerate((("r{0}", "m{0}"), ("m{0}", "(m{0}*u{0}+p{0})"), ("e{0}", "u{0}*(e{0}+p{0})"))):
        fl, fr, ul, ur = (form.format(side) for form in (flux, state) for side in "lr")
        between = f"(sr*{fl} - sl*{fr} + sl*sr*({ur} - {ul}))/(sr - sl)"
        text.append(f"flux[{q},i] = {fl} if sl > 0 else ({fr} if sr < 0 else {between})")
    return lanes(made("{[i]: 0<=i<n}", "\n".join(text), [array("rho,mom,en", F8, "n+1"), array("flux", F8, "3,n")]))


@case(
    "physics/upwind",
    lambda m, n: {
        "q": singles(m, n),
        "u": singles(m, n) - 0.5,
        "v": singles(m, n) - 0.5,
        "out": zeros(F4, m, n),
        "c": F4(0.1),
    },
    m=1200,
    n=1500,
)
def upwind() -> Unit:
    k = made(
        "{[i,j]: 1<=i<m-1 and 1<=j<n-1}",
        """
        <> dx = q[i,j] - q[i,j-1] if u[i,j] > 0 else q[i,j+1] - q[i,j]
        <> dy = q[i,j] - q[i-1,j] if v[i,j] > 0 else q[i+1,j] - q[i,j]
        out[i,j] = q[i,j] - c*(u[i,j]*dx + v[i,j]*dy)""",
        [array("q,u,v,out", F4, "m,n"), scalar("c")],
    )
    return tile(k, "j", "i", (128, 1))


@case("physics/periodic", lambda n: {"u": doubles(n, n), "out": zeros(F8, n, n)}, n=1500)
def periodic() -> Unit:
    k = made(
        "{[i,j]: 0<=i,j<n}",
        "out[i,j] = u[(i+1)%n,j] + u[(i+n-1)%n,j] + u[i,(j+1)%n] + u[i,(j+n-1)%n] - 4*u[i,j]",
        [array("u,out", F8, "n,n")],
    )
    return tile(k, "j", "i", (64, 2))


@case(
    "physics/lattice_boltzmann",
    lambda h, w: {"f": singles(9, h, w) + 1, "g": zeros(F4, 9, h, w), "omega": F4(1.2)},
    h=600,
    w=600,
)
def lattice_boltzmann() -> Unit:
    cs = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    ws = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4
    text = [f"<> f{q} = f[{q}, y+{-cy}, x+{-cx}]".replace("+-", "-") for q, (cx, cy) in enumerate(cs)]
    text.append("<> rho = " + "+".join(f"f{q}" for q in range(9)))
    text.append("<> ux = (f1 - f3 + f5 - f6 - f7 + f8)/rho")
    text.append("<> uy = (f2 - f4 + f5 + f6 - f7 - f8)/rho")
    text.append("<> uu = 1.5*(ux*ux + uy*uy)")
    for q, ((cx, cy), w) in enumerate(zip(cs, ws, strict=True)):
        text += [
            f"<> c{q} = 3.0*({cx}.0*ux + {cy}.0*uy)",
            f"g[{q},y,x] = f{q} - omega*(f{q} - {w:.7f}*rho*(1 + c{q} + 0.5*c{q}*c{q} - uu))",
        ]
    return tile(
        made("{[y,x]: 1<=y<h-1 and 1<=x<w-1}", "\n".join(text), [array("f,g", F4, "9,h,w"), scalar("omega")]),
        "x",
        "y",
        (64, 1),
    )


@case(
    "physics/boris_push",
    lambda n: {"x": doubles(n, 3), "v": doubles(n, 3), "e": doubles(n, 3), "b": doubles(n, 3), "h": 0.01},
    n=400_000,
)
def boris_push() -> Unit:
    text = [f"<> m{q} = v[i,{q}] + h*e[i,{q}]" for q in range(3)] + [f"<> t{q} = h*b[i,{q}]" for q in range(3)]
    text.append("<> f = 2.0/(1 + t0*t0 + t1*t1 + t2*t2)")
    for q in range(3):
        a, b = (q + 1) % 3, (q + 2) % 3
        text.append(f"<> p{q} = m{q} + m{a}*t{b} - m{b}*t{a}")
    for q in range(3):
        a, b = (q + 1) % 3, (q + 2) % 3
        text += [
            f"<> w{q} = m{q} + f*(p{a}*t{b} - p{b}*t{a}) + h*e[i,{q}] {{id=w{q}}}",
            f"v[i,{q}] = w{q} {{dep=w*}}",
            f"x[i,{q}] = x[i,{q}] + h*w{q} {{dep=w*}}",
        ]
    return lanes(made("{[i]: 0<=i<n}", "\n".join(text), [array("x,v,e,b", F8, "n,3"), scalar("h", F8)]))


@case("physics/quaternion", lambda n: {"q": singles(4, n), "v": singles(3, n), "out": zeros(F4, 3, n)}, n=1_000_000)
def quaternion() -> Unit:
    text = [f"<> q{k} = q[{k},i]" for k in range(4)] + [f"<> v{k} = v[{k},i]" for k in range(3)]
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        text.append(f"<> t{k} = 2.0*(q{a + 1}*v{b} - q{b + 1}*v{a})")
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        text.append(f"out[{k},i] = v{k} + q0*t{k} + q{a + 1}*t{b} - q{b + 1}*t{a}")
    return lanes(made("{[i]: 0<=i<n}", "\n".join(text), [array("q", F4, "4,n"), array("v,out", F4, "3,n")]), size=256)


@case("physics/minimum_image", lambda n: {"x": singles(n, 3) * 10, "out": zeros(F4, n), "box": F4(10)}, n=1500)
def minimum_image() -> Unit:
    k = made(
        "{[i,j]: 0<=i,j<n}",
        """
        for i,j
            <> dx = x[i,0] - x[j,0]
            <> dy = x[i,1] - x[j,1]
            <> dz = x[i,2] - x[j,2]
            <> ex = dx - box*floor(dx/box + 0.5)
            <> ey = dy - box*floor(dy/box + 0.5)
            <> ez = dz - box*floor(dz/box + 0.5)
            <> r2 = ex*ex + ey*ey + ez*ez + 0.01
            <> s = 1/(r2*r2*r2)
            <> pair = s*s - s if r2 < 6.25 else 0.0
        end
        out[i] = sum(j, pair)""",
        [array("x", F4, "n,3"), array("out", F4, "n"), scalar("box")],
    )
    return lanes(k, size=64)


# ---- small linear algebra
@case("linear/solve3", lambda n: {"a": doubles(n, 3, 3), "b": doubles(n, 3), "x": zeros(F8, n, 3)}, n=150_000)
def solve3() -> Unit:
    def entry(row: int, column: int) -> str:
        return f"a[i,{row % 3},{column % 3}]"

    def minor(row: int, column: int) -> str:
        down, right = row + 1, column + 1
        products = (
            f"{entry(down, right)}*{entry(down + 1, right + 1)}",
            f"{entry(down, right + 1)}*{entry(down + 1, right)}",
        )
        return f"({' - '.join(products)})"

    text = [f"<> c{r}{c} = {minor(r, c)}" for r in range(3) for c in range(3)]
    text.append("<> d = 1/(a[i,0,0]*c00 + a[i,0,1]*c01 + a[i,0,2]*c02)")
    text += [f"x[i,{r}] = d*(c0{r}*b[i,0] + c1{r}*b[i,1] + c2{r}*b[i,2])" for r in range(3)]
    return lanes(made("{[i]: 0<=i<n}", "\n".join(text), [array("a", F8, "n,3,3"), array("b,x", F8, "n,3")]), size=64)


@case("linear/eigenvalues3", lambda n: {"a": singles(6, n), "out": zeros(F4, 3, n)}, n=300_000)
def eigenvalues3() -> Unit:
    k = made(
        "{[i]: 0<=i<n}",
        """
        <> xx = a[0,i]
        <> yy = a[1,i]
        <> zz = a[2,i]
        <> xy = a[3,i]
        <> xz = a[4,i]
        <> yz = a[5,i]
        <> m = (xx + yy + zz)/3
        <> p1 = xy*xy + xz*xz + yz*yz
        <> p = sqrt(((xx-m)*(xx-m) + (yy-m)*(yy-m) + (zz-m)*(zz-m) + 2*p1)/6)
        <> q = 1/p
        <> bx = (xx-m)*q
        <> by = (yy-m)*q
        <> bz = (zz-m)*q
        <> r = 0.5*(bx*(by*bz - yz*yz*q*q) - xy*q*(xy*q*bz - yz*q*xz*q) + xz*q*(xy*q*yz*q - by*xz*q))
        <> phi = acos(fmin(fmax(r, -1.0), 1.0))/3
        <> big = m + 2*p*cos(phi)
        <> small = m + 2*p*cos(phi + 2.0943951)
        out[0,i] = big
        out[1,i] = 3*m - big - small
        out[2,i] = small""",
        [array("a", F4, "6,n"), array("out", F4, "3,n")],
    )
    return lanes(k)


@case("linear/lu4", lambda n: {"a": doubles(n, 4, 4) + 1, "det": zeros(F8, n)}, n=60_000)
def lu4() -> Unit:
    k = made(
        ["{[i,r,c]: 0<=i<n and 0<=r,c<4}", "{[k]: 0<=k<4}", "{[s,u]: k<s<4 and k<=u<4}", "{[w]: 0<=w<4}"],
        """
        for i
            for r,c
                m[r,c] = a[i,r,c]
            end
            for k
                for s
                    <float64> f = m[s,k]/m[k,k]
                    for u
                        m[s,u] = m[s,u] - f*m[k,u]
                    end
                end
            end
            <float64> d = 1
            for w
                d = d*m[w,w]
            end
            det[i] = d
        end""",
        [array("a", F8, "n,4,4"), array("det", F8, "n"), lp.TemporaryVariable("m", F8, shape=(4, 4))],
        seq_dependencies=True,
    )
    return lanes(k, size=32)


@case("linear/batched_matvec6", lambda n: {"a": singles(n, 6, 6), "x": singles(n, 6), "y": zeros(F4, n, 6)}, n=60_000)
def batched_matvec6() -> Unit:
    k = made(
        "{[e,i,j]: 0<=e<n and 0<=i,j<6}",
        "y[e,i] = sum(j, a[e,i,j]*x[e,j])",
        [array("a", F4, "n,6,6"), array("x,y", F4, "n,6")],
    )
    return lanes(k, "e", 64)


@case(
    "sparse/transposed_product",
    lambda n, m: {
        "start": np.arange(0, 5 * n + 1, 5).astype(I4),
        "col": RANDOM.integers(0, m, 5 * n).astype(I4),
        "a": singles(5 * n),
        "x": singles(n),
        "y": zeros(F4, m),
    },
    n=120_000,
    m=30_000,
)
def transposed_product() -> Unit:
    k = made(
        ["{[i]: 0<=i<n}", "{[e]: lo<=e<hi}"],
        """
        for i
            <> lo = start[i]
            <> hi = start[i+1]
            for e
                y[col[e]] = y[col[e]] + a[e]*x[i] {atomic}
            end
        end""",
        [
            array("start", I4, "n+1"),
            array("col", I4, "5*n"),
            array("a", F4, "5*n"),
            array("x", F4, "n"),
            lp.GlobalArg("y", F4, shape="m", for_atomic=True),
            scalar("m", I4),
        ],
    )
    return lanes(k, size=64)


@case(
    "sparse/message_passing",
    lambda n: {
        "start": np.concatenate([[0], np.cumsum(RANDOM.integers(2, 12, n))]).astype(I4),
        "src": RANDOM.integers(0, n, 12 * n).astype(I4),
        "w": singles(12 * n),
        "h": singles(n, 32),
        "out": zeros(F4, n, 32),
    },
    n=10_000,
)
def message_passing() -> Unit:
    k = made(
        ["{[i,c]: 0<=i<n and 0<=c<32}", "{[e]: lo<=e<hi}"],
        """
        for i,c
            <> lo = start[i]
            <> hi = start[i+1]
                <float32> acc = 0 {id=zero}
                for e
                    acc = acc + w[e]*h[src[e],c] {id=add,dep=zero}
                end
                out[i,c] = acc if acc > 0 else 0.0 {dep=add}
        end""",
        [array("start", I4, "n+1"), array("src", I4, "12*n"), array("w", F4, "12*n"), array("h,out", F4, "n,32")],
    )
    return lp.tag_inames(lanes(k, "c", 32), "i:g.1")


# ---- layouts and types
@case("layout/transpose4", lambda n: {"a": singles(n, n, n, n), "out": zeros(F4, n, n, n, n)}, n=36)
def transpose4() -> Unit:
    k = made("{[i,j,k,l]: 0<=i,j,k,l<n}", "out[l,k,j,i] = a[i,j,k,l]", [array("a,out", F4, "n,n,n,n")])
    return lp.tag_inames(lp.tag_inames(lanes(k, "l", 16), "k:g.1"), "j:g.2")


@case("layout/im2col", lambda c, h: {"a": singles(c, h + 2, h + 2), "out": zeros(F4, c, 3, 3, h, h)}, c=32, h=100)
def im2col() -> Unit:
    k = made(
        "{[c0,r,s,y,x]: 0<=c0<c and 0<=r,s<3 and 0<=y,x<h}",
        "out[c0,r,s,y,x] = a[c0,y+r,x+s]",
        [array("a", F4, "c,h+2,h+2"), array("out", F4, "c,3,3,h,h")],
    )
    return lp.tag_inames(tile(k, "x", "y", (32, 4)), "c0:g.2")


@case(
    "layout/masked_mean",
    lambda m, n: {"a": singles(m, n), "ok": (RANDOM.random((m, n)) < 0.7).astype(U1), "out": zeros(F4, m)},
    m=2000,
    n=800,
)
def masked_mean() -> Unit:
    k = made(
        "{[i,j,k]: 0<=i<m and 0<=j,k<n}",
        """
        <> total = sum(j, a[i,j] if ok[i,j] != 0 else 0.0)
        <> number = sum(k, 1.0 if ok[i,k] != 0 else 0.0)
        out[i] = total/fmax(number, 1.0)""",
        [array("a", F4, "m,n"), array("ok", U1, "m,n"), array("out", F4, "m")],
    )
    return lanes(k, size=64)


@case("layout/mixed_precision", lambda m, n: {"a": singles(m, n), "x": singles(n), "y": zeros(F8, m)}, m=3000, n=1000)
def mixed_precision() -> Unit:
    k = made(
        "{[i,j]: 0<=i<m and 0<=j<n}",
        """
        for i
            <float64> acc = 0
            for j
                <float64> p = a[i,j]
                acc = acc + p*x[j]
            end
            y[i] = acc
        end""",
        [array("a", F4, "m,n"), array("x", F4), array("y", F8)],
        seq_dependencies=True,
    )
    return lanes(k, size=32)


@case(
    "layout/haar", lambda m, n: {"a": singles(m, 2 * n), "lo": zeros(F4, m, n), "hi": zeros(F4, m, n)}, m=1000, n=1000
)
def haar() -> Unit:
    k = made(
        "{[i,j]: 0<=i<m and 0<=j<n}",
        """
        lo[i,j] = 0.70710678*(a[i,2*j] + a[i,2*j+1])
        hi[i,j] = 0.70710678*(a[i,2*j] - a[i,2*j+1])""",
        [array("a", F4, "m,2*n"), array("lo,hi", F4, "m,n")],
    )
    return tile(k, "j", "i", (64, 2))


# ---- signals and statistics
@case("signals/sinc_resample", lambda n: {"x": singles(n + 40), "y": zeros(F4, n)}, n=60_000)
def sinc_resample() -> Unit:
    k = made(
        "{[i,t]: 0<=i<n and 0<=t<16}",
        """
        for i
            <float32> pos = 0.93*i
            <int32> base = pos
            <float32> acc = 0
            for t
                <float32> d = 3.14159265*(pos - base - t + 7.5)
                acc = acc + x[base + t]*sin(d)/d
            end
            y[i] = acc
        end""",
        [array("x", F4, "n+40"), array("y", F4, "n")],
        seq_dependencies=True,
    )
    return lanes(k)


@case("signals/goertzel", lambda n: {"x": singles(n, 128), "re": zeros(F4, n), "im": zeros(F4, n)}, n=10_000)
def goertzel() -> Unit:
    k = made(
        "{[i,t]: 0<=i<n and 0<=t<128}",
        """
        for i
            <float32> s1 = 0
            <float32> s2 = 0
            for t
                <float32> s = x[i,t] + 1.6180340*s1 - s2
                s2 = s1
                s1 = s
            end
            re[i] = s1 - 0.80901699*s2
            im[i] = 0.58778525*s2
        end""",
        [array("x", F4, "n,128"), array("re,im", F4, "n")],
        seq_dependencies=True,
    )
    return lanes(k, size=32)


@case(
    "statistics/density",
    lambda m, n: {"x": singles(m), "y": singles(n), "out": zeros(F4, m), "h": F4(9.0)},
    m=3000,
    n=1000,
)
def density() -> Unit:
    return lanes(
        made(
            "{[i,j]: 0<=i<m and 0<=j<n}",
            "out[i] = sum(j, exp(-h*(x[i]-y[j])*(x[i]-y[j])))",
            [array("x,y", F4), array("out", F4), scalar("h")],
        ),
        size=64,
    )


@case(
    "statistics/black_scholes",
    lambda n: {
        "s": singles(n) + 1,
        "k": singles(n) + 1,
        "t": singles(n) + 0.1,
        "call": zeros(F4, n),
        "r": F4(0.02),
        "v": F4(0.3),
    },
    n=200_000,
)
def black_scholes() -> Unit:
    k = made(
        "{[i]: 0<=i<n}",
        """
        <> root = v*sqrt(t[i])
        <> d1 = (log(s[i]/k[i]) + (r + 0.5*v*v)*t[i])/root
        <> d2 = d1 - root
        call[i] = 0.5*(1 + erf(0.70710678*d1))*s[i] - 0.5*(1 + erf(0.70710678*d2))*k[i]*exp(-r*t[i])""",
        [array("s,k,t,call", F4, "n"), scalar("r,v")],
    )
    return lanes(k)


@case(
    "statistics/box_muller",
    lambda n: {"u": singles(n) * 0.9 + 0.05, "w": singles(n), "a": zeros(F4, n), "b": zeros(F4, n)},
    n=300_000,
)
def box_muller() -> Unit:
    k = made(
        "{[i]: 0<=i<n}",
        """
        <> r = sqrt(-2*log(u[i]))
        <> phi = 6.2831853*w[i]
        a[i] = r*cos(phi)
        b[i] = r*sin(phi)""",
        [array("u,w,a,b", F4, "n")],
    )
    return lanes(k)


@case(
    "geometry/ray_spheres",
    lambda m, n: {
        "o": singles(m, 3),
        "d": singles(m, 3) + 0.1,
        "c": singles(n, 3),
        "r": singles(n) * 0.2,
        "t": zeros(F4, m),
    },
    m=16000,
    n=200,
)
def ray_spheres() -> Unit:
    k = made(
        "{[i,j]: 0<=i<m and 0<=j<n}",
        """
        for i
            <float32> best = 1e30
            for j
                <> ox = o[i,0] - c[j,0]
                <> oy = o[i,1] - c[j,1]
                <> oz = o[i,2] - c[j,2]
                <> b = ox*d[i,0] + oy*d[i,1] + oz*d[i,2]
                <> q = b*b - (ox*ox + oy*oy + oz*oz - r[j]*r[j])
                <> hit = -b - sqrt(q) if q > 0 else 1e30
                best = hit if hit < best and hit > 0 else best
            end
            t[i] = best
        end""",
        [array("o,d", F4, "m,3"), array("c", F4, "n,3"), array("r", F4), array("t", F4)],
        seq_dependencies=True,
    )
    return lanes(k, size=64)


@case(
    "geometry/haversine",
    lambda n: {"p": singles(n), "q": singles(n), "s": singles(n), "t": singles(n), "out": zeros(F4, n)},
    n=300_000,
)
def haversine() -> Unit:
    k = made(
        "{[i]: 0<=i<n}",
        """
        <> a = sin(0.5*(p[i]-s[i]))
        <> b = sin(0.5*(q[i]-t[i]))
        out[i] = 12742*asin(sqrt(a*a + cos(p[i])*cos(s[i])*b*b))""",
        [array("p,q,s,t,out", F4, "n")],
    )
    return lanes(k)


@case(
    "geometry/polar",
    lambda n: {"x": singles(n) - 0.5, "y": singles(n) - 0.5, "r": zeros(F4, n), "phi": zeros(F4, n)},
    n=1_000_000,
)
def polar() -> Unit:
    k = made(
        "{[i]: 0<=i<n}",
        """
        r[i] = sqrt(x[i]*x[i] + y[i]*y[i])
        phi[i] = atan2(y[i], x[i])""",
        [array("x,y,r,phi", F4, "n")],
    )
    return lanes(k)


@case(
    "geometry/normals",
    lambda n, m: {"p": singles(m, 3), "tri": RANDOM.integers(0, m, (n, 3)).astype(I4), "out": zeros(F4, n, 3)},
    n=200_000,
    m=100_000,
)
def normals() -> Unit:
    text = [f"<> v{k} = tri[i,{k}]" for k in range(3)]
    text += [f"<> e{k} = p[v1,{k}] - p[v0,{k}]" for k in range(3)] + [
        f"<> f{k} = p[v2,{k}] - p[v0,{k}]" for k in range(3)
    ]
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        text.append(f"<> n{k} = e{a}*f{b} - e{b}*f{a}")
    text.append("<> s = rsqrt(n0*n0 + n1*n1 + n2*n2)")
    text += [f"out[i,{k}] = s*n{k}" for k in range(3)]
    return lanes(
        made(
            "{[i]: 0<=i<n}",
            "\n".join(text),
            [array("p", F4, "m,3"), array("tri", I4, "n,3"), array("out", F4, "n,3"), scalar("m", I4)],
        ),
        size=64,
    )


@case(
    "geometry/closest_segment",
    lambda n, m: {"p": doubles(n, 2), "a": doubles(m, 2), "b": doubles(m, 2) + 2, "d": zeros(F8, n)},
    n=12000,
    m=100,
)
def closest_segment() -> Unit:
    k = made(
        "{[i,j]: 0<=i<n and 0<=j<m}",
        """
        for i,j
            <> ex = b[j,0] - a[j,0]
            <> ey = b[j,1] - a[j,1]
            <> wx = p[i,0] - a[j,0]
            <> wy = p[i,1] - a[j,1]
            <> t = fmin(fmax((wx*ex + wy*ey)/(ex*ex + ey*ey), 0.0), 1.0)
            <> d2 = (wx - t*ex)*(wx - t*ex) + (wy - t*ey)*(wy - t*ey)
        end
        d[i] = sqrt(min(j, d2))""",
        [array("p", F8, "n,2"), array("a,b", F8, "m,2"), array("d", F8, "n")],
    )
    return lanes(k, size=64)


def predicted(runtime: str, weights: Path) -> list[Row]:
    """Return a row for each kernel, with no measured time yet."""
    found, rows = recommended_weights(weights), []
    model = load(weights if found is None else found).by_clock("host")
    for name, each in CASES.items():
        unit = each.build()
        values = {**each.arguments(unit, **each.sizes), **each.sizes}
        statistics = statistics_of(unit, partial(dict, values))
        counts = pm.count(unit, subgroup_size=model.fitted.subgroup_size, statistics=statistics or None)
        made_by = model.predict(counts, dict(each.sizes), level=LEVEL)
        low, high = made_by.interval or (0.0, float("inf"))
        rows.append(Row(runtime, MADE, name, values_text(each.sizes), 0.0, float(made_by.seconds), low, high))
    return rows


def timed(row: Row) -> Row | None:
    """Run a kernel, and return its row with the measured time, or None if it fails."""
    each, unit = CASES[row.kernel], CASES[row.kernel].build()
    variants, name = {"only": lambda: unit}, row.kernel.replace("/", "_")
    with Trials(
        find(row.runtime), variants, each.sizes, QUICK, partial(each.arguments, unit), kernel=name, compare=False
    ) as trials:
        visit = trials.visit("only", each.sizes)
    return replace(row, measured_s=visit.seconds) if visit.status == "ok" else None


def main(argv: Sequence[str] | None = None) -> int:
    """Predict all kernels for some runtimes, then run them, and replace their rows in the table."""
    parser = argparse.ArgumentParser(prog="python -m scripts.lab.made_up", description=__doc__.partition("\n")[0])
    parser.add_argument("runtimes", nargs="+", help="pocl or intel")
    parser.add_argument("--weights", type=Path, nargs="+", required=True, help="a device's folder for each runtime")
    parser.add_argument("--out", type=Path, default=Path("docs/data/others.csv"), help="the table of rows")
    options = parser.parse_args(argv)
    pin_threads()
    before = [row for each in zip(options.runtimes, options.weights, strict=True) for row in predicted(*each)]
    rows = [row for row in map(timed, before) if row is not None]
    kept = [row for row in read_rows(options.out) if row.half != MADE or row.runtime not in options.runtimes]
    write_rows(options.out, [*kept, *rows])
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
