"""An emulated CUDA device: kernels written for ``numba.cuda`` run, are checked and are counted without a GPU.

    import simt
    simt.enable()                     # a usable GPU wins; else the emulated device
    from numba import cuda            # as ever

    with simt.profile() as p:
        kernel[grid, block](arrays)
    p.launches[0].counters            # sectors, bank conflicts, instructions …; p.launches[0].time_ns is modelled

Environment: SIMT=auto|force|off, SIMT_DEVICE=h100|h200|a100|a6000|t4|rtx4090, SIMT_THREADS=N, SIMT_QUIET=1.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from simt.driver.enable import backend, device, enable, set_device

if TYPE_CHECKING:
    from typing import Literal

    from simt.driver.profiling import Profile

__all__ = ["backend", "device", "enable", "profile", "set_device"]


def profile(sample: Literal["auto", "all"] | int = "auto", execute: Literal["all", "sampled"] = "all") -> Profile:
    """``with simt.profile() as p:`` counts and models every launch inside; ``p.launches`` lists their profiles.

    sample:  "all" counts every block; a number counts about one block in so many; "auto" counts all of a small grid and
             a sample of a large one
    execute: "sampled" runs only the counted blocks: results are incomplete, counters and times are not
    Raises RuntimeError unless the emulated device is in use.
    """
    from simt.driver.profiling import Profile

    return Profile(sample, execute)
