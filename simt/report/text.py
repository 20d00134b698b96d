"""A report for a terminal: plain text, 100 columns wide except for the listing of long source lines."""
from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from simt.observe.profile import Finding
from simt.report import source as code
from simt.report.advice import Advice
from simt.report.lines import COLUMNS, listing
from simt.report.rules import advice
from simt.report.sections import Row, Section, Table, sections
from simt.report.subject import Subject, by_launch_shape, quoted
from simt.report.units import count, digits, duration, percent, size

WIDTH = 100
LABEL, VALUE, TAG = 20, 10, 9
EXACT_UP_TO = 9_999_999     # larger counts are rounded to three digits
HOT = 3                     # lines named as the worst
GROUPS = 5                  # kernels and shapes that are told in full


def report(subjects: list[Subject], *, source: bool = False) -> str:
    """All launches: those of one kernel and shape are told once, by the slowest."""
    groups = by_launch_shape(subjects)
    if not groups:
        return "no kernel was launched\n"
    parts = [list(launch(group, source=source)) for group in groups[:GROUPS]]
    if len(groups) > 1:
        parts.insert(0, list(overview(groups)))
    if len(groups) > GROUPS:
        parts.append([f"{len(groups) - GROUPS} more kernels or shapes took less time and are not shown: --json has all"])
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def overview(groups: list[list[Subject]]) -> Iterator[str]:
    yield "Launches, modelled time"
    whole = sum(subject.time_ns for group in groups for subject in group)
    rows = [(group[0].kernel, shape(group[0]), f"{len(group)}", duration(spent(group)),
             percent(100 * spent(group) / whole) if whole else "-") for group in groups]
    yield from indented(columns(("kernel", "grid x block", "launches", "time", "part"), rows))


def spent(group: list[Subject]) -> float:
    return sum(subject.time_ns for subject in group)


def together(group: list[Subject]) -> list[str]:
    """What is said of launches that the first one stands for; nothing of one alone."""
    if len(group) < 2:
        return []
    return [f"the slowest of {len(group)} launches in this shape, which take {duration(spent(group))} together"]


def shape(subject: Subject) -> str:
    return f"{subject.profile.grid} x {subject.profile.block}"


def launch(group: list[Subject], *, source: bool = False) -> Iterator[str]:
    """One kernel in one shape."""
    subject = group[0]
    yield from heading(group)
    yield from worst(subject)
    yield from advised(advice(subject))
    for section in sections(subject):
        yield ""
        yield from section_lines(section, "~" if subject.profile.sampled else "")
    if source:
        yield ""
        yield from listed(subject)
        yield ""
        yield from code.text(code.source_view(subject.profile)).splitlines()
    yield from found([finding for each in group for finding in each.profile.findings])


def heading(group: list[Subject]) -> Iterator[str]:
    subject, profile = group[0], group[0].profile
    yield f"{subject.kernel}  {shape(subject)}  on {subject.device.title}"
    if subject.time_ns:
        yield f"  {duration(subject.time_ns)} modelled, bound by {profile.bound_by}; {subject.error}"
    yield from (f"  {line}" for line in together(group))
    errors = [finding for finding in profile.findings if not finding.note]
    if errors:
        places = dict.fromkeys(place for finding in errors for place in finding.places)
        yield from wrapped(f"! {len(errors)} finding{'s' if len(errors) > 1 else ''} of the checkers, below: "
                           + ", ".join(quoted(place) for place in list(places)[:HOT]), "  ")
    if profile.sampled:
        yield from wrapped(f"~ {profile.sampling_told}", "  ")


def worst(subject: Subject) -> Iterator[str]:
    lines = subject.hot_lines[:HOT]
    if lines:
        yield ""
        yield f"Worst lines, by {subject.weighed_by}"
        yield from (shortened(f"  {100 * part:5.1f} %  {quoted(place)}") for place, part in lines)


