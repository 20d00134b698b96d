"""Integer arithmetic."""
from __future__ import annotations

import operator

from simt.isa.lowering import binary, literal, sign_prefix
from simt.isa.numbers import grid, is_signed, limits, mask, own_edges, ternary_edges, unary_edges, value
from simt.isa.table import Form, Row, register
from simt.jit.builder import Builder, Value

WIDER = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}
SECTION = "Integer Arithmetic Instructions: "


def extended(b: Builder, x: Value, form: Form, bits: int) -> Value:
    return b.resize(x, f"i{bits}", signed=is_signed(form.type))


def product(b: Builder, form: Form, x: Value, y: Value) -> Value:
    """The exact product, in twice the width."""
    return b.binary("mul", extended(b, x, form, 2 * x.bits), extended(b, y, form, 2 * x.bits))


def high(b: Builder, form: Form, x: Value, y: Value) -> Value:
    whole = product(b, form, x, y)
    return b.resize(b.binary("lshr", whole, b.const(whole.type, x.bits)), x.type)


def exact_product(form: Form, x: int, y: int) -> int:
    return value(x, form.type) * value(y, form.type)


def wide_types(form: Form) -> tuple[str, ...]:
    return form.type, form.type, WIDER[form.type]


def wide_result(form: Form) -> tuple[str, ...]:
    return (WIDER[form.type],)


# Division: the ISA leaves division by zero unspecified. Here the quotient is all ones and the remainder the dividend.

def quotient_and_remainder(b: Builder, form: Form, x: Value, y: Value) -> tuple[Value, Value]:
    """Of a division that cannot trap: divisors 0 and -1 are handled apart."""
    if b.lanes > 1 and x.bits <= 32 and literal(y) is None:
        quotient = quotient_in_double(b, form, x, y)
    else:
        quotient = quotient_in_integers(b, form, x, y)
    return quotient, b.binary("sub", x, b.binary("mul", quotient, y))


def quotient_in_integers(b: Builder, form: Form, x: Value, y: Value) -> Value:
    op = sign_prefix(form) + "div"
    if literal(y) not in (None, 0, -1):
        return b.binary(op, x, y)
    one, zero, minus_one = (b.const(x.type, n) for n in (1, 0, -1))
    by_zero = b.compare("icmp eq", y, zero)
    if not is_signed(form.type):
        return b.select(by_zero, minus_one, b.binary(op, x, b.select(by_zero, one, y)))
    by_minus_one = b.compare("icmp eq", y, minus_one)
    special = b.binary("or", by_zero, by_minus_one)
    quotient = b.binary(op, x, b.select(special, one, y))
    negated = b.select(by_minus_one, b.binary("sub", zero, x), quotient)
    return b.select(by_zero, minus_one, negated)


def quotient_in_double(b: Builder, form: Form, x: Value, y: Value) -> Value:
    """Vectors have no integer division. In double the truncated quotient of 32-bit integers is exact: a quotient that
    is no integer lies at least 1/y from one, and its rounding error is below 2^-21 of that."""
    to_float = sign_prefix(form) + "itofp"
    by_zero = b.compare("icmp eq", y, b.const(y.type, 0))
    divisor = b.select(by_zero, b.const(y.type, 1), y)
    exact = b.binary("fdiv", b.cast(to_float, x, "double"), b.cast(to_float, divisor, "double"))
    # Adding 1.5 * 2^52 leaves the integer in the low bits; cutting to the width wraps INT_MIN / -1.
    aligned = b.binary("fadd", b.intrinsic("trunc", "double", exact), b.const("double", 1.5 * 2.0**52))
    return b.select(by_zero, b.const(x.type, -1), b.resize(b.cast("bitcast", aligned, "i64"), x.type))


def divide(form: Form, x: int, y: int) -> tuple[int, int]:
    """Quotient toward zero and remainder of two patterns."""
    if y == 0:
        return mask(form.type), x
    x, y = value(x, form.type), value(y, form.type)
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return quotient & mask(form.type), (x - quotient * y) & mask(form.type)


def least(b: Builder, form: Form, x: Value, y: Value) -> Value:
    return b.intrinsic(sign_prefix(form) + form.parts[0], x.type, x, y)


def saturating(b: Builder, form: Form, x: Value, y: Value) -> Value:
    return b.intrinsic(f"s{form.parts[0]}.sat", x.type, x, y)


def saturating_oracle(exact):
    def oracle(form: Form, x: int, y: int) -> int:
        lowest, highest = limits(form.type)
        return min(max(exact(value(x, form.type), value(y, form.type)), lowest), highest) & mask(form.type)

    return oracle


def sad(b: Builder, form: Form, x: Value, y: Value, z: Value) -> Value:
    prefix = sign_prefix(form)
    large, small = b.intrinsic(prefix + "max", x.type, x, y), b.intrinsic(prefix + "min", x.type, x, y)
    return b.binary("add", z, b.binary("sub", large, small))


