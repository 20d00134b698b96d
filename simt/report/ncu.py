"""Reads what Nsight Compute measured, and puts it beside what the emulated device says.

``ncu --csv --page raw`` prints, after its own remarks (``==PROF== …``) and the program's output, one table: a row of names, a
row of units, and a row for each kernel launch (Nsight Compute CLI, "Output Pages" and "Console Output"):

    "ID","Process ID",…,"Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes_read.sum",…
    "","",…,"","","","","","","","Mbyte",…
    "0","123",…,"tile(float *, int)","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0","1,234.56",…

Values come scaled for people (``--print-units auto``): here they are brought back to byte, ns, hz and /s. Prefixes are SI's:
K, M, G and T are powers of 1000, for bytes too ("Metrics and Units").
"""
from __future__ import annotations

import collections
import csv
import dataclasses
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from simt.observe.profile import LaunchProfile
from simt.ptx.mangled import kernel_name
from simt.report import mix
from simt.report.data import metrics
from simt.report.sass import NoSass
from simt.report.subject import Subject
from simt.report.units import digits

WANTED = "ncu --csv --page raw"
MISSING = ("", "n/a", "nan", "-nan", "no data")

_TIMES_NS = {
    "ns": 1.0, "nsecond": 1.0, "us": 1e3, "usecond": 1e3, "µs": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9,
}
_PREFIXES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_SCALED = re.compile(r"([KMGTP])([a-z].*)")
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?|[+-]?inf", re.ASCII)
_INSTANCES = re.compile(r"(\S+) \(.*\)", re.DOTALL)      # --print-metric-instances: the total, then its parts
_SHAPE = re.compile(r"\(?\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)?")


class NcuError(ValueError):
    """What is wrong with a file, with its line and column."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """One launch that Nsight Compute measured.

    kernel:  as the file names it;  grid, block: (x, y, z), or None where the file does not tell
    metrics: numbers in base units;  units: of each, "" for plain counts;  texts: metrics that are words
    """

    kernel: str
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    metrics: dict[str, float]
    units: dict[str, str]
    texts: dict[str, str]

    @property
    def short_name(self) -> str:
        """The name that the learner wrote: "__main__::tile[abi:v1](Array<…>)" and "void tile<4>(float *)" -> "tile"."""
        name = kernel_name(self.kernel)
        if name != self.kernel:
            return name
        head = re.split(r"[(<\[]", self.kernel.removeprefix("void "), maxsplit=1)[0]
        return head.split("::")[-1].strip()


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
    """One metric. unit: of both values; tag: of the emulated one; difference_percent: of the emulated from the measured one,
    None where nothing was measured and something emulated."""

    metric: str
    unit: str
    measured: float
    emulated: float
    tag: str

    @property
    def difference_percent(self) -> float | None:
        if self.measured == self.emulated:
            return 0.0
        return 100 * (self.emulated - self.measured) / self.measured if self.measured else None


# -- reading


def read(path: str | Path) -> list[Measured]:
    """The launches of a file, in its order. Raises OSError, or NcuError with file, line and column."""
    raw = Path(path).read_bytes()
    try:
        text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise NcuError(f"{path}:{line}: this is no text ({error.reason}): a report is made readable with "
                       f"ncu --import REPORT.ncu-rep --csv --page raw > FILE.csv") from None
    return parse(text, str(path))


def parse(text: str, name: str = "ncu.csv") -> list[Measured]:
    """The launches of a text; ``name`` stands in messages. Raises NcuError."""
    lines = text.splitlines()
    start = next((index for index, line in enumerate(lines) if re.match(r'\s*"?ID"?\s*,', line)), None)
    if start is None:
        raise NcuError(f'{name}:{len(lines)}: no row of column names that begins with "ID": write the file with {WANTED}')
    return list(_Table(name, start, lines[start:]).launches())


class _Table:
    def __init__(self, name: str, offset: int, lines: list[str]) -> None:
        self.name, self.offset = name, offset
        self.rows = csv.reader((line + "\n" for line in lines), strict=True)
        self.names = [cell.strip() for cell in self.next() or []]
        self.check_names()
        units = self.next()
        if units is None:
            raise self.error("the row of units is missing: the file ends after the column names")
        if units[0].strip():
            raise self.error(f"the row of units is missing: write the file with {WANTED}", "ID")
        self.check_length(units)
        self.scales = [scale(unit.strip()) for unit in units]

    def error(self, words: str, column: str = "") -> NcuError:
        where = f'{self.name}:{self.offset + self.rows.line_num}: ' + (f'column "{column}": ' if column else "")
        return NcuError(where + words)

    def next(self) -> list[str] | None:
        """The next row that is the table's: between and behind them ncu may print remarks."""
        try:
            return next((row for row in self.rows if row and not row[0].startswith("==")), None)
        except csv.Error as error:
            raise self.error(f"this row is damaged ({error})") from None

    def check_names(self) -> None:
        if "Metric Name" in self.names:
            raise self.error(f"this is a page with a row for each metric, and not --page raw: write the file with {WANTED}",
                             "Metric Name")
        if "Kernel Name" not in self.names:
            raise self.error(f'no column "Kernel Name": write the file with {WANTED}')
        for name, times in collections.Counter(self.names).items():
            if times > 1 and is_metric(name):
                raise self.error(f"this column is there {times} times", name)

    def check_length(self, row: list[str]) -> None:
        if len(row) < len(self.names):
            raise self.error(f"the row ends after {len(row)} of {len(self.names)} columns: the file was cut off",
                             self.names[len(row)])
        if len(row) > len(self.names):
            raise self.error(f"the row has {len(row)} columns, and the names are {len(self.names)}", self.names[-1])

    def launches(self) -> Iterator[Measured]:
        while (row := self.next()) is not None:
            self.check_length(row)
            cells = dict(zip(self.names, row, strict=True))
            numbers, units, texts = {}, {}, {}
            for name, cell, (factor, unit) in zip(self.names, row, self.scales, strict=True):
                if not is_metric(name) or cell.strip().lower() in MISSING:
                    continue
                value = number(cell.strip())
                if value is not None:
                    numbers[name], units[name] = value * factor, unit
                elif unit:
                    raise self.error(f"{cell!r} is no number of {unit}: write the file with LC_ALL=C {WANTED}", name)
                else:
                    texts[name] = cell
            grid, block = self.shape(cells, "Grid Size"), self.shape(cells, "Block Size")
            yield Measured(cells["Kernel Name"], grid, block, numbers, units, texts)

    def shape(self, cells: dict[str, str], column: str) -> tuple[int, int, int] | None:
        text = cells.get(column, "").strip()
        if not text:
            return None
        match = _SHAPE.fullmatch(text)
        if match is None:
            raise self.error(f"{text!r} is no shape such as (256, 1, 1)", column)
        return int(match[1]), int(match[2]), int(match[3])


