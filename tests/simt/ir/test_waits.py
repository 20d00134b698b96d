"""Which loops count as waiting for what other threads write, and what that means for the values behind them."""
from __future__ import annotations

import pytest

from simt.ir.shapes import UNIFORM, VARYING


@pytest.mark.parametrize("body, waits", [
    ("LOOP: atom.global.cas.b32 %r1, [%a0], 0, 1; setp.ne.s32 %p1, %r1, 0; @%p1 bra LOOP; st.global.u32 [%a1], 1;", True),
    ("LOOP: atom.global.add.u32 %r1, [%a0], 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra LOOP;", False),
    ("LOOP: atom.global.exch.b32 %r1, [%a0], 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra LOOP;", True),
    ("mov.u32 %r1, 0; LOOP: add.u32 %r1, %r1, 1; ld.volatile.global.u32 %r2, [%a0]; add.u32 %r2, %r2, %r1; "
     "setp.lt.u32 %p1, %r2, 9; @%p1 bra LOOP;", False),
    ("ld.global.u32 %r1, [%a0]; LOOP: mov.u32 %r2, %r1; add.u32 %r3, %r2, 1; atom.global.cas.b32 %r1, [%a0], %r2, %r3; "
     "setp.ne.u32 %p1, %r1, %r2; @%p1 bra LOOP;", False),
    ("LOOP: ld.volatile.global.u32 %r1, [%a0]; st.global.u32 [%a1], 0; setp.ne.u32 %p1, %r1, 0; @%p1 bra LOOP;", True),
    ("LOOP: ld.global.u32 %r1, [%a0]; st.global.u32 [%a1], 0; setp.ne.u32 %p1, %r1, 0; @%p1 bra LOOP;", False),
    ("LOOP: ld.volatile.shared.u32 %r1, [%r9]; bar.sync 0; setp.ne.u32 %p1, %r1, 0; @%p1 bra LOOP;", False),
    ("LOOP: mov.u64 %d1, %globaltimer; setp.lt.u64 %p1, %d1, %a0; @%p1 bra LOOP;", False),
])
def test_a_loop_waits_if_nothing_but_memory_written_by_others_can_end_it(analysed, body, waits):
    """Not so a ticket drawn anew, a number that counts, a retry with the value found, a loop that may end by its own writes, or
    one with a barrier."""
    kernel = analysed(body)
    assert any(block.waits for block in kernel.order.blocks) == waits
    assert bool(kernel.shapes.apart) == waits


@pytest.mark.parametrize("name, shape", [("%r2", UNIFORM), ("%r3", VARYING)])
def test_a_value_from_before_a_waiting_loop_keeps_its_shape_and_one_from_after_it_differs_by_lane(analysed, name, shape):
    """Lanes come to DONE at different times, though all compute the same there."""
    kernel = analysed("ld.global.u32 %r2, [%a1]; LOOP: ld.volatile.global.u32 %r1, [%a0]; setp.ne.u32 %p1, %r1, 0; "
                      "@%p1 bra LOOP; ld.global.u32 %r3, [%a1+4]; setp.eq.u32 %p2, %r3, 0; @%p2 bra DONE; add.u32 %r4, %r3, 1; "
                      "DONE: add.u32 %r5, %r2, %r3; st.global.u32 [%a1], %r5;")
    assert kernel.shapes.of_value[name] == shape


RINGS = """mov.u32 %r1, 0; OUTER: mov.u32 %r6, 1; INNER: add.u32 %r1, %r1, %r6; vote.sync.any.pred %p3, %p2, -1;
add.u32 %r7, {left}, %r1; setp.eq.u32 %p5, %r7, 9; @%p5 bra SKIP; setp.lt.u32 %p3, %r1, 5; @%p3 bra INNER; bra DONE;
SKIP: setp.lt.u32 %p3, %r1, 5; @%p3 bra OUTER; DONE: st.global.u32 [%a1], %r1;"""


@pytest.mark.parametrize("left, parks", [("%tid.x", True), ("%r9", False)])
def test_a_collective_that_lanes_reach_by_rings_of_different_length_is_a_place_to_wait(analysed, left, parks):
    """Where single lanes choose the ring; not where the whole warp does."""
    kernel = analysed("ld.global.u32 %r9, [%a0];" + RINGS.format(left=left))
    assert [block.meeting.opcode for block in kernel.order.blocks if block.parks] == ["vote.sync.any.pred"] * parks


def test_a_collective_behind_a_waiting_loop_begins_a_block(analysed):
    kernel = analysed("vote.sync.any.pred %p3, %p2, -1; LOOP: ld.volatile.global.u32 %r1, [%a0]; setp.ne.u32 %p1, %r1, 0; "
                      "@%p1 bra LOOP; add.u32 %r2, %r1, 1; bar.warp.sync -1; vote.sync.ballot.b32 %r3, %p2, -1; "
                      "st.global.u32 [%a1], %r3;")
    places = [(block in kernel.shapes.apart, block.meeting.opcode) for block in kernel.order.blocks if block.meeting]
    assert places == [(True, "bar.warp.sync"), (True, "vote.sync.ballot.b32")]
