"""Threads that wait for each other through memory, inside a warp, between warps and between blocks: all make progress."""
from __future__ import annotations

import numpy as np
import pytest

from simt.runtime import watch
from simt.runtime.faults import Fault

START = "mov.u32 %t, %tid.x; mov.u32 %r90, %ctaid.x; mov.u32 %r91, %ntid.x; mad.lo.u32 %r92, %r90, %r91, %t;"
LOCK = "LOCK: atom.global.cas.b32 %r1, [%a0], 0, 1; setp.ne.s32 %p1, %r1, 0; @%p1 bra LOCK; membar.gl;"
ADD_ONE = "ld.global.u32 %r2, [%a1]; add.u32 %r2, %r2, 1; st.global.u32 [%a1], %r2;"
UNLOCK = "membar.gl; atom.global.exch.b32 %r3, [%a0], 0;"
OUT = "mul.wide.u32 %d1, %r92, 4; add.u64 %d1, %a2, %d1; st.global.u32 [%d1], {};"
ONCE = f"{START} {LOCK} {ADD_ONE} {UNLOCK} {OUT.format('%r2')}"
# Thread t takes the lock t % 4 + 1 times; the number of the round is alive around it.
OFTEN = f"""{START} and.b32 %r10, %t, 3; mov.u32 %r11, 0; mov.u32 %r12, 0;
ROUND: {LOCK} {ADD_ONE} {UNLOCK}
add.u32 %r12, %r12, %r11; add.u32 %r11, %r11, 1; setp.le.u32 %p2, %r11, %r10; @%p2 bra ROUND;
bar.sync 0; {OUT.format('%r12')}"""


def counted(bench, monkeypatch, body: str, grid: int, block: int, threads: int, order: str = "forward") -> np.ndarray:
    """Run with a lock, a number that it protects, and an element per thread; checks the number when each thread adds to it."""
    monkeypatch.setenv("SIMT_SCHEDULE", order)
    monkeypatch.setenv("SIMT_WATCHDOG_S", "60")
    lock, number, out = np.zeros(1, np.uint32), np.zeros(1, np.uint32), np.zeros(grid * block, np.uint32)
    bench.kernel(body, 3)(lock, number, out, grid=(grid, 1, 1), block=(block, 1, 1), threads=threads)
    assert lock[0] == 0
    return np.append(out, number)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("grid, block", [(1, 32), (1, 5), (1, 100), (7, 64)])
def test_every_lane_of_every_warp_gets_a_lock(bench, monkeypatch, grid, block, threads):
    """Each sees another number under the lock: nobody was there at the same time."""
    found = counted(bench, monkeypatch, ONCE, grid, block, threads)
    assert sorted(found) == sorted([*range(1, grid * block + 1), grid * block])


