"""``python -m tests.journey FOLDER [EXTRA ...]``: what a stranger runs, with a wheel in an empty environment.

The wheel is installed outside of the clone, with extras such as ``cpu`` if they are named. Then come the commands of
the README and of docs/get-started.md, with four kernels as users write them (``tests/strangers/``). FOLDER gets
``journey.txt`` with each command, its outputs, its status and its time. It takes about six minutes on a quiet machine.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from time import monotonic

from perfmodel.calibration import recommended
from perfmodel.calibration.kernel_choice import MEASUREMENT_KERNELS, TEST_KERNELS
from tests.shadow import ROOT

FILES = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE")
FOLDERS = ("perfmodel", MEASUREMENT_KERNELS, TEST_KERNELS, recommended.FOLDER)
KERNELS = ROOT / "tests" / "strangers"
SOFTMAX, PRODUCTS, STENCILS = "softmax.py -p m=1Ki,n=1Ki", "products.py -p n=16Ki", "stencils.py -p n=1Ki"
SPMV = "spmv.py -p n=64Ki,nnz=800Ki --statistics j=12.5,x:span=1000"
COMMANDS = (
    "doctor", "devices", f"count {SOFTMAX} --variant 'group 64'", f"count {PRODUCTS} --variant 'matrix last'",
    f"count {SPMV}", f"predict {SOFTMAX}", "calibrate --quick", f"predict {SOFTMAX} --variant 'item 16' --why",
    "predict softmax.py -p m=1Ki -p n=64..1Ki", f"predict {SPMV}", f"rank {SOFTMAX}", f"rank {SOFTMAX} --anchor",
    "rank products.py --crossover n=1Ki:64Ki", f"rank {STENCILS}", f"time {SOFTMAX}", f"time {PRODUCTS} --keep kept",
    f"time {SPMV} --visits 1", f"time {STENCILS} --visits 1", f"tune {SOFTMAX} --tolerance 1e-3", f"tune {PRODUCTS}",
    f"tune {STENCILS} --of-roof 0.5", "compare --roofline", f"report {PRODUCTS} --keep kept",
)  # fmt: skip
#: What no output may hold.
WRONG = ("Traceback", "Warning:")


def main(arguments: list[str]) -> int:
    place, *extras = arguments
    folder = Path(place).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    python, seconds = installed(folder, extras or ["report"])
    wrong = travelled(folder, python, seconds)
    sys.stdout.write("\n".join([*wrong, f"outputs: {folder / 'journey.txt'}", ""]))
    return int(bool(wrong))


def sources(folder: Path) -> Path:
    """Copy what an installation is made of into a folder, without the rest of a clone."""
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.jsonl"))
    return folder


def installed(folder: Path, extras: list[str]) -> tuple[Path, float]:
    """Build a wheel and install it in an empty environment; return its Python, and the time of the installation [s]."""
    clone, built, python = folder / "clone", folder / "built", folder / "environment" / "bin" / "python"
    clone.mkdir()
    pip = ("-m", "pip", "--quiet", "--disable-pip-version-check")
    subprocess.run([sys.executable, *pip, "wheel", "--no-deps", "-w", built, sources(clone)], check=True)
    (wheel,) = built.glob("*.whl")
    began = monotonic()
    subprocess.run([sys.executable, "-m", "venv", folder / "environment"], check=True)
    subprocess.run([python, *pip, "install", f"{wheel}[{','.join(extras)}]"], check=True)
    return python, monotonic() - began


def travelled(folder: Path, python: Path, install_s: float = 0.0) -> list[str]:
    """Run all commands in a folder with a home of its own; return what is wrong of them, a line each."""
    home, work, wrong = folder / "home", folder / "work", []
    for path in (home, work):
        path.mkdir()
    for kernel in KERNELS.glob("*.py"):
        shutil.copy(kernel, work)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PYTHON"))}
    environment |= {"HOME": str(home), "PATH": os.pathsep.join([str(python.parent), os.environ["PATH"]])}
    began = monotonic()
    with (folder / "journey.txt").open("w", encoding="utf-8") as log:
        log.write(f"installed in {install_s:.0f} s\n\n")
        for command in COMMANDS:
            start = monotonic()
            done = subprocess.run(
                [python, "-m", "perfmodel", *shlex.split(command)], cwd=work, env=environment, capture_output=True,
                text=True, check=False,
            )  # fmt: skip
            errors = "".join(f"2> {line}\n" for line in done.stderr.splitlines())
            ended = f"[status {done.returncode}, {monotonic() - start:.1f} s]"
            log.write(f"$ perfmodel {command}\n{done.stdout}{errors}{ended}\n\n")
            log.flush()
            wrong += [f"perfmodel {command}: status {done.returncode}"] * (done.returncode != 0)
            wrong += [f"perfmodel {command}: {word}" for word in WRONG if word in done.stdout + done.stderr]
        log.write(f"all commands in {monotonic() - began:.0f} s, after {install_s:.0f} s of installing\n")
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
