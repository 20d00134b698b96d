"""Renders records as Markdown, between markers in the documents.

    <!-- the ladder: matmul -->  …  <!-- end of the ladder -->    one ladder as modelled on DEVICE
    <!-- all records -->         …  <!-- end of all records -->   every ladder on every device, and published figures

Modelled and measured times never share a column, and what others published has its own.
"""

from __future__ import annotations

import importlib
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernels.ladder import UnknownName, ladder_names, load_ladder
from simt import model
from workbook import units
from workbook.records import figures, published, schema, stale
from workbook.records.figures import Figures

if TYPE_CHECKING:
    from kernels.ladder import Ladder
    from workbook.records.published import Published
    from workbook.records.schema import Document

DEVICE = "h100"
STALE = "stale"
WIDTH = 128
_BEGIN = re.compile(r"<!-- (?:the ladder: (?P<ladder>\S+)|(?P<all>all records)) -->")
_END = {True: "<!-- end of all records -->", False: "<!-- end of the ladder -->"}
Column = tuple[str, bool, Callable[[Figures], str]]  # heading, whether its cells are flush right, cell


class BadMarker(ValueError):
    """Markers in a document that do not pair, or name no ladder; the message has the file and the line."""


def render(text: str, path: Path, root: Path, documents: Sequence[Document]) -> str:
    """The document with everything between markers written anew. `path` is where it lies, for links. Raises BadMarker."""
    done, at = "", 0
    while begin := _BEGIN.search(text, at):
        where = f"{path.name}:{text.count(chr(10), 0, begin.start()) + 1}"
        end = text.find(_END[bool(begin["all"])], begin.end())
        following = _BEGIN.search(text, begin.end())
        if end < 0 or (following and following.start() < end):
            raise BadMarker(f"{where}: {begin[0]} has no {_END[bool(begin['all'])]} after it")
        links = "../" * len(path.parent.relative_to(root).parts)
        if begin["all"]:
            body = all_records(documents, links)
        else:
            try:
                body = one_ladder(load_ladder(begin["ladder"]), documents, links)
            except UnknownName as error:
                raise BadMarker(f"{where}: {error}") from None
        done += f"{text[at:begin.end()]}\n{body.strip()}\n"
        at = end
    return done + text[at:]


def stale_runs(documents: Iterable[Document]) -> list[str]:
    """A line for every run that shows as stale: which, where, and why."""
    return [
        f"{run['step']} on {document['device']} is stale: {'; '.join(reasons)}"
        for document in documents
        for run in document["runs"]
        if (reasons := stale.reasons(document, run))
    ]


def one_ladder(ladder: Ladder, documents: Sequence[Document], links: str) -> str:
    """The table of a ladder's own size on DEVICE, and what it is."""
    document = figures.find(documents, DEVICE, ladder.name)
    if document is None or document["kind"] != schema.MODELLED:
        return f"No record yet: `./ladder record {ladder.name}` makes it."
    rows = figures.of_ladder(document, ladder, ladder.timed_case)
    columns: list[Column] = [
        ("step", False, lambda row: f"[{row.step.name}]({links}{_path(row)})"),
        ("time", True, _cell("time_ns", units.duration)),
        ("speedup", True, _cell("speedup", _times)),
        ("bound by", False, _cell("bound_by", str)),
        ("sectors per request, ld / st", False, _sectors),
        ("bank conflicts", True, _cell("bank_conflicts", units.count)),
        ("registers", True, _cell("registers", str)),
    ]
    blocks = "sampled blocks" if any(row.sampled for row in rows) else "all blocks"
    told = (
        f"{_about(ladder)} At {ladder.timed_case}, **modelled** on {_title(DEVICE)}; {_error(document)}. Sectors and conflicts "
        f"are exact counts of {blocks}, registers those of the real machine code. `./ladder climb {ladder.name}` counts anew; "
        f"[docs/records.md]({links}docs/records.md) has the other devices."
    )
    return f"{markdown(columns, rows)}\n{prose(told)}\n"


def all_records(documents: Sequence[Document], links: str) -> str:
    """A section for each ladder that has a record or a published figure."""
    sections = [_section(load_ladder(name), documents, links) for name in ladder_names()]
    return "\n".join(section for section in sections if section)


