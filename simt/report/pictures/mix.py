"""The instruction mix: which classes of instructions a launch spends its issue slots on."""
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simt.report.pictures.style import BLUE, GRID, INK, finish, new_figure
from simt.report.units import count, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def shares(counts: Mapping[str, int]) -> list[tuple[str, int, float]]:
    """(class, count, percent of all), the most frequent first; classes without instructions are left out."""
    whole = sum(counts.values()) or 1
    found = [(name, value, 100 * value / whole) for name, value in counts.items() if value]
    return sorted(found, key=lambda item: (-item[1], item[0]))


def instruction_mix(counts: Mapping[str, int], *, what: str = "Instruction mix", of: str = "warp instructions",
                    tag: str = "estimated") -> Figure:
    """counts: class -> warp instructions, as in ``Mix.by_class`` (SASS, estimated) or counters by kind (PTX, exact).

    what: words for the title; of: what is counted, for the axis.
    """
    rows = shares(counts)
    figure, axes = new_figure(9, 1.6 + 0.32 * max(len(rows), 1))
    bars = axes.barh(range(len(rows)), [value for _, value, _ in rows], color=BLUE, height=0.7, zorder=2)
    for bar, (name, value, part) in zip(bars, rows, strict=True):
        bar.set_gid(name)
        end = value, bar.get_y() + bar.get_height() / 2
        axes.annotate(f"  {percent(part)}  {count(value)}", end, va="center", fontsize=8, color=INK)
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.25 * max((value for _, value, _ in rows), default=1))
    axes.xaxis.set_major_formatter(lambda value, _: count(value))
    axes.set_xlabel(of)
    axes.grid(axis="x", color=GRID, linewidth=0.8, zorder=0)
    first = f"{rows[0][0]} is {percent(rows[0][2])} of {count(sum(counts.values()))} {of}" if rows else "nothing ran"
    return finish(axes, f"{what}: {first}", f"counts are {tag}")
