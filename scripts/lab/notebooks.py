"""The example notebooks: found, executed in a process of their own, and written without what varies from run to run."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path, timeout_s: int = 300) -> nbformat.NotebookNode:
    """Return a notebook with new outputs; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:  # of the sockets, which nobody else can read
        manager = AsyncKernelManager(kernel_name="python3", transport="ipc", connection_file=f"{folder}/kernel.json")
        resources = {"metadata": {"path": str(path.parent)}}
        client = NotebookClient(notebook, km=manager, timeout=timeout_s, resources=resources, record_timing=False)
        client.owns_km = True  # it ends the process and closes the sockets
        client.execute(env={name: value for name, value in os.environ.items() if name != "MPLBACKEND"})
    return tidy(notebook)


def tidy(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return the notebook without what depends on the machine, and without the text next to a picture."""
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for place, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{place}", {}
        for output in cell.get("outputs", []):
            output.pop("metadata", None)
            if output.output_type in ("display_data", "execute_result"):
                output.metadata = {}
    return notebook


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    """Return the textual outputs, tables as HTML."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            shown = [data.get(f"text/{kind}") for kind in ("html", "latex", "plain")]
            found.append(next(filter(None, [*shown, output.get("text")]), ""))
    return found


def redraw() -> None:
    """Execute every notebook and write it with its outputs."""
    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)
