"""The order of blocks and warps: SIMT_SCHEDULE=forward, reverse, or the seed of a random order.

Any order is one that a GPU may choose. A kernel whose result depends on it has a race or expects what CUDA does not promise.
"""
from __future__ import annotations

import os

import numpy as np

from simt.runtime.faults import WrongSetting


def chosen() -> str | int:
    """"forward", "reverse" or a seed. Raises WrongSetting for anything else."""
    text = os.environ.get("SIMT_SCHEDULE", "forward").strip().lower() or "forward"
    if text in ("forward", "reverse"):
        return text
    if text.isdigit():
        return int(text)
    raise WrongSetting(f"SIMT_SCHEDULE={text!r}: it is forward, reverse, or a number that seeds a random order")


def ordered(count: int, schedule: str | int, salt: int) -> np.ndarray:
    """The numbers below ``count`` in the schedule's order; ``salt`` gives blocks and warps different random orders."""
    numbers = np.arange(count, dtype=np.int64)
    if schedule == "reverse":
        return numbers[::-1].copy()
    if schedule == "forward":
        return numbers
    return np.random.default_rng([int(schedule), salt, count]).permutation(numbers)
