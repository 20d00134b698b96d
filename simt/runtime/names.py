"""Names and numbers as a learner writes them: kernels, functions of numba.cuda, lanes of a mask."""
from __future__ import annotations

from simt.ptx.mangled import kernel_name as kernel_name  # its home for what runs kernels

AXES = "xyz"
# The start of an opcode -> the function of numba.cuda that makes it.
FUNCTIONS = {
    "bar.sync": "syncthreads", "barrier.sync": "syncthreads", "bar.red.popc": "syncthreads_count",
    "bar.red.and": "syncthreads_and", "bar.red.or": "syncthreads_or", "bar.warp.sync": "syncwarp",
    "shfl.sync.idx": "shfl_sync", "shfl.sync.up": "shfl_up_sync", "shfl.sync.down": "shfl_down_sync",
    "shfl.sync.bfly": "shfl_xor_sync", "vote.sync.all": "all_sync", "vote.sync.any": "any_sync", "vote.sync.uni": "eq_sync",
    "vote.sync.ballot": "ballot_sync", "match.any": "match_any_sync", "match.all": "match_all_sync", "trap": "a trap",
    "call.cudaCGSynchronize": "grid.sync",
}


def function_name(opcode: str) -> str:
    """What a learner wrote for an instruction: "shfl.sync.down.b32" -> "shfl_down_sync (PTX shfl.sync.down.b32)"."""
    known = next((name for start, name in FUNCTIONS.items() if opcode.startswith(start)), None)
    return f"{known} (PTX {opcode})" if known else opcode


def lanes_of(mask: int) -> str:
    """A mask in words: 0x0000F00F -> "lanes 0-3, 12-15"."""
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and runs[-1][-1] == lane - 1:
            runs[-1].append(lane)
        else:
            runs.append([lane])
    text = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"lane{'s' if len(lanes) != 1 else ''} {text}"


def counted(number: int, noun: str) -> str:
    """As in `1 whole warp`, `2 whole warps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
