"""Loops with two entries: no natural loop, so every value varies and is written under the lanes' masks."""
from __future__ import annotations

import numpy as np
import pytest

KERNEL = """
mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; add.u64 %d2, %a0, %d1; add.u64 %d3, %a1, %d1;
ld.global.u32 %r2, [%d2]; mov.u32 %r3, 0;
and.b32 %r4, %r2, 1; setp.eq.u32 %p1, %r4, 0;
@%p1 bra SECOND;
FIRST:
add.u32 %r3, %r3, 3;
SECOND:
add.u32 %r3, %r3, 5; sub.u32 %r2, %r2, 1;
setp.gt.s32 %p2, %r2, 0;
@%p2 bra FIRST;
st.global.u32 [%d3], %r3;
"""


def expected(value: int) -> int:
    total, first = 0, value & 1
    while True:
        total += 3 if first else 0
        total, value, first = total + 5, value - 1, True
        if value <= 0:
            return total


@pytest.mark.parametrize("threads", [1, 20, 32, 70])
def test_each_lane_goes_round_as_often_as_it_should(bench, seed, threads):
    rounds = np.random.default_rng(seed).integers(0, 9, threads).astype(np.uint32)
    out = np.zeros(threads, np.uint32)
    bench.kernel(KERNEL, 2)(rounds, out, block=(threads, 1, 1))
    assert out.tolist() == [expected(int(value)) for value in rounds]
