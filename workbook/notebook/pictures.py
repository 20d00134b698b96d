"""Pictures of what ran: returned as matplotlib figures, which a notebook shows."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simt.observe.profile import AccessSample
from simt.report.pictures.warp_access import WarpAccess
from workbook.notebook.running import Ran

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from workbook.notebook.timings import Timings


def access_map(ran: Ran, line: int | None = None, action: str = "load", space: str = "global") -> Figure:
    """Which sector (global memory) or bank (shared) each lane of one warp touches.

    line: of the kernel's file, as the profile names it, of several accesses there the one that touches most sectors; without a
    line, the first access of that kind. Raises ValueError where there is none.
    """
    from simt.report.pictures.access_map import access_map as drawn

    sample = _sample(ran, line, action, space)
    return drawn(sample.addresses, sample.mask, sample.bytes, space, what=_what(ran, sample))


def line_of(ran: Ran, words: str) -> int:
    """The line that holds these words, among those of the run that access memory. Raises ValueError for none, or several."""
    places = {(sample.file, sample.line) for launch in ran.launches for sample in launch.samples}
    return ran.place_of(words, places, "lines that access memory")[1]


def bank_grid(ran: Ran, line: int | None = None, action: str = "load") -> Figure:
    """Which words of which banks one warp wants, and how many wavefronts that takes."""
    from simt.report.pictures.bank_grid import bank_grid as drawn

    sample = _sample(ran, line, action, "shared")
    return drawn(sample.addresses, sample.mask, sample.bytes, what=_what(ran, sample))


def instruction_mix(ran: Ran) -> Figure:
    """By class of instruction, of the longest launch."""
    from workbook.profile_pictures import mix_of

    return mix_of(ran.subject())


def roofline(runs: Sequence[Ran]) -> Figure:
    """Where runs stand below the roof: executed FLOP over the bytes that DRAM cannot avoid."""
    from simt.report.pictures.roofline import draw, place

    points = [(ran.name, place(ran.subject())) for ran in runs]
    device = runs[0].subject().device
    return draw(device, "fp32", [(name, point) for name, point in points if point is not None])


def speedup_bars(timings: Timings) -> Figure:
    """One bar per step, over the first row of the timings."""
    from matplotlib.figure import Figure

    from workbook.picture import bars

    figure = Figure(figsize=(8, 1.6 + 0.42 * len(timings)), layout="constrained")
    bars(figure.subplots(), timings)
    figure.suptitle(textwrap.fill(timings.title, 100), fontsize=9, x=0.01, ha="left")
    return figure


def _sample(ran: Ran, line: int | None, action: str, space: str) -> AccessSample:
    of_kind = [s for launch in ran.launches for s in launch.samples if (s.action, s.space) == (action, space)]
    found = [sample for sample in of_kind if line in (None, sample.line)]
    if not found:
        lines = sorted({sample.line for sample in of_kind})
        raise ValueError(f"{ran.name} has no {action} of {space} memory at line {line}; it has such at lines {lines}")
    return max(found, key=lambda sample: _sectors(sample) if line is not None else 0)


def _sectors(sample: AccessSample) -> int:
    """Of 32 bytes, that the warp touches."""
    return len(WarpAccess(sample.addresses, sample.mask, sample.bytes).sectors)


def _what(ran: Ran, sample: AccessSample) -> str:
    return f"{ran.name}, line {sample.line}, {sample.action}"
