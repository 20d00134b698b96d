"""Arithmetic of bf16 and bf16x2: in float, rounded once to the high half."""
from __future__ import annotations

from simt.isa import approx, floating, rounding
from simt.isa.floating import HALF_SECTION
from simt.isa.numbers import modified, nearest
from simt.isa.table import Form, Row, register
from simt.jit.builder import Builder, Value


def in_float(lower):
    """A float lowering for bf16. Rounding to float first does no harm to a sum or product: a float has more than twice
    the precision (Figueroa, When is double rounding innocuous?, 1995)."""
    modified_lower = rounding.modified(lower)

    def narrow(b: Builder, form: Form, *operands: Value) -> Value:
        return rounding.narrowed(b, modified_lower(b, form, *(rounding.widened(b, x) for x in operands)), "bf16")

    return narrow


def fma(b: Builder, form: Form, *operands: Value) -> Value:
    """Rounded to odd in float, as a plain float fma would round twice."""
    x, y, z = (rounding.widened(b, operand) for operand in operands)
    total = rounding.fma_odd(b, x, y, z)
    return rounding.narrowed(b, rounding.rectified(b, total) if form.has("relu") else total, "bf16")


def approximate(oracle):
    """The oracle of an approximate function, rounded to bf16."""
    return lambda form, x: nearest(modified(oracle)(form, x), "bf16")


def pair_of_rows(name: str, lower, oracle, inputs: int, flops: int, kind: str = "fp16", tolerance: float = 0.0):
    """A row each for bf16 and bf16x2."""
    common = {"section": HALF_SECTION + name.split("{")[0].split(".")[0], "kind": kind, "inputs": inputs,
              "tolerance": tolerance}
    yield Row(f"{name}.bf16", lower, oracle, floating.edges_by_inputs(inputs), flops=flops, **common)
    yield Row(f"{name}.bf16x2", floating.paired(lower, "i16"), floating.paired_oracle(oracle),
              floating.edges_by_inputs(inputs), flops=2 * flops, **common)


def rows():
    for name, lower, oracle in (("add", floating.add, floating.add_oracle), ("sub", floating.sub, floating.sub_oracle),
                                ("mul", floating.mul, floating.mul_oracle)):
        yield from pair_of_rows(name + "{,.rn}", in_float(lower), oracle, 2, 1)
    yield from pair_of_rows("fma.rn{,.relu}", fma, modified(floating.fma_oracle), 3, 2)
    yield from pair_of_rows("neg", in_float(floating.negated), floating.negated_oracle, 1, 0)
    yield from pair_of_rows("abs", in_float(floating.absolute), floating.absolute_oracle, 1, 0)
    for name, pick in (("min", min), ("max", max)):
        yield from pair_of_rows(name + "{,.NaN}", in_float(floating.minimum(name)), floating.pick_oracle(pick), 2, 0)
    for name, lower, oracle, tolerance in (("tanh.approx", approx.tanh, approx.tanh_oracle, 2.0**-8),
                                           ("ex2.approx.ftz", approx.ex2, approx.ex2_oracle, 2.0**-7)):
        yield from pair_of_rows(name, in_float(lower), approximate(oracle), 1, 1, "sfu", tolerance)


register(rows())
