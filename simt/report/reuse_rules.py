"""The rule about values that wait in shared memory where registers could hold them. See rules.py."""
from __future__ import annotations

from collections.abc import Iterator

from simt.observe import names
from simt.report.advice import LSU, Advice, added, advise, worst_lines
from simt.report.subject import Subject, quoted
from simt.report.units import count, digits

LANES = 32
BUSY_FROM = 0.6             # of the modelled time in which the load/store unit works: below, it is latency
FUSED_FROM = 1.9            # ours: operations per lane and instruction, of 2 where all are fused multiply-adds
SIDE = 8                    # of the tile of results that the remedy proposes


def shared_loads(subject: Subject) -> Iterator[Advice]:
    """More loads of shared memory per fused multiply-add than the load/store unit starts beside them, while it is busy.

    In Nsight Compute such a kernel stalls on "MIO throttle". Gain: what the modelled time loses with the loads of an 8 x 8 tile
    of results per thread.
    """
    loads, fused = subject.count(names.SHARED_REQUESTS_LD), subject.count(names.instructions("fp32"))
    device, wanted = subject.device, 2 * SIDE / SIDE**2
    balance = LANES / device.fp32_lanes / device.lsu_cycles
    if subject.share(LSU) < BUSY_FROM or loads <= max(balance, wanted) * fused:
        return
    if not fused or subject.count(names.FLOPS_FP32) < FUSED_FROM * LANES * fused:
        return
    for place, _, _ in worst_lines(subject, lambda counters: added(counters, names.SHARED_REQUESTS_LD), loads)[:1]:
        yield advise(
            subject, "shared loads", place,
            f"{quoted(place)}: {digits(loads / fused)} shared loads per fused multiply-add, {count(loads)} in all; an SM "
            f"starts {1 / device.lsu_cycles:g} of them and {device.fp32_lanes / LANES:g} multiply-adds per cycle, so more than "
            f"{balance:g} leave the fp32 pipe waiting (MIO throttle)",
            f"register tiling: a thread that keeps {SIDE} x {SIDE} results in registers loads {2 * SIDE} values for {SIDE**2} "
            f"multiply-adds, {wanted:g} each; loads of four neighbouring values at once (float4) quarter that",
            subject.saved(with_loads(subject, wanted * fused)))


def with_loads(subject: Subject, loads: float) -> dict[str, int]:
    """Counters that change if the launch makes so many loads of shared memory."""
    now = subject.count(names.SHARED_REQUESTS_LD)
    kind, gone = names.instructions("load_shared"), now - round(loads)
    return {
        names.SHARED_REQUESTS_LD: round(loads),
        names.SHARED_WAVEFRONTS_LD: round(subject.count(names.SHARED_WAVEFRONTS_LD) * loads / now),
        names.INSTRUCTIONS: max(subject.count(names.INSTRUCTIONS) - gone, 0),
        kind: max(subject.count(kind) - gone, 0),
    }


RULES = (shared_loads,)
