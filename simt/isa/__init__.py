"""The instruction table: one row per PTX instruction, found by opcode."""
# Each of these registers its rows.
from simt.isa import (  # noqa: F401  each registers its rows
    approx,
    bfloat,
    bits,
    calls,
    compare,
    convert,
    floating,
    fp8,
    half_atomics,
    integer,
    logic,
    memory,
    pack,
    warp,
)
from simt.isa.table import ROWS, Form, Row, Unsupported, bits_of, expand, find, register

__all__ = ["ROWS", "Form", "Row", "Unsupported", "bits_of", "expand", "find", "register"]
