"""Which lanes a shuffle or vote with a full mask waits for: those that could still come, not those on their way to the end."""
from __future__ import annotations

import numpy as np
import pytest

from simt.runtime.faults import Fault

START = "mov.u32 %t, %laneid; mul.wide.u32 %d1, %t, 4; add.u64 %d1, %a0, %d1; setp.gt.u32 %p1, %t, 20;"
EARLY = "st.global.u32 [%d1], 99; ret;"
LATE = "vote.sync.ballot.b32 %r2, %p2, 0xFFFFFFFF; st.global.u32 [%d1], %r2; ret;"
LOOP = """mov.u32 %r1, 0; LOOP: setp.gt.u32 %p1, %t, 20; @%p1 bra AWAY; vote.sync.ballot.b32 %r2, %p2, 0xFFFFFFFF;
add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 3; @%p3 bra LOOP; st.global.u32 [%d1], %r2; ret;
AWAY: st.global.u32 [%d1], 99; ret;"""
AROUND = """@%p1 bra OTHER; vote.sync.ballot.b32 %r2, %p2, 0xFFFFFFFF; bra JOIN; OTHER: mov.u32 %r2, 1;
JOIN: st.global.u32 [%d1], %r2;"""
WHILE = """mov.u32 %r1, %t; LOOP: setp.gt.u32 %p1, %r1, 20; @%p1 bra AFTER; vote.sync.ballot.b32 %r2, %p2, 0xFFFFFFFF;
add.u32 %r1, %r1, 1; bra LOOP; AFTER: st.global.u32 [%d1], %r2;"""


@pytest.mark.parametrize("body", [f"@%p1 bra AWAY; {LATE} AWAY: {EARLY}", f"@!%p1 bra STAY; {EARLY} STAY: {LATE}", LOOP])
def test_lanes_that_store_and_return_need_not_arrive(bench, body):
    """``if wrong: out[i] = 99; return`` in front of a ballot, whichever way the compiler lays it out."""
    out = np.zeros(32, np.uint32)
    bench.kernel(f"{START} setp.eq.u32 %p2, 0, 0; {body}", 1)(out)
    assert out.tolist() == [(1 << 21) - 1] * 21 + [99] * 11


@pytest.mark.parametrize("body", [
    f"@%p1 bra OTHER; {LATE} OTHER: vote.sync.ballot.b32 %r3, %p2, 0xFFFFFFFF; st.global.u32 [%d1], %r3;",
    AROUND, WHILE, f"@%p1 bra OTHER; {LATE} OTHER: bar.sync 0; st.global.u32 [%d1], 1;"])
def test_lanes_that_go_another_way_are_missed(bench, body):
    """To a collective of their own, around this one to the code behind it, out of its loop, or to a barrier."""
    with pytest.raises(Fault, match="a named lane does not arrive"):
        bench.kernel(f"{START} setp.eq.u32 %p2, 0, 0; {body}", 1)(np.zeros(32, np.uint32))
