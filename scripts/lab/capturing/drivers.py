"""``drivers.py PACKAGE``: schedules kernels that a package generates, where its own tests cannot run here.

Each package is imported by its own function, in an environment that has it.
"""

import itertools
import re
import runpy
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import loopy as lp
import numpy as np

Kernels = Iterator[tuple[str, Callable[[], Any]]]  # the text of each kernel, and what makes it


def main(package: str) -> None:
    for text, make in PACKAGES[package]():
        try:
            made = make()
            for unit in made if isinstance(made, list) else [made] * (made is not None):
                lp.linearize(lp.preprocess_program(unit))
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
            sys.stderr.write(f"skipped: {package}'s {text}: {reason}\n")


def module(name: str, /, **members: Any) -> None:
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)


def boxtree() -> Kernels:
    """What boxtree has of Loopy: the kernels that place particles, which it runs itself."""
    import pyopencl as cl
    from boxtree.tools import make_surface_particle_array, make_uniform_particle_array

    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    places = (make_surface_particle_array, make_uniform_particle_array)
    for place, dimensions, dtype in itertools.product(places, (2, 3), (np.float32, np.float64)):

        def run(place: Any = place, dimensions: int = dimensions, dtype: Any = dtype) -> None:
            place(queue, 1000, dimensions, dtype)

        yield f"{place.__name__} of {dimensions} {dtype}", run


#: Subscripts, and the shape of each operand; names are sizes.
EINSUMS = (
    ("ij,j->i", ("Ni", 35), (35,)), ("ij,ej->ei", (10, 10), ("Ne", 10)), ("ij,jk->ik", ("Ni", "Nj"), ("Nj", "Nk")),
    ("ij,ij->ij", ("Ni", 12), ("Ni", 12)), ("ij->i", ("Ni", 20)), ("ijk,ijk->ijk", ("Ni", 3, 4), ("Ni", 3, 4)),
    ("e,ij,ej->ei", ("Ne",), (8, 8), ("Ne", 8)), ("ifj,fe,fej->ei", (10, 4, 6), (4, "Ne"), (4, "Ne", 6)),
    ("xre,rij,ej->xei", (3, 3, "Ne"), (3, 10, 10), ("Ne", 10)),
    ("xre,rij,xej->ei", (3, 3, "Ne"), (3, 10, 10), (3, "Ne", 10)), ("ijkl,l->ijk", (6, 6, "Nk", 6), (6,)),
    ("aij,ajk->aik", ("Na", 5, 7), ("Na", 7, 5)),
)  # fmt: skip


def feinsum() -> Kernels:
    """Einsums that feinsum generates, plain, split over a device's axes, and in the order of opt_einsum."""
    import feinsum as f

    for subscripts, *shapes in EINSUMS:
        for dtype in ("float64", "float32"):
            operands = [f.array(name, shape, dtype) for name, shape in zip("ABCD", shapes, strict=False)]
            einsum = f.einsum(subscripts, *operands)
            yield subscripts, partial(f.generate_loopy, einsum)
            yield f"{subscripts}, split", partial(on_device, f.generate_loopy, einsum)
            yield f"{subscripts}, in parts", partial(f.generate_loopy_with_opt_einsum_schedule, einsum)


def on_device(generate: Callable[[Any], Any], einsum: Any) -> Any:
    """Give the first free index of the result to groups and lanes."""
    unit = generate(einsum)
    kernel = unit.default_entrypoint
    free = {name for instruction in kernel.instructions for name in instruction.within_inames}
    sized = [name for name in sorted(free) if not kernel.get_inames_domain(name).is_params()]
    return lp.split_iname(unit, sized[0], 32, outer_tag="g.0", inner_tag="l.0")


ELEMENTS = (96, 200)  # a multiple of the block, and not
PARAMETERS = ((32, 16, 10, 5, 5), (64, 32, 10, 10, 10), (32, 32, 5, 5, 2), (96, 32, 10, 2, 5), (64, 8, 2, 1, 10))


