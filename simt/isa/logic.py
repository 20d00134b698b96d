"""Logic and shifts, moves and selections."""
from __future__ import annotations

from simt.isa.lowering import binary, complement, shifted
from simt.isa.numbers import (
    edges_of,
    flush,
    grid,
    is_signed,
    mask,
    own_edges,
    shift_grid,
    signed,
    unary_edges,
)
from simt.isa.table import Form, Row, register
from simt.jit.builder import Builder, Value

SECTION = "Logic and Shift Instructions: "
ALL = "{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}"


def shift_types(form: Form) -> tuple[str, ...]:
    """The amount is 32 bits wide whatever is shifted."""
    return form.type, "u32"


def shift_edges(form: Form) -> tuple:
    return shift_grid(form.type)


def shift_right(b: Builder, form: Form, x: Value, amount: Value) -> Value:
    return shifted(b, "ashr" if is_signed(form.type) else "lshr", x, amount)


def shift_right_oracle(form: Form, x: int, amount: int) -> int:
    number = signed(x, form.type) if is_signed(form.type) else x
    return number >> min(amount, form.bits) & mask(form.type)


def funnel(b: Builder, form: Form, low: Value, high: Value, amount: Value) -> Value:
    """A 64-bit shift of high:low that keeps 32 bits; ``.clamp`` and ``.wrap`` bring the amount into range."""
    if form.has("clamp"):
        amount = b.intrinsic("umin", "i32", amount, b.const("i32", 32))
    else:
        amount = b.binary("and", amount, b.const("i32", 31))
    pair = b.binary("shl", b.resize(high, "i64"), b.const("i64", 32))
    pair, wide_amount = b.binary("or", pair, b.resize(low, "i64")), b.resize(amount, "i64")
    if form.has("r"):
        return b.resize(b.binary("lshr", pair, wide_amount), "i32")
    return b.resize(b.binary("lshr", b.binary("shl", pair, wide_amount), b.const("i64", 32)), "i32")


def funnel_oracle(form: Form, low: int, high: int, amount: int) -> int:
    amount = min(amount, 32) if form.has("clamp") else amount % 32
    pair = high << 32 | low
    return (pair >> amount if form.has("r") else (pair << amount) >> 32) & 0xFFFFFFFF


def lop3(b: Builder, form: Form, x: Value, y: Value, z: Value, table: Value) -> Value:
    """Bit by bit, x:y:z picks a bit of the truth table: three levels of multiplexers."""
    choices = []
    for index in range(8):
        top = b.binary("shl", table, b.const("i32", 31 - index))
        choices.append(b.binary("ashr", top, b.const("i32", 31)))
    for selector in (z, y, x):
        choices = [multiplex(b, selector, *pair) for pair in zip(choices[::2], choices[1::2], strict=True)]
    return choices[0]


def multiplex(b: Builder, selector: Value, zero: Value, one: Value) -> Value:
    return b.binary("xor", zero, b.binary("and", selector, b.binary("xor", zero, one)))


def lop3_oracle(form: Form, x: int, y: int, z: int, table: int) -> int:
    return sum((table >> ((x >> bit & 1) * 4 + (y >> bit & 1) * 2 + (z >> bit & 1)) & 1) << bit for bit in range(32))


def lop3_edges(form: Form) -> tuple:
    tables = (0, 0xFF, 0xF0, 0xCC, 0xAA, 0x80, 0xFE, 0x96, 0xE8, 0x1D, 0x5A)
    words = ((0, 0, 0), (0xFFFFFFFF,) * 3, (0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA), (0x12345678, 0x9ABCDEF0, 0x80000001))
    return tuple((*operands, table) for operands in words for table in tables)


def selection_types(form: Form) -> tuple[str, ...]:
    return form.type, form.type, "pred"


def slct_types(form: Form) -> tuple[str, ...]:
    """slct.dtype.ctype: two candidates, then the number whose sign decides."""
    return form.parts[-2], form.parts[-2], form.type


