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
from typing import TYPE_CHECKING, TypeVar

from kernels.ladder import UnknownName, ladder_names, load_ladder
from simt import model
from workbook import units
from workbook.records import figures, published, schema, stale
from workbook.records.figures import Figures

if TYPE_CHECKING:
    from kernels.ladder import Ladder
    from workbook.records.published import Published, Rung
    from workbook.records.schema import Document

DEVICE = "h100"
STALE = "stale"
WIDTH = 128
_BEGIN = re.compile(r"<!-- (?:the ladder: (?P<ladder>\S+)|(?P<all>all records)) -->")
_END = {True: "<!-- end of all records -->", False: "<!-- end of the ladder -->"}
_LIKE_A_MARKER = re.compile(r"<!--[^<>]*(?:ladder|record)[^<>]*-->", re.IGNORECASE)
Row = TypeVar("Row")
Column = tuple[str, bool, Callable[[Row], str]]  # heading, whether its cells are flush right, cell


class BadMarker(ValueError):
    """Markers in a document that do not pair, or name no ladder; the message has the file and the line."""


def render(text: str, path: Path, root: Path, documents: Sequence[Document]) -> str:
    """The document with everything between markers written anew. `path` is where it lies, for links. Raises BadMarker."""
    links = "../" * len(path.parent.relative_to(root).parts)
    done, at = "", 0
    for begin, end in _tables(text, path):
        if begin["all"]:
            body = all_records(documents, links)
        else:
            try:
                body = one_ladder(load_ladder(begin["ladder"]), documents, links)
            except UnknownName as error:
                raise BadMarker(f"{_where(text, path, begin)}: {error}") from None
        done += f"{text[at:begin.end()]}\n{body.strip()}\n"
        at = end
    return done + text[at:]


def _tables(text: str, path: Path) -> list[tuple[re.Match, int]]:
    """Each marker with which a table begins, and where the one that ends it stands.

    Raises BadMarker for markers that do not pair, tables that stand there twice, and comments that are nearly markers.
    """
    found: dict[str, tuple[re.Match, int]] = {}
    open_: re.Match | None = None
    for near in _LIKE_A_MARKER.finditer(text):
        where, marker = _where(text, path, near), near[0]
        begin = _BEGIN.fullmatch(text, near.start(), near.end())
        if begin is None and marker not in _END.values():
            known = ", ".join(("<!-- the ladder: NAME -->", "<!-- all records -->", *_END.values()))
            raise BadMarker(f"{where}: {marker} is no marker; there are {known}")
        if open_ is not None and (begin or marker != _END[bool(open_["all"])]):
            break
        if marker in found:
            raise BadMarker(f"{where}: {marker} stands there twice, first at {_where(text, path, found[marker][0])}")
        if begin is None and open_ is None:
            raise BadMarker(f"{where}: {marker} has no beginning before it")
        if open_ is not None:
            found[open_[0]] = open_, near.start()
        open_ = begin
    if open_ is not None:
        raise BadMarker(f"{_where(text, path, open_)}: {open_[0]} has no {_END[bool(open_['all'])]} after it")
    return list(found.values())


def _where(text: str, path: Path, found: re.Match) -> str:
    return f"{path.name}:{text.count(chr(10), 0, found.start()) + 1}"


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
    columns: list[Column[Figures]] = [
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
        f"[docs/records.md]({links}docs/records.md) has the other devices.{_climbed_elsewhere(ladder)}"
    )
    return f"{markdown(columns, rows)}\n{prose(told)}\n"


def _climbed_elsewhere(ladder: Ladder) -> str:
    """What others gained over the first of their kernels, each on its GPU."""
    there = [
        f"{_times(found.climbed)} on {found.gpu} ([{found.source.partition(',')[0]}]({found.url})"
        f"{f': {found.note}' if found.note else ''})"
        for found in published.load()
        if found.ladder == ladder.name
    ]
    return f" Others measured, best kernel over first: {'; '.join(there)}." if there else ""


def all_records(documents: Sequence[Document], links: str) -> str:
    """A section for each ladder that has a record or a published figure."""
    sections = [_section(load_ladder(name), documents, links) for name in ladder_names()]
    return "\n".join(section for section in sections if section)


def markdown(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> str:
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
        columns: list[Column[Figures]] = [("step", False, lambda row: f"[{row.step.name}]({links}{_path(row)})")]
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
    columns: list[Column[Figures]] = [
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
    """Their measured figures and our nearest steps; modelled figures of those on the same device, in columns of their own."""
    document = figures.find(documents, found.device, ladder.name) if found.case is not None else None
    ours = {row.step.name: row for row in figures.of_ladder(document, ladder, found.case)} if document else {}
    columns: list[tuple[str, bool, Callable[[Rung], str]]] = [
        ("published kernel", False, lambda rung: rung.name),
        (f"{found.unit}, published, measured", True, lambda rung: f"{rung.value:g}"),
        ("speedup, published, measured", True, lambda rung: _times(found.speedup(rung))),
    ]
    if any(rung.step for rung in found.rungs):
        columns.append(("our nearest step", False, lambda rung: rung.step or "-"))
    if ours:
        columns.append((f"{found.unit}, ours, modelled", True, _figure_of_ours(ladder, found, ours)))
        columns.append(("speedup, ours, modelled", True, lambda rung: _cell_of(ours, rung, _cell("speedup", _times))))
    told = f"Measured by others ([{found.source}]({found.url}))"
    if ours:
        told += (
            " beside our nearest steps, **modelled** on that device. A published kernel and our step differ in tile sizes, "
            "language and compiler, and the model may err: it is not validated yet."
        )
    else:
        told += "; no device of ours is modelled after this GPU, or it has no record of this size."
    told += f" {found.note[:1].upper()}{found.note[1:]}." if found.note else ""
    size = f", at {found.case}" if found.case is not None else ""
    return f"### Published: {found.gpu}{size}\n\n{prose(told)}\n\n{markdown(columns, found.kernels)}"


def _cell_of(ours: dict[str, Figures], rung: Rung, show: Callable[[Figures], str]) -> str:
    return show(ours[rung.step]) if rung.step in ours else "-"


def _figure_of_ours(ladder: Ladder, found: Published, ours: dict[str, Figures]) -> Callable[[Rung], str]:
    """Our step's figure in the unit of the published climb."""
    in_unit: dict[str, Callable[[float], float]] = {
        "ms": lambda time_ns: time_ns / 1e6,
        "GFLOP/s": lambda time_ns: figures.problem_flops(ladder, found.case) / time_ns,
        "GB/s": lambda time_ns: min(_bytes(ladder, found)) / time_ns,
    }
    show = _cell("time_ns", lambda time_ns: units.digits(in_unit[found.unit](time_ns)) if found.unit in in_unit else "-")
    return lambda rung: _cell_of(ours, rung, show)


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