def feintune() -> Kernels:
    """Kernels of discontinuous Galerkin methods, with transformations from feintune's search space.

    feintune is not a package: its modules are in the working folder. What they import of others has stand-ins.
    """
    sys.path.insert(0, str(Path.cwd()))
    module("meshmode.array_context", EinsumTag=type("EinsumTag", (), {}))
    module("meshmode.transform_metadata", FirstAxisIsElementsTag=type("FirstAxisIsElementsTag", (), {}))
    module("decouple_domain", decouple_domain=None)
    kernels = runpy.run_path("__init__.py")
    module("__init__", **kernels)
    product = runpy.run_path("generators.py")["mxm_trans_list_generator"]
    for elements, dtype in itertools.product(ELEMENTS, (np.float32, np.float64)):
        makers = {
            "diff_2": partial(kernels["gen_diff_knl_fortran2"], 2, elements, 10, 10, dtype),
            "diff_3": partial(kernels["gen_diff_knl_fortran2"], 3, elements, 10, 10, dtype),
            "elwise_linear": partial(kernels["gen_elwise_linear_knl"], elements, 10, 10, dtype),
        }
        for name, make in makers.items():
            yield name, make
            for parameters in PARAMETERS:
                yield f"{name} {parameters}", partial(transformed, make, product, parameters)
        for name in ("gen_face_mass_knl", "gen_face_mass_knl_merged"):
            yield name, partial(kernels[name], elements, 4, 20, 10, dtype)


def transformed(make: Callable[[], Any], product: Callable[..., list[list[Any]]], parameters: tuple[int, ...]) -> Any:
    """Apply what feintune's own loop applies, without printing, timing and leaving the program."""
    unit = make()
    for name, *rest in product(parameters, knl=unit):
        arguments, named = (*rest, [], {})[:2] if len(rest) < 2 else rest
        unit = getattr(lp, name)(unit, *arguments, **(named or {}))
    return unit


NUMBERS = re.compile("^n(sources|targets)$|(starts|lists|counts|counts_nonchild|boxes|ids|levels|ibox|offset)$")


def sumpy() -> Kernels:
    """The kernels for the steps of a fast multipole method; sumpy's own tests need an arraycontext beyond PyPI."""
    import pyopencl as cl
    import sumpy as s
    from sumpy.expansion import local, multipole
    from sumpy.kernel import (
        AxisTargetDerivative,
        DirectionalSourceDerivative,
        HelmholtzKernel,
        LaplaceKernel,
        YukawaKernel,
    )

    from scripts.lab.capturing.old_names import install

    install()
    context = cl.create_some_context(interactive=False)

    def step(name: str, *arguments: Any, **options: Any) -> Any:
        made = getattr(s, name)(context, *arguments, **options)
        try:
            return typed(made.get_kernel())
        except TypeError:  # whether targets are in arrays of objects must be given
            return typed(made.get_kernel(False, False))

    for dimension, kind in itertools.product((2, 3), (LaplaceKernel, HelmholtzKernel, YukawaKernel)):
        kernel = kind(dimension)
        for order, prefix in itertools.product((2, 4), ("", "LinearPDEConforming")):
            many = getattr(multipole, f"{prefix}VolumeTaylorMultipoleExpansion")(kernel, order)
            near = getattr(local, f"{prefix}VolumeTaylorLocalExpansion")(kernel, order)
            steps = {
                "P2EFromSingleBox": (many, (kernel,)), "P2EFromCSR": (near, (kernel,)), "E2EFromCSR": (many, near),
                "E2PFromSingleBox": (many, (kernel,)), "E2PFromCSR": (near, (kernel,)), "E2EFromParent": (near, near),
                "E2EFromChildren": (many, many),
            }  # fmt: skip
            for name, arguments in steps.items():
                yield f"{name} of {kernel} to order {order}", partial(step, name, *arguments)
        for target in (kernel, AxisTargetDerivative(0, kernel), DirectionalSourceDerivative(kernel)):
            of_source = isinstance(target, DirectionalSourceDerivative)
            targets, sources = (kernel, target) if of_source else (target, kernel)
            options = {"target_kernels": (targets,), "source_kernels": (sources,), "exclude_self": False}
            for name in ("P2P", "P2PFromCSR"):
                yield f"{name} of {target}", partial(step, name, **options)


