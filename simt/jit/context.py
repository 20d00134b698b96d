"""The block of 64-bit fields that a worker thread shares with native code.

One name per field; the JIT reads them by index, the runtime fills them through the same names.
"""
from __future__ import annotations

from simt.jit.builder import Text

FIELDS = (
    "stop",                                 # pointer to an i32: nonzero asks every worker to stop
    "next_block",                           # pointer to an i64 counter shared by the workers
    "block_count", "block_list", "chunk",   # blocks to run; a pointer to their linear indices, or 0 for all in order
    "nctaid_x", "nctaid_y", "nctaid_z",
    "ctaid_x", "ctaid_y", "ctaid_z", "block",
    "warp_order",                           # pointer to the numbers of the warps in the order in which they run
    "shared_base", "shared_bytes", "dynamic_shared_bytes", "shared_arena", "shared_stride",
    "local_base", "local_bytes", "local_arena", "local_stride",
    "state_stride", "status",               # of the blocks of a cooperative launch
    "table_starts", "table_ends", "table_count",        # live allocations, sorted by start
    "globals",                              # pointer to the addresses of global and constant variables
    "states", "params", "counters", "checks",
    "fault_code", "fault_site", "fault_lane", "fault_warp", "fault_address", "fault_mask", "fault_extra", "fault_site_text",
    "spin_site",                            # where a warp was going round when the launch was stopped
    "arrived_count", "arrived_all", "arrived_any",      # what the running barrier round has gathered
    "result_count", "result_all", "result_any",         # what the last finished round delivers
    "grid_id", "clock",
    "sector_set", "sector_capacity", "sectors_crowded",     # of the observer of block traffic
    "sample_block",                         # the block in which addresses of accesses are kept
    "touched",                              # pointer to two bytes for each live allocation: it was loaded from, stored to
    "epoch", "phase",                       # barriers that the block, and grid barriers that the grid, have passed
    "ended_warps",                          # of the block, before the last barrier that it passed
    "watched",                              # nonzero: checkers look at the shared memory of this block
    "watch_stride",                         # they do in every so manieth block
    "race_state", "init_state", "cache_state",          # pointers to the states of checkers (simt/observe/checker.py)
)
INDEX = {name: index for index, name in enumerate(FIELDS)}


class Context:
    """Reads fields. Those that stay fixed while a warp runs are loaded once, at the function's entry."""

    POINTERS = ("stop", "shared_base", "local_base", "globals", "race_state", "init_state", "cache_state")
    FIXED = (*POINTERS, "nctaid_x", "nctaid_y", "nctaid_z", "ctaid_x", "ctaid_y", "ctaid_z")

    def __init__(self, text: Text):
        self.text = text

    def emit_prologue(self) -> None:
        for name in self.FIXED:
            kind = "ptr" if name in self.POINTERS else "i64"
            self.text.emit(f"%field.{name}.at = getelementptr i64, ptr %context, i64 {INDEX[name]}")
            self.text.emit(f"%field.{name} = load {kind}, ptr %field.{name}.at")

    def load(self, name: str) -> str:
        """A field as i64."""
        if name in self.FIXED:
            return f"%field.{name}"
        return self.text.define(f"load i64, ptr {self.pointer(name)}")

    def pointer(self, name: str) -> str:
        return self.text.define(f"getelementptr i64, ptr %context, i64 {INDEX[name]}")

    def load_stop(self) -> str:
        """i1: the launch is to stop."""
        flag = self.text.define("load volatile i32, ptr %field.stop")
        return self.text.define(f"icmp ne i32 {flag}, 0")
