"""Comparisons: setp into predicates, set into registers."""
from __future__ import annotations

import functools
import operator

from simt.isa import rounding
from simt.isa.lowering import complement
from simt.isa.numbers import decode_pair, edges_of, encode_pair, flush, is_float, value
from simt.isa.table import Form, Row, register
from simt.jit.builder import Builder, Value

SECTION = "Comparison and Selection Instructions: "
HALF_SECTION = "Half Precision Comparison Instructions: "
INTEGERS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
            "ge": operator.ge}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
FLOATS = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "num": "ord", "nan": "uno",
    "equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge",
}
COMBINE = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
PREDICATES = ("pred", "pred")


def compared(b: Builder, form: Form, x: Value, y: Value) -> Value:
    """The comparison alone, as an i1."""
    name, kind = form.parts[1], form.type.removesuffix("x2")
    if kind == "bf16":
        x, y = rounding.widened(b, x), rounding.widened(b, y)
    if is_float(kind):
        if form.has("ftz"):
            x, y = rounding.flushed(b, x), rounding.flushed(b, y)
        return b.compare(f"fcmp {FLOATS[name]}", x, y)
    name = UNSIGNED.get(name, name)
    sign = "" if name in ("eq", "ne") else form.type[0]
    return b.compare(f"icmp {sign}{name}", x, y)


def compared_oracle(form: Form, x: int | float, y: int | float) -> bool:
    name = form.parts[1]
    if not isinstance(x, float):
        return INTEGERS[UNSIGNED.get(name, name)](value(x, form.type), value(y, form.type))
    if form.has("ftz"):
        x, y = flush(x, form.type), flush(y, form.type)
    unordered = x != x or y != y
    if name in ("num", "nan"):
        return unordered == (name == "nan")
    return name not in INTEGERS if unordered else INTEGERS[name[:2]](x, y)


def combination(form: Form) -> str:
    """The Boolean operator of a form with a combining predicate."""
    return next(name for name in COMBINE if form.has(name))


def setp(b: Builder, form: Form, x: Value, y: Value, other: Value | None = None) -> tuple[Value, Value]:
    p = compared(b, form, x, y)
    q = complement(b, p)
    if other is None:
        return p, q
    op = combination(form)
    return b.binary(op, p, other), b.binary(op, q, other)


def setp_oracle(form: Form, x: int | float, y: int | float, other: int | None = None) -> tuple[int, int]:
    p = compared_oracle(form, x, y)
    if other is None:
        return int(p), int(not p)
    combine = COMBINE[combination(form)]
    return int(combine(p, bool(other))), int(combine(not p, bool(other)))


def pairwise(b: Builder, form: Form, x: Value, y: Value) -> tuple[Value, ...]:
    """The comparisons of the low halves and of the high halves."""
    lane_type = "half" if form.type == "f16x2" else "i16"
    sides = zip(rounding.halves(b, x, lane_type), rounding.halves(b, y, lane_type), strict=True)
    return tuple(compared(b, form, *side) for side in sides)


def pairwise_oracle(form: Form, x: int, y: int) -> tuple[bool, ...]:
    sides = zip(decode_pair(x, form.type), decode_pair(y, form.type), strict=True)
    return tuple(compared_oracle(form, *side) for side in sides)


# What set writes for true: 1.0 in a floating-point destination, all ones in an integer one.
ONES = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000}


def set_register(b: Builder, form: Form, x: Value, y: Value) -> Value:
    p, to = compared(b, form, x, y), form.parts[-2]
    if to in ("f16", "f32"):
        return b.cast("uitofp", p, "half" if to == "f16" else "float")
    return filled(b, p, to)


def filled(b: Builder, p: Value, to: str) -> Value:
    """The integer bits of true or false."""
    width = "i32" if to in ("u32", "s32", "f32") else "i16"
    return b.select(p, b.const(width, ONES.get(to, -1)), b.const(width, 0))


def set_oracle(form: Form, x: int | float, y: int | float) -> int | float:
    p, to = compared_oracle(form, x, y), form.parts[-2]
    return float(p) if is_float(to) else (-p & 0xFFFFFFFF if to in ("u32", "s32") else -p & 0xFFFF)


def set_pair(b: Builder, form: Form, x: Value, y: Value) -> Value:
    to = form.parts[-2].removesuffix("x2")
    return rounding.pair(b, *(filled(b, p, to if is_float(to) else "u16") for p in pairwise(b, form, x, y)))


def set_pair_oracle(form: Form, x: int, y: int) -> int:
    to, (low, high) = form.parts[-2], pairwise_oracle(form, x, y)
    return encode_pair(float(low), float(high), to) if to.endswith("x2") else 0xFFFF * low | 0xFFFF0000 * high


def compare_edges(form: Form) -> tuple:
    return few_pairs(form.type)


@functools.cache
def few_pairs(ptx_type: str) -> tuple:
    """Few values, as there are many forms: both orders, equal ones, and each kind of float."""
    chosen = edges_of(ptx_type)[:7]
    return tuple((x, y) for x in chosen for y in chosen)


def combined_edges(form: Form) -> tuple:
    return few_triples(form.type)


@functools.cache
def few_triples(ptx_type: str) -> tuple:
    return tuple((x, y, other) for x, y in few_pairs(ptx_type)[::5] for other in (0, 1))


def set_result(form: Form) -> tuple[str, ...]:
    return (form.parts[-2],)


def rows():
    """The spellings are built from the tables above: PTX has 2,000 of them."""
    floats, combine = "{" + ",".join(FLOATS) + "}", "{" + ",".join(COMBINE) + "}"
    families = (
        ("{eq,ne}", "", "{b16,b32,b64}", SECTION),
        ("{eq,ne,lt,le,gt,ge}", "", "{s16,s32,s64,u16,u32,u64}", SECTION),
        ("{lo,ls,hi,hs}", "", "{u16,u32,u64}", SECTION),
        (floats, "", "{f32,f64}", SECTION), (floats, ".ftz", "f32", SECTION),
        (floats, "", "{f16,bf16}", HALF_SECTION), (floats, ".ftz", "f16", HALF_SECTION),
    )
    for names, ftz, types, section in families:
        yield Row(f"setp.{names}{ftz}.{types}", setp, setp_oracle, compare_edges, section + "setp", "logic",
                  results=lambda form: PREDICATES)
        yield Row(f"setp.{names}.{combine}{ftz}.{types}", setp, setp_oracle, combined_edges, section + "setp", "logic",
                  operands=lambda form: (form.type, form.type, "pred"), results=lambda form: PREDICATES)
        yield Row(f"set.{names}{ftz}.{{u32,s32,f32}}.{types}", set_register, set_oracle, compare_edges, section + "set",
                  "logic", results=set_result)
    for kind, ftz in (("f16", "{,.ftz}"), ("bf16", "")):
        yield Row(f"set.{floats}{ftz}.{{u16,s16,{kind}}}.{kind}", set_register, set_oracle, compare_edges,
                  HALF_SECTION + "set", "logic", results=set_result)
        yield Row(f"set.{floats}{ftz}.{{u32,s32,{kind}x2}}.{kind}x2", set_pair, set_pair_oracle, compare_edges,
                  HALF_SECTION + "set", "logic", results=set_result)
        yield Row(f"setp.{floats}{ftz}.{kind}x2", pairwise, pairwise_oracle, compare_edges, HALF_SECTION + "setp",
                  "logic", results=lambda form: PREDICATES)


register(rows())
