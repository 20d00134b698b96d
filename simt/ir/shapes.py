"""How a register's value varies over the 32 lanes of a warp, for a kernel specialised on its block shape.

UNIFORM    one scalar for the warp
affine     one scalar, plus a constant per lane (``offsets``)
segmented  one scalar for each half warp, plus constants
VARYING    anything: a vector

``bases`` counts the scalars (1, 2; 0 for VARYING). Each base is the value in the first lane of its segment, so
``offsets`` is 0 there. Scalars cost 1/32 of a vector: this analysis is the largest lever of the JIT.
"""
from __future__ import annotations

import dataclasses

from simt.ir.ranges import Ranges, signed
from simt.isa.table import bits_of

WARP = 32
SEGMENT = 16                # lanes of one LLVM vector; two segments make a warp


@dataclasses.dataclass(frozen=True, slots=True)
class Shape:
    bases: int
    offsets: tuple[int, ...] = (0,) * WARP

    @property
    def flat(self) -> bool:
        """Every lane of a segment holds its base."""
        return self.bases > 0 and not any(self.offsets)

    def segmented(self) -> Shape:
        """The same with one base per half warp."""
        if self.bases != 1:
            return self
        starts = [self.offsets[lane // SEGMENT * SEGMENT] for lane in range(WARP)]
        return Shape(2, tuple(o - s for o, s in zip(self.offsets, starts, strict=True)))


UNIFORM = Shape(1)
VARYING = Shape(0)


def meet(x: Shape | None, y: Shape | None) -> Shape | None:
    """The most precise shape that covers both; None (unknown yet) is the neutral element."""
    if x is None or y is None:
        return x or y
    if x == y:
        return x
    if VARYING in (x, y):
        return VARYING
    x, y = x.segmented(), y.segmented()
    return x if x == y else VARYING


def aligned(shapes: list[Shape]) -> tuple[int, list[Shape]]:
    """Bring shapes to the same number of bases; 0 if one varies."""
    if any(s.bases == 0 for s in shapes):
        return 0, shapes
    bases = max((s.bases for s in shapes), default=1)
    return bases, [s.segmented() if bases == 2 else s for s in shapes]


def wrapped(bases: int, offsets, bits: int) -> Shape:
    return Shape(bases, tuple(signed(o, bits) for o in offsets))


def elementwise(node, shapes: list[Shape], ranges: Ranges, bits: int) -> Shape:
    """Shape of a lane-wise instruction's result, from its operands'. ``bits``: width of the result."""
    bases, shapes = aligned(shapes)
    while bases:
        if all(s.flat for s in shapes):
            return Shape(bases)
        rule = LINEAR.get(node.row.rule)
        found = rule(node, bases, shapes, ranges, bits) if rule else None
        if found is not None:
            return found
        bases, shapes = (2, [s.segmented() for s in shapes]) if bases == 1 else (0, shapes)
    return VARYING


def add(node, bases, shapes, ranges, bits):
    return wrapped(bases, (x + y for x, y in zip(shapes[0].offsets, shapes[1].offsets, strict=True)), bits)


def subtract(node, bases, shapes, ranges, bits):
    return wrapped(bases, (x - y for x, y in zip(shapes[0].offsets, shapes[1].offsets, strict=True)), bits)


def multiply(node, bases, shapes, ranges, bits):
    """One factor is a constant known while compiling."""
    in_bits = bits_of(node.row.operand_types(node.form)[0])
    for one, other in ((0, 1), (1, 0)):
        factor = ranges.constant(node.operands[other], in_bits)
        if factor is not None and shapes[other].flat:
            return wrapped(bases, (x * factor for x in shapes[one].offsets), bits)
    return None


def multiply_add(node, bases, shapes, ranges, bits):
    product = multiply(node, bases, shapes[:2], ranges, bits)
    return product and add(node, bases, [product, shapes[2]], ranges, bits)


def no_wrap(node, ranges: Ranges, index: int) -> bool:
    """Widening keeps the lane offsets if no lane's value wraps in the width and signedness that are read."""
    width = bits_of(node.row.operand_types(node.form)[index])
    found = ranges.of(node.operands[index], width)
    unsigned = node.form.type[0] in "ub"
    return found is not None and not (unsigned and found[0] < 0)


def multiply_wide(node, bases, shapes, ranges, bits):
    if all(shapes[i].flat or no_wrap(node, ranges, i) for i in (0, 1)):
        return multiply(node, bases, shapes, ranges, bits)
    return None


def multiply_add_wide(node, bases, shapes, ranges, bits):
    product = multiply_wide(node, bases, shapes[:2], ranges, bits)
    return product and add(node, bases, [product, shapes[2]], ranges, bits)


def shift_left(node, bases, shapes, ranges, bits):
    amount = ranges.constant(node.operands[1], 32)
    if amount is None or not 0 <= amount < bits or not shapes[1].flat:
        return None
    return wrapped(bases, (x << amount for x in shapes[0].offsets), bits)


def copy(node, bases, shapes, ranges, bits):
    return shapes[0]


def extend(node, bases, shapes, ranges, bits):
    return shapes[0] if no_wrap(node, ranges, 0) else None


def truncate(node, bases, shapes, ranges, bits):
    return wrapped(bases, shapes[0].offsets, bits)


def negate(node, bases, shapes, ranges, bits):
    return wrapped(bases, (-x for x in shapes[0].offsets), bits)


def select(node, bases, shapes, ranges, bits):
    return shapes[0] if shapes[0] == shapes[1] and shapes[2].flat else None


LINEAR = {
    "add": add, "sub": subtract, "mul": multiply, "mad": multiply_add, "mulwide": multiply_wide,
    "madwide": multiply_add_wide, "shl": shift_left, "copy": copy, "extend": extend, "truncate": truncate,
    "neg": negate, "select": select,
}
