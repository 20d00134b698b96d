"""Every form of the 16-bit atomics does what its oracle says, for lanes that share a cell and for lanes that do not."""
from __future__ import annotations

import random

import numpy as np
import pytest

from simt.isa import ROWS, find
from simt.isa.numbers import encode

FORMS = [f"{name}{space}.{rest}" for name in ("atom", "red") for space in ("", ".global", ".shared")
         for rest in ("add.noftz.f16", "add.noftz.bf16", "add.noftz.f16x2", "add.noftz.bf16x2", "cas.b16")
         if not (name == "red" and "cas" in rest)]
ORDERS = frozenset({"relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys"})
LANES = 32


def test_every_form_is_run_in_this_file_or_differs_from_one_that_is_in_memory_order():
    mine = [opcode for opcode, (row, _) in ROWS.items() if row is find("atom.add.noftz.f16")[0]
            or row is find("red.add.noftz.f16")[0] or row is find("atom.cas.b16")[0]]
    assert {".".join(part for part in opcode.split(".") if part not in ORDERS) for opcode in mine} == set(FORMS)


def kernel_body(opcode: str) -> str:
    """Lane i works on element i of %a0 with the operands in element i of %a1 (and %a2), and leaves what it got in %a3."""
    bits, register = (32, "%r") if opcode.endswith("x2") else (16, "%h")
    shared, cas, returns = ".shared" in opcode, "cas" in opcode, opcode.startswith("atom")
    space = "shared" if shared else "global"
    operands = f"{register}1" + (f", {register}2" if cas else "")
    return f"""
mov.u32 %t, %tid.x; mul.wide.u32 %w0, %t, {bits // 8};
add.u64 %d1, %a0, %w0; add.u64 %d2, %a1, %w0; add.u64 %d3, %a2, %w0; add.u64 %d4, %a3, %w0;
ld.global.b{bits} {register}1, [%d2]; ld.global.b{bits} {register}2, [%d3];
mov.u64 %d5, {"tile" if shared else "%a0"}; add.u64 %d5, %d5, %w0;
ld.global.b{bits} {register}3, [%d1];
{f"st.shared.b{bits} [%d5], {register}3;" if shared else ""}
{f"{opcode} {register}4, [%d5], {operands};" if returns else f"{opcode} [%d5], {operands}; mov.b{bits} {register}4, 0;"}
st.global.b{bits} [%d4], {register}4;
{f"ld.{space}.b{bits} {register}5, [%d5]; st.global.b{bits} [%d1], {register}5;" if shared else ""}
"""


@pytest.mark.parametrize("opcode", FORMS)
def test_a_form_leaves_what_its_oracle_says(bench, opcode):
    row, form = find(opcode)
    cases = [case if len(case) == 3 else (*case, 0) for case in row.cases(form)]
    cases = (cases * LANES)[:LANES]
    kind = np.uint32 if opcode.endswith("x2") else np.uint16
    memory, value, swap = (np.array(column, kind) for column in zip(*cases, strict=True))
    before, got = memory.copy(), np.zeros_like(memory)
    bench.kernel(kernel_body(opcode), 4, ".shared .align 16 .b8 tile[256];")(memory, value, swap, got)
    operands = [(old, *rest) for old, *rest in zip(*(x.tolist() for x in (before, value, swap)), strict=True)]
    expected = [row.oracle(form, *(case if "cas" in opcode else case[:2])) for case in operands]
    assert memory.tolist() == [x & (1 << 8 * memory.itemsize) - 1 for x in expected]
    assert got.tolist() == (before.tolist() if opcode.startswith("atom") else [0] * LANES)


@pytest.mark.parametrize(("kind", "other_half"), (("f16", False), ("bf16", False), ("f16x2", True), ("bf16x2", True)))
def test_lanes_and_blocks_that_share_a_cell_lose_no_addition(bench, kind, other_half, seed):
    one = encode(1.0, kind.removesuffix("x2"))
    source = random.Random(seed)
    blocks = source.randint(2, 4)
    memory = np.zeros(4, np.uint16)
    bits, register = (32, "%r") if other_half else (16, "%h")
    pattern = one | one << 16 if other_half else one
    bench.kernel(f"mov.b{bits} {register}1, {pattern}; atom.global.add.noftz.{kind} {register}2, [%a0], {register}1;", 1)(
        memory, grid=(blocks, 1, 1), threads=2)
    total = encode(32.0 * blocks, kind.removesuffix("x2"))
    assert memory.tolist() == [total, total if other_half else 0, 0, 0]
