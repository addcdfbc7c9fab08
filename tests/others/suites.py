"""Whose kernels the nightly run captures: packages at pinned versions, and what schedules their kernels."""

from __future__ import annotations

from dataclasses import dataclass, field

#: What every environment has: Loopy and what counts and the oracle need.
COMMON = (
    "setuptools<81", "wheel", "loopy==2025.2", "islpy==2025.2.5", "pymbolic==2025.1", "numpy>=2", "pyopencl>=2025.1",
    "pycparser>=2.22", "pyyaml>=6", "typing-extensions>=4.12", "pytest>=8.2", "mako", "scipy",
)
BARVINOK = "islpy-barvinok==2025.2.5.post1"  # always last: it brings islpy's module again


@dataclass(frozen=True)
class Suite:
    """Kernels of one package.

    Attributes
    ----------
    name, version : str
        The package on PyPI; all of these have the MIT licence.
    needs : tuple of str
        Requirements beside `COMMON`.
    tests : tuple of str
        Test files of the sdist to run; empty if there are only scripts.
    scripts : tuple of str
        Scripts to run: below the sdist, or drivers in this folder.
    plugins : tuple of str
        Plug-ins of pytest that the tests need.
    python : (int, int)
        The oldest Python that the package runs with.
    skipped : mapping of str to str
        What is left out, and why.
    without : str
        Tests with this word in their names are left out.
    known : mapping of str to str
        Kernels whose counts differ from what is executed, and why that is not perfmodel's defect.
    """

    name: str
    version: str
    needs: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    python: tuple[int, int] = (3, 10)
    skipped: dict[str, str] = field(default_factory=dict)
    without: str = ""
    known: dict[str, str] = field(default_factory=dict)


SUITES = (
    Suite(
        "loopy", "2025.2", needs=("fparser>=0.2", "ply>=3.6"),
        tests=tuple(
            f"test/test_{name}.py" for name in (
                "apps", "linalg", "loopy", "reduction", "transform", "target", "statistics", "dg", "nbody",
                "sem_reagan", "fortran", "scan", "callables", "fusion", "einsum", "loop_fusion", "split_iname_slabs",
                "expression", "domain", "diff", "numa_diff", "misc", "tree",
            )
        ),
        scripts=tuple(
            f"examples/python/{name}.py" for name in (
                "find-centers", "global_barrier_removal", "hello-loopy", "rank-one", "sparse", "vector-types",
            )
        ),
        skipped={
            "test/test_c_execution.py": "it compiles C for the host, which is no OpenCL kernel",
            "test/test_isl.py": "it tests islpy and schedules nothing",
            "tests of ExecutableCTarget": "they compile C for the host; GCC takes hours for some (its bug 107127)",
            "examples/python/call-external.py": "it links BLAS",
            "examples/python/ispc-stream-harness.py": "it needs ISPC",
        },
        without="ExecutableCTarget",
        known=dict.fromkeys(
            ("test_slab_decomposition_does_not_double_execute#3", "test_vectorize#1"),
            "Loopy's code executes an instance twice: where it unrolls a loop outside one that is cut into slabs, the "
            "last slab may begin inside the first",
        ),
    ),
    Suite(
        "sumpy", "2022.1", needs=("sympy", "boxtree==2023.1", "arraycontext==2021.1", "pyrsistent", "immutables"),
        scripts=("sumpy_driver.py",), plugins=("tests.others.old_names",),
        skipped={
            "test": "it needs an arraycontext of 2022, which is not on PyPI; sumpy_driver.py takes its place",
            "E2EFromCSR": "it needs data that other kernels precompute, which the driver does not make",
        },
    ),
    Suite(
        "pystella", "2020.1", needs=("h5py",),
        tests=tuple(
            f"test/test_{name}.py" for name in (
                "elementwise", "reduction", "stencil", "derivs", "histogram", "step", "energy", "relax", "expansion",
                "field", "projectors", "rayleigh", "multigrid", "transfer",
            )
        ),
        plugins=("tests.others.old_names", "tests.others.pystella_fixtures"),
        skipped={
            "test/test_dft.py, test_spectra.py, test_poisson.py": "they need gpyfft, which is not on PyPI",
            "test/test_decomp.py": "it needs MPI", "test/test_examples.py": "it runs for hours",
        },
    ),
    Suite(
        "feinsum", "2025.3", scripts=("feinsum_driver.py",), python=(3, 12),
        needs=("more-itertools<11", "bidict", "immutables", "opentuner", "opt-einsum", "pybliss", "pytz", "tabulate"),
        skipped={"tuned variants": "its transformations are chosen by timing on a device"},
    ),
)
