"""int8 codes of float32 rows with one scale per row, from one thread per row to rows that stay in registers."""

from __future__ import annotations

import numpy as np

from kernels.case import Arrays, Case, Layout
from kernels.ladder import Ladder
from kernels.quant.formats import INT8_LARGEST, quantise_reference

KINDS = {"integers": "halfway", "normal": "normal", "special": "special"}
LARGEST_INTEGER = 2 * INT8_LARGEST
SPECIAL = np.array([np.inf, -np.inf, np.nan, 3e38], np.float32)
TINY = np.array([1e-36, 1e-42, 2.0**-149 * 200, 2.0**-149 * 60])  # 127 of the last three: a subnormal scale, a coarse one, 0


def make(case: Case, rng: np.random.Generator, kind: str = "normal") -> Arrays:
    """x (rows, columns), float32.

    normal:   standard normal, each row times a power of ten of its own, from -6 to 6
    integers: whole numbers in [-254, 254], and one end of that in each row: the scale is 2, and odd numbers lie halfway
              between two codes
    special:  normal ones, but of four rows one is all zeros, one tiny, and one has an infinity, a NaN or 3e38 in it
    """
    shape = rows, columns = case["rows"], case["columns"]
    if kind == "integers":
        x = rng.integers(-LARGEST_INTEGER, LARGEST_INTEGER, shape, endpoint=True).astype(np.float32)
        x[np.arange(rows), rng.integers(columns, size=rows)] = rng.choice([-LARGEST_INTEGER, LARGEST_INTEGER], rows)
        return {"x": x}
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 7, (rows, 1))
    if kind == "special":
        turn = (np.arange(rows) + rng.integers(4)) % 4
        zeros, tiny, special = (np.flatnonzero(turn == which) for which in (1, 2, 3))
        x[zeros] = 0
        x[tiny] *= rng.choice(TINY, (len(tiny), 1)) / np.abs(x[tiny]).max(axis=1, keepdims=True)
        x[special, rng.integers(columns, size=len(special))] = rng.choice(SPECIAL, len(special))
    return {"x": x.astype(np.float32)}


def reference(inputs: Arrays) -> Arrays:
    """q (rows, columns), int8, and scale (rows,), float32: exact."""
    q, scale = quantise_reference(inputs["x"])
    return {"q": q, "scale": scale[:, 0]}


def tolerance(case: Case, inputs: Arrays) -> dict[str, np.ndarray | float]:
    """Nothing: one code apart is the mistake of rounding that a tolerance would hide."""
    return {"q": 0.0, "scale": 0.0}


def outputs(case: Case, inputs: Arrays) -> Layout:
    """q (rows, columns) and scale (rows,)."""
    return {"q": ((case["rows"], case["columns"]), "int8"), "scale": ((case["rows"],), "float32")}


LADDER = Ladder(
    __name__,
    make=make,
    reference=reference,
    tolerance=tolerance,
    outputs=outputs,
    cases=(
        Case(rows=1, columns=1),
        Case(rows=8, columns=31),  # around a warp
        Case(rows=9, columns=33),
        Case(rows=127, columns=32),
        Case(rows=128, columns=256),  # exactly a block
        Case(rows=129, columns=4),  # a quarter of a warp
        Case(rows=7, columns=255),  # around a block
        Case(rows=5, columns=257),
        Case(rows=33, columns=132),  # ragged, yet rows of whole 16-byte groups
        Case(rows=101, columns=389),  # primes
        Case(rows=400, columns=3),  # tall: four blocks of one row per thread
        Case(rows=5, columns=1028),  # 16-byte groups over several warps, the last ones ragged
        Case(rows=2, columns=16384),  # the longest row that fits into the registers of a block
        Case(rows=3, columns=16388),  # longer
        Case(rows=512, columns=256),
    ),
    checked=(Case(rows=101, columns=389), Case(rows=33, columns=132), Case(rows=400, columns=3)),
    timed_case=Case(rows=4096, columns=4096),
    axes={"x": ("rows", "columns")},
    steps=(
        "s10_thread_per_row",
        "s20_block_per_row",
        "s30_warp_per_row",
        "s40_vectorised",
        "s50_registers",
    ),
    kinds=KINDS,
)
