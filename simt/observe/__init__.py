"""What the emulated device counts and checks while a kernel runs: one observer per file."""
from __future__ import annotations


def counting() -> tuple:
    """Classes of the observers that make up a LaunchProfile, in the order of their slots."""
    from simt.observe.atomics import Atomics
    from simt.observe.block_traffic import BlockTraffic
    from simt.observe.branches import Branches
    from simt.observe.global_memory import GlobalMemory
    from simt.observe.instructions import Instructions
    from simt.observe.local_memory import LocalMemory
    from simt.observe.samples import Samples
    from simt.observe.shared_memory import SharedMemory

    return Instructions, GlobalMemory, SharedMemory, LocalMemory, Atomics, Branches, BlockTraffic, Samples


def checking() -> dict:
    """Classes of the checkers, by the names that people ask for them."""
    from simt.observe.initialisation import Initialisation
    from simt.observe.race import Races
    from simt.observe.synchronisation import Synchronisation

    return {checker.NAME: checker for checker in (Races, Initialisation, Synchronisation)}


CHECKS = ("race", "init", "sync")
"""Names of the checkers. Bounds are always checked."""
