"""Executes notebooks/NN_word.py on the emulated device, which makes notebooks/NN_word.ipynb: the same every time.

The .py file, in Jupytext's percent form, is what people edit.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

from kernels.fingerprint import PROJECT
from workbook.notebook import document
from workbook.notebook.document import Document

FOLDER = PROJECT / "notebooks"
LIMIT_BYTES = 300_000
CELL_LIMIT_S = 300
SETTINGS = {"SIMT": "force", "SIMT_DEVICE": "h100", "SIMT_QUIET": "1", "SIMT_SCHEDULE": "forward", "PYTHONHASHSEED": "0"}
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class CellFailed(RuntimeError):
    """A cell raised; the message names notebook, line of the .py file, and the error."""


def sources(folder: Path = FOLDER) -> list[Path]:
    """The notebooks' .py files, in their order."""
    return sorted(folder.glob("[0-9][0-9]_*.py"))


def render(source: Path) -> Document:
    """The executed notebook as a document. Raises CellFailed."""
    import jupytext

    try:
        notebook = jupytext.read(source, fmt="py:percent")
    except (OSError, ValueError) as error:
        raise CellFailed(f"{source.name} cannot be read: {error}") from None
    _execute(source, notebook)
    return document.made(notebook)


def _execute(source: Path, notebook: Any) -> None:
    """Run all cells."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    client = NotebookClient(
        notebook,
        timeout=CELL_LIMIT_S,
        kernel_name="python3",
        shutdown_kernel="immediate",
        extra_arguments=["--log-level=ERROR"],  # its remarks on sockets are not the reader's
        resources={"metadata": {"path": str(source.resolve().parent)}},
    )
    try:
        _beside(client.async_execute(env={**os.environ, **SETTINGS, "PYTHONPATH": path_with(PROJECT)}))
    except CellExecutionError as error:
        said = _COLOUR.sub("", str(error)).strip().splitlines()[-1]
        raise CellFailed(f"{source.name}, {_where(source, notebook)}: {said}") from None
    except (CellTimeoutError, DeadKernelError) as error:
        raise CellFailed(f"{source.name}: {str(error).splitlines()[0]}") from None


def _beside(execution: Coroutine[Any, Any, Any]) -> None:
    """Run it to its end in another thread, with a loop of its own. nbclient catches signals where it can, in the main thread:
    so Ctrl-C comes here instead, and cancels the execution, which then ends its kernel. Raises what it raises.
    """
    loop, ended = asyncio.new_event_loop(), Future[None]()
    task = loop.create_task(execution)

    def run() -> None:
        with contextlib.suppress(BaseException):  # task.result() has it
            loop.run_until_complete(task)
        _close(loop)
        ended.set_result(None)

    threading.Thread(target=run).start()
    try:
        ended.result()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(task.cancel)
        wait([ended])
        raise
    task.result()


def _close(loop: asyncio.AbstractEventLoop) -> None:
    """Close it with the tasks that nbclient leaves behind when it is cancelled."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left))
    loop.close()


def path_with(project: Path) -> str:
    """PYTHONPATH for a kernel, whose folder is that of the notebooks: the project first, then what was set before."""
    return os.pathsep.join([str(project), *filter(None, [os.environ.get("PYTHONPATH")])])


def path_of(source: Path) -> Path:
    return source.with_suffix(".ipynb")


def _where(source: Path, notebook: Any) -> str:
    """The line of the .py file at which the failed cell begins."""
    failed = next(
        (cell for cell in notebook.cells if any(out["output_type"] == "error" for out in cell.get("outputs", []))), None)
    if failed is None:
        return "a cell"
    first = failed.source.splitlines()[0]
    lines = source.read_text(encoding="utf-8").splitlines()
    return f"line {lines.index(first) + 1}" if first in lines else f"the cell that begins {first!r}"
