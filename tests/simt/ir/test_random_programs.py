"""Random programs give the same on the JIT, with and without counters, as thread by thread in plain Python.

Index arithmetic puts value ranges, lane shapes and known values to the test; control flow the order of blocks, joins, and
loops that lanes leave at different times.
"""
from __future__ import annotations

import random

import numpy as np
import pytest

from simt.isa import ROWS, Row, bits_of
from simt.runtime.sampling import Sampling

BLOCKS = ((32, 1, 1), (16, 4, 1), (5, 7, 1), (75, 1, 1), (4, 4, 3), (48, 2, 1), (8, 3, 2), (3, 1, 1), (16, 1, 2), (33, 1, 1))
PREFIX = {16: "%h", 32: "%r", 64: "%d", 1: "%p"}
MNEMONICS = ("add", "sub", "mul", "mad", "neg", "abs", "min", "max", "shl", "shr", "and", "or", "xor", "not", "div",
             "rem", "selp", "setp", "mov", "cvt", "bfe", "slct", "sad", "clz", "popc", "bfi", "prmt")
NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 255, 256, 1000, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF,
           0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF)


def integer_forms() -> dict[str, list]:
    """Forms on integers and predicates, by mnemonic."""
    found = {name: [] for name in MNEMONICS}
    for row, form in ROWS.values():
        if isinstance(row, Row) and form.parts[0] in found and not row.carry:
            kinds = (*row.operand_types(form), *row.result_types(form))
            if all(kind == "pred" or (kind[0] in "sub" and kind[1:] in ("8", "16", "32", "64")) for kind in kinds):
                found[form.parts[0]].append((row, form))
    return found


FORMS = integer_forms()


class Program:
    """PTX on a few registers of each width that are written again and again: %h0…, %r0…, %d0…, %p0…"""

    COUNT = {16: 4, 32: 10, 64: 6, 1: 4}

    def __init__(self, source: random.Random):
        self.source = source
        self.lines: list[str] = []
        self.loops = 0
        self.counters: list[str] = []

    def some(self, bits: int) -> str:
        return f"{PREFIX[bits]}{self.source.randrange(self.COUNT[bits])}"

    def operand(self, kind: str, wide: bool, may_be_number: bool) -> str:
        """A register of the type's width (or any wider one), a special register, a loop counter or a number."""
        bits, chance = bits_of(kind), self.source.random()
        if kind == "pred":
            return self.some(1)
        if may_be_number and chance < 0.3:
            return str(self.source.choice(NUMBERS) & (1 << bits) - 1)
        if bits == 32 and chance < 0.5:
            return self.source.choice(("%tid.x", "%tid.x", "%tid.y", "%tid.z", "%ctaid.x", "%ntid.x", "%laneid",
                                       *self.counters))
        widths = [w for w in (16, 32, 64) if w >= bits] if wide else [bits]
        return self.some(self.source.choice(widths))

    def assign(self, guard: bool = False) -> None:
        row, form = self.source.choice(FORMS[self.source.choice(MNEMONICS)])
        kind, wide = row.result_types(form)[0], row.kind == "convert"
        widths = [w for w in (16, 32, 64) if w >= bits_of(kind)] if wide else [bits_of(kind)]
        target = self.some(self.source.choice(widths))
        if row.section.endswith(("cvt", "mov")) and form.type == "pred":
            return
        operands = [self.operand(k, wide, n > 0) for n, k in enumerate(row.operand_types(form))]
        prefix = f"@{self.source.choice(('', '!'))}{self.some(1)} " if guard else ""
        self.lines.append(f"{prefix}{form.opcode} {target}, {', '.join(operands)};")

    def condition(self) -> str:
        """A predicate register, often fresh from a comparison."""
        name = self.some(1)
        if self.source.random() < 0.7:
            left, right = self.operand("u32", False, False), self.operand("u32", False, True)
            self.lines.append(f"setp.{self.source.choice(('eq', 'ne', 'lt', 'gt', 'le'))}.{self.source.choice(('u32', 's32'))} "
                              f"{name}, {left}, {right};")
        return f"@{self.source.choice(('', '!'))}{name}"

    def block(self, depth: int, exits: tuple[str, ...] = ()) -> None:
        for _ in range(self.source.randrange(1, 5)):
            chance = self.source.random()
            if depth and chance < 0.22:
                self.branch(depth - 1, exits)
            elif depth and chance < 0.42:
                self.loop(depth - 1)
            elif exits and chance < 0.52:
                self.lines.append(f"{self.condition()} bra {self.source.choice(exits)};")
            elif depth and chance < 0.545:
                self.lines.append(f"{self.condition()} {self.source.choice(('ret', 'bra STORE'))};")
            else:
                self.assign(guard=chance > 0.85)

    def branch(self, depth: int, exits: tuple[str, ...]) -> None:
        self.loops += 1
        otherwise, end = f"ELSE{self.loops}", f"END{self.loops}"
        self.lines.append(f"{self.condition()} bra {otherwise};")
        self.block(depth, exits)
        self.lines += [f"bra {end};", f"{otherwise}:"]
        if self.source.random() < 0.6:
            self.block(depth, exits)
        self.lines.append(f"{end}:")

    def loop(self, depth: int) -> None:
        """At most 6 turns; breaks leave it, continues go on to the next turn."""
        self.loops += 1
        number = self.loops
        counter, bound = f"%r{20 + 2 * number}", f"%r{21 + 2 * number}"
        limit = self.source.choice((self.operand("u32", False, False), str(self.source.randrange(6))))
        leaves = f"%p{20 + number}"
        self.lines += [f"and.b32 {bound}, {limit}, {self.source.choice((1, 3, 5))};", f"mov.u32 {counter}, 0;",
                       f"LOOP{number}:", f"setp.ge.u32 {leaves}, {counter}, {bound};", f"@{leaves} bra EXIT{number};",
                       f"add.u32 {counter}, {counter}, 1;"]
        self.counters.append(counter)
        self.block(depth, (f"LOOP{number}", f"EXIT{number}"))
        self.counters.remove(counter)
        self.lines += [f"bra LOOP{number};", f"EXIT{number}:"]

    def text(self, body) -> str:
        """Registers start from thread indices, uniform numbers and loaded ones, and end in memory."""
        self.lines = [
            "mad.lo.u32 %r80, %tid.z, %ntid.y, %tid.y; mad.lo.u32 %r80, %r80, %ntid.x, %tid.x;",
            "mul.lo.u32 %r81, %ntid.x, %ntid.y; mul.lo.u32 %r81, %r81, %ntid.z; mad.lo.u32 %r80, %ctaid.x, %r81, %r80;",
            "mul.wide.u32 %d80, %r80, 8; add.u64 %d81, %a0, %d80; add.u64 %d82, %a1, %d80; ld.global.u64 %d83, [%d81];",
            "mov.u32 %r0, %tid.x; mad.lo.u32 %r1, %ctaid.x, %ntid.x, %tid.x; cvt.u32.u64 %r2, %a2; cvt.u32.u64 %r3, %d83;",
            "mov.u32 %r4, %tid.y; add.u32 %r5, %r0, %r2; mov.u32 %r6, %r80; mov.u32 %r7, 0; mov.u32 %r8, %laneid;",
            "mov.u32 %r9, 9; cvt.u64.u32 %d0, %tid.x; mov.u64 %d1, %a2; mov.u64 %d2, %d83; mul.wide.u32 %d3, %r1, 4;",
            "cvt.s64.s32 %d4, %r1; mov.u64 %d5, 1;",
            "cvt.u16.u32 %h0, %tid.x; cvt.u16.u32 %h1, %r2; cvt.u16.u64 %h2, %d83; mov.u16 %h3, 3;",
            "setp.lt.u32 %p0, %tid.x, 3; setp.lt.u32 %p1, %r3, %r2; setp.eq.u64 %p2, %a2, 0; and.b32 %r90, %r80, 1;",
            "setp.ne.u32 %p3, %r90, 0;"]
        body(self)
        self.lines.append("STORE:")
        names = [(bits, PREFIX[bits] + str(k)) for bits in (16, 32, 64) for k in range(self.COUNT[bits])]
        self.lines += [f"st.global.b{bits} [%d82+{place << 16}], {name};" for place, (bits, name) in enumerate(names)]
        return "\n".join(self.lines)


