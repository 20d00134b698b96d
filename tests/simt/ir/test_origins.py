"""Which parameter or variable an address is an offset from."""
from __future__ import annotations

import pytest

from simt.ir.origins import origins
from simt.ptx.statements import Symbol

INDEX = "mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4;"
CASES = {
    "a sum": (f"{INDEX} add.u64 %d2, %a0, %d1; ld.global.u32 %r2, [%d2+8];", {"p0"}),
    "the pointer second": (f"{INDEX} add.u64 %d2, %d1, %a1; ld.global.u32 %r2, [%d2];", {"p1"}),
    "a difference": (f"{INDEX} sub.u64 %d2, %a0, %d1; ld.global.u32 %r2, [%d2];", {"p0"}),
    "through a conversion and a copy": ("cvta.to.global.u64 %d2, %a0; mov.u64 %d3, %d2; ld.global.u32 %r2, [%d3];", {"p0"}),
    "multiply-add": ("mov.u32 %r1, %tid.x; mad.wide.u32 %d2, %r1, 4, %a1; ld.global.u32 %r2, [%d2];", {"p1"}),
    "a choice": ("setp.eq.u64 %p1, %a2, 0; selp.b64 %d2, %a0, %a1, %p1; ld.global.u32 %r2, [%d2];", {"p0", "p1"}),
    "two ways that meet": (f"{INDEX} mov.u64 %d2, %a0; setp.eq.u32 %p1, %r1, 0; @%p1 bra ON; mov.u64 %d2, %a1; "
                           "ON: ld.global.u32 %r2, [%d2];", {"p0", "p1"}),
    "a loop": ("mov.u64 %d2, %a0; LOOP: ld.global.u32 %r2, [%d2]; add.u64 %d2, %d2, 4; setp.lt.u64 %p1, %d2, %a1; "
               "@%p1 bra LOOP;", {"p0"}),
    "an offset that is a parameter": ("add.u64 %d2, %a0, %a2; ld.global.u32 %r2, [%d2];", {"p0", "p2"}),
    "a scaled parameter is no base": ("mul.lo.u64 %d1, %a2, 4; add.u64 %d2, %a0, %d1; ld.global.u32 %r2, [%d2];", {"p0"}),
    "a variable": (f"{INDEX} mov.u64 %d3, there; add.u64 %d2, %d3, %d1; ld.global.u32 %r2, [%d2];", {"there"}),
    "a variable in the operand": ("ld.global.u32 %r2, [there+4];", {"there"}),
    "a number": ("mov.u64 %d2, 64; ld.global.u32 %r2, [%d2];", set()),
    "an address out of memory": ("ld.global.u64 %d2, [%a0]; ld.global.u32 %r2, [%d2];", set()),
}


@pytest.mark.parametrize("name", CASES)
def test_the_origin_of_an_address_is_found_through_sums_copies_and_choices(bench, name):
    code, expected = CASES[name]
    kernel = bench.kernel(code, 3, ".global .align 4 .b8 there[64];")
    details = kernel.program.machine("kernel", (32, 1, 1)).details
    assert origins(details.kernel.values, details.sites[-1].node.operands[0]) == {Symbol(name) for name in expected}
