"""Symmetric integer codes in plain NumPy: the yardstick of the quantised ladders.

A group of neighbours in a row shares one scale, its absmax / largest, and each of them becomes the code
rint(x / scale), ties to even, kept within -largest .. largest. All in float32, every operation correctly rounded, as on
a GPU: a right kernel gives these scales and codes bit for bit.

    a group with                     has the scale               and codes   which mean
    zeros only                       0                           0           0
    an absmax whose scale underflows 0                           0           0
    an infinity                      infinity                    0           NaN, in the whole group
    a NaN                            NaN                         0           NaN, in the whole group

So damage stays in its group, and stays visible. The code -largest - 1 is never used, so that -x has minus the codes of x.
"""

from __future__ import annotations

import numpy as np

INT8_LARGEST, INT4_LARGEST = 127, 7
LONGEST_GROUP = 2**31 - 1


def absmax_scale(x: np.ndarray, group: int | None = None, largest: int = INT8_LARGEST) -> np.ndarray:
    """Scales (rows, ceil(columns / group)), float32, of x (rows, columns), float32; without a group (rows, 1).

    The last group of a row may be shorter than the others. Where there are no columns, a row's one scale is 0.
    Raises TypeError unless x is float32, ValueError unless it has two axes and 1 <= group < 2**31.
    """
    if x.dtype != np.float32:
        raise TypeError(f"x must be float32, not {x.dtype}: convert it, so that the rounding is yours")
    if x.ndim != 2:
        raise ValueError(f"x must be (rows, columns), not {x.ndim}-dimensional")
    columns = x.shape[1]
    starts = np.arange(0, columns, _length(group, columns))
    if group is None and columns == 0:
        return np.zeros((len(x), 1), np.float32)
    absmax = np.maximum.reduceat(np.abs(x), starts, axis=1)  # a NaN stays a NaN
    return absmax / np.float32(largest)


def quantise_reference(
    x: np.ndarray, group: int | None = None, largest: int = INT8_LARGEST
) -> tuple[np.ndarray, np.ndarray]:
    """Codes (rows, columns), int8, and the scales of absmax_scale, for x (rows, columns), float32.

    One scale for all of x: quantise_reference(x.reshape(1, -1)). Raises what absmax_scale raises.
    """
    scale = absmax_scale(x, group, largest)
    spread = _spread(scale, group, x.shape[1])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(spread == 0, np.float32(0), x / spread)
    rounded = np.rint(np.where(np.isnan(ratio), np.float32(0), ratio))
    return np.clip(rounded, -largest, largest).astype(np.int8), scale


def dequantise_reference(q: np.ndarray, scale: np.ndarray, group: int | None = None) -> np.ndarray:
    """code * scale, float32 (rows, columns), for q (rows, columns), any integer, and the scales of absmax_scale."""
    with np.errstate(invalid="ignore"):  # 0 * infinity is the NaN that it should be
        return q.astype(np.float32) * _spread(scale, group, q.shape[1])


def pack_int4(codes: np.ndarray) -> np.ndarray:
    """Two codes a byte, along the last axis: (…, n) integers in -8..7 -> (…, ceil(n / 2)) uint8.

    Code 2i is the low nibble of byte i and code 2i + 1 the high one, each in two's complement; for an odd n the last
    high nibble is 0. Raises TypeError unless codes are integers, ValueError where one does not fit.
    """
    if codes.dtype.kind not in "iu":
        raise TypeError(f"codes must be integers, not {codes.dtype}")
    if codes.size and not -8 <= codes.min() <= codes.max() <= 7:
        raise ValueError(f"4 bits hold -8 to 7; these codes reach from {codes.min()} to {codes.max()}")
    nibbles = codes.astype(np.int8).view(np.uint8) & 0xF
    odd = codes.shape[-1] % 2
    nibbles = np.concatenate([nibbles, np.zeros((*codes.shape[:-1], odd), np.uint8)], axis=-1)
    return nibbles[..., 0::2] | nibbles[..., 1::2] << 4


def unpack_int4(packed: np.ndarray, count: int | None = None) -> np.ndarray:
    """The first `count` codes of each row, int8 (…, count), of packed (…, bytes), uint8; without a count, all.

    Raises TypeError unless packed is uint8, ValueError where it holds fewer codes than `count`.
    """
    if packed.dtype != np.uint8:
        raise TypeError(f"packed codes must be uint8, not {packed.dtype}")
    held = 2 * packed.shape[-1]
    count = held if count is None else count
    if not 0 <= count <= held:
        raise ValueError(f"{packed.shape[-1]} bytes hold {held} codes, not {count}")
    nibbles = np.stack([packed & 0xF, packed >> 4], axis=-1).reshape(*packed.shape[:-1], held)
    return ((nibbles.astype(np.int8) ^ 8) - 8)[..., :count]  # extends the sign: 8..15 are -8..-1


def _length(group: int | None, columns: int) -> int:
    """Columns per scale, at least 1."""
    if group is None:
        return max(columns, 1)
    if not 1 <= group <= LONGEST_GROUP:
        raise ValueError(f"a group has from 1 to 2**31 - 1 columns, not {group}")
    return group


def _spread(scale: np.ndarray, group: int | None, columns: int) -> np.ndarray:
    """Each column's scale, (rows, columns)."""
    which = np.arange(columns) // _length(group, columns)
    return scale[:, which]
