"""Which lanes a collective with a full mask waits for (docs/decisions/6-arrival.md): those that could still come, not those on
their way to the end."""
from __future__ import annotations

import numpy as np
import pytest

from simt.runtime.faults import Fault

START = "mov.u32 %t, %laneid; mul.wide.u32 %d1, %t, 4; add.u64 %d1, %a0, %d1; setp.gt.u32 %p1, %t, 20; setp.eq.u32 %p2, 0, 0;"
BALLOT = "vote.sync.ballot.b32 %r2, %p2, 0xFFFFFFFF;"
SYNC = "bar.warp.sync 0xFFFFFFFF; activemask.b32 %r2;"
SHUFFLE = "shfl.sync.bfly.b32 %r3, %t, 0, 31, 0xFFFFFFFF; activemask.b32 %r2;"
GATHER = pytest.mark.parametrize("meet", [BALLOT, SYNC, SHUFFLE], ids=["ballot", "syncwarp", "shuffle"])
SOME = (1 << 21) - 1        # lanes 0 to 20

EARLY = "st.global.u32 [%d1], 99; ret;"
LATE = "{meet} st.global.u32 [%d1], %r2; ret;"
LOOP = """mov.u32 %r1, 0; LOOP: setp.gt.u32 %p1, %t, 20; @%p1 bra AWAY; {meet}
add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 3; @%p3 bra LOOP; st.global.u32 [%d1], %r2; ret;
AWAY: st.global.u32 [%d1], 99; ret;"""

# A `return` in the loop, merged with the code behind it: both store and end. Lanes above 20 return in their second round.
MERGED = """mov.u32 %r1, 0; mov.u32 %r4, 99; LOOP: setp.eq.u32 %p3, %r1, 1; and.pred %p4, %p1, %p3; @%p4 bra BEHIND;
{meet} add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 3; @%p3 bra LOOP; mov.u32 %r4, %r2;
BEHIND: st.global.u32 [%d1], %r4; ret;"""
NESTED = """mov.u32 %r5, 0; mov.u32 %r4, 99; OUTER: mov.u32 %r1, 0;
INNER: setp.eq.u32 %p3, %r1, %r5; and.pred %p4, %p1, %p3; @%p4 bra BEHIND; {meet}
add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 3; @%p3 bra INNER;
add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 2; @%p3 bra OUTER; mov.u32 %r4, %r2;
BEHIND: st.global.u32 [%d1], %r4; ret;"""
WITH_BARRIER = MERGED.replace("{meet} add", "{meet} bar.sync 0; add")

AROUND = """@%p1 bra OTHER; {meet} bra JOIN; OTHER: mov.u32 %r2, 1;
JOIN: st.global.u32 [%d1], %r2;"""
GUARDED_LOOP = """mov.u32 %r1, 0; @%p1 bra JOIN; LOOP: {meet} add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 3; @%p3 bra LOOP;
JOIN: st.global.u32 [%d1], %r1;"""
IN_A_ROUND = """mov.u32 %r1, 0; LOOP: @%p1 bra NEXT; {meet}
NEXT: add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 3; @%p3 bra LOOP; st.global.u32 [%d1], %r1;"""
INNER_LOOP_LEFT = """mov.u32 %r5, 0; OUTER: mov.u32 %r1, 0; INNER: {meet} setp.eq.u32 %p3, %r1, 1; and.pred %p4, %p1, %p3;
@%p4 bra NEXT; add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 3; @%p3 bra INNER;
NEXT: add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 2; @%p3 bra OUTER; st.global.u32 [%d1], %r1;"""
TWO_RINGS = """mov.u32 %r1, 0; mov.u32 %r4, 0; OUTER: mov.u32 %r6, 1;
INNER: {meet} popc.b32 %r2, %r2; add.u32 %r4, %r4, %r2; add.u32 %r1, %r1, %r6; add.u32 %r7, %t, %r1; and.b32 %r7, %r7, 1;
setp.eq.u32 %p5, %r7, 0; @%p5 bra SKIP; setp.lt.u32 %p3, %r1, ROUNDS; @%p3 bra INNER; bra DONE;
SKIP: setp.lt.u32 %p3, %r1, ROUNDS; @%p3 bra OUTER; DONE: st.global.u32 [%d1], %r4;"""
MEETING_BEHIND = MERGED.replace("ret;", "bar.warp.sync 0xFFFFFFFF; ret;")


