"""Launches of a recording, against those that a library between the program and OpenCL counts."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from perfmodel.cli.watch import environment
from perfmodel.watching.recording import read_recording
from tests.watching.programs import SPMV

#: Writes the name of each launched kernel. Preloaded, it comes before OpenCL's library, which PyOpenCL loads late: it
#: finds that one among the loaded libraries.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTION_NAME = 0x1190 };

static int is_opencl(struct dl_phdr_info *library, size_t size, void *found)
{
    *(const char **)found = library->dlpi_name;
    return strstr(library->dlpi_name, "libOpenCL") != NULL;
}

static void *real(const char *name)
{
    const char *library = NULL;
    dl_iterate_phdr(is_opencl, &library);
    return dlsym(dlopen(library, RTLD_LAZY | RTLD_NOLOAD), name);
}

int32_t clEnqueueNDRangeKernel(
    void *queue, void *kernel, uint32_t dimensions, const size_t *offset, const size_t *global, const size_t *local,
    uint32_t events, const void *wait_for, void *event)
{
    int32_t (*launch)(
        void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, const void *, void *
    ) = real("clEnqueueNDRangeKernel");
    int32_t (*inform)(void *, uint32_t, size_t, void *, size_t *) = real("clGetKernelInfo");
    char name[256] = "";
    inform(kernel, FUNCTION_NAME, sizeof name, name, NULL);
    FILE *file = fopen(getenv("SHIM_LAUNCHES"), "a");
    fprintf(file, "%s\n", name);
    fclose(file);
    return launch(queue, kernel, dimensions, offset, global, local, events, wait_for, event);
}
"""

LONGEST_S = 300

pytestmark = [
    pytest.mark.nightly, pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing, to compile the shim"),
]  # fmt: skip


def launches(tmp_path: Path, watched: bool) -> tuple[Counter[str], str]:
    """Run the program; return the launches that the shim saw, and the program's output."""
    path, seen = tmp_path / "recording", tmp_path / f"launches-{watched}"
    variables = environment(path) if watched else {**os.environ}
    paths = [*filter(None, [variables.get("PYTHONPATH")]), *sys.path]
    variables |= {
        "PYTHONPATH": os.pathsep.join(paths), "LD_PRELOAD": str(tmp_path / "shim.so"), "SHIM_LAUNCHES": str(seen),
    }  # fmt: skip
    command = [sys.executable, "app.py"]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=LONGEST_S)
    assert 0 == done.returncode, done.stderr
    return Counter(seen.read_text().splitlines()), done.stdout


def test_each_launch_is_recorded_and_none_is_added(tmp_path: Path) -> None:
    (tmp_path / "shim.c").write_text(SHIM)
    (tmp_path / "app.py").write_text(f"{SPMV}\nrun(20)\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", "shim.so", "shim.c", "-ldl"], cwd=tmp_path, check=True)
    plain, output = launches(tmp_path, watched=False)
    assert plain["spmv"] == 2 * 20
    watched, same_output = launches(tmp_path, watched=True)
    assert (plain, output) == (watched, same_output)
    recorded: Counter[str] = Counter()
    for row in read_recording(tmp_path / "recording").rows:
        for launch in row.launches:
            recorded[launch.kernel] += launch.calls
        if row.unit is None and not row.transfer:
            recorded[row.name] += row.calls
    assert watched == recorded
