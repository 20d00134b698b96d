"""From the bare facts of a fault to a lesson: kernel, source line, block and thread, the numbers involved, what to do."""
from __future__ import annotations

import ctypes

from simt.ir.shapes import WARP
from simt.ptx.statements import Imm, Reg
from simt.runtime.names import function_name, kernel_name, lanes_of
from simt.runtime.places import block_of, calls_of, thread_of, where
from simt.runtime.stray import ILLEGAL_ADDRESS, MISALIGNED_ADDRESS, explain_address

BETWEEN_WARPS = -2          # fault_site when warps of a block wait at different barriers
ALL_LANES = 0xFFFFFFFF
ONE_BARRIER = "what to do: every thread of a block must reach the same syncthreads(): move it out of the branch"
# Why the launch failed -> what happened to whom, and what to do.
TRAPS = {
    "outside its own mask": ("{lanes} execute it but are not in their own mask{mask}",
                             "every thread that executes it must be named in its own mask"),
    "a named lane does not arrive": ("{lanes} are named in the mask{mask} and have not ended, but go another way",
                                     "name only the threads that take this branch, or move the call out of the branch"),
    "not given by malloc": ("{lanes} free an address", "free each address that malloc gave, once"),
    "no function there": ("{lanes} make the call",
                          "the function pointer holds no device function of this signature, or one that is running already"),
    "trap": ("{lanes} arrive here", "the kernel executed trap: it gave up on purpose"),
}


def explain(run, worker) -> tuple[str, str]:
    """(one line, several lines) about the fault in a worker's context."""
    code, site = worker.field("fault_code"), worker.field("fault_site")
    if code in (ILLEGAL_ADDRESS, MISALIGNED_ADDRESS):
        lines = explain_address(run, worker, worker.machine.details.sites[site], code)
    elif site == BETWEEN_WARPS:
        lines = explain_barriers(run, worker)
    else:
        lines = explain_trap(run, worker)
    return lines[0], "\n  ".join(lines)


def explain_barriers(run, worker) -> list[str]:
    first, second = (worker.machine.details.barriers[worker.field(name) - 1] for name in ("fault_lane", "fault_extra"))
    return [f"kernel {kernel_name(run.name)}: threads of one block wait at different barriers",
            f"some warps at {where(first)}", *calls_of(first), f"others at {where(second)}", *calls_of(second),
            f"in block {block_of(worker)}", ONE_BARRIER]


def explain_trap(run, worker) -> list[str]:
    node, reason = worker.machine.details.traps[worker.field("fault_extra")]
    if reason == "assertion failed":
        return explain_assert(run, worker, node)
    if reason == "different barriers":
        return explain_parted_warp(run, worker, node)
    lane, mask = worker.field("fault_lane"), worker.field("fault_mask") & ALL_LANES
    happened, advice = TRAPS.get(reason, ("{lanes} arrive here", "see the line above"))
    told = happened.format(lanes=lanes_of(mask), mask=mask_of(worker.machine.details.kernel.values, node))
    return [f"kernel {kernel_name(run.name)}: {function_name(node.opcode)}: {reason}", f"at {where(node)}", *calls_of(node),
            f"first by {thread_of(run, worker, min(lane, WARP - 1))}", f"of warp {worker.field('fault_warp')}, {told}",
            f"what to do: {advice}"]


def mask_of(values, node) -> str:
    """The member mask where the code has it as a number, in hexadecimal behind a space."""
    operand = node.operands[-1] if node.operands else None
    while isinstance(operand, Reg):
        behind = values.node.get(operand.name)
        operand = behind.operands[0] if getattr(behind, "base", "") == "mov" else None
    return f" {operand.bits & ALL_LANES:#010x}" if isinstance(operand, Imm) else ""


def explain_parted_warp(run, worker, node) -> list[str]:
    """Two barriers at which lanes of one warp stand, packed in halves: numbers in fault_address, lanes in fault_mask."""
    numbers, masks = worker.field("fault_address"), worker.field("fault_mask")
    lines = [f"kernel {kernel_name(run.name)}: threads of one warp wait at different barriers"]
    if numbers:
        for number, mask in ((numbers & ALL_LANES, masks & ALL_LANES), (numbers >> 32, masks >> 32 & ALL_LANES)):
            barrier = worker.machine.details.barriers[number - 1]
            lines += [f"{lanes_of(mask)} at {where(barrier)}", *calls_of(barrier)]
    else:
        lines += [f"{lanes_of(masks & ALL_LANES)}, some of them at {where(node)}", *calls_of(node)]
    return [*lines, f"in warp {worker.field('fault_warp')} of block {block_of(worker)}", ONE_BARRIER]


def explain_assert(run, worker, node) -> list[str]:
    message = ctypes.string_at(worker.field("fault_address")).decode(errors="replace")
    return [f"kernel {kernel_name(run.name)}: assertion failed: {message}", f"at {where(node)}", *calls_of(node),
            f"first by {thread_of(run, worker, worker.field('fault_lane'))}"]


def explain_timeout(run, workers, limit_s: float) -> tuple[str, str]:
    """Where the warps were going round when the watchdog stopped the launch."""
    places = []
    for worker in workers:
        site = worker.field("spin_site")
        if site:
            node, _ = worker.machine.details.traps[site - 1]
            places.append(f"block {block_of(worker)} was going round at {where(node)}")
    lines = [f"kernel {kernel_name(run.name)}: still running after {limit_s:g} s (SIMT_WATCHDOG_S)", *dict.fromkeys(places),
             "what to do: check what ends the loop. A loop that waits for a block that has not begun never ends; CUDA promises "
             "no more (blocks of a cooperative grid meet in grid.sync()). A lane that waits for another one of its own warp is "
             "seen to wait where the loop's condition reads an atomic or volatile value anew each round; else the other lane "
             "never runs: a limit of the emulated device, so let one thread of each warp do the waiting"]
    return lines[0], "\n  ".join(lines)
