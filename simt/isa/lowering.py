"""Small pieces of IR that rows of several files share."""
from __future__ import annotations

import re
from collections.abc import Callable

from simt.isa.table import Form
from simt.jit.builder import Builder, Value


def literal(operand: Value) -> int | None:
    """The number of an integer constant operand ("5", "splat (i32 5)"), None for a register."""
    found = re.fullmatch(r"(?:splat \(i\d+ )?(-?\d+)\)?", operand.text)
    return int(found[1]) if found else None


def binary(op: str) -> Callable:
    """A lowering that is one LLVM instruction of two operands."""
    return lambda b, form, x, y: b.binary(op, x, y)


def complement(b: Builder, x: Value) -> Value:
    return b.binary("xor", x, b.const(x.type, -1))


def shifted(b: Builder, op: str, x: Value, amount: Value) -> Value:
    """``shl``, ``lshr`` or ``ashr`` that clamps amounts of the width and more, which LLVM leaves undefined."""
    last = x.bits - 1
    number = literal(amount)
    if number is not None and 0 <= number <= last:
        return b.binary(op, x, b.const(x.type, number))
    if op == "ashr":
        clamped = b.intrinsic("umin", amount.type, amount, b.const(amount.type, last))
        return b.binary(op, x, b.resize(clamped, x.type))
    # The select also discards the undefined result of an oversized shift.
    small = b.compare("icmp ule", amount, b.const(amount.type, last))
    return b.select(small, b.binary(op, x, b.resize(amount, x.type)), b.const(x.type, 0))


def low_mask(b: Builder, count: Value, lane_type: str) -> Value:
    """``count`` low one bits; all ones from the width on."""
    return complement(b, shifted(b, "shl", b.const(lane_type, -1), count))


def sign_prefix(form: Form) -> str:
    """"s" or "u" in front of LLVM's min, max, div, rem and compare names."""
    return "s" if form.type.startswith("s") else "u"
