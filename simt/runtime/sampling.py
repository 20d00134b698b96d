"""Which blocks of a grid are counted.

Blocks fall into classes: along each axis, the last block (which may be ragged) apart from the others. Each class is
sampled on its own and its counters are scaled to its size, so edges weigh what they weigh in the grid.
"""
from __future__ import annotations

import dataclasses
import itertools
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simt.observe.caches import CacheSizes

PER_CLASS = 4               # blocks counted of each class under "auto"
WATCHED = 2                 # and the last
FEW_BLOCKS = 8
SMALL_GRID = 64             # blocks: up to here "auto" counts them all


@dataclasses.dataclass(frozen=True, slots=True)
class Sampling:
    """sample: "all", "auto", or a number N for about one block in N.

    execute: "all", or "sampled" for the counted blocks only.
    caches: sizes of the caches to simulate; then one worker thread runs the launch
    checks: names of checkers that look at every block that runs: "race", "init", "sync" (simt/observe/__init__.py)
    """

    sample: str | int = "auto"
    execute: str = "all"
    checks: tuple[str, ...] = ()
    caches: CacheSizes | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class BlockClass:
    """``counted`` linear block indices stand for ``size`` blocks."""

    size: int
    counted: tuple[int, ...]

    @property
    def halves(self) -> tuple[tuple[int, ...], ...]:
        """The counted blocks in two parts, each a sample of its own; in one where all blocks are counted, or only one is."""
        if self.size == len(self.counted) or len(self.counted) < 2:
            return (self.counted,)
        return self.counted[::2], self.counted[1::2]


def classes(grid: tuple[int, int, int], sampling: Sampling) -> list[BlockClass]:
    """The classes of a grid with the blocks to count in each. One class with every block where all are counted."""
    total = math.prod(grid)
    if sampling.sample == "none":
        return []
    if sampling.sample == "all" or (sampling.sample == "auto" and total <= SMALL_GRID):
        return [BlockClass(total, tuple(range(total)))]
    found = []
    for edges in itertools.product(*[(False, True) if extent > 1 else (True,) for extent in grid]):
        spans = [(extent - 1, 1) if last else (0, extent - 1) for extent, last in zip(grid, edges, strict=True)]
        size = math.prod(length for _, length in spans)
        count = min(size, PER_CLASS if sampling.sample == "auto" else max(-(-size // int(sampling.sample)), 1))
        found.append(BlockClass(size, tuple(linear(pick, spans, grid) for pick in spread(size, count))))
    return found


def watch_stride(total: int, sample: str | int) -> int:
    """The shared memory of each so manieth block, and of the last, is checked for races: all of a small grid, three or four
    blocks of a large one, unless ``sample`` is "all"."""
    if total <= FEW_BLOCKS or sample == "all":
        return 1
    stride = -(-total // WATCHED)
    while math.gcd(stride, total) != 1:
        stride += 1
    return stride


def spread(size: int, count: int) -> list[int]:
    """``count`` different numbers below ``size``, a stride apart that shares no factor with ``size``."""
    stride = max(size // count, 1)
    while math.gcd(stride, size) != 1:
        stride += 1
    return sorted((index * stride + stride // 2) % size for index in range(count))


def linear(index: int, spans: list[tuple[int, int]], grid: tuple[int, int, int]) -> int:
    """Linear number in the grid of the index-th block of a class."""
    place = []
    for start, length in spans:
        place.append(start + index % length)
        index //= length
    return place[0] + grid[0] * (place[1] + grid[1] * place[2])
