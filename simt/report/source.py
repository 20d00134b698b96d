"""The source view: each line of the learner's program with its counters, its PTX, its SASS, its registers and its spills.

PTX and counters belong to a line by the ``.loc`` that stands before them; SASS belongs to the PTX instruction that it was made
from. Counts of PTX are exact (or sampled), those of SASS estimated: see simt/report/mix.py.
"""
from __future__ import annotations

import collections
import dataclasses
import linecache
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from simt.observe import names
from simt.observe.profile import LaunchProfile
from simt.report import mix, sass
from simt.report.mix import Mix
from simt.report.sass import NoSass, Place
from simt.report.subject import Subject, named
from simt.report.units import count, digits, percent

WIDTH = 100
HOT_PERCENT = 1.0           # of the launch's PTX instructions: a line from here on is hot
ROWS = 40                   # of PTX and SASS under a line, unless asked for all
_PTX, _SASS = 31, 35         # columns of their text


@dataclasses.dataclass(frozen=True, slots=True)
class PtxRow:
    """line: in the text of the module;  executed: warps that ran it"""

    line: int
    text: str
    executed: int


@dataclasses.dataclass(frozen=True, slots=True)
class SassRow:
    """instruction of ``function``;  executed: warps that ran it, estimated"""

    function: str
    instruction: sass.Instruction
    executed: int


