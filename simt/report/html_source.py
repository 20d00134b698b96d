"""The source view as HTML: each line of the program with its counters, and its PTX and SASS folded below it."""
from __future__ import annotations

import collections
from collections.abc import Iterator
from html import escape

from simt.report.source import SassRow, SourceLine, SourceView, facts
from simt.report.subject import named, path
from simt.report.units import count

HEAD = ("PTX line", "PTX", "warps", "SASS at", "registers", "SASS", "warps")


def source(view: SourceView) -> str:
    """All lines that have code, in the order of the files; the notes below."""
    counted = "sampled" if view.sampled else "exact"
    made = f"<p>{view.registers} registers a thread; warps that ran it: PTX {counted}, SASS estimated</p>"
    file = ""
    for line in view.lines:
        if line.place[0] != file:
            file = line.place[0]
            made += f"<p>{escape(path(file))}</p>"
        made += details(line)
    return made + "".join(f"<p>{escape(note)}</p>" for note in view.notes)


def details(line: SourceLine) -> str:
    """One line, closed: its text and part; inside, its counters and its instructions."""
    part = f"{100 * line.part:.1f} %" if line.part else ""
    told = "".join(f"<br>{escape(fact)}" for fact in facts(line))
    head = "".join(f"<th>{name}</th>" for name in HEAD)
    body = "".join("<tr>" + "".join(cells(row)) + "</tr>" for row in rows(line))
    return f"<details><summary><code>{escape(named(line.place))}  {escape(line.text.strip())}</code> {part}</summary>" \
        f"<p>{told.removeprefix('<br>')}</p><table><tr>{head}</tr>{body}</table></details>"


def rows(line: SourceLine) -> Iterator[tuple[str, ...]]:
    """Each PTX instruction beside the first SASS instruction made from it, the others below; then SASS without PTX."""
    of: dict[int | None, list[SassRow]] = collections.defaultdict(list)
    known = {row.line for row in line.ptx}
    for row in line.sass:
        of[row.instruction.ptx_line if row.instruction.ptx_line in known else None].append(row)
    for row in line.ptx:
        left = (f"{row.line}", row.text, count(row.executed))
        for machine in of[row.line] or [None]:
            yield (*left, *right(machine))
            left = ("", "", "")
    yield from (("", "", "", *right(machine)) for machine in of[None])


def right(row: SassRow | None) -> tuple[str, ...]:
    if row is None:
        return ("", "", "", "")
    found = row.instruction
    live = "" if found.live is None else f"{found.live}"
    return f"{found.address:04x}", live, f"{found.text} (spill)" if found.spill else found.text, count(row.executed)


def cells(row: tuple[str, ...]) -> Iterator[str]:
    for name, text in zip(HEAD, row, strict=True):
        yield f'<td class="code">{escape(text)}</td>' if name in ("PTX", "SASS") else f"<td>{escape(text)}</td>"
