"""Starts the recording of a process that ``perfmodel watch`` started, directly or through another program.

Its folder is the first of ``PYTHONPATH``, so that Python imports it before the program. The ``sitecustomize`` that it
hides, if there is one, runs as well.
"""

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path


def _run_hidden() -> None:
    here = Path(__file__).resolve().parent
    others = [folder for folder in sys.path if Path(folder).resolve() != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


_run_hidden()
if os.environ.get("PERFMODEL_WATCH"):
    try:
        from perfmodel.watching.starting import watch_this_process
    except ImportError as error:
        sys.stderr.write(f"perfmodel watch: this Python cannot import perfmodel ({error}); it is not recorded\n")
    else:
        watch_this_process(os.environ["PERFMODEL_WATCH"])
