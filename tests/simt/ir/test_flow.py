"""Control flow: which branches split a warp, what that does to values, the order of blocks, and where lanes can wait."""
from __future__ import annotations

import pytest

from simt.ir.shapes import UNIFORM, VARYING
from simt.isa.table import Unsupported


def names(blocks) -> set[str]:
    return {block.name for block in blocks}


def pending(kernel, name: str) -> set[str]:
    return next(names(waiting) for block, waiting in kernel.shapes.pending.items() if block.name == name)


DIAMOND = """ld.global.u32 %r9, [%a0]; setp.lt.u32 %p1, {left}, 5; mov.u32 %r1, 1; @%p1 bra THEN; mov.u32 %r1, 2; bra JOIN;
THEN: mov.u32 %r1, 3;
JOIN: add.u32 %r2, %r1, 1; st.global.u32 [%a0], %r2;"""


def test_a_value_from_two_ways_varies_where_the_branch_splits_the_warp(analysed):
    split, whole = analysed(DIAMOND.format(left="%tid.x")), analysed(DIAMOND.format(left="%r9"))
    assert (len(split.shapes.divergent), split.shapes.of_value["%r2"]) == (1, VARYING)
    assert (len(whole.shapes.divergent), whole.shapes.of_value["%r2"]) == (0, UNIFORM)


def test_lanes_wait_at_the_other_side_of_a_split_and_nowhere_after_it(analysed):
    kernel = analysed(DIAMOND.format(left="%tid.x"))
    first, second = sorted(next(iter(kernel.shapes.divergent)).successors, key=lambda block: block.position)
    assert second in kernel.shapes.pending[first]
    assert pending(kernel, "JOIN") == set()
    assert kernel.shapes.shared == {first, second}
    assert all(not waiting for waiting in analysed(DIAMOND.format(left="%r9")).shapes.pending.values())


LOOP = """mov.u32 %r1, 0; mov.u32 %r5, 0;
HEAD: setp.ge.u32 %p1, %r1, {limit}; @%p1 bra OUT; add.u32 %r5, %r5, 3; add.u32 %r1, %r1, 1; bra HEAD;
OUT: {after}"""


def loop_phi(kernel, register: str) -> str:
    return next(phi.result for block in kernel.order.blocks if block.name == "HEAD" for phi in block.phis
                if phi.result.startswith(register))


def test_a_counter_stays_uniform_in_a_loop_that_lanes_leave_at_different_times(analysed):
    kernel = analysed(LOOP.format(limit="%tid.x", after=""))
    assert len(kernel.shapes.divergent) == 1
    assert kernel.shapes.of_value[loop_phi(kernel, "%r1")] == UNIFORM
    assert not kernel.shapes.masked


def test_a_value_used_after_a_loop_that_lanes_leave_at_different_times_varies(analysed):
    kernel = analysed(LOOP.format(limit="%tid.x", after="st.global.u32 [%a0], %r5;"))
    assert kernel.shapes.of_value[loop_phi(kernel, "%r5")] == VARYING
    assert kernel.shapes.of_value[loop_phi(kernel, "%r1")] == UNIFORM
    assert loop_phi(kernel, "%r5") in kernel.shapes.masked
    whole = analysed("ld.global.u32 %r9, [%a0];" + LOOP.format(limit="%r9", after="st.global.u32 [%a0], %r5;"))
    assert whole.shapes.of_value[loop_phi(whole, "%r5")] == UNIFORM


def test_lanes_that_left_a_loop_wait_behind_it(analysed):
    kernel = analysed(LOOP.format(limit="%tid.x", after="st.global.u32 [%a0], %r5;"))
    assert pending(kernel, "HEAD") == {"OUT"}
    assert pending(kernel, "OUT") == set()


TWO_LATCHES = """mov.u32 %r1, 0;
HEAD: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %tid.x; @%p1 bra HEAD; add.u32 %r2, %r2, %r1;
setp.lt.u32 %p2, %r1, 20; @%p2 bra HEAD;
st.global.u32 [%a0], %r2;"""


def test_a_loop_with_continue_gets_one_way_back(analysed):
    kernel = analysed(TWO_LATCHES)
    loop, = kernel.order.loops
    latches = [block for block in loop.header.predecessors if block in loop.blocks]
    assert names(latches) == {"HEAD.latch"}
    start = loop.header.position
    assert {block.position for block in loop.blocks} == set(range(start, start + len(loop.blocks)))


NEST = """mov.u32 %r1, 0;
OUTER: mov.u32 %r2, 0; setp.gt.u32 %p3, %r1, 6; @%p3 bra AWAY;
INNER: add.u32 %r2, %r2, 1; setp.gt.u32 %p1, %r2, %tid.x; @%p1 bra AWAY; setp.lt.u32 %p2, %r2, 9; @%p2 bra INNER;
add.u32 %r1, %r1, 1; setp.lt.u32 %p4, %r1, 9; @%p4 bra OUTER;
bra END;
AWAY: add.u32 %r1, %r1, 100;
END: st.global.u32 [%a0], %r1;"""


