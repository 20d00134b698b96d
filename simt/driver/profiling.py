"""Which launches are counted, and the profile that comes of it."""
from __future__ import annotations

from typing import TYPE_CHECKING

from simt.driver.session import current
from simt.model import retime
from simt.observe.profile import LaunchProfile
from simt.runtime.sampling import Sampling

if TYPE_CHECKING:
    from simt.driver.launch_calls import Request
    from simt.runtime.launcher import Counted

_TIMED = Sampling(sample="auto", execute="all")
_active: list[Profile] = []


class Profile:
    """The context manager behind ``simt.profile``; ``launches`` keeps its profiles after the end."""

    def __init__(self, sample: str | int, execute: str) -> None:
        if sample not in ("auto", "all") and not (type(sample) is int and sample > 0):
            raise ValueError(f'sample={sample!r}: it is "auto", "all" or a positive number')
        if execute not in ("all", "sampled"):
            raise ValueError(f'execute={execute!r}: it is "all" or "sampled"')
        self.sampling = Sampling(sample, execute)
        self.launches: list[LaunchProfile] = []

    def __enter__(self) -> Profile:
        from simt.driver.enable import backend

        if backend() != "emulated":
            raise RuntimeError(
                f"simt.profile counts on the emulated device, and the backend is {backend()!r}: simt.enable('force') "
                "first, in a process that has not used CUDA yet"
            )
        _active.append(self)
        return self

    def __exit__(self, *_exception: object) -> None:
        _active.remove(self)


def sampling() -> Sampling | None:
    """How the next launch on the stream is counted; None when nobody will ask for its time or counters.

    The innermost profile decides; without one, a live event with timing on any stream means that the time is asked for.
    """
    if _active:
        return _active[-1].sampling
    return _TIMED if current().clock.timed else None


def finish(request: Request, counted: Counted) -> LaunchProfile:
    """The profile of a counted launch, with its modelled time; every active ``simt.profile`` gets it."""
    device, facts = current().device, request.kernel.facts
    profile = retime(
        LaunchProfile(
            kernel=request.kernel.name,
            grid=request.grid,
            block=request.block,
            threads_per_block=request.threads_per_block,
            dynamic_shared_bytes=request.dynamic_shared_bytes,
            static_shared_bytes=facts.static_shared_bytes,
            registers=facts.registers,
            local_bytes=facts.local_bytes,
            spill_bytes=facts.spill_bytes,
            counters=counted.counters,
            sampled=counted.sampled,
            blocks_counted=counted.blocks_counted,
            blocks_total=counted.blocks_total,
            lines=counted.lines,
            tags=counted.tags,
            device=device.name,
        ),
        device,
    )
    for active in _active:
        active.launches.append(profile)
    return profile
