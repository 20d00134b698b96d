"""An emulated CUDA device: kernels written for ``numba.cuda`` run, are checked and are counted without a GPU.

    import simt
    simt.enable()                     # a usable GPU wins; else the emulated device
    from numba import cuda            # as ever

    with simt.profile() as p:
        kernel[grid, block](arrays)
    p.launches[0].counters            # sectors, bank conflicts, instructions …; p.launches[0].time_ns is modelled
    print(p.report())                 # sections, the worst lines, advice; in a notebook, `p` alone shows them

Environment: SIMT=auto|force|off, SIMT_DEVICE=h100|h200|a100|a6000|t4|rtx4090, SIMT_THREADS=N, SIMT_QUIET=1.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from simt.driver.enable import backend, device, enable, set_device

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from simt.driver.profiling import Profile

__all__ = ["backend", "device", "enable", "profile", "set_device"]


def profile(sample: Literal["auto", "all", "none"] | int = "auto", execute: Literal["all", "sampled"] = "all",
            check: str | Iterable[str] = (), caches: bool = False) -> Profile:
    """``with simt.profile() as p:`` counts and models every launch inside; ``p.launches`` lists their profiles.

    sample:  "all" counts every block; a number counts about one block in so many; "auto" counts all of a small grid and
             a sample of a large one; "none" counts nothing, for checks alone
    execute: "sampled" runs only the counted blocks: results are incomplete, counters and times are not
    check:   checkers that look at every launch: any of "race", "init", "sync", in a list or as "race,init"; ``p.findings`` says
             what they saw. Bounds are always checked
    caches:  simulate caches too, for hit rates and DRAM bytes; launches then run on one thread
    Raises ValueError for anything else, and RuntimeError unless the emulated device is in use.
    """
    from simt.driver.profiling import Profile

    return Profile(sample, execute, check, caches)
