"""What the emulated device counts while a kernel runs: one observer per file."""
from __future__ import annotations


def counting() -> tuple:
    """Classes of the observers that make up a LaunchProfile, in the order of their slots."""
    from simt.observe.atomics import Atomics
    from simt.observe.block_traffic import BlockTraffic
    from simt.observe.global_memory import GlobalMemory
    from simt.observe.instructions import Instructions
    from simt.observe.local_memory import LocalMemory
    from simt.observe.shared_memory import SharedMemory

    return Instructions, GlobalMemory, SharedMemory, LocalMemory, Atomics, BlockTraffic