def is_metric(name: str) -> bool:
    """Metrics are named unit__counter; columns about the launch are words."""
    return "__" in name and " " not in name


def number(text: str) -> float | None:
    """'1,234.5' -> 1234.5; of '10 (4; 6)' the total; None for words."""
    if match := _INSTANCES.fullmatch(text):
        text = match[1]
    return float(text.replace(",", "")) if _NUMBER.fullmatch(text) else None


def scale(unit: str) -> tuple[float, str]:
    """Factor to the base unit, and its name: "Gbyte/s" -> (1e9, "byte/s"); times become ns, times below the line s."""
    above, line, below = unit.partition("/")
    factor, name = _scale_one(above)
    if not line:
        return factor, name
    if below in _TIMES_NS:
        return factor / (_TIMES_NS[below] / 1e9), f"{name}/s"
    divisor, under = _scale_one(below)
    return factor / divisor, f"{name}/{under}"


def _scale_one(unit: str) -> tuple[float, str]:
    if unit in _TIMES_NS:
        return _TIMES_NS[unit], "ns"
    if match := _SCALED.fullmatch(unit):
        return _PREFIXES[match[1]], match[2]
    return 1.0, unit


# -- comparing


def compare(launch: LaunchProfile, measured: Measured) -> list[Compared]:
    """Metrics that both know, by name. Emulated values are exact only where their tag says so."""
    numbers, tags = emulated(launch)
    return [
        Compared(name, measured.units[name], value, numbers[name], tags[name])
        for name, value in sorted(measured.metrics.items())
        if name in numbers and not math.isnan(value)
    ]


def emulated(launch: LaunchProfile) -> tuple[dict[str, float], dict[str, str]]:
    """(values, tags) of a launch by Nsight Compute's names: counters, sections, what was launched, and SASS where known."""
    numbers, tags = metrics(Subject.of(launch))
    facts = {
        "launch__grid_size": launch.blocks_total, "launch__block_size": launch.threads_per_block,
        "launch__thread_count": launch.blocks_total * launch.threads_per_block,
        "launch__registers_per_thread": launch.registers,
        "launch__shared_mem_per_block_static": launch.static_shared_bytes,
        "launch__shared_mem_per_block_dynamic": launch.dynamic_shared_bytes,
    }
    numbers, tags = numbers | facts, tags | dict.fromkeys(facts, "exact")
    if launch.time_ns is not None:
        numbers["gpu__time_duration.sum"], tags["gpu__time_duration.sum"] = launch.time_ns, "modelled"
    try:
        numbers[mix.INSTRUCTIONS] = mix.instruction_mix(launch).total
        tags[mix.INSTRUCTIONS] = f"{mix.TAG}, sampled" if launch.sampled else mix.TAG
    except NoSass:
        pass
    return numbers, tags


def pair(launches: Sequence[LaunchProfile], measured: Sequence[Measured]) -> list[tuple[LaunchProfile, Measured]]:
    """The n-th launch of a kernel in a shape with the n-th measured one of that name and shape, in order of ``launches``."""
    waiting: dict[tuple, collections.deque[Measured]] = collections.defaultdict(collections.deque)
    for found in measured:
        waiting[found.short_name, found.grid, found.block].append(found)
    pairs = []
    for launch in launches:
        queue = waiting[kernel_name(launch.kernel), launch.grid, launch.block]
        if queue:
            pairs.append((launch, queue.popleft()))
    return pairs


def text(rows: Sequence[Compared]) -> str:
    """A table in 100 columns: measured beside emulated."""
    lines = [f"{'metric':<58}{'measured':>12}{'emulated':>12}{'':>7}  tag"]
    for row in rows:
        difference = row.difference_percent
        shown = "" if difference is None else "=" if difference == 0 else f"{difference:+.1f} %"
        lines.append(f"{row.metric:<58}{_plain(row.measured):>12}{_plain(row.emulated):>12}{shown:>8} {row.tag}")
    return "\n".join(lines) + "\n"


def _plain(value: float) -> str:
    if abs(value) >= 1e11:
        return f"{value:.3e}"
    return f"{value:.0f}" if value == round(value) else digits(value)