@dataclasses.dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of the learner's program.

    part:     of the launch's executed PTX instructions, 0 to 1
    counters: by the names of simt.observe.names
    """

    place: Place
    text: str
    part: float
    counters: dict[str, int]
    ptx: tuple[PtxRow, ...]
    sass: tuple[SassRow, ...]

    @property
    def live_registers(self) -> int | None:
        """Most 32-bit registers in use at once, while this line runs; None without SASS."""
        return max((row.instruction.live for row in self.sass if row.instruction.live is not None), default=None)

    @property
    def spill_stores(self) -> int:
        """Instructions that save a register in local memory, as there is no room for it."""
        return sum(row.instruction.spill and row.instruction.base == "STL" for row in self.sass)

    @property
    def spill_loads(self) -> int:
        """Instructions that bring one back."""
        return sum(row.instruction.spill and row.instruction.base == "LDL" for row in self.sass)

    @property
    def inlined_at(self) -> list[Place]:
        """Lines that call the function in which this one stands, where the compiler copied it there."""
        return sorted({place for row in self.sass for place in row.instruction.inlined[:1]})


@dataclasses.dataclass(frozen=True, slots=True)
class SourceView:
    """Lines in the order of the files. notes: what the view lacks and why, and the spills."""

    kernel: str
    registers: int
    lines: tuple[SourceLine, ...]
    notes: tuple[str, ...]
    sampled: bool

    def line(self, place: Place) -> SourceLine:
        """Raises KeyError, in words, for a line that has no code."""
        for line in self.lines:
            if line.place == place:
                return line
        known = ", ".join(named(line.place) for line in self.lines)
        raise KeyError(f"{named(place)} has no code in {self.kernel}: lines that have some are {known}")

    @property
    def hot(self) -> list[SourceLine]:
        """Lines with at least HOT_PERCENT of the instructions, the hottest first."""
        found = [line for line in self.lines if line.part * 100 >= HOT_PERCENT]
        return sorted(found, key=lambda line: (-line.part, line.place))


def source_view(launch: LaunchProfile) -> SourceView:
    """The view of a launch. Without SASS a note says why, and the rest stands."""
    notes: list[str] = []
    made: Mix | None = None
    try:
        made = mix.instruction_mix(launch, live=True)
    except NoSass as error:
        notes.append(str(error))
    ptx = _ptx_rows(launch)
    machine = _sass_rows(made) if made else {}
    whole = sum(counters.get(names.INSTRUCTIONS, 0) for counters in launch.lines.values()) or 1
    places = {place for place in (*launch.lines, *ptx, *machine) if place is not None}
    lines = []
    for place in sorted(places):
        counters = launch.lines.get(place, {})
        part = counters.get(names.INSTRUCTIONS, 0) / whole
        lines.append(SourceLine(place, linecache.getline(*place).rstrip(), part, dict(counters), tuple(ptx.get(place, ())),
                                tuple(machine.get(place, ()))))
    if made:
        notes += _sass_notes(launch, lines, machine)
    return SourceView(Subject.of(launch).kernel, launch.registers, tuple(lines), tuple(notes), launch.sampled)


def _ptx_rows(launch: LaunchProfile) -> dict[Place, list[PtxRow]]:
    if launch.code is None:
        return {}
    text = launch.code.ptx.splitlines()
    found: dict[Place, list[PtxRow]] = collections.defaultdict(list)
    for line, statement in sorted(mix.ptx_lines(mix.parsed(launch.code.ptx), launch.kernel).items()):
        if statement.source is not None:
            place = statement.source.file, statement.source.line
            found[place].append(PtxRow(line, _statement(text, line), launch.executed.get(line, 0)))
    return found


def _statement(text: list[str], line: int) -> str:
    """A PTX statement that begins on that line, on one line."""
    parts = []
    for part in text[line - 1:]:
        parts.append(part.split("//")[0])
        if ";" in part:
            break
    return sass.readable(" ".join(" ".join(parts).split()))


def _sass_rows(made: Mix) -> dict[Place | None, list[SassRow]]:
    found: dict[Place | None, list[SassRow]] = collections.defaultdict(list)
    for function in made.functions:
        for instruction in function.instructions:
            if instruction.block is not None:
                row = SassRow(function.name, instruction, made.executions[function.name, instruction.address])
                found[made.place(instruction)].append(row)
    return found


def _sass_notes(launch: LaunchProfile, lines: Sequence[SourceLine], machine: dict) -> Iterator[str]:
    if without := len(machine.get(None, ())):
        yield f"{without} SASS instructions belong to no line: the compiler's routines (division), or code linked without lines"
    spilled = [line for line in lines if line.spill_stores or line.spill_loads]
    if spilled:
        where = "; ".join(f"{named(line.place)} saves {line.spill_stores} and restores {line.spill_loads}" for line in spilled)
        yield (f"spills: {launch.registers} registers a thread were not enough, so values wait in local memory: {where}. "
               "Fewer live values, a larger max_registers or a smaller block (launch_bounds) avoid it")
    elif launch.spill_bytes:
        yield f"spills: the linker counts {launch.spill_bytes} B a thread, but nvdisasm names none: their lines are not known"


# -- for a terminal


def text(view: SourceView, place: Place | None = None, rows: int | None = ROWS) -> str:
    """The view in 100 columns: all hot lines, or one. rows: of PTX and SASS under each line, None for all.

    Raises KeyError for a line without code.
    """
    shown = [view.line(place)] if place else view.hot
    parts = [_heading(view), *(_line(view, line, rows) for line in shown)]
    if view.notes:
        parts.append("\n".join(textwrap.fill(note, WIDTH) for note in view.notes))
    return "\n\n".join(parts) + "\n"


def _heading(view: SourceView) -> str:
    peak = max((line.live_registers or 0 for line in view.lines), default=0)
    at = next((line for line in view.lines if peak and line.live_registers == peak), None)
    live = f"; most in use at once: {peak}, at {named(at.place)}" if at else ""
    counted = "sampled" if view.sampled else "exact"
    return (f"{view.kernel}: source, PTX and SASS; {view.registers} registers a thread{live}\n"
            f"warps that ran it: PTX {counted}, SASS estimated")


def _line(view: SourceView, line: SourceLine, rows: int | None) -> str:
    out = [_cut(f"{named(line.place)}  {line.text.strip()}", WIDTH), *(_cut(f"  {fact}", WIDTH) for fact in facts(line))]
    groups = _groups(line)
    kept = _hottest(groups, rows)
    if groups:
        out.append(f"{'PTX':>5} {'':<{_PTX}} {'warps':>7}  {'SASS':<4} {'reg':>3} {'':<{_SASS}} {'warps':>7}")
    out += [row for index in kept for row in groups[index][1]]
    if left := sum(len(group) for _, group in groups) - sum(len(groups[index][1]) for index in kept):
        out.append(f"      … and {left} rows that ran no more often")
    return "\n".join(out)


def facts(line: SourceLine) -> Iterator[str]:
    """What its counters say, in words."""
    executed = line.counters.get(names.INSTRUCTIONS, 0)
    words = [f"{percent(100 * line.part)} of the PTX instructions ({count(executed)})"]
    if line.sass:
        words.append(f"{count(sum(row.executed for row in line.sass))} of SASS")
        words.append(f"{line.live_registers} registers in use")
    yield "; ".join(words)
    if line.spill_stores or line.spill_loads:
        yield f"spills: {line.spill_stores} instructions save a register in local memory, {line.spill_loads} restore one"
    if memory := "; ".join(_memory(line.counters)):
        yield memory
    if calls := line.inlined_at:
        yield f"inlined at {', '.join(named(place) for place in calls)}"


_TRAFFIC = (
    ("global loads", "sectors per request", names.GLOBAL_SECTORS_LD, names.GLOBAL_REQUESTS_LD),
    ("global stores", "sectors per request", names.GLOBAL_SECTORS_ST, names.GLOBAL_REQUESTS_ST),
    ("shared loads", "wavefronts per request", names.SHARED_WAVEFRONTS_LD, names.SHARED_REQUESTS_LD),
    ("shared stores", "wavefronts per request", names.SHARED_WAVEFRONTS_ST, names.SHARED_REQUESTS_ST),
)


def _memory(counters: dict[str, int]) -> Iterator[str]:
    for what, unit, over, under in _TRAFFIC:
        if requests := counters.get(under, 0):
            yield f"{what}: {digits(counters.get(over, 0) / requests)} {unit}"
    for what, name in (("local loads", names.LOCAL_REQUESTS_LD), ("local stores", names.LOCAL_REQUESTS_ST)):
        if requests := counters.get(name, 0):
            yield f"{what}: {count(requests)} requests"


def _groups(line: SourceLine) -> list[tuple[int, list[str]]]:
    """(warps, rows): each PTX instruction beside the SASS that was made from it; SASS of this line without its PTX, below."""
    of: dict[int | None, list[SassRow]] = collections.defaultdict(list)
    known = {row.line for row in line.ptx}
    for row in line.sass:
        of[row.instruction.ptx_line if row.instruction.ptx_line in known else None].append(row)
    groups = []
    for row in line.ptx:
        left = f"{row.line:>5} {_cut(row.text.rstrip(';'), _PTX):<{_PTX}} {count(row.executed):>7}"
        first, *more = [_machine(found) for found in of[row.line]] or [""]
        groups.append((row.executed, [f"{left}  {first}".rstrip(), *(f"{'':<{len(left)}}  {words}" for words in more)]))
    return groups + [(row.executed, [f"{'':<{_PTX + 14}}  {_machine(row)}"]) for row in of[None]]


def _hottest(groups: list[tuple[int, list[str]]], rows: int | None) -> list[int]:
    """Indices, in order, of the groups that ran most and fit."""
    if rows is None:
        return list(range(len(groups)))
    kept, used = [], 0
    for index in sorted(range(len(groups)), key=lambda index: -groups[index][0]):
        used += len(groups[index][1])
        if used > rows and kept:
            break
        kept.append(index)
    return sorted(kept)


def _machine(row: SassRow) -> str:
    found = row.instruction
    live = "" if found.live is None else found.live
    words = f"{found.text} (spill)" if found.spill else found.text
    return f"{found.address:04x} {live:>3} {_cut(words, _SASS):<{_SASS}} {count(row.executed):>7}"


def _cut(words: str, width: int) -> str:
    return words if len(words) <= width else words[: width - 1] + "…"


# -- for other programs


def data(view: SourceView) -> list[dict[str, Any]]:
    """The view as JSON: one entry for each line. Counts of PTX have the launch's tags, those of SASS are estimated."""
    return [
        {
            "file": line.place[0], "line": line.place[1], "text": line.text, "metrics": line.counters,
            "live_registers": line.live_registers, "spill_stores": line.spill_stores, "spill_loads": line.spill_loads,
            "inlined_at": [{"file": file, "line": number} for file, number in line.inlined_at],
            "ptx": [{"line": row.line, "text": row.text, "executed": row.executed} for row in line.ptx],
            "sass": [
                {
                    "function": sass.readable(row.function), "address": row.instruction.address,
                    "opcode": row.instruction.opcode, "text": row.instruction.text,
                    "ptx_line": row.instruction.ptx_line, "executed": row.executed,
                    "live_registers": row.instruction.live, "spill": row.instruction.spill,
                }
                for row in line.sass
            ],
        }
        for line in view.lines
    ]