def markdown(columns: Sequence[Column], rows: Sequence[Figures]) -> str:
    lines = [[heading for heading, _, _ in columns], ["---:" if right else "---" for _, right, _ in columns]]
    lines += [[cell(row) for _, _, cell in columns] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def prose(text: str) -> str:
    """A paragraph in lines of WIDTH columns."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _section(ladder: Ladder, documents: Sequence[Document], links: str) -> str:
    here = [document for document in documents if ladder.name in figures.ladders_of(document)]
    modelled = [document for document in here if document["kind"] == schema.MODELLED]
    parts = [_modelled(ladder, modelled, links)] if modelled else []
    parts += [_measured(ladder, document, links) for document in here if document["kind"] == schema.MEASURED]
    parts += [_published(ladder, found, documents) for found in published.load() if found.ladder == ladder.name]
    return f"## {ladder.name}\n\n{_about(ladder)}\n\n" + "\n".join(parts) if parts else ""


def _modelled(ladder: Ladder, documents: Sequence[Document], links: str) -> str:
    """Times and speedups by device, then what sets them."""
    tables = []
    for show in (lambda row: _time_and_speedup(row), lambda row: _cell("bound_by", str)(row) + _registers(row)):
        columns: list[Column] = [("step", False, lambda row: f"[{row.step.name}]({links}{_path(row)})")]
        for document in documents:
            by_step = {row.step: row for row in figures.of_ladder(document, ladder, ladder.timed_case)}
            columns.append((document["device"], True, lambda row, rows=by_step, show=show: _at(rows, row, show)))
        tables.append(markdown(columns, [Figures(step) for step in ladder.steps]))
    return (
        f"### Modelled, at {ladder.timed_case}\n\n"
        f"Time, and speedup over the first step; {_error(documents[0])}.\n\n{tables[0]}\n"
        f"What bounds the step's longest launch, and its registers per thread, from the real machine code.\n\n{tables[1]}"
    )


def _at(rows: dict, row: Figures, show: Callable[[Figures], str]) -> str:
    return show(rows[row.step]) if row.step in rows else "-"


def _measured(ladder: Ladder, document: Document, links: str) -> str:
    rows = figures.of_ladder(document, ladder, ladder.timed_case)
    columns: list[Column] = [
        ("step", False, lambda row: f"[{row.step.name}]({links}{_path(row)})"),
        ("median, measured", True, _cell("time_ns", units.duration)),
        ("speedup", True, _cell("speedup", _times)),
        ("fastest", True, _cell("fastest_ns", units.duration)),
        ("slowest", True, _cell("slowest_ns", units.duration)),
    ]
    env = document["env"]
    libraries = [
        f"{entry['library']}: {units.duration(figures.time_ns(entry))}."
        for entry in document["baselines"]
        if entry["ladder"] == ladder.name and entry["case"] == dict(ladder.timed_case)
    ]
    told = (
        f"CUDA events, L2 flushed between samples; driver {env['driver'] or 'unknown'}, recorded {document['recorded']}. "
        f"{' '.join(libraries)}"
    )
    return f"### Measured on {env['gpu']}, at {ladder.timed_case}\n\n{prose(told)}\n\n{markdown(columns, rows)}"


def _published(ladder: Ladder, found: Published, documents: Sequence[Document]) -> str:
    """Their measured figures; ours of the same step, modelled on the same device, in columns of their own."""
    headings = ["published kernel", f"{found.unit}, published, measured", "speedup, published, measured"]
    document = figures.find(documents, found.device, ladder.name)
    ours = {row.step.name: row for row in figures.of_ladder(document, ladder, found.case)} if document else {}
    if ours:
        headings += ["our step", f"{found.unit}, ours, modelled", "speedup, ours, modelled"]
    lines = [headings, [":---" if "kernel" in heading or "step" in heading else "---:" for heading in headings]]
    for rung in found.rungs:
        line = [rung.name, f"{rung.value:g}", _times(found.speedup(rung))]
        lines.append(line + (_ours(ladder, found, ours.get(rung.step), rung.step) if ours else []))
    if found.library is not None:
        line = [found.library.name, f"{found.library.value:g}", _times(found.speedup(found.library))]
        lines.append(line + (["-"] * 3 if ours else []))
    told = f"Measured by others ([{found.source}]({found.url}))"
    if ours:
        told += (
            " beside our nearest steps, **modelled** on that device. A published kernel and our step differ in tile sizes, "
            "language and compiler, and the model may err: it is not validated yet."
        )
    else:
        told += "; no device of ours is modelled after this GPU, or it has no record of this size."
    body = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"### Published: {found.gpu}, at {found.case}\n\n{prose(told)}\n\n{body}"


def _ours(ladder: Ladder, found: Published, row: Figures | None, step: str) -> list[str]:
    if row is None:
        return [step or "-", "-", "-"]
    if row.time_ns is None:
        return [step, STALE, STALE]
    if found.unit == "ms":
        figure = row.time_ns / 1e6
    elif found.unit == "GFLOP/s":
        figure = figures.problem_flops(ladder, found.case) / row.time_ns
    else:
        figure = min(_bytes(ladder, found)) / row.time_ns
    return [step, units.digits(figure), _cell("speedup", _times)(row)]


def _bytes(ladder: Ladder, found: Published) -> Iterable[int]:
    """Bytes that each step asks for; the fewest are the problem's."""
    return (step.cost(found.case).load_bytes + step.cost(found.case).store_bytes for step in ladder.steps)


def _cell(name: str, show: Callable) -> Callable[[Figures], str]:
    def cell(row: Figures) -> str:
        if row.time_ns is None:
            return STALE
        value = getattr(row, name)
        return "-" if value is None else show(value)

    return cell


def _sectors(row: Figures) -> str:
    cells = [_cell(f"sectors_per_request_{way}", units.digits)(row) for way in ("ld", "st")]
    return STALE if STALE in cells else " / ".join(cells)


def _time_and_speedup(row: Figures) -> str:
    return STALE if row.time_ns is None else f"{units.duration(row.time_ns)}, {_cell('speedup', _times)(row)}"


def _registers(row: Figures) -> str:
    return "" if row.registers is None else f", {row.registers}"


def _times(factor: float) -> str:
    return f"{units.digits(factor)}x"


def _path(row: Figures) -> str:
    return row.step.module_name.replace(".", "/") + ".py"


def _title(device: str) -> str:
    return model.load(device).title if device in model.names() else device


def _error(document: Document) -> str:
    error = document["model"]["error_percent"]
    return "the model's error is not validated yet" if error is None else f"the model's known error is {units.digits(error)} %"


def _about(ladder: Ladder) -> str:
    """The first line of what the ladder's package says of itself."""
    package = importlib.import_module(ladder.steps[0].module_name.rpartition(".")[0])
    return (package.__doc__ or ladder.name).strip().splitlines()[0]