def slct(b: Builder, form: Form, x: Value, y: Value, decider: Value) -> Value:
    if form.type == "s32":
        return b.select(b.compare("icmp sge", decider, b.const("i32", 0)), x, y)
    # .ftz turns a negative subnormal into -0, which is not less than 0: the least normal number is the border.
    border = b.const("float", -(2.0**-126) if form.has("ftz") else 0.0)
    return b.select(b.compare("fcmp ogt" if form.has("ftz") else "fcmp oge", decider, border), x, y)


def slct_oracle(form: Form, x: int | float, y: int | float, decider: int | float) -> int | float:
    if form.type == "s32":
        return x if signed(decider, "s32") >= 0 else y
    return x if (flush(decider, "f32") if form.has("ftz") else decider) >= 0 else y


def slct_edges(form: Form) -> tuple:
    x, y = edges_of(form.parts[-2])[:2]
    return tuple((x, y, decider) for decider in edges_of(form.type))


def rows():
    for name, oracle in (("and", int.__and__), ("or", int.__or__), ("xor", int.__xor__)):
        yield Row(name + ".{b16,b32,b64}", binary(name), lambda form, x, y, oracle=oracle: oracle(x, y), own_edges,
                  SECTION + name, "logic", rule="and" if name == "and" else "")
        yield Row(name + ".pred", binary(name), lambda form, x, y, oracle=oracle: oracle(x, y), own_edges,
                  SECTION + name, "logic")
    yield Row("not.{pred,b16,b32,b64}", lambda b, form, x: complement(b, x), lambda form, x: ~x & mask(form.type),
              unary_edges, SECTION + "not", "logic", inputs=1)
    yield Row("cnot.{b16,b32,b64}",
              lambda b, form, x: b.cast("zext", b.compare("icmp eq", x, b.const(x.type, 0)), x.type),
              lambda form, x: int(x == 0), unary_edges, SECTION + "cnot", "logic", inputs=1)
    yield Row("shl.{b16,b32,b64}", lambda b, form, x, amount: shifted(b, "shl", x, amount),
              lambda form, x, amount: x << min(amount, form.bits) & mask(form.type), shift_edges,
              SECTION + "shl", "logic", operands=shift_types, rule="shl")
    yield Row("shr.{b16,b32,b64,u16,u32,u64,s16,s32,s64}", shift_right, shift_right_oracle, shift_edges,
              SECTION + "shr", "logic", operands=shift_types, rule="shr")
    yield Row("shf.{l,r}.{clamp,wrap}.b32", funnel, funnel_oracle, lambda form: shift_grid("b32", "b32"),
              SECTION + "shf", "logic", inputs=3)
    yield Row("lop3.b32", lop3, lop3_oracle, lop3_edges, SECTION + "lop3", "logic", inputs=4)
    yield Row(f"mov.{ALL}", lambda b, form, x: x, lambda form, x: x, unary_edges,
              "Data Movement and Conversion Instructions: mov", "logic", inputs=1, rule="copy")
    yield Row("mov.pred", lambda b, form, x: x, lambda form, x: x, unary_edges,
              "Data Movement and Conversion Instructions: mov", "logic", inputs=1, rule="copy")
    yield Row(f"selp.{ALL}", lambda b, form, x, y, which: b.select(which, x, y),
              lambda form, x, y, which: x if which else y, lambda form: grid(form.type, form.type, "pred"),
              "Comparison and Selection Instructions: selp", "logic", operands=selection_types, rule="select")
    yield Row(f"slct.{ALL}.s32", slct, slct_oracle, slct_edges, "Comparison and Selection Instructions: slct", "logic",
              operands=slct_types, results=lambda form: (form.parts[-2],))
    yield Row(f"slct{{,.ftz}}.{ALL}.f32", slct, slct_oracle, slct_edges, "Comparison and Selection Instructions: slct",
              "logic", operands=slct_types, results=lambda form: (form.parts[-2],))


register(rows())
