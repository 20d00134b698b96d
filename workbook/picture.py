"""Draws a climb: speedup bars beside a roofline with the steps on it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simt.report.pictures.roofline import roof
from workbook import results, units
from workbook.climb import Climb
from workbook.results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which colour-blind readers tell apart
PAYS, LOSES, INK = "#0072B2", "#E69F00", "#333333"
LABEL_GAP = 0.062  # of the axis height, between two labels of points
LABEL_SHIFT = 2.2  # times the intensity of the points, towards the right
TINY = 1e-6  # FLOP per byte: deep in the part of the roof that bandwidth limits


def save(path: Path, climb: Climb, rows: Sequence[Row]) -> None:
    """Write a PNG with the verified rows. Raises OSError where `path` cannot be written."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # its remarks on caches and fonts are not the reader's
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = [row for row in rows if row.verified]
    height = max(4.8, 1.9 + 0.42 * len(shown))
    figure = Figure(figsize=(13, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    bars(left, shown)
    _roofline(right, climb, shown)
    figure.suptitle(f"{climb.ladder.name} at {climb.case}\n{climb.target.title}", fontsize=11, color=INK, linespacing=1.5)
    figure.savefig(path, format="png")


def _name(row: Row) -> str:
    return row.step.partition("/")[2] or row.step


def _colour(row: Row) -> str:
    return LOSES if row.speedup_previous is not None and row.speedup_previous < 1 else PAYS


def bars(axes: Axes, rows: Sequence[Row]) -> None:
    """One bar per step, first on top; a step slower than the one before is orange and hatched."""
    speedups = [row.speedup_first or 0.0 for row in rows]
    places = np.arange(len(rows))
    bars = axes.barh(places, speedups, color=[_colour(row) for row in rows], height=0.66, zorder=2)
    for row, bar, speedup in zip(rows, bars, speedups, strict=True):
        if _colour(row) == LOSES:
            bar.set_hatch("///")
            bar.set_edgecolor("white")
        gain = f"{units.digits(speedup)}x" if speedup else "no first step to compare"
        place = (max(speedup, 0.5), bar.get_y() + bar.get_height() / 2)
        axes.annotate(f"  {gain}   {units.duration(row.time_ns or 0)}", place, va="center", fontsize=9, color=INK)
    axes.set_yticks(places, [_name(row) for row in rows], fontsize=10)
    axes.invert_yaxis()
    top = max([*speedups, 1.0])
    axes.set_xlim(min([0.5, *(speedup / 2 for speedup in speedups if speedup)]), top * max(4.0, top**0.55))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    slower = "; orange: slower than the step before" if any(_colour(row) == LOSES for row in rows) else ""
    axes.set_xlabel(f"speedup over the first step, log scale{slower}", color=INK)
    _tidy(axes, grid_axis="x")


def _roofline(axes: Axes, climb: Climb, rows: Sequence[Row]) -> None:
    from matplotlib.ticker import EngFormatter

    flops = max(1, results.problem_flops(climb))
    intensity = flops / climb.minimum_bytes
    dtype = results.roof_dtype(climb)
    slope = climb.target.roof_gflops(1, round(1 / TINY), dtype)
    peak = climb.target.roof_gflops(round(1 / TINY), 1, dtype)
    points = sorted((row.gflops or 0.0, _name(row), row) for row in rows)
    highest, lowest = max(peak or 0, points[-1][0]), points[0][0]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(lowest / 3, highest * 3)
    axes.set_xlabel("arithmetic intensity: FLOP per byte of the minimum traffic", color=INK)
    flop_per_s = EngFormatter("FLOP/s")
    axes.yaxis.set_major_formatter(lambda gflops, _: flop_per_s(gflops * 1e9))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    low, high, roof_at_labels = intensity / 300, intensity * 300, highest * 3
    if slope and peak:
        bandwidth = slope / TINY
        low, high = min(intensity, peak / bandwidth) / 20, max(intensity, peak / bandwidth) * 300
        roof(axes, bandwidth, peak, low, high)
        roof_at_labels = min(peak, bandwidth * intensity * LABEL_SHIFT)
    axes.set_xlim(low, high)
    heights, colours = [gflops for gflops, _, _ in points], [_colour(row) for _, _, row in points]
    axes.scatter([intensity] * len(points), heights, c=colours, s=52, edgecolors="white", zorder=4)
    _point_labels(axes, intensity, points, roof_at_labels)
    _tidy(axes, grid_axis="both")


def _point_labels(axes: Axes, intensity: float, points: Sequence[tuple[float, str, Row]], roof_gflops: float) -> None:
    """Names right of their points and below the roof, moved apart where they would overlap, each with a thin line."""
    bottom, top = np.log10(axes.get_ylim())
    wanted = [(np.log10(gflops) - bottom) / (top - bottom) for gflops, _, _ in points]
    ceiling = (np.log10(roof_gflops) - bottom) / (top - bottom) - LABEL_GAP / 2
    for (gflops, name, row), place in zip(points, spread(wanted, LABEL_GAP, ceiling), strict=True):
        percent = "" if row.percent_of_roofline is None else f"  {units.digits(row.percent_of_roofline)} % of roof"
        axes.annotate(
            f"{name}{percent}",
            xy=(intensity, gflops),
            xytext=(intensity * LABEL_SHIFT, 10 ** (bottom + place * (top - bottom))),
            va="center",
            fontsize=9,
            color=INK,
            arrowprops={"arrowstyle": "-", "color": "#999999", "linewidth": 0.7, "shrinkB": 4, "relpos": (0, 0.5)},
        )


def spread(wanted: Sequence[float], gap: float, ceiling: float) -> list[float]:
    """Places below `ceiling`, at least `gap` apart, in order and near the `wanted` ones, which ascend."""
    groups: list[list[float]] = []  # (centre, members) of labels that touch
    for place in wanted:
        groups.append([place, 1])
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < gap * (groups[-1][1] + groups[-2][1]) / 2:
            centre, members = groups.pop()
            below, others = groups[-1]
            groups[-1] = [(centre * members + below * others) / (members + others), members + others]
    apart = [centre + gap * (index - (members - 1) / 2) for centre, members in groups for index in range(int(members))]
    return [min(place, ceiling - gap * (len(apart) - 1 - index)) for index, place in enumerate(apart)]


def _tidy(axes: Axes, grid_axis: str) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(axis=grid_axis, which="major", color="#DDDDDD", linewidth=0.8, zorder=0)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK)