def compare(bench, reference, source: random.Random, text: str, counted: bool = False) -> None:
    block, blocks = source.choice(BLOCKS), source.choice((1, 2, 3))
    threads = block[0] * block[1] * block[2]
    inputs = np.array([source.choice((source.getrandbits(64), *NUMBERS)) for _ in range(threads * blocks)], np.uint64)
    uniform = source.choice((source.getrandbits(64), *NUMBERS))
    kernel, shape = bench.kernel(text, 3), {"grid": (blocks, 1, 1), "block": block}
    expected, found = np.zeros((2, 20, 1 << 13), np.uint64)
    reference(kernel, inputs, expected, uniform, **shape)
    kernel(inputs, found, uniform, **shape, sampling=Sampling("all") if counted else None)
    wrong = np.argwhere(found != expected)
    assert not len(wrong), f"block {block}: row, thread {wrong[0]}: {found[tuple(wrong[0])]:#x}, not " \
        f"{expected[tuple(wrong[0])]:#x}\n{numbered(text)}"


def numbered(text: str) -> str:
    return "\n".join(f"{line:4} {statement}" for line, statement in enumerate(text.splitlines(), 1))


@pytest.mark.parametrize("number", range(3))
def test_index_arithmetic_of_any_shape_is_exact(bench, reference, seed, number):
    source = random.Random(f"arithmetic {seed} {number}")
    compare(bench, reference, source, Program(source).text(lambda p: [p.assign(guard=not n % 6) for n in range(40)]))


@pytest.mark.parametrize(("number", "counted"), [(0, False), (1, False), (2, True)])
def test_nested_branches_and_loops_reconverge(bench, reference, seed, number, counted):
    source = random.Random(f"control flow {seed} {number}")
    compare(bench, reference, source, Program(source).text(lambda p: [p.block(2) for _ in range(2)]), counted)


TWO_ENTRIES = """and.b32 %r20, %r80, 3; setp.eq.u32 %p20, %r20, 1; @%p20 bra B; setp.eq.u32 %p20, %r20, 2; @%p20 bra C;
A: add.u32 %r0, %r0, 1; setp.gt.u32 %p21, %r0, 40; @%p21 bra STORE; add.u32 %r1, %r1, %r0;
B: add.u32 %r0, %r0, 5; and.b32 %r21, %r0, 8; setp.eq.u32 %p22, %r21, 0; @%p22 bra A; mad.lo.u32 %r3, %r0, 3, %r80;
C: add.u32 %r0, %r0, 2; xor.b32 %r4, %r4, %r0; setp.lt.u32 %p23, %r0, 90; @%p23 bra B;"""


def test_loops_with_several_entries_run_as_written(bench, reference, seed):
    source = random.Random(seed)
    compare(bench, reference, source, Program(source).text(lambda p: p.lines.append(TWO_ENTRIES)))