def run(bench, body: str, meet: str) -> list[int]:
    out = np.zeros(32, np.uint32)
    bench.kernel(f"{START} {body.format(meet=meet)}", 1)(out)
    return out.tolist()


@GATHER
@pytest.mark.parametrize("body", [f"@%p1 bra AWAY; {LATE} AWAY: {EARLY}", f"@!%p1 bra STAY; {EARLY} STAY: {LATE}", LOOP])
def test_lanes_that_store_and_return_need_not_arrive(bench, body, meet):
    """``if wrong: out[i] = 99; return`` in front of a collective, whichever way the compiler lays it out."""
    assert run(bench, body, meet) == [SOME] * 21 + [99] * 11


@GATHER
@pytest.mark.parametrize("body", [MERGED, NESTED, WITH_BARRIER], ids=["loop", "inner loop", "barrier"])
def test_lanes_that_returned_from_a_loop_need_not_arrive_though_compilers_join_the_ends(bench, body, meet):
    assert run(bench, body, meet) == [SOME] * 21 + [99] * 11


@GATHER
@pytest.mark.parametrize("body", [
    f"@%p1 bra OTHER; {LATE} OTHER: vote.sync.ballot.b32 %r3, %p2, 0xFFFFFFFF; st.global.u32 [%d1], %r3;",
    IN_A_ROUND, MEETING_BEHIND,
    f"@%p1 bra OTHER; {LATE} OTHER: bar.sync 0; st.global.u32 [%d1], 1;"])
def test_lanes_that_go_another_way_are_missed(bench, body, meet):
    """To a collective of their own; to the next round of the loop; out of the loop to another collective; to a barrier."""
    with pytest.raises(Fault, match="a named lane does not arrive"):
        run(bench, body, meet)


@pytest.mark.parametrize("meet", [BALLOT, SHUFFLE], ids=["ballot", "shuffle"])
@pytest.mark.parametrize("body", [AROUND, GUARDED_LOOP])
def test_lanes_that_go_around_a_collective_with_a_result_are_missed(bench, body, meet):
    """Around it, or around its loop, to the code behind it."""
    with pytest.raises(Fault, match="a named lane does not arrive"):
        run(bench, body, meet)


@pytest.mark.parametrize(("body", "result"), [(AROUND, [SOME] * 21 + [1] * 11), (GUARDED_LOOP, [3] * 21 + [0] * 11)])
def test_syncwarp_does_not_wait_for_lanes_with_nothing_but_their_end_ahead(bench, body, result):
    """``if lane < 21: ...; syncwarp()``, as in cuda.reduce: those that go around it will have ended."""
    assert run(bench, body, SYNC) == result


@GATHER
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_lanes_that_go_round_by_an_outer_way_meet_those_that_go_round_by_an_inner_one(bench, rounds, meet):
    """All come to the collective in every round, whichever way they take, as it changes from round to round."""
    body = TWO_RINGS.replace("ROUNDS", str(rounds))
    assert run(bench, body, meet) == [32 * rounds] * 32


@GATHER
def test_lanes_that_left_an_inner_loop_early_meet_the_others_when_they_come_to_it_again(bench, meet):
    """PTX matches those that stand at one instruction, in whatever round each is. Lanes above 20 come twice, the others three
    times; and once more, when those above 20 have ended."""
    assert run(bench, INNER_LOOP_LEFT, meet) == [3] * 21 + [1] * 11


@GATHER
def test_nobody_waits_for_lanes_that_the_mask_does_not_name(bench, meet):
    assert run(bench, AROUND, meet.replace("0xFFFFFFFF", hex(SOME))) == [SOME] * 21 + [1] * 11
