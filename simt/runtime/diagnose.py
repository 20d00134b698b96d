"""From the bare facts of a fault to a lesson: kernel, source line, block and thread, array, index, extent, what to do."""
from __future__ import annotations

import ctypes
import re

from simt.ir.known import thread_index
from simt.ir.shapes import WARP
from simt.runtime.arguments import ArrayArgument, argument_names, arrays, source_line

ILLEGAL_ADDRESS, MISALIGNED_ADDRESS = 700, 716
NEAR_BYTES = 64 << 20       # a stray index is seldom wilder than that
BETWEEN_WARPS = -2          # fault_site when warps of a block wait at different barriers


def explain(run, worker) -> tuple[str, str]:
    """(one line, several lines) about the fault in a worker's context."""
    code, site = worker.field("fault_code"), worker.field("fault_site")
    if code in (ILLEGAL_ADDRESS, MISALIGNED_ADDRESS):
        lines = explain_address(run, worker, worker.machine.sites[site], code)
    elif site == BETWEEN_WARPS:
        lines = explain_barriers(run, worker)
    else:
        lines = explain_trap(run, worker)
    return lines[0], "\n  ".join(lines)


def kernel_name(mangled: str) -> str:
    """The Python name in an Itanium-mangled one: "_ZN8__main__4tileB2v1…" -> "tile"."""
    if not mangled.startswith("_ZN"):
        return mangled
    rest, names = mangled[3:], []
    while match := re.match(r"(\d+)", rest):
        length, rest = int(match[1]), rest[match.end():]
        names.append(rest[:length])
        rest = rest[length:]
    return names[-1].replace("_3clambda_3e", "<lambda>") if names else mangled


def where(node) -> str:
    if node.source is None:
        return f"PTX line {node.line} ({node.opcode})"
    text = source_line(node.source.file, node.source.line)
    return f"{node.source.file}:{node.source.line}" + (f": {text}" if text else "")


def thread_of(run, worker, lane: int) -> str:
    linear = worker.field("fault_warp") * WARP + lane
    thread = tuple(thread_index(run.block, axis, linear) for axis in "xyz")
    block = tuple(worker.field(f"ctaid_{axis}") for axis in "xyz")
    return f"block {block}, thread {thread}"


def explain_address(run, worker, site, code: int) -> list[str]:
    address, lane = worker.field("fault_address"), worker.field("fault_lane")
    verb = {"load": "read", "store": "write", "atomic": "atomic update"}[site.action]
    problem = "misaligned" if code == MISALIGNED_ADDRESS else "out of bounds"
    lines = [f"kernel {kernel_name(run.name)}: {verb} {problem}", f"at {where(site.node)}",
             f"by {thread_of(run, worker, lane)}"]
    if code == MISALIGNED_ADDRESS:
        lines += [f"{site.bytes}-byte access at address % {site.bytes} == {address % site.bytes}; it must be 0",
                  "what to do: start vector accesses at a multiple of their size, or load element by element"]
    elif site.space in ("shared", "local"):
        lines += explain_window(worker, site, address)
    else:
        lines += explain_global(run, site, address)
    if site.node.inlined:
        lines.append("called from " + ", ".join(f"{place.file}:{place.line}" for place in site.node.inlined))
    return lines


def explain_window(worker, site, address: int) -> list[str]:
    size = worker.field("shared_bytes") if site.space == "shared" else worker.field("local_bytes")
    return [f"byte offset {address} of {size} bytes of {site.space} memory; {site.bytes} bytes asked for",
            f"what to do: compare the index with the {site.space} array's extent, and check whether it uses the thread's "
            "place in the block or in the grid"]


def explain_global(run, site, address: int) -> list[str]:
    memory = run.launcher.memory
    address &= (1 << 64) - 1
    freed = memory.freed(address)
    array = nearest_array(run, site, address)
    lines = []
    if freed is not None:
        lines.append(f"the address lies in an array of {freed.size} bytes that was freed before the launch")
    if array is not None:
        lines += describe(array, site, address)
    elif freed is None:
        near = memory.nearest(address)
        beside = f"; the nearest allocation has {near.size} bytes and is {near.distance(address)} bytes away" if near else ""
        lines.append(f"address {address:#x} belongs to no live array{beside}")
    lines.append("what to do: keep a device array referenced while kernels use it" if freed is not None else
                 "what to do: guard the access, or launch threads for the array's shape only")
    return lines