def test_loops_stand_together_and_ways_out_come_after_them(analysed):
    kernel = analysed(NEST)
    assert [loop.header.name for loop in kernel.order.loops] == ["OUTER", "INNER"]
    for loop in kernel.order.loops:
        places = sorted(block.position for block in loop.blocks)
        assert places == list(range(places[0], places[0] + len(places)))
        assert all(target.position > places[-1] for target in loop.exits)
    assert names(kernel.order.loops[1].exits) >= {"AWAY"}


def test_values_get_one_definition_and_phis_only_where_they_live(analysed):
    kernel = analysed("mov.u32 %r1, 1; mov.u32 %r2, 2; setp.eq.u64 %p1, %a0, 0; @%p1 bra SKIP; mov.u32 %r1, 3; "
                      "mov.u32 %r2, 4; SKIP: st.global.u32 [%a0], %r1;")
    phis = [phi.result.split(".")[0] for block in kernel.order.blocks for phi in block.phis]
    assert phis == ["%r1"], "%r2 is not read after the branch"
    defined = [name for block in kernel.order.blocks for node in block.nodes for name in node.results]
    assert len(defined) == len(set(defined))


def test_values_in_a_kernel_that_has_a_loop_with_two_entries_all_vary(analysed):
    kernel = analysed("setp.eq.u64 %p1, %a0, 0; mov.u32 %r1, 0; @%p1 bra B; A: add.u32 %r1, %r1, 1; setp.eq.u64 %p2, %a1, 5; "
                      "@%p2 bra DONE; B: add.u32 %r1, %r1, 2; setp.eq.u32 %p3, %r1, 50; @!%p3 bra A; "
                      "DONE: st.global.u32 [%a0], %r1;")
    assert kernel.order.irreducible
    assert {kernel.shapes.of_value[name] for name in kernel.values.block if name.startswith("%r1")} == {VARYING}


def test_a_guarded_write_needs_the_value_from_either_way(analysed):
    kernel = analysed("mov.u32 %r1, 1; setp.eq.u64 %p1, %a0, 0; setp.eq.u64 %p2, %a1, 0; @%p1 bra SKIP; mov.u32 %r1, 2; SKIP: "
                      "@%p2 mov.u32 %r1, 3; st.global.u32 [%a0], %r1;")
    phi, = (phi for block in kernel.order.blocks for phi in block.phis)
    guarded, = (node for block in kernel.order.blocks for node in block.nodes if node.guard)
    assert guarded.previous == {guarded.results[0]: phi.result}
    assert len(set(phi.incoming.values())) == 2


def test_a_branch_to_nowhere_is_refused_with_its_line(analysed):
    with pytest.raises(Unsupported, match=r"unknown label ELSEWHERE \(PTX line 8"):
        analysed("bra ELSEWHERE;")


def test_a_guarded_return_or_barrier_becomes_a_branch(analysed):
    kernel = analysed("setp.lt.u32 %p1, %tid.x, 5; @%p1 ret; setp.eq.u64 %p2, %a0, 0; @!%p2 bar.sync 0; add.u32 %r1, %r1, 1;")
    assert len(kernel.shapes.divergent) == 1
    assert sum(block.barrier is not None for block in kernel.order.blocks) == 1
    assert all(node.guard is None for block in kernel.order.blocks for node in block.nodes)


def test_lanes_that_meet_before_a_barrier_are_not_parked_at_it(analysed):
    kernel = analysed("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %tid.x, 5; @!%p1 bra MEET; add.u32 %r1, %r1, 5; MEET: bar.sync 0; "
                      "st.global.u32 [%a0], %r1;")
    assert pending(kernel, "MEET") == set() and not kernel.shapes.masked


def test_what_lanes_hold_while_parked_at_a_barrier_is_never_overwritten_whole(analysed):
    """Lanes that wait at SECOND need %r2 afterwards, while the others of their warp still run."""
    kernel = analysed("mov.u32 %r2, 7; setp.lt.u32 %p1, %tid.x, 5; @%p1 bra FIRST; mov.u32 %r2, 8; bar.sync 0; bra DONE; "
                      "FIRST: add.u32 %r3, %r3, 1; bar.sync 0; DONE: st.global.u32 [%a0], %r2;")
    waiting = [block for block, others in kernel.shapes.pending.items() if block.barrier is not None and others]
    assert len(waiting) == 1
    assert any(name.startswith("%r2") for name in kernel.shapes.masked)
