"""Loops that lanes leave or go round by different ways, in shapes that Numba's compiler rarely lays out but PTX may have."""
from __future__ import annotations

import numpy as np

START = """mov.u32 %t, %laneid; mul.wide.u32 %d1, %t, 4; add.u64 %d1, %a0, %d1; cvt.u32.u64 %r5, %a1; mov.u32 %r1, 0;
mov.u32 %r2, 7;
"""
THREE_EXITS = """
LOOP: setp.ge.u32 %p1, %r1, %r5; @%p1 bra TOP;
add.u32 %r1, %r1, 1; setp.eq.u32 %p2, %r1, %t; @%p2 bra FOUND;
add.u32 %r3, %r1, 10; setp.eq.u32 %p3, %r3, %t; @%p3 bra AWAY; bra LOOP;
TOP: add.u32 %r4, %t, 1; bra AFTER;
FOUND: mov.u32 %r2, 5; bra AFTER;
AWAY: st.global.u32 [%d1], 1; ret;
AFTER: st.global.u32 [%d1], %r2; ret;"""
TWO_LATCHES = """setp.eq.u32 %p4, 0, 0;
LOOP: vote.sync.ballot.b32 %r4, %p4, 0xFFFFFFFF; popc.b32 %r4, %r4; add.u32 %r2, %r2, %r4;
add.u32 %r1, %r1, 1; add.u32 %r3, %r1, %t; and.b32 %r3, %r3, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra SKIP;
add.u32 %r2, %r2, %r1; setp.lt.u32 %p2, %r1, %r5; @%p2 bra LOOP; bra AFTER;
SKIP: setp.lt.u32 %p3, %r1, %r5; @%p3 bra LOOP;
AFTER: st.global.u32 [%d1], %r2; ret;"""


def test_a_value_that_says_where_lanes_left_a_loop_is_their_own(bench):
    """At the top, with 7; by a break, with 5; or by a return: no place behind the loop is common to all three."""
    out = np.zeros(32, np.uint32)
    bench.kernel(START + THREE_EXITS, 2)(out, 6)
    assert out.tolist() == [7, *[5] * 6, *[7] * 4, *[1] * 6, *[7] * 15]


def test_lanes_that_skip_the_rest_of_a_round_wait_for_the_others(bench):
    """All meet in the ballot that begins a round. Even lanes add the odd rounds' numbers, odd lanes those of the even ones."""
    out = np.zeros(32, np.uint32)
    bench.kernel(START + TWO_LATCHES, 2)(out, 9)
    assert out.tolist() == [7 + 9 * 32 + 1 + 3 + 5 + 7 + 9, 7 + 9 * 32 + 2 + 4 + 6 + 8] * 16
