"""A report for a terminal: plain text, 100 columns wide except for the listing of long source lines."""
from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterable, Iterator

from simt.observe.profile import Finding
from simt.report import source as code
from simt.report.advice import Advice
from simt.report.lines import COLUMNS, listing
from simt.report.rules import advice
from simt.report.sections import Row, Section, Table, sections, tagged
from simt.report.subject import Subject, by_launch_shape, named, path, quoted
from simt.report.units import count, digits, duration, percent, size

WIDTH = 100
LABEL, VALUE, TAG = 21, 11, 9
SAMPLED = 15                # columns of a tag with what sampling may be off by
EXACT_UP_TO = 9_999_999     # larger counts are rounded to three digits
HOT = 3                     # lines named as the worst
WORTH_PERCENT = 1           # gain of what is worth doing first
MOST = 6                    # pieces of advice on one kernel
GROUPS = 5                  # kernels and shapes that are told in full


def report(subjects: list[Subject], *, source: bool = False) -> str:
    """All launches: those of one kernel and shape are told once, by the slowest. The last lines say what to do first."""
    groups = by_launch_shape(subjects)
    if not groups:
        return "no kernel was launched\n"
    parts = [list(launch(group, source=source)) for group in groups[:GROUPS]]
    if len(groups) > 1:
        parts.insert(0, list(overview(groups)))
    if len(groups) > GROUPS:
        parts.append([f"{len(groups) - GROUPS} more kernels or shapes took less time and are not shown: --json has all"])
    parts.append(list(first(groups)))
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


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
    """One kernel in one shape: what is wrong, what to do, and then the numbers."""
    subject = group[0]
    yield from heading(group)
    yield from found(subject_findings(group))
    yield from (line for said in watched(group) for line in ("", *wrapped(said, "")))
    yield from worst(subject)
    yield from advised(advice(subject), subject.profile.sampled)
    for section in sections(subject):
        yield ""
        yield from section_lines(section, "~" if subject.profile.sampled else "")
    if source:
        yield ""
        yield from listed(subject)
        yield ""
        yield from code.text(code.source_view(subject.profile)).splitlines()


def watched(group: list[Subject]) -> list[str]:
    """That checkers found nothing, and how much of the launch a search for races looked at, where that is not all of it."""
    profile = group[0].profile
    blocks, whole = profile.blocks_watched, profile.blocks_total
    said = []
    if profile.checks and all(finding.note for finding in subject_findings(group)):
        said.append(f"{', '.join(profile.checks)}: nothing to mend was found")
    if 0 < blocks < whole and profile.shared_bytes:
        said.append(f"races: shared memory was watched in {count(blocks)} of {count(whole)} blocks, global memory in all; "
                    '--sample all, or sample="all", watches every block')
    if not profile.globally_watched:
        said.append("races: there was no room to watch all of the global memory that the launch touches, what came last is "
                    "missing: check a smaller problem")
    return said


def subject_findings(group: list[Subject]) -> list[Finding]:
    """What checkers saw in all launches of the group, each thing once, notes last; files as people name them."""
    told = {(finding.kind, finding.text): finding for each in group for finding in each.profile.findings}
    return [with_near_paths(finding) for finding in sorted(told.values(), key=lambda finding: finding.note)]


def with_near_paths(finding: Finding) -> Finding:
    text = finding.text
    for file in {file for file, _ in finding.places}:
        text = text.replace(f"{file}:", f"{path(file)}:")
    return dataclasses.replace(finding, text=text)


def first(groups: list[list[Subject]]) -> Iterator[str]:
    """The findings to mend, or the first advice on the slowest kernel."""
    errors = [finding for group in groups for finding in subject_findings(group) if not finding.note]
    if errors:
        yield "Do first"
        places = ", ".join(quoted(place) for place in errors[0].places)
        yield from wrapped(f"{errors[0].kind}, {places}: {errors[0].advice}", "  ")
        return
    worth = [piece for piece in advice(groups[0][0]) if piece.gain_percent is None or piece.gain_percent >= WORTH_PERCENT]
    for piece in worth[:1]:
        yield f"Do first, in {groups[0][0].kernel}" if len(groups) > 1 else "Do first"
        where = (piece.file, piece.line) if piece.file else None
        yield from wrapped(f"{named(where)}: {piece.remedy}", "  ")


def heading(group: list[Subject]) -> Iterator[str]:
    subject, profile = group[0], group[0].profile
    yield f"{subject.kernel}  {shape(subject)}  on {subject.device.title}"
    if subject.time_ns:
        yield f"  {duration(subject.time_ns)} modelled, bound by {profile.bound_by}; {subject.error}"
    yield from (f"  {line}" for line in together(group))
    if profile.sampled:
        yield from wrapped(f"~ {profile.sampling_told}", "  ")


def worst(subject: Subject) -> Iterator[str]:
    lines = subject.hot_lines[:HOT]
    if lines:
        yield ""
        yield f"Worst lines, by {subject.weighed_by}{sampled(subject)}"
        yield from (shortened(f"  {100 * part:5.1f} %  {quoted(place)}") for place, part in lines)


def sampled(subject: Subject) -> str:
    return ", sampled" if subject.profile.sampled else ""


def advised(pieces: list[Advice], is_sampled: bool = False) -> Iterator[str]:
    """The first MOST pieces, and those behind them that say what bounds the launch."""
    told: dict[str, str] = {}           # remedy -> the rule that said it first
    shown = [piece for index, piece in enumerate(pieces) if index < MOST or piece.gain_percent is None]
    if shown:
        yield ""
        yield f"Advice, with the gain at most{'; its counts are sampled' if is_sampled else ''}"
    for piece in shown:
        gain = "" if piece.gain_percent is None else f", {digits(piece.gain_percent)} %"
        yield f"  {piece.rule}{gain}"
        yield from wrapped(piece.text, "    ")
        yield from wrapped(f"do: {f'as for {told[piece.remedy]}' if piece.remedy in told else piece.remedy}", "    ")
        told.setdefault(piece.remedy, piece.rule)
    if len(pieces) > len(shown):
        yield f"  {len(pieces) - len(shown)} more with less gain: --json has all"


def found(findings: Iterable[Finding]) -> Iterator[str]:
    """What checkers saw."""
    for index, finding in enumerate(findings):
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
        yield from row_lines(row, mark)
    for table in section.tables:
        yield ""
        yield from table_lines(table)
    if section.note:
        yield from wrapped(f"({section.note})", "  ")


def row_lines(row: Row, mark: str) -> Iterator[str]:
    if isinstance(row.value, str):
        yield f"  {row.label:{LABEL}} {shown(row):>{VALUE}} {row.tag}".rstrip()
        return
    value = shown(row) if row.fact else mark + shown(row)
    start = f"  {row.label:{LABEL}} {value:>{VALUE}} {tagged(row.tag, row.spread):{SAMPLED if mark else TAG}}"
    line = f"{start} {row.metric}".rstrip()
    if len(line) <= WIDTH:
        yield line
    else:
        yield start.rstrip()
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
        yield f"Source: {path(file)}"
        yield f"{head}  (part of the {subject.weighed_by}{sampled(subject)})"
        for line in lines:
            part = f"{100 * line.part:.1f} %" if line.part else ""
            figures = "".join(f" {cell(value(line.counters)):>9}" for _, value in COLUMNS)
            yield f"{line.line:5} {part:>7}{figures}  {line.text}"


def cell(value: float | None) -> str:
    return "" if value is None else count(value) if value >= 1000 or value == round(value) else digits(value)
