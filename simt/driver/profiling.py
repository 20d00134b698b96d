"""Which launches are counted, and the profile that comes of it."""
from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from simt.driver.session import current
from simt.model import retime
from simt.observe import CHECKS
from simt.observe.caches import CacheSizes
from simt.observe.profile import Code, Finding, LaunchProfile
from simt.runtime.sampling import Sampling

if TYPE_CHECKING:
    from simt.driver.request import Request
    from simt.report.subject import Subject
    from simt.runtime.counting import Counted

_TIMED = Sampling(sample="auto", execute="all")
_active: list[Profile] = []


class Profile:
    """The context manager behind ``simt.profile``; ``launches`` keeps its profiles after the end."""

    def __init__(self, sample: str | int, execute: str, check: str | Iterable[str], caches: bool) -> None:
        if sample not in ("auto", "all", "none") and not (type(sample) is int and sample > 0):
            raise ValueError(f'sample={sample!r}: it is "auto", "all", "none" or a positive number')
        if execute not in ("all", "sampled"):
            raise ValueError(f'execute={execute!r}: it is "all" or "sampled"')
        self.sampling, self.caches = Sampling(sample, execute, chosen(check)), caches
        self.launches: list[LaunchProfile] = []

    def __enter__(self) -> Profile:
        from simt.driver.enable import backend, enable

        if backend() == "off" and os.environ.get("SIMT") in ("auto", "force"):
            enable()                    # otherwise it waits for the import of numba.cuda
        if backend() != "emulated":
            raise RuntimeError(
                f"simt.profile counts on the emulated device, and the backend is {backend()!r}: simt.enable('force') "
                "first, in a process that has not used CUDA yet"
            )
        if "init" in self.sampling.checks:
            current().memory.follow(True)
        _active.append(self)
        return self

    def __exit__(self, *_exception: object) -> None:
        _active.remove(self)
        if "init" in self.sampling.checks:
            current().memory.follow(False)

    @property
    def findings(self) -> list[Finding]:
        """What the checkers saw in all launches."""
        return [finding for launch in self.launches for finding in launch.findings]

    def report(self, *, source: bool = False) -> str:
        """Sections, advice and findings of the launches as text for a terminal; ``source``: and the counters, PTX and SASS
        of each line."""
        from simt.report import text

        return text.report(self.subjects(), source=source)

    def to_json(self) -> str:
        """The same as one JSON document; simt/report/data.py says what it holds."""
        from simt.report import data

        return json.dumps(data.document(self.subjects(), current().device.name), indent=1)

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        from simt.report import html

        return html.report(self.subjects())

    def to_html(self, title: str, *, source: bool = False) -> str:
        """The same as a page of its own; ``source``: and the counters, PTX and SASS of each line."""
        from simt.report import html

        return html.page(self.subjects(), title, source=source)

    def subjects(self) -> list[Subject]:
        """The launches as the functions of ``simt.report`` take them."""
        from simt.report.subject import Subject

        return [Subject.of(launch) for launch in self.launches]


def chosen(check: str | Iterable[str]) -> tuple[str, ...]:
    """Names of checkers, in their own order. Raises ValueError for others. Bounds are checked anyway."""
    names = [name.strip() for name in check.split(",")] if isinstance(check, str) else list(check)
    known = ("bounds", *CHECKS)
    for name in names:
        if name and name not in known:
            raise ValueError(f"check={name!r}: the checkers are {', '.join(known)}")
    return tuple(name for name in CHECKS if name in names)


def sampling(request: Request) -> Sampling | None:
    """How the next launch on the stream is counted; None when nobody will ask for its time or counters.

    The innermost profile decides; without one, a live event with timing on any stream means that the time is asked for.
    """
    if _active:
        innermost = _active[-1]
        plain = innermost.sampling
        return dataclasses.replace(plain, caches=cache_sizes(request)) if innermost.caches else plain
    return _TIMED if current().clock.timed else None


def cache_sizes(request: Request) -> CacheSizes:
    """What a block of the launch can count on: an SM's L1 without shared memory, over the blocks that live there at once."""
    device, kernel = current().device, request.kernel
    per_sm = kernel.blocks_per_sm(request.threads_per_block, request.dynamic_shared_bytes)
    resident = max(min(per_sm, -(-math.prod(request.grid) // device.sm_count)), 1)
    shared = resident * (kernel.facts.static_shared_bytes + request.dynamic_shared_bytes + device.shared_bytes_reserved)
    return CacheSizes(max(device.l1_bytes - shared, 0) // resident, device.l2_bytes)


def finish(request: Request, counted: Counted) -> LaunchProfile:
    """The profile of a launch, with its modelled time where it was counted; every active ``simt.profile`` gets it."""
    device, facts, library = current().device, request.kernel.facts, request.kernel.library
    profile = LaunchProfile(
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
        blocks_watched=counted.blocks_watched,
        globally_watched=counted.globally_watched,
        checks=counted.checks,
        lines=counted.lines,
        tags=counted.tags,
        errors=counted.errors,
        findings=counted.findings,
        samples=counted.samples,
        executed=counted.executed,
        code=Code(library.image.ptx, library.machine_code[0]),
        device=device.name,
    )
    if counted.blocks_counted:
        profile = retime(profile, device)
    for active in _active:
        active.launches.append(profile)
    return profile