def advised(pieces: Iterable[Advice]) -> Iterator[str]:
    for index, piece in enumerate(pieces):
        if not index:
            yield ""
            yield "Advice, with the gain at most"
        gain = "" if piece.gain_percent is None else f", {digits(piece.gain_percent)} %"
        yield f"  {piece.rule}{gain}"
        yield from wrapped(piece.text, "    ")
        yield from wrapped(f"do: {piece.remedy}", "    ")


def found(findings: Iterable[Finding]) -> Iterator[str]:
    """What checkers saw."""
    told = {(finding.kind, finding.text): finding for finding in findings}
    for index, finding in enumerate(told.values()):
        if not index:
            yield ""
            yield "Findings"
        yield f"  {finding.kind}{', a note' if finding.note else ''}"
        yield from wrapped(finding.text, "    ")
        yield from wrapped(f"do: {finding.advice}", "    ")


def shortened(line: str) -> str:
    return line if len(line) <= WIDTH else line[:WIDTH - 1] + "…"


def wrapped(text: str, margin: str) -> list[str]:
    lines = textwrap.wrap(text, WIDTH - len(margin), break_long_words=False, break_on_hyphens=False)
    return [margin + line for line in lines]


# -- sections

def section_lines(section: Section, mark: str = "") -> Iterator[str]:
    """mark: before values that come from counters of a sample."""
    yield section.title
    for row in section.rows:
        yield from row_lines(row, "" if row.fact else mark)
    for table in section.tables:
        yield ""
        yield from table_lines(table)
    if section.note:
        yield from wrapped(f"({section.note})", "  ")


def row_lines(row: Row, mark: str) -> Iterator[str]:
    value = shown(row)
    if isinstance(row.value, str):
        yield f"  {row.label:{LABEL}} {value:>{VALUE}} {row.tag}".rstrip()
        return
    line = f"  {row.label:{LABEL}} {mark + value:>{VALUE}} {row.tag:{TAG}} {row.metric}".rstrip()
    if len(line) <= WIDTH:
        yield line
    else:
        yield f"  {row.label:{LABEL}} {mark + value:>{VALUE}} {row.tag}"
        yield f"{row.metric:>{WIDTH}}"


def shown(row: Row) -> str:
    """The value with its unit."""
    if isinstance(row.value, str):
        return row.value
    if row.unit in ("ns", "B", "%"):
        return {"ns": duration, "B": size, "%": percent}[row.unit](row.value)
    if isinstance(row.value, float):
        return digits(row.value)
    return f"{row.value:,}" if row.value <= EXACT_UP_TO else count(row.value)


def table_lines(table: Table) -> Iterator[str]:
    yield f"  {table.title}"
    yield from indented(columns(table.head, table.rows))


def columns(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Two spaces between columns; the first flush left, and the last where it is no figure."""
    lines = [head, *rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(head))]
    text = [[cell.ljust(width) if index == 0 or (index == len(head) - 1 and not head[index]) else cell.rjust(width)
             for index, (cell, width) in enumerate(zip(line, widths, strict=True))] for line in lines]
    return ["  ".join(cells).rstrip() for cells in text]


def indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)


# -- source

def listed(subject: Subject) -> Iterator[str]:
    """Counters per line beside its text."""
    head = f"{'line':>5} {'part':>7}" + "".join(f" {name:>9}" for name, _ in COLUMNS)
    for file, lines in listing(subject).items():
        yield f"Source: {file}"
        yield f"{head}  (part of the {subject.weighed_by})"
        for line in lines:
            part = f"{100 * line.part:.1f} %" if line.part else ""
            figures = "".join(f" {cell(value(line.counters)):>9}" for _, value in COLUMNS)
            yield f"{line.line:5} {part:>7}{figures}  {line.text}"


def cell(value: float | None) -> str:
    return "" if value is None else count(value) if value >= 1000 or value == round(value) else digits(value)
