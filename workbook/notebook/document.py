"""The .ipynb document: what belongs in it, what of two of them is compared, and whether one is still as it was rendered.

A cell's id is its number and a hash of its source; there are no execution counts and no times; pictures carry a digest of what
they plot, by which two renderings are compared. The metadata is what JupyterLab writes, so that opening and saving changes
nothing, and a digest of all that is compared, so that a notebook which somebody ran or edited is known as theirs.

A question is a code cell that leaves a guess open: `predicted = ...`. The outputs of the code cells after it, up to the next
text, tell the answer. They are folded, which JupyterLab undoes when the cell runs.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from kernels.fingerprint import PROJECT

Document = dict[str, Any]
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
FOLDED = {"collapsed": True, "jupyter": {"outputs_hidden": True}}
DIGITS = 16
FORMAT = 4, 5
_ADDRESS = re.compile(r"0x(?!f{8}\b)[0-9a-f]{6,}")  # the mask of all lanes is none
_CELL = re.compile(r"(\S*/ipykernel_\d+/|\b)\d{6,10}\.py\b")  # what IPython calls a cell's file
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Damaged(ValueError):
    """A file that is no notebook: the message names it and what is wrong."""


def made(notebook: Any) -> Document:
    """The document of an executed notebook, as nbformat has it."""
    cells = [_cell(number, cell) for number, cell in enumerate(notebook.cells)]
    for cell in answers(cells):
        cell["metadata"] = FOLDED
    document = {"cells": cells, "metadata": {"kernelspec": KERNEL}, "nbformat": FORMAT[0], "nbformat_minor": FORMAT[1]}
    document["metadata"]["language_info"] = dict(notebook.metadata["language_info"])
    document["metadata"]["rendered"] = _digest(document)
    return document


def text(document: Document) -> str:
    """The bytes of the .ipynb file, as JupyterLab writes them."""
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def read(path: Path) -> Document | None:
    """The document, or None where there is no file. Raises Damaged."""
    from nbformat.validator import get_validator

    where = path.relative_to(PROJECT) if path.is_relative_to(PROJECT) else path
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Damaged(f"{where} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{where} is no JSON, or not all of it ({error})") from None
    if any(get_validator(*FORMAT).iter_errors(document)):
        raise Damaged(f"{where} is JSON, but no notebook of format 4.5")
    return document


def touched(document: Document) -> bool:
    """Whether somebody ran or edited it since it was rendered."""
    return document["metadata"].get("rendered") != _digest(document)


def differences(before: Document | None, after: Document) -> list[str]:
    """What two renderings say differently; pictures differ where their digests do. None: there was no document."""
    old, new = before["cells"] if before else [], after["cells"]
    lines = [f"{len(old)} cells, now {len(new)}"] if len(old) != len(new) else []
    for number, (was, now) in enumerate(zip(old, new, strict=False)):
        first = _whole(now["source"]).splitlines()[:1]
        if _source(was) != _source(now):
            lines.append(f"cell {number} ({first}): the source changed")
        elif _shown(was) != _shown(now):
            lines.append(f"cell {number} ({first}): the output changed")
    return lines


def guesses(cell: Document) -> list[str]:
    """Names that a code cell leaves to the reader: those it sets to `...`."""
    if cell["cell_type"] != "code":
        return []
    found = []
    for node in ast.walk(ast.parse(_whole(cell["source"]))):
        if isinstance(node, ast.Assign) and any(ast.unparse(part) == "..." for part in _parts(node.value)):
            found += [name.id for target in node.targets for name in _parts(target) if isinstance(name, ast.Name)]
    return found


def compares(cell: Document) -> bool:
    """Whether a code cell holds a guess against what was found."""
    return cell["cell_type"] == "code" and "notebook.compare(" in _whole(cell["source"])


def answers(cells: list[Document]) -> list[Document]:
    """The code cells after a question, up to the next text, that show more than a comparison."""
    found, asked = [], False
    for cell in cells:
        asked = cell["cell_type"] == "code" and (asked or bool(guesses(cell)))
        if asked and cell["outputs"] and not compares(cell):
            found.append(cell)
    return found


def _parts(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def _digest(document: Document) -> str:
    """Of all that `differences` looks at, and of whether a cell was run."""
    seen = [(_source(cell), _shown(cell), cell.get("execution_count")) for cell in document["cells"]]
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:DIGITS]


def _source(cell: Document) -> tuple[str, str]:
    return cell["cell_type"], _whole(cell["source"])


def _shown(cell: Document) -> list[Any]:
    shown = []
    for output in cell.get("outputs", []):
        data = {kind: _whole(value) for kind, value in output.get("data", {}).items() if kind != "image/png"}
        shown.append([output["output_type"], _whole(output.get("text", "")), data, output.get("metadata", {})])
    return shown


def _whole(text: str | list[str]) -> str:
    """Text as one piece: nbformat has it in either form."""
    return "".join(text)


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