def dot(b: Builder, form: Form, x: Value, y: Value, total: Value) -> Value:
    """dp4a: four bytes times four bytes; dp2a: two half words times the low or the high two bytes."""
    x_signed, y_signed = (is_signed(kind) for kind in form.parts[-2:])
    width, first = (8, 0) if form.parts[0] == "dp4a" else (16, 2 if form.has("hi") else 0)
    for index in range(32 // width):
        factors = packed(b, x, width, index, x_signed), packed(b, y, 8, first + index, y_signed)
        total = b.binary("add", total, b.binary("mul", *factors))
    return total


def packed(b: Builder, x: Value, width: int, index: int, signed_part: bool) -> Value:
    """Part ``index`` of an i32 made of parts of ``width`` bits, extended."""
    above = 32 - width * (index + 1)
    top = b.binary("shl", x, b.const("i32", above)) if above else x
    return b.binary("ashr" if signed_part else "lshr", top, b.const("i32", 32 - width))


def dp4a_oracle(form: Form, x: int, y: int, total: int) -> int:
    x_kind, y_kind = form.parts[-2:]
    lefts = [value(part, x_kind[0] + "8") for part in x.to_bytes(4)]
    rights = [value(part, y_kind[0] + "8") for part in y.to_bytes(4)]
    return sum(map(operator.mul, lefts, rights), total) & 0xFFFFFFFF


def dp2a_oracle(form: Form, x: int, y: int, total: int) -> int:
    x_kind, y_kind = form.parts[-2:]
    lefts = [value(part, x_kind[0] + "16") for part in (x & 0xFFFF, x >> 16)]
    rights = [value(part, y_kind[0] + "8") for part in y.to_bytes(4, "little")]
    return sum(map(operator.mul, lefts, rights[2:] if form.has("hi") else rights), total) & 0xFFFFFFFF


# Extended precision: CC.CF is a carry for additions, a borrow for subtractions.

def carried(b: Builder, form: Form, op: str, x: Value, y: Value, carry: Value | None) -> Value | tuple[Value, Value]:
    """x op y op carry, and the carry or borrow out where the form writes CC."""
    total, out = wrapping(b, op, x, y)
    if carry is not None:
        total, second = wrapping(b, op, total, b.cast("zext", carry, x.type))
        out = b.binary("or", out, second)
    return (total, out) if form.has("cc") else total


def wrapping(b: Builder, op: str, x: Value, y: Value) -> tuple[Value, Value]:
    """An unsigned add or sub, and whether it wrapped."""
    total = b.binary(op, x, y)
    return total, b.compare("icmp ult", *((total, x) if op == "add" else (x, y)))


def add_carry(b: Builder, form: Form, x: Value, y: Value, carry: Value | None = None):
    return carried(b, form, "add", x, y, carry)


def sub_borrow(b: Builder, form: Form, x: Value, y: Value, carry: Value | None = None):
    return carried(b, form, "sub", x, y, carry)


def mad_carry(b: Builder, form: Form, x: Value, y: Value, z: Value, carry: Value | None = None):
    part = b.binary("mul", x, y) if form.has("lo") else high(b, form, x, y)
    return carried(b, form, "add", part, z, carry)


def carry_result(form: Form, total: int) -> int | tuple[int, bool]:
    """The low bits, with whether ``total`` left the unsigned range where the form writes CC."""
    low = total & mask(form.type)
    return (low, low != total) if form.has("cc") else low


def mad_carry_oracle(form: Form, x: int, y: int, z: int, carry: bool = False):
    whole = exact_product(form, x, y) & (1 << 2 * form.bits) - 1
    part = whole & mask(form.type) if form.has("lo") else whole >> form.bits
    return carry_result(form, part + z + carry)


def rows():
    yield Row("add.{s16,u16,s32,u32,s64,u64}", binary("add"), lambda form, x, y: x + y & mask(form.type), own_edges,
              SECTION + "add", "int", rule="add")
    yield Row("sub.{s16,u16,s32,u32,s64,u64}", binary("sub"), lambda form, x, y: x - y & mask(form.type), own_edges,
              SECTION + "sub", "int", rule="sub")
    yield Row("mul.lo.{s16,u16,s32,u32,s64,u64}", binary("mul"),
              lambda form, x, y: exact_product(form, x, y) & mask(form.type), own_edges,
              SECTION + "mul", "imul", rule="mul")
    yield Row("mul.hi.{s16,u16,s32,u32,s64,u64}", high,
              lambda form, x, y: exact_product(form, x, y) >> form.bits & mask(form.type), own_edges,
              SECTION + "mul", "imul")
    yield Row("mul.wide.{s16,u16,s32,u32}", product,
              lambda form, x, y: exact_product(form, x, y) & mask(WIDER[form.type]), own_edges,
              SECTION + "mul", "imul", results=wide_result, rule="mulwide")
    yield Row("mad.lo.{s16,u16,s32,u32,s64,u64}", lambda b, form, x, y, z: b.binary("add", b.binary("mul", x, y), z),
              lambda form, x, y, z: exact_product(form, x, y) + z & mask(form.type), ternary_edges,
              SECTION + "mad", "imul", inputs=3, rule="mad")
    yield Row("mad.hi.{s16,u16,s32,u32,s64,u64}", lambda b, form, x, y, z: b.binary("add", high(b, form, x, y), z),
              lambda form, x, y, z: (exact_product(form, x, y) >> form.bits) + z & mask(form.type), ternary_edges,
              SECTION + "mad", "imul", inputs=3)
    yield Row("mad.wide.{s16,u16,s32,u32}", lambda b, form, x, y, z: b.binary("add", product(b, form, x, y), z),
              lambda form, x, y, z: exact_product(form, x, y) + z & mask(WIDER[form.type]),
              lambda form: grid(*wide_types(form)), SECTION + "mad", "imul",
              operands=wide_types, results=wide_result, rule="madwide")
    yield Row("div.{s16,u16,s32,u32,s64,u64}", lambda b, form, x, y: quotient_and_remainder(b, form, x, y)[0],
              lambda form, x, y: divide(form, x, y)[0], own_edges, SECTION + "div", "int")
    yield Row("rem.{s16,u16,s32,u32,s64,u64}", lambda b, form, x, y: quotient_and_remainder(b, form, x, y)[1],
              lambda form, x, y: divide(form, x, y)[1], own_edges, SECTION + "rem", "int")
    yield Row("abs.{s16,s32,s64}", lambda b, form, x: b.intrinsic("abs", x.type, x, flags=("i1 false",)),
              lambda form, x: abs(value(x, form.type)) & mask(form.type), unary_edges, SECTION + "abs", "int", inputs=1)
    yield Row("neg.{s16,s32,s64}", lambda b, form, x: b.binary("sub", b.const(x.type, 0), x),
              lambda form, x: -x & mask(form.type), unary_edges, SECTION + "neg", "int", inputs=1, rule="neg")
    for name, pick in (("min", min), ("max", max)):
        yield Row(name + ".{s16,u16,s32,u32,s64,u64}", least,
                  lambda form, x, y, pick=pick: pick(x, y, key=lambda pattern: value(pattern, form.type)), own_edges,
                  SECTION + name, "int", rule=name)
    yield Row("sad.{s16,u16,s32,u32,s64,u64}", sad,
              lambda form, x, y, z: z + abs(value(x, form.type) - value(y, form.type)) & mask(form.type), ternary_edges,
              SECTION + "sad", "int", inputs=3)
    yield Row("dp4a.{s32,u32}.{s32,u32}", dot, dp4a_oracle, ternary_edges, SECTION + "dp4a", "imul", inputs=3)
    yield Row("dp2a.{lo,hi}.{s32,u32}.{s32,u32}", dot, dp2a_oracle, ternary_edges, SECTION + "dp2a", "imul", inputs=3)
    for name, exact in (("add", operator.add), ("sub", operator.sub)):
        yield Row(name + ".sat.s32", saturating, saturating_oracle(exact), own_edges, SECTION + name, "int")
    yield from carry_rows()


def carry_rows():
    section, kinds = "Extended-Precision Integer Arithmetic Instructions: ", "{s32,u32,s64,u64}"
    for suffix, carry in (("", "in"), (".cc", "in out")):
        yield Row(f"addc{suffix}.{kinds}", add_carry, lambda form, x, y, carry: carry_result(form, x + y + carry),
                  lambda form: grid(form.type, form.type, "pred"), section + "addc", "int", carry=carry)
        yield Row(f"subc{suffix}.{kinds}", sub_borrow, lambda form, x, y, borrow: carry_result(form, x - y - borrow),
                  lambda form: grid(form.type, form.type, "pred"), section + "subc", "int", carry=carry)
        yield Row(f"madc.{{lo,hi}}{suffix}.{kinds}", mad_carry, mad_carry_oracle,
                  lambda form: grid(form.type, form.type, form.type, "pred"), section + "madc", "imul", inputs=3,
                  carry=carry)
    yield Row(f"add.cc.{kinds}", add_carry, lambda form, x, y: carry_result(form, x + y), own_edges,
              section + "add.cc", "int", carry="out")
    yield Row(f"sub.cc.{kinds}", sub_borrow, lambda form, x, y: carry_result(form, x - y), own_edges,
              section + "sub.cc", "int", carry="out")
    yield Row(f"mad.{{lo,hi}}.cc.{kinds}", mad_carry, mad_carry_oracle, ternary_edges,
              section + "mad.cc", "imul", inputs=3, carry="out")


register(rows())