@pytest.mark.parametrize("order", ["forward", "reverse", "3"])
def test_lanes_that_take_a_lock_in_different_rounds_keep_their_numbers(bench, monkeypatch, order):
    found = counted(bench, monkeypatch, OFTEN, 2, 70, 2, order)
    rounds = np.arange(70) % 4 + 1
    assert found[:-1].tolist() == (rounds * (rounds - 1) // 2).tolist() * 2
    assert found[-1] == 2 * rounds.sum()


FLAG = """{start} setp.eq.u32 %p1, %t, {setter}; @%p1 bra SET;
WAIT: {look} setp.eq.s32 %p2, %r1, 0; @%p2 bra WAIT; ld.global.u32 %r2, [%a1]; bra DONE;
SET: st.global.u32 [%a1], 77; membar.gl; st.volatile.global.u32 [%a0], 1; mov.u32 %r2, 5;
DONE: {out}"""
LOOKS = ["ld.volatile.global.u32 %r1, [%a0];", "atom.global.cas.b32 %r1, [%a0], 9, 9;", "atom.global.add.u32 %r1, [%a0], 0;",
         "ld.acquire.gpu.global.u32 %r1, [%a0];", "atom.global.or.b32 %r1, [%a0], 0; nanosleep.u32 100;"]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("order", ["forward", "reverse"])
@pytest.mark.parametrize("setter", [31, 95])
def test_a_thread_may_wait_for_what_another_one_of_its_block_writes(bench, monkeypatch, look, order, setter):
    """Of its own warp, or of one that runs later; without any barrier."""
    body = FLAG.format(start=START, setter=setter, look=look, out=OUT.format("%r2"))
    monkeypatch.setenv("SIMT_SCHEDULE", order)
    monkeypatch.setenv("SIMT_WATCHDOG_S", "60")
    out = np.zeros(96, np.uint32)
    bench.kernel(body, 3)(np.zeros(1, np.uint32), np.zeros(1, np.uint32), out, block=(96, 1, 1))
    assert out.tolist() == [5 if thread == setter else 77 for thread in range(96)]


MEET = f"""{START} {LOCK} {ADD_ONE} {UNLOCK} {{meet}}
setp.eq.u32 %p3, 0, 0; vote.sync.ballot.b32 %r5, %p3, 0xFFFFFFFF; ld.global.u32 %r2, [%a1];
shl.b32 %r6, %r92, 0; shfl.sync.bfly.b32 %r7, %r6, 1, 31, 0xFFFFFFFF; {OUT.format('%r7')}"""


@pytest.mark.parametrize("meet", ["", "bar.warp.sync 0xFFFFFFFF;", "bar.sync 0;"])
def test_lanes_that_had_the_lock_meet_the_others_at_a_collective(bench, monkeypatch, meet):
    found = counted(bench, monkeypatch, MEET.format(meet=meet), 2, 64, 1)
    assert found.tolist() == [thread ^ 1 for thread in range(128)] + [128]


def test_a_lane_that_no_waiting_lane_ever_joins_is_still_missed(bench):
    """Half a warp shuffles with all lanes once each has had the lock; the other half goes around the shuffle."""
    body = f"""{START} {LOCK} {UNLOCK} setp.gt.u32 %p3, %t, 15; @%p3 bra AROUND;
    .loc 1 7 0
    shfl.sync.bfly.b32 %r7, %t, 1, 31, 0xFFFFFFFF; AROUND: {OUT.format('%t')}"""
    with pytest.raises(Fault, match="a named lane does not arrive") as fault:
        bench.kernel(body, 3)(np.zeros(1, np.uint32), np.zeros(1, np.uint32), np.zeros(32, np.uint32))
    assert "kernel.py:7" in fault.value.note


def test_votes_of_a_barrier_count_each_warp_once_though_some_come_in_a_later_turn(bench, monkeypatch):
    monkeypatch.setenv("SIMT_SCHEDULE", "forward")
    body = f"""{START} setp.lt.u32 %p1, %t, 32; @%p1 bra WAIT; bra MEET;
    WAIT: ld.volatile.global.u32 %r1, [%a0]; setp.eq.s32 %p2, %r1, 0; @%p2 bra WAIT;
    MEET: setp.ne.u32 %p4, %t, 95; @%p4 bra COUNT; st.volatile.global.u32 [%a0], 1;
    COUNT: setp.lt.u32 %p3, %t, 50; bar.red.popc.u32 %r2, 0, %p3; {OUT.format('%r2')}"""
    out = np.zeros(96, np.uint32)
    bench.kernel(body, 3)(np.zeros(1, np.uint32), np.zeros(1, np.uint32), out, block=(96, 1, 1))
    assert out.tolist() == [50] * 96


def test_counters_of_instructions_count_a_collective_once_however_often_lanes_came_early(bench, monkeypatch):
    monkeypatch.setenv("SIMT_WATCHDOG_S", "60")
    kernel = bench.kernel(MEET.format(meet=""), 3)
    arrays = np.zeros(1, np.uint32), np.zeros(1, np.uint32), np.zeros(32, np.uint32)
    found = kernel.count(*arrays)
    assert arrays[1][0] == 32
    assert found.counters["ptx__inst_executed_warp"] == 2


def test_a_lock_that_nobody_gives_back_ends_with_the_line_that_waits_for_it(bench, monkeypatch):
    monkeypatch.setenv("SIMT_WATCHDOG_S", "0.3")
    body = f".loc 1 12 0\n{START} {LOCK} {OUT.format('%t')}"
    with pytest.raises(Fault) as stopped:
        bench.kernel(body, 3)(np.zeros(1, np.uint32), np.zeros(1, np.uint32), np.zeros(32, np.uint32))
    assert stopped.value.code == watch.TIMEOUT
    assert "kernel.py:12" in stopped.value.note
    assert "a limit of the emulated device" in stopped.value.note
