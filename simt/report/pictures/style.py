"""What the pictures share: colours that colour-blind readers tell apart, a figure without a window, a caption with the tag."""
from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette.
BLUE, ORANGE, VERMILION, GREEN, SKY = "#0072B2", "#E69F00", "#D55E00", "#009E73", "#56B4E9"
INK, FAINT, GRID = "#333333", "#F2F2F2", "#DDDDDD"


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """width, height: inches."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # its remarks on caches and fonts are not the reader's
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots()


def finish(axes: Axes, title: str, caption: str) -> Figure:
    """Title: what to see. Caption, below: where the numbers come from, with their tag."""
    figure = axes.figure
    axes.set_title(title, fontsize=11, color=INK, loc="left", wrap=True)
    figure.supxlabel(caption, fontsize=8, color=INK, x=0.01, ha="left")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=INK, labelsize=8)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    return figure


def lanes_text(lanes: Iterable[int]) -> str:
    """[0, 1, 2, 5] -> "0-2,5" """
    runs: list[list[int]] = []
    for lane in sorted(lanes):
        if runs and runs[-1][-1] == lane - 1:
            runs[-1].append(lane)
        else:
            runs.append([lane])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
