"""Schedules what TSFC, Firedrake's form compiler, makes of finite-element forms.

Firedrake needs PETSc and MPI; its folder ``tsfc`` needs of both the functions that stand-ins have here.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import finat.ufl
import loopy as lp
import ufl


def stand_in(name: str, **members: Any) -> None:
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module


stand_in("pyop2")
stand_in("pyop2.caching", serial_cache=lambda **_: lambda function: function)  # remembers nothing
stand_in("petsctools", add_citation=lambda *_: None, cite=lambda *_: None)
sys.path.insert(0, str(Path.cwd()))  # the unpacked source distribution

from tsfc import compile_form  # noqa: E402  what it imports is set above


def main() -> None:
    for name, form in forms():
        try:
            for kernel in compile_form(form):
                lp.linearize(lp.preprocess_program(kernel.ast))
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
            sys.stderr.write(f"skipped: TSFC's {name}: {reason}\n")


def forms() -> Iterator[tuple[str, Any]]:
    for cell in (ufl.triangle, ufl.quadrilateral, ufl.tetrahedron, ufl.hexahedron):
        mesh = ufl.Mesh(finat.ufl.VectorElement("Q" if cell.cellname in _TENSOR else "P", cell, 1))
        for degree in (1, 2) if cell.topological_dimension == 3 else (1, 2, 3):
            for name, form in of_degree(mesh, cell, degree):
                yield f"{name} of degree {degree} on a {cell.cellname}", form


def of_degree(mesh: Any, cell: Any, degree: int) -> Iterator[tuple[str, Any]]:
    """Yield bilinear and linear forms, functionals, and forms on facets."""
    kind, jumping = ("Q", "DQ") if cell.cellname in _TENSOR else ("P", "DP")
    space = ufl.FunctionSpace(mesh, finat.ufl.FiniteElement(kind, cell, degree))
    vectors = ufl.FunctionSpace(mesh, finat.ufl.VectorElement(kind, cell, degree))
    broken = ufl.FunctionSpace(mesh, finat.ufl.FiniteElement(jumping, cell, degree - 1))
    u, v, f = ufl.TrialFunction(space), ufl.TestFunction(space), ufl.Coefficient(space)
    w, z, g = ufl.TrialFunction(vectors), ufl.TestFunction(vectors), ufl.Coefficient(vectors)
    p, q = ufl.TrialFunction(broken), ufl.TestFunction(broken)
    yield "mass", u*v*ufl.dx
    yield "stiffness", ufl.inner(ufl.grad(u), ufl.grad(v))*ufl.dx
    yield "reaction", f*ufl.inner(ufl.grad(u), ufl.grad(v))*ufl.dx + ufl.exp(f)*u*v*ufl.dx
    yield "load", f*v*ufl.dx + ufl.conditional(ufl.gt(f, 1), f**2, f)*v*ufl.ds
    yield "energy", ufl.sqrt(f**2 + 1)*ufl.dx
    yield "elasticity", ufl.inner(ufl.sym(ufl.grad(w)), ufl.sym(ufl.grad(z)))*ufl.dx
    yield "advection", ufl.inner(ufl.dot(g, ufl.nabla_grad(w)), z)*ufl.dx
    yield "divergence", q*ufl.div(w)*ufl.dx
    yield "jumps", ufl.jump(p)*ufl.jump(q)*ufl.dS + p*q*ufl.ds
    yield "action", ufl.action(ufl.inner(ufl.grad(u), ufl.grad(v))*ufl.dx, f)


_TENSOR = ("quadrilateral", "hexahedron")


if __name__ == "__main__":
    main()
