"""Whose kernels the nightly run captures: packages at pinned versions, and what schedules their kernels."""

from dataclasses import dataclass, field
from typing import Any

#: What every environment has: Loopy and what counts and the oracle need.
COMMON = (
    "setuptools<81", "wheel", "loopy==2025.2", "islpy==2025.2.5", "pymbolic==2025.1", "numpy>=2", "pyopencl>=2025.1",
    "pycparser>=2.22", "pyyaml>=6", "typing-extensions>=4.12", "pytest>=8.2", "mako", "scipy",
)
TABLE = "table.md"  # next to the kernels of a suite: their statuses


@dataclass(frozen=True)
class Suite:
    """Kernels of one package, which has the MIT licence."""

    name: str
    version: str  # on PyPI; of a given suite the days whose revisions fit `COMMON`
    minutes: int = 5  # of capturing and checking, on two cores
    package: str = ""  # the distribution, where its name is not the suite's
    installed: bool = True  # False: the source distribution is only unpacked, as installing needs more than its kernels
    given: bool = False  # PyPI has no version that runs with `COMMON`: a person has made an environment for it
    needs: tuple[str, ...] = ()  # requirements in addition to `COMMON`
    tests: tuple[str, ...] = ()  # test files of the sdist to run
    scripts: tuple[str, ...] = ()  # scripts with their arguments, in this folder or below the sources
    plugins: tuple[str, ...] = ()  # plug-ins of pytest that the tests need
    python: tuple[int, int] = (3, 10)  # the oldest that the package runs with
    skipped: dict[str, str] = field(default_factory=dict)  # what is left out, and why
    without: str = ""  # tests with this word in their names are left out
    known: dict[str, str] = field(default_factory=dict)  # kernels with other counts than executed, not by our defect


#: Suites whose users run revisions that are not on PyPI: the keywords of each.
GIVEN: dict[str, dict[str, Any]] = {
    "pytato": {"minutes": 30, "tests": ("test/test_codegen.py", "test/test_apps.py", "test/test_linalg.py")},
    "arraycontext": {"minutes": 40, "tests": ("test/test_arraycontext.py", "test/test_pytato_arraycontext.py")},
    "meshmode": {
        "minutes": 20,
        "tests": tuple(f"test/test_{name}.py" for name in (
            "array", "connection", "discretization", "meshmode", "modal", "chained", "refinement",
        )),
    },
    "grudge": {
        "minutes": 40,
        "tests": tuple(f"test/test_{name}.py" for name in (
            "op", "reductions", "grudge", "euler_model", "metrics", "dt_utils", "modal_connections", "trace_pair",
        )),
        "scripts": tuple(f"examples/euler/{name} --order 2 --resolution 4 --tfinal 0.001" for name in (
            "vortex.py --lazy", "acoustic_pulse.py --lazy", "vortex.py --lazy --oi --lf", "vortex.py",
        )),
        "skipped": {"examples/wave": "it needs MPI"},
    },
    "sumpy-newest": {
        "minutes": 40, "package": "sumpy",
        "tests": tuple(f"test/test_{name}.py" for name in ("kernels", "matrixgen", "qbx", "misc", "tools")),
        "skipped": {"test/test_fmm.py": "it solves whole problems for minutes each"},
    },
    "pytential": {
        "minutes": 30,
        "tests": tuple(f"test/test_{name}.py" for name in (
            "tools", "layer_pot", "layer_pot_identity", "matrix", "symbolic", "target_specific_qbx",
        )),
    },
    "feintune": {
        "minutes": 20, "scripts": ("drivers.py feintune",),
        "skipped": {"tuned variants": "its transformations are chosen by timing on a device; the driver fixes some"},
    },
}

SUITES = (
    Suite(
        "loopy", "2025.2", minutes=40, needs=("fparser>=0.2", "ply>=3.6"),
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
            "test/test_c_execution.py": "it compiles C for the host, not OpenCL",
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
        "sumpy", "2022.1", minutes=15,
        needs=("sympy", "boxtree==2023.1", "arraycontext==2021.1", "pyrsistent", "immutables"),
        scripts=("drivers.py sumpy",), plugins=("scripts.lab.capturing.old_names",),
        skipped={
            "test": "it needs an arraycontext of 2022, which is not on PyPI; drivers.py takes its place",
            "E2EFromCSR": "it needs data that other kernels precompute, which the driver does not make",
        },
    ),
    Suite(
        "pystella", "2020.1", minutes=15, needs=("h5py",),
        tests=tuple(
            f"test/test_{name}.py" for name in (
                "elementwise", "reduction", "stencil", "derivs", "histogram", "step", "energy", "relax", "expansion",
                "field", "projectors", "rayleigh", "multigrid", "transfer",
            )
        ),
        plugins=("scripts.lab.capturing.old_names", "scripts.lab.capturing.pystella_fixtures"),
        skipped={
            "test/test_dft.py, test_spectra.py, test_poisson.py": "they need gpyfft, which is not on PyPI",
            "test/test_decomp.py": "it needs MPI", "test/test_examples.py": "it runs for hours",
        },
    ),
    Suite(
        "feinsum", "2025.3", minutes=10, scripts=("drivers.py feinsum",), python=(3, 12),
        needs=("more-itertools<11", "bidict", "immutables", "opentuner", "opt-einsum", "pybliss", "pytz", "tabulate"),
        skipped={"tuned variants": "its transformations are chosen by timing on a device"},
    ),
    Suite(
        "boxtree", "2023.1", minutes=3, needs=("arraycontext==2021.1", "pyrsistent", "immutables"),
        scripts=("drivers.py boxtree",),
        skipped={"test": "what it runs are scans and elementwise kernels of PyOpenCL, and no kernels of Loopy"},
    ),
    Suite(
        "tsfc", "2025.10.2", minutes=30, package="firedrake", installed=False, scripts=("drivers.py tsfc",),
        needs=("setuptools>=70.1,<81", "firedrake-fiat==2025.10.1", "fenics-ufl==2025.2.1", "symengine"),
        skipped={
            "tests/tsfc": "the source distribution lacks them; drivers.py takes their place",
            "kernels of Firedrake": "it needs PETSc; they call those of TSFC for each cell",
        },
    ),
    *(Suite(name, "August 2025", given=True, **what) for name, what in GIVEN.items()),
)
