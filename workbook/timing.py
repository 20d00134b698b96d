"""Device time of one step: modelled from counters on the emulated device, measured with CUDA events on a real GPU."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from simt.observe.profile import LaunchProfile

Kind = Literal["modelled", "measured"]

WARM_UPS = 3
MIN_SAMPLES, MAX_SAMPLES = 5, 50
ENOUGH_NS = 300_000_000
ONE_BLOCK_IN = 1 << 15          # a block or two of each class of blocks: interior, last row, last column, corner


@dataclasses.dataclass(frozen=True)
class Timing:
    """Time of a whole `run`. Modelled times carry the profile of every launch, measured ones the raw samples."""

    kind: Kind
    time_ns: float
    samples_ns: tuple[int, ...] = ()
    launches: tuple[LaunchProfile, ...] = ()


def modelled(run: Callable[[], None]) -> Timing:
    """Count sampled blocks of every launch and add up the modelled times. The outputs stay incomplete."""
    import simt

    with simt.profile(sample=ONE_BLOCK_IN, execute="sampled") as profile:
        run()
    launches = tuple(profile.launches)
    if not launches:
        raise RuntimeError("the step launched no kernel, so there is nothing to time")
    return Timing("modelled", sum(launch.time_ns for launch in launches), launches=launches)


def measured(run: Callable[[], None], cuda: Any) -> Timing:
    """Median of several event pairs around `run`, after warm-up runs. `cuda` is the module `numba.cuda`."""
    for _ in range(WARM_UPS):
        run()
    samples: list[int] = []
    while len(samples) < MIN_SAMPLES or (len(samples) < MAX_SAMPLES and sum(samples) < ENOUGH_NS):
        start, end = cuda.event(), cuda.event()
        start.record()
        run()
        end.record()
        end.synchronize()
        samples.append(round(cuda.event_elapsed_time(start, end) * 1e6))
    return Timing("measured", statistics.median(samples), samples_ns=tuple(samples))