def typed(unit: lp.TranslationUnit) -> lp.TranslationUnit:
    untyped = [argument.name for argument in unit.default_entrypoint.args if argument.dtype is None]
    return lp.add_dtypes(unit, {name: np.int32 if NUMBERS.search(name) else np.float64 for name in untyped})


def tsfc() -> Kernels:
    """What TSFC, Firedrake's form compiler, makes of finite-element forms.

    Firedrake needs PETSc and MPI; its folder ``tsfc`` needs of both the functions that stand-ins have here.
    """
    module("pyop2")
    module("pyop2.caching", serial_cache=lambda **_: lambda function: function)  # remembers nothing
    module("petsctools", add_citation=lambda *_: None, cite=lambda *_: None)
    sys.path.insert(0, str(Path.cwd()))  # the unpacked source distribution
    import finat.ufl
    import ufl
    from tsfc import compile_form

    for cell in (ufl.triangle, ufl.quadrilateral, ufl.tetrahedron, ufl.hexahedron):
        tensor = cell.cellname in ("quadrilateral", "hexahedron")
        mesh = ufl.Mesh(finat.ufl.VectorElement("Q" if tensor else "P", cell, 1))
        for degree in (1, 2) if cell.topological_dimension == 3 else (1, 2, 3):
            for name, form in forms(mesh, cell, degree, *(("Q", "DQ") if tensor else ("P", "DP"))):
                text = f"{name} of degree {degree} on a {cell.cellname}"
                yield text, partial(compiled, compile_form, form)


def compiled(compile_form: Callable[[Any], Any], form: Any) -> list[Any]:
    """Return the kernels of a form, as Loopy's units."""
    return [kernel.ast for kernel in compile_form(form)]


def forms(mesh: Any, cell: Any, degree: int, kind: str, jumping: str) -> Iterator[tuple[str, Any]]:
    """Yield bilinear and linear forms, functionals, and forms on facets."""
    import finat.ufl
    import ufl
    from ufl import dS, ds, dx, grad, inner

    space = ufl.FunctionSpace(mesh, finat.ufl.FiniteElement(kind, cell, degree))
    vectors = ufl.FunctionSpace(mesh, finat.ufl.VectorElement(kind, cell, degree))
    broken = ufl.FunctionSpace(mesh, finat.ufl.FiniteElement(jumping, cell, degree - 1))
    u, v, f = ufl.TrialFunction(space), ufl.TestFunction(space), ufl.Coefficient(space)
    w, z, g = ufl.TrialFunction(vectors), ufl.TestFunction(vectors), ufl.Coefficient(vectors)
    p, q = ufl.TrialFunction(broken), ufl.TestFunction(broken)
    yield "mass", u*v*dx
    yield "stiffness", inner(grad(u), grad(v))*dx
    yield "reaction", f*inner(grad(u), grad(v))*dx + ufl.exp(f)*u*v*dx
    yield "load", f*v*dx + ufl.conditional(ufl.gt(f, 1), f**2, f)*v*ds
    yield "energy", ufl.sqrt(f**2 + 1)*dx
    yield "elasticity", inner(ufl.sym(grad(w)), ufl.sym(grad(z)))*dx
    yield "advection", inner(ufl.dot(g, ufl.nabla_grad(w)), z)*dx
    yield "divergence", q*ufl.div(w)*dx
    yield "jumps", ufl.jump(p)*ufl.jump(q)*dS + p*q*ds
    yield "action", ufl.action(inner(grad(u), grad(v))*dx, f)


PACKAGES: dict[str, Callable[[], Kernels]] = {
    "boxtree": boxtree, "feinsum": feinsum, "feintune": feintune, "sumpy": sumpy, "tsfc": tsfc,
}  # fmt: skip

if __name__ == "__main__":
    main(sys.argv[1])
