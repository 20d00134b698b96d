"""Values that no correct kernel leaves behind: poison in outputs and scratch, canaries around outputs."""

from __future__ import annotations

import numpy as np

POISON, SCRATCH, CANARY = 0xBE, 0x5C, 0xCA
GUARD = 256  # cells before and after an output: a whole number of 256-byte lines for every dtype

_QUIET_NAN = {2: (np.uint16, 0x7E00), 4: (np.uint32, 0x7FC00000), 8: (np.uint64, 0x7FF8 << 48)}


def fill(shape: int | tuple[int, ...], dtype: str | np.dtype, mark: int) -> np.ndarray:
    """Floats are quiet NaNs whose payload is `mark`, which arithmetic never makes; integers their minimum + `mark`."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        bits, nan = _QUIET_NAN[dtype.itemsize]
        return np.full(shape, nan | mark, dtype=bits).view(dtype)
    if dtype.kind in "iu":
        return np.full(shape, int(np.iinfo(dtype).min) + mark % 128, dtype=dtype)
    raise TypeError(f"no poison for dtype {dtype}: floats and integers have one")


def holds(array: np.ndarray, mark: int) -> np.ndarray:
    """Where `array` still has exactly the bits that `fill` gave it."""
    bits = np.dtype(f"u{array.dtype.itemsize}")
    return np.ascontiguousarray(array).view(bits) == fill(1, array.dtype, mark).view(bits)
