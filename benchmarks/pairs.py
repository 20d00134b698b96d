"""Two functions timed in turn, so that a noisy or throttled machine slows both alike."""
from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """Seconds of each of the paired runs."""

    ours_s: tuple[float, ...]
    theirs_s: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Median of the ratios run by run."""
        return statistics.median(a / b for a, b in zip(self.ours_s, self.theirs_s, strict=True))

    @property
    def best_ratio(self) -> float:
        """Ratio of the fastest runs: what an idle machine would show."""
        return min(self.ours_s) / min(self.theirs_s)


def measure(ours: Callable[[], None], theirs: Callable[[], None], runs: int) -> Pair:
    """Run both once to warm up, then ``runs`` times in turn."""
    ours()
    theirs()
    mine, other = [], []
    for _ in range(runs):
        mine.append(timed(ours))
        other.append(timed(theirs))
    return Pair(tuple(mine), tuple(other))


def timed(function: Callable[[], None]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
