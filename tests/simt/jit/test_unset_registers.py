"""A register that is read before any write on some way into the code reads as zero there, whatever lies in its place."""
from __future__ import annotations

import numpy as np
import pytest

START = "mov.u32 %t, %tid.x; mul.wide.u32 %d1, %t, 4; add.u64 %d1, %a0, %d1; cvt.u32.u64 %r9, %a1; setp.lt.u32 %p1, %t, %r9;"
LIMIT = 11
OTHER = "setp.eq.u64 %p2, %a1, 0;"
COUNT = """mov.u32 %r1, 0; LOOP: add.u32 %r2, %r2, 3; add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, {rounds}; @%p3 bra LOOP;"""
SOME = "@!%p1 bra LOOPS; mov.u32 %r2, {value}; LOOPS:"


def result(bench, body: str, register: str = "%r2") -> list[int]:
    """The register's value by thread at the end; a first kernel has filled registers and stack with something else."""
    out = np.full(32, 99, np.uint32)
    bench.kernel(f"{START} {body} st.global.u32 [%d1], {register};", 2)(out, LIMIT)
    return out.tolist()


def by_lane(some, others) -> list[int]:
    return [some(lane) if lane < LIMIT else others(lane) for lane in range(32)]


@pytest.mark.parametrize("rounds", ["5", "%t"])
def test_a_sum_that_nobody_set_to_zero_begins_with_zero(bench, rounds):
    """One write in the whole kernel, in the loop itself."""
    expected = [15] * 32 if rounds == "5" else [3 * max(lane, 1) for lane in range(32)]
    assert result(bench, COUNT.format(rounds=rounds)) == expected


@pytest.mark.parametrize("value, number", [("7", lambda lane: 7), ("%t", lambda lane: lane)])
def test_lanes_that_skip_the_only_write_before_a_loop_begin_with_zero(bench, value, number):
    body = SOME.format(value=value) + COUNT.format(rounds=4)
    assert result(bench, body) == by_lane(lambda lane: number(lane) + 12, lambda lane: 12)


@pytest.mark.parametrize("value", ["7", "%t"])
def test_a_whole_warp_that_skips_the_only_write_reads_zero(bench, value):
    body = f"{OTHER} @!%p2 bra SKIP; mov.u32 %r2, {value}; SKIP: add.u32 %r2, %r2, 1;"
    assert result(bench, body) == [1] * 32


def test_a_guarded_first_write_leaves_zero_in_the_other_lanes(bench):
    assert result(bench, "@%p1 mov.u32 %r2, 5;") == by_lane(lambda lane: 5, lambda lane: 0)


def test_a_predicate_that_was_never_set_is_false(bench):
    body = "@!%p1 bra SKIP; setp.eq.u32 %p5, 0, 0; SKIP: selp.u32 %r2, 4, 6, %p5;"
    assert result(bench, body) == by_lane(lambda lane: 4, lambda lane: 6)


def test_a_register_without_any_write_reads_zero(bench):
    assert result(bench, "add.u32 %r2, %r70, 2;") == [2] * 32


def test_a_flag_set_in_an_earlier_round_only_is_remembered_from_then_on(bench):
    """Round k sets it in lane k; lanes that no round names keep zero."""
    body = """mov.u32 %r1, 0; LOOP: setp.ne.u32 %p3, %r1, %t; @%p3 bra NEXT; mov.u32 %r2, 8; NEXT: add.u32 %r3, %r3, %r2;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p4, %r1, 10; @%p4 bra LOOP;"""
    assert result(bench, body, "%r3") == [8 * max(10 - lane, 0) for lane in range(32)]
