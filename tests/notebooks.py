"""The notebooks, played in a kernel; `python -m tests.notebooks` writes their outputs anew."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping

import jupytext
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

from tests.pages import TOP

FOLDER = TOP / "notebooks"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.py")))
LIMIT_S = 120
# The first cell when one is played: a name that is to go from pandas, numpy, matplotlib or from
# our own code ends the notebook; what the kernel warns of at its own end is not ours.
STRICT = """\
import warnings

for _each in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
    warnings.filterwarnings("error", category=_each)
warnings.filterwarnings("ignore", module="ipykernel")
"""


class Kernel(AsyncKernelManager):
    """A kernel whose name is the Python that it runs on: it is registered nowhere."""

    @property
    def kernel_spec(self) -> KernelSpec:
        """How it is started."""
        words = ["-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=[self.kernel_name, *words])


def read(name: str, values: Mapping[str, str] | None = None) -> NotebookNode:
    """The notebook as its text has it, with other expressions for some of its parameters."""
    book: NotebookNode = jupytext.read(FOLDER / f"{name}.py")
    for number, cell in enumerate(book.cells):
        cell.id = f"{name}-{number}"
        if "parameters" in cell.metadata.get("tags", ()):
            for key, expression in (values or {}).items():
                cell.source += f"\n{key} = {expression}"
    return book


def played(book: NotebookNode, python: str = sys.executable) -> NotebookNode:
    """The notebook with its outputs; raises where a cell does, and on every deprecation."""
    book.cells[:0] = jupytext.reads(STRICT, fmt="py:percent").cells
    client = NotebookClient(
        book,
        kernel_manager_class=Kernel,
        kernel_name=python,
        timeout=LIMIT_S,
        record_timing=False,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    asyncio.run(client.async_execute(env={**os.environ, "PYTHONPATH": str(TOP)}))
    del book.cells[0]
    return book


def main() -> None:
    """Play all of them, and keep each with its outputs beside its text."""
    for name in NAMES:
        print(name, flush=True)
        jupytext.write(played(read(name)), FOLDER / f"{name}.ipynb")


if __name__ == "__main__":
    main()
