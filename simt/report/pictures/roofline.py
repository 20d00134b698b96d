"""The roofline: what bandwidth and arithmetic allow, and where launches stand below it (Williams et al., 2009)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simt.model import Device
from simt.model.roofline import Roofline, roofline
from simt.observe import names
from simt.report.pictures.style import BLUE, GRID, INK, VERMILION, finish, new_figure
from simt.report.subject import Subject, named
from simt.report.units import count, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FLOPS = {"fp32": names.FLOPS_FP32, "fp64": names.FLOPS_FP64, "fp16": names.FLOPS_FP16}


def dtype_of(subject: Subject) -> str | None:
    """The precision of most of its floating-point operations; None where there are none."""
    best = max(FLOPS, key=lambda dtype: subject.count(FLOPS[dtype]))
    return best if subject.count(FLOPS[best]) else None


def place(subject: Subject) -> Roofline | None:
    """Where a launch stands: executed FLOP over the bytes that DRAM cannot avoid. None without FLOP, traffic or a time."""
    dtype = dtype_of(subject)
    size_bytes = subject.count(names.FOOTPRINT_BYTES_LD, names.FOOTPRINT_BYTES_ST)
    if dtype is None or not size_bytes or not subject.time_ns:
        return None
    return roofline(subject.device, subject.count(FLOPS[dtype]), size_bytes, subject.time_ns, dtype)


def roofline_of(subjects: Sequence[Subject]) -> Figure:
    """Launches on one device, below the roof of the precision that most of their work has. Raises ValueError where none has a
    place on it."""
    places = [(f"{subject.kernel} {named(subject.kernel_place)}", place(subject)) for subject in subjects]
    points = [(name, found) for name, found in places if found is not None]
    if not points:
        raise ValueError("no launch has a place below a roof: it takes floating-point operations and global memory")
    works = {dtype: sum(subject.count(counter) for subject in subjects) for dtype, counter in FLOPS.items()}
    return draw(subjects[0].device, max(works, key=works.get), points)


def draw(device: Device, dtype: str, points: Sequence[tuple[str, Roofline]], *, tag: str = "modelled") -> Figure:
    """points: (name, where it stands); tag: of their times."""
    from matplotlib.ticker import EngFormatter

    figure, axes = new_figure(8.5, 5.4)
    peak, bandwidth = device.peak_gflops(dtype), device.dram_gb_per_s
    ridge = peak / bandwidth
    intensities = [point.intensity for _, point in points]
    low, high = min([ridge, *intensities]) / 10, max([ridge, *intensities]) * 30
    axes.set_xscale("log")
    axes.set_yscale("log")
    roof(axes, bandwidth, peak, low, high)
    axes.scatter(intensities, [point.achieved_gflops for _, point in points], color=BLUE, s=48, edgecolors="white", zorder=4)
    for name, point in points:
        axes.annotate(f" {name}  {percent(point.percent_of_roofline)} of the roof", (point.intensity, point.achieved_gflops),
                      xytext=(6, -3), textcoords="offset points", fontsize=8, color=INK)
    axes.set_xlim(low, high)
    axes.set_ylim(min(point.achieved_gflops for _, point in points) / 4, peak * 3)
    flop_per_s = EngFormatter("FLOP/s")
    axes.yaxis.set_major_formatter(lambda gflops, _: flop_per_s(gflops * 1e9))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("arithmetic intensity: FLOP per byte that DRAM cannot avoid")
    axes.set_ylabel("FLOP/s")
    axes.grid(color=GRID, linewidth=0.8, zorder=0)
    name, best = max(points, key=lambda point: point[1].percent_of_roofline)
    side = "bandwidth" if best.intensity < ridge else "arithmetic"
    return finish(axes, f"{device.title}, {dtype}: {name} reaches {percent(best.percent_of_roofline)} of what {side} allows",
                  f"left of {ridge:.3g} FLOP/B memory is the limit, right of it arithmetic. Times are {tag}")


def roof(axes: Axes, bandwidth: float, peak: float, low: float, high: float) -> None:
    """The roof between two intensities in FLOP/B. bandwidth: GB/s; peak: GFLOP/s."""
    ridge = peak / bandwidth
    axes.plot([low, ridge, high], [low * bandwidth, peak, peak], color=VERMILION, linewidth=2, zorder=3, gid="roof")
    style = {"textcoords": "offset points", "color": VERMILION, "fontsize": 9}
    axes.annotate(f"{count(peak * 1e9)}FLOP/s", (high, peak), (-6, 5), ha="right", **style)
    start = low * 1.25
    axes.annotate(f"{count(bandwidth * 1e9)}B/s", (start, start * bandwidth), (4, -4), va="top", **style)
