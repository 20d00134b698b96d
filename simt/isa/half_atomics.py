"""Atomics on 16-bit values and on pairs of them.

The oracle gives what is left in memory, from unsigned bit patterns.
"""
from __future__ import annotations

from simt.isa.floating import add_oracle, paired_oracle
from simt.isa.memory import ATOM_ORDER, ATOMIC
from simt.isa.numbers import decode, encode
from simt.isa.table import Form, WarpRow, register

HALF_PATTERNS = (0x0000, 0x3C00, 0xC000, 0x0001, 0x7BFF, 0x3F80, 0x8000, 0x7C00)
PATTERNS = tuple(zip(HALF_PATTERNS, HALF_PATTERNS[3:] + HALF_PATTERNS[:3], strict=True))
SPACES = "{,.global,.shared}"


def added(form: Form, old: int, value: int) -> int:
    if form.type.endswith("x2"):
        return paired_oracle(add_oracle)(form, old, value)
    return encode(add_oracle(form, decode(old, form.type), decode(value, form.type)), form.type)


def swapped(form: Form, old: int, expected: int, new: int) -> int:
    return new if old == expected else old


def paired(form: Form) -> tuple:
    """The patterns in both halves, where the type has two."""
    return tuple((x | y << 16, y | x << 16) for x, y in PATTERNS) if form.type.endswith("x2") else PATTERNS


register([
    *(WarpRow(name + ATOM_ORDER + SPACES + ".add.noftz.{f16,f16x2,bf16,bf16x2}", lambda warp, node: warp.warp.atomic(node),
              added, paired, ATOMIC + name, "atomic") for name in ("atom", "red")),
    WarpRow("atom" + ATOM_ORDER + SPACES + ".cas.b16", lambda warp, node: warp.warp.atomic(node), swapped,
            ((5, 5, 7), (5, 6, 7), (0xFFFF, 0xFFFF, 0)), ATOMIC + "atom", "atomic"),
])