def nearest_array(run, site, address: int) -> ArrayArgument | None:
    """The array argument nearest to an address, if it is near at all (within its own size, or NEAR_BYTES)."""
    found = kernel_arrays(run, site.node)
    best = min(found, key=lambda array: array.distance(address), default=None)
    if best is None or best.distance(address) > max(best.extent_bytes, NEAR_BYTES):
        return None
    return best


def kernel_arrays(run, node) -> list[ArrayArgument]:
    spec = run.program.kernels[run.name]
    values = [int.from_bytes(run.raw[p.offset:p.offset + p.size][:8], "little") for p in spec.params]
    source = node.inlined[-1] if node.inlined else node.source
    names = argument_names(source.file, source.line) if source else ()
    return arrays(values, names)


def describe(array: ArrayArgument, site, address: int) -> list[str]:
    index = array.index(address)
    inside = ", ".join(str(i) for i in index)
    shape = "(" + ", ".join(str(n) for n in array.shape) + ("," if len(array.shape) == 1 else "") + ")"
    line = f"{array.name}[{inside}], but {array.name} has shape {shape}"
    if len(array.shape) > 1:
        past = address - array.address - array.extent_bytes
        side = f"{past} bytes past its end" if past >= 0 else f"{array.address - address} bytes before its start"
        line += f": {side} (the index shown assumes that all axes but the first are in range)"
    elif index[0] < 0:
        line += f": index {index[0]} is before its start (a negative index counts from the end once, not twice)"
    else:
        line += f": the last index is {array.shape[0] - 1}"
    return [line]


def explain_barriers(run, worker) -> list[str]:
    first, second = (worker.machine.barriers[worker.field(name) - 1] for name in ("fault_lane", "fault_extra"))
    return [f"kernel {kernel_name(run.name)}: threads of one block wait at different barriers",
            f"some at {where(first)}", f"others at {where(second)}",
            f"in block {tuple(worker.field(f'ctaid_{axis}') for axis in 'xyz')}",
            "what to do: every thread of a block must reach the same syncthreads(): move it out of the branch"]


def explain_trap(run, worker) -> list[str]:
    node, reason = worker.machine.traps[worker.field("fault_extra")]
    lane = worker.field("fault_lane")
    mask = worker.field("fault_mask") & 0xFFFFFFFF
    head = f"kernel {kernel_name(run.name)}: {node.opcode}: {reason}"
    if reason == "assertion failed":
        return explain_assert(run, worker, node)
    advice = {
        "outside its own mask": "every thread that executes it must be named in its own mask",
        "a named lane does not arrive": "name only the threads that take this branch, or move the call out of the branch",
        "not given by malloc": "free each address that malloc gave, once",
        "no function there": "the function pointer holds no device function of this signature, or one that is running already",
        "trap": "the kernel executed trap: it gave up on purpose",
        "different barriers": "every thread of a block must reach the same syncthreads(): move it out of the branch",
    }[reason]
    return [head, f"at {where(node)}", f"first by {thread_of(run, worker, min(lane, WARP - 1))}; lanes {mask:#010x} of warp "
            f"{worker.field('fault_warp')}", f"what to do: {advice}"]


def explain_assert(run, worker, node) -> list[str]:
    message = ctypes.string_at(worker.field("fault_address")).decode(errors="replace")
    return [f"kernel {kernel_name(run.name)}: assertion failed: {message}", f"at {where(node)}",
            f"first by {thread_of(run, worker, worker.field('fault_lane'))}"]


def explain_timeout(run, workers, limit_s: float) -> tuple[str, str]:
    """Where the warps were going round when the watchdog stopped the launch."""
    places = []
    for worker in workers:
        site = worker.field("spin_site")
        if site:
            node, _ = worker.machine.traps[site - 1]
            block = tuple(worker.field(f"ctaid_{axis}") for axis in "xyz")
            places.append(f"block {block} was going round at {where(node)}")
    lines = [f"kernel {kernel_name(run.name)}: still running after {limit_s:g} s (SIMT_WATCHDOG_S)", *dict.fromkeys(places),
             "what to do: check what ends the loop. A loop that waits for another thread of its own warp, or for a block that "
             "has not begun, never ends on the emulated device"]
    return lines[0], "\n  ".join(lines)
