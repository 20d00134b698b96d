"""Times of steps, with all that a time must say: problem, size, types, device, and whether it was modelled or measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernels.case import Case
from kernels.ladder import Ladder, load_ladder
from workbook import results
from workbook.results import Row

if TYPE_CHECKING:
    from workbook.records.figures import Figures
    from workbook.records.schema import Document

DEVICE = "h100"
SEED = 1


@dataclasses.dataclass(frozen=True)
class Timings(Sequence[Row]):
    """One row per step. Speedups are over the first row and over the row above, whatever else the ladder has.

    title: problem, size, types and device; kind: "modelled" or "measured"
    """

    rows: tuple[Row, ...]
    title: str
    kind: str

    def __getitem__(self, which: int | str) -> Row:
        """By place, or by the step's bare name. Raises IndexError, KeyError."""
        if isinstance(which, str):
            return {row.step.partition("/")[2]: row for row in self.rows}[which]
        return self.rows[which]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def time(ladder: str, steps: Sequence[str] = (), **sizes: int) -> Timings:
    """Times of steps of a ladder at one size, its published one unless said: modelled from sampled blocks, or measured.

    steps: bare names; all of them without. Nothing is verified here: `./ladder climb` does that. The result goes to `table`
    and `speedup_bars`. Raises UnknownName, ValueError for sizes of other axes, TooLarge, RuntimeError for a step that fails.
    """
    from workbook import climb, target

    found = load_ladder(ladder)
    case = case_of(found, sizes) if sizes else found.timed_case
    chosen, where = [found.step(name) for name in steps] or list(found), target.choose(None)
    timed = climb.timed(found, where, case, SEED, chosen)
    rows = [row for step in chosen if (row := results.timed_row(timed, step)) is not None]
    return Timings(_over_shown(rows), f"{_problem(found, case)}, {where.title}", where.kind)


def recorded(ladder: str, steps: Sequence[str] = (), device: str = DEVICE) -> Timings:
    """The same from records/<device>/, at the ladder's published size, which runs nothing.

    A stale record has no numbers: then, and without a record, the steps are timed here and now. Raises UnknownName, BadRecord.
    """
    from workbook.records import figures, files

    found = load_ladder(ladder)
    chosen = [found.step(name) for name in steps] or list(found)
    document = figures.find(files.read_all(files.FOLDER), device, ladder)
    there = {row.step: row for row in figures.of_ladder(document, found, found.timed_case)} if document else {}
    shown = [there[step] for step in chosen if step in there]
    if document is None or len(shown) < len(chosen) or any(row.time_ns is None for row in shown):
        print(f"the record of {ladder} on {device} is missing or stale: timed anew (./ladder record {ladder} records it)")
        return time(ladder, [step.name for step in chosen])
    return Timings(_over_shown([_row(found, row) for row in shown]), _origin(found, document), document["kind"])


def case_of(ladder: Ladder, sizes: dict[str, int]) -> Case:
    """Raises ValueError for sizes of other axes than the ladder's."""
    axes = tuple(ladder.timed_case)
    if set(sizes) != set(axes):
        raise ValueError(f"{ladder.name} takes the sizes {', '.join(axes)}, not {', '.join(sizes)}")
    return Case(**{axis: sizes[axis] for axis in axes})


def _over_shown(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Speedups over the rows that are there: the first, and the one above."""
    times = [row.time_ns for row in rows]
    return tuple(
        dataclasses.replace(row, speedup_first=times[0] / now, speedup_previous=before / now if before else None)
        for row, before, now in zip(rows, [None, *times], times, strict=False)
        if now
    )


def _problem(ladder: Ladder, case: Case) -> str:
    """Name, size, and the types that go in and come out."""
    inputs = ladder.make(ladder.cases[0], np.random.default_rng(SEED))
    read = dict.fromkeys(array.dtype.name for array in inputs.values())
    written = dict.fromkeys(dtype for _, dtype in ladder.outputs(ladder.cases[0], inputs).values())
    types = ", ".join(read) if list(read) == list(written) else f"{', '.join(read)} to {', '.join(written)}"
    return f"{ladder.name} at {case}, {types}"


def _origin(ladder: Ladder, document: Document) -> str:
    from simt import model

    device, modelled = document["device"], document["kind"] == "modelled"
    where = model.load(device).title if modelled else document["env"]["gpu"]
    doubt = "; the model's error is not validated yet" if modelled else ""
    problem = _problem(ladder, ladder.timed_case)
    return f"{problem}, {document['kind']} on {where}, as recorded in records/{device}{doubt}"


def _row(ladder: Ladder, recorded: Figures) -> Row:
    """What a record tells, as a fresh timing tells it."""
    from workbook.records import figures

    same = {field.name for field in dataclasses.fields(Row)} & {field.name for field in dataclasses.fields(recorded)} - {"step"}
    row = Row(recorded.step.id, "", True, (), **{name: getattr(recorded, name) for name in same})
    return dataclasses.replace(row, gflops=figures.problem_flops(ladder, ladder.timed_case) / recorded.time_ns)
