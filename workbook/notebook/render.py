"""Makes notebooks/NN_word.ipynb from notebooks/NN_word.py: executed on the emulated device, the same bytes every time.

The .py file, in Jupytext's percent form, is what people edit. A cell's id is its number and a hash of its source; there
are no execution counts and no times; pictures carry a digest of what they plot, by which two renderings are compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from kernels.fingerprint import PROJECT

FOLDER = PROJECT / "notebooks"
LIMIT_BYTES = 300_000
CELL_LIMIT_S = 300
SETTINGS = {"SIMT": "force", "SIMT_DEVICE": "h100", "SIMT_QUIET": "1", "SIMT_SCHEDULE": "forward", "PYTHONHASHSEED": "0"}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_ADDRESS = re.compile(r"0x(?!f{8}\b)[0-9a-f]{6,}")  # the mask of all lanes is none
_CELL = re.compile(r"(\S*/ipykernel_\d+/|\b)\d{6,10}\.py\b")  # what IPython calls a cell's file
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class CellFailed(RuntimeError):
    """A cell raised; the message names notebook, line of the .py file, and the error."""


def sources(folder: Path = FOLDER) -> list[Path]:
    """The notebooks' .py files, in their order."""
    return sorted(folder.glob("[0-9][0-9]_*.py"))


def render(source: Path) -> dict[str, Any]:
    """The executed notebook as a document. Raises CellFailed."""
    import jupytext
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    notebook = jupytext.read(source, fmt="py:percent")
    client = NotebookClient(
        notebook,
        timeout=CELL_LIMIT_S,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],  # its remarks on sockets are not the reader's
        resources={"metadata": {"path": str(source.resolve().parent)}},
    )
    try:
        client.execute(env={**os.environ, **SETTINGS, "PYTHONPATH": path_with(PROJECT)})
    except CellExecutionError as error:
        said = _COLOUR.sub("", str(error)).strip().splitlines()[-1]
        raise CellFailed(f"{source.name}, {_where(source, notebook)}: {said}") from None
    except CellTimeoutError as error:
        raise CellFailed(f"{source.name}: {str(error).splitlines()[0]}") from None
    return _document(notebook)


def text(document: dict[str, Any]) -> str:
    """The bytes of the .ipynb file."""
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def path_with(project: Path) -> str:
    """PYTHONPATH for a kernel, whose folder is that of the notebooks: the project first, then what was set before."""
    return os.pathsep.join([str(project), *filter(None, [os.environ.get("PYTHONPATH")])])


def path_of(source: Path) -> Path:
    return source.with_suffix(".ipynb")


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What two renderings say differently; pictures differ where their digests do."""
    old, new = before.get("cells", []), after["cells"]
    lines = [f"{len(old)} cells, now {len(new)}"] if len(old) != len(new) else []
    for number, (was, now) in enumerate(zip(old, new, strict=False)):
        first = "".join(now["source"]).splitlines()[:1]
        if was["source"] != now["source"] or was["cell_type"] != now["cell_type"]:
            lines.append(f"cell {number} ({first}): the source changed")
        elif _comparable(was) != _comparable(now):
            lines.append(f"cell {number} ({first}): the output changed")
    return lines


def _comparable(cell: dict[str, Any]) -> list[Any]:
    shown = []
    for output in cell.get("outputs", []):
        data = {kind: value for kind, value in output.get("data", {}).items() if kind != "image/png"}
        shown.append((output["output_type"], output.get("text"), data, output.get("metadata")))
    return shown


def _document(notebook: Any) -> dict[str, Any]:
    cells = [_cell(number, cell) for number, cell in enumerate(notebook.cells)]
    return {"cells": cells, "metadata": {"kernelspec": KERNEL}, "nbformat": 4, "nbformat_minor": 5}


def _cell(number: int, cell: Any) -> dict[str, Any]:
    digest = hashlib.sha256(cell.source.encode()).hexdigest()[:8]
    made = {
        "id": f"{number:02d}-{digest}",
        "cell_type": cell.cell_type,
        "metadata": {},
        "source": cell.source.splitlines(keepends=True),
    }
    if cell.cell_type == "code":
        made |= {"execution_count": None, "outputs": _merged([_output(output) for output in cell.outputs])}
    return made


def _output(output: Any) -> dict[str, Any]:
    if output["output_type"] == "stream":
        return {"output_type": "stream", "name": output["name"], "text": _lines(output["text"])}
    figure = {"plotted": output["metadata"]["image/png"]["plotted"]} if "image/png" in output.get("metadata", {}) else {}
    data = {
        kind: value if kind == "image/png" else _lines(value)
        for kind, value in sorted(output["data"].items())
        if not (kind == "text/plain" and len(output["data"]) > 1)  # what no reader of a picture or table sees
    }
    made = {"output_type": output["output_type"], "data": data, "metadata": figure}
    return made | ({"execution_count": None} if output["output_type"] == "execute_result" else {})


def _merged(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighbouring pieces of one stream as one: how the text was cut depends on timing."""
    made: list[dict[str, Any]] = []
    for output in outputs:
        if made and output["output_type"] == "stream" == made[-1]["output_type"] and output["name"] == made[-1]["name"]:
            whole = "".join(made[-1]["text"]) + "".join(output["text"])
            made[-1]["text"] = whole.splitlines(keepends=True)
        else:
            made.append(output)
    return made


def _lines(value: str) -> list[str]:
    said = _CELL.sub("<cell>", _ADDRESS.sub("0x…", _COLOUR.sub("", value)))
    return said.replace(f"{PROJECT}{os.sep}", "").splitlines(keepends=True)  # files by their path within the project


def _where(source: Path, notebook: Any) -> str:
    """The line of the .py file at which the failed cell begins."""
    failed = next(
        (cell for cell in notebook.cells if any(out["output_type"] == "error" for out in cell.get("outputs", []))), None)
    if failed is None:
        return "a cell"
    first = failed.source.splitlines()[0]
    lines = source.read_text(encoding="utf-8").splitlines()
    return f"line {lines.index(first) + 1}" if first in lines else f"the cell that begins {first!r}"
