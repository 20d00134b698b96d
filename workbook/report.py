"""Shows a climb to a person: a table in colour on a terminal, aligned plain text elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from workbook import units
from workbook.climb import Climb
from workbook.failure import Failure
from workbook.results import Row

WIDE = 150  # columns of a terminal that holds the whole table in one piece
Cell = Callable[[Row], str]


def figure(name: str, show: Callable[[Any], str]) -> Cell:
    """The cell of one field of Row: a dash where it is None."""

    def cell(row: Row) -> str:
        value = getattr(row, name)
        return "-" if value is None else show(value)

    return cell


def _time(row: Row) -> str:
    return "FAILED" if not row.verified else units.duration(row.time_ns or 0)


def _sectors(row: Row) -> str:
    values = (row.sectors_per_request_ld, row.sectors_per_request_st)
    return " / ".join("-" if value is None else units.digits(value) for value in values)


STEP: tuple[str, Cell] = ("step", lambda row: row.step.partition("/")[2] or row.step)
CHANGED: tuple[str, Cell] = ("what changed", lambda row: row.changed)
RESULT: tuple[tuple[str, Cell], ...] = (
    ("time", _time),
    ("x first", figure("speedup_first", units.digits)),
    ("x prev", figure("speedup_previous", units.digits)),
    ("GFLOP/s", figure("gflops", units.digits)),
    ("% roof", figure("percent_of_roofline", units.digits)),
)
REASONS: tuple[tuple[str, Cell], ...] = (
    ("bound by", figure("bound_by", str)),
    ("sect/req ld/st", _sectors),
    ("conflicts", figure("bank_conflicts", units.count)),
    ("regs", figure("registers", str)),
    ("occup. %", figure("theoretical_occupancy_percent", lambda value: f"{value:.0f}")),
)


def headline(climb: Climb) -> str:
    return f"{climb.ladder.name} at {climb.case}, {climb.target.title}"


def table(console: Console, rows: Sequence[Row]) -> None:
    """Print the table: in one piece where it fits, as results and reasons on a narrow terminal."""
    if not console.is_terminal:
        console.file.write(plain((STEP, *RESULT, *REASONS, CHANGED), rows))
    elif console.width >= WIDE:
        console.print(_rich((STEP, *RESULT, *REASONS, CHANGED), rows))
    else:
        console.print(_rich((STEP, *RESULT, CHANGED), rows))
        console.print(_rich((STEP, *REASONS), rows))


def plain(columns: Sequence[tuple[str, Cell]], rows: Sequence[Row]) -> str:
    """Two spaces between columns; the first and the last flush left, figures flush right."""
    lines = [[title for title, _ in columns], *([cell(row) for _, cell in columns] for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    text = ""
    for first, *figures, last in lines:
        middle = [figure.rjust(width) for figure, width in zip(figures, widths[1:-1], strict=True)]
        text += "  ".join([first.ljust(widths[0]), *middle, last]).rstrip() + "\n"
    return text


def too_fast(row: Row) -> str:
    """What to suspect of a step that takes less time than the roofline allows; empty for any other."""
    if row.percent_of_roofline is None or row.percent_of_roofline <= 100:
        return ""
    return (
        f"{row.step} is at {units.digits(row.percent_of_roofline)} % of the roofline, which no work can be: either its data "
        "stays in a cache at this size, or the clock stopped before the work was done"
    )


def _rich(columns: Sequence[tuple[str, Cell]], rows: Sequence[Row]) -> Table:
    out = Table(box=None, pad_edge=False, header_style="bold", row_styles=("", "on grey7"))
    for title, _ in columns:
        if title in ("step", "what changed"):
            out.add_column(title, overflow="fold", no_wrap=title == "step")
        else:
            out.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        cells = [Text(cell(row)) for _, cell in columns]
        out.add_row(*cells, style=None if row.verified else "red")
    return out


def failure(console: Console, step: str, found: Failure, again: str) -> None:
    """One screen about a step that failed, with the command that repeats it."""
    console.print(Text(f"{step}: {found.what}", style="bold red"), soft_wrap=True)
    for line in found.lines:
        console.print(Text(f"  {line}"), soft_wrap=True)
    console.print(Text(f"  again: {again}", style="dim"), soft_wrap=True)
