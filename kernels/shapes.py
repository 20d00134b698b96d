"""Whether arrays fit together: every array's axes by name, and what its sizes have to be.

An axis of an array is the name of a size, "k", or a part of one: "k/128" is ceil(k / 128), one cell for each 128.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kernels.case import Case, ceil_div

Axes = Mapping[str, tuple[str, ...]]  # array -> its axes; of a size, the first array that has the whole of it says it


class Limit(NamedTuple):
    """The sizes that one axis may have, and why no others."""

    least: int
    most: int
    why: str


def case_of(arrays: Mapping[str, Any], axes: Axes, limits: Mapping[str, Limit]) -> Case:
    """The sizes of these arrays, on the host or the device.

    Raises ValueError that names the array whose shape does not fit the others, or the axis that leaves its limits.
    """
    sizes: dict[str, int] = {}
    for name, wanted in axes.items():
        shape = arrays[name].shape
        if len(shape) != len(wanted):
            raise ValueError(f"{name} is {_text(shape)}; it has to be {_text(wanted)}")
        for axis, size in zip(wanted, shape, strict=True):
            if "/" not in axis:
                sizes.setdefault(axis, size)
    for name, wanted in axes.items():
        require(name, arrays[name].shape, [_size(axis, sizes) for axis in wanted], f"as {_text(wanted)} with {Case(**sizes)}")
    for axis, (least, most, why) in limits.items():
        if not least <= sizes[axis] <= most:
            raise ValueError(f"{axis} is {sizes[axis]}, and has to be from {least} to {most}: {why}")
    return Case(**sizes)


def require(name: str, shape: Iterable[int], wanted: Iterable[int], said: str) -> None:
    """Raises ValueError unless the array has that shape; `said` is where the shape comes from."""
    if tuple(shape) != tuple(wanted):
        raise ValueError(f"{name} is {_text(shape)}; {said} it has to be {_text(wanted)}")


def _size(axis: str, sizes: Mapping[str, int]) -> int:
    name, _, part = axis.partition("/")
    return ceil_div(sizes[name], int(part or 1))


def _text(shape: Iterable[int | str]) -> str:
    """(4096, 8), (4096,) or (m, k)."""
    parts = [str(size) for size in shape]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
