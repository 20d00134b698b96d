"""The order of blocks and warps is the reader's to choose, and changes no result that CUDA promises."""
from __future__ import annotations

import numpy as np
import pytest

from simt.runtime import schedule, watch
from simt.runtime.faults import Fault

# Each warp's first lane takes the next ticket and notes it under its own number.
TICKETS = """
mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
and.b32 %r5, %r1, 31; setp.ne.u32 %p1, %r5, 0;
@%p1 bra DONE;
atom.global.add.u32 %r6, [%a0], 1;
shr.u32 %r7, %r4, 5; mul.wide.u32 %d1, %r7, 4; add.u64 %d2, %a1, %d1; st.global.u32 [%d2], %r6;
DONE:
"""


def tickets(bench, monkeypatch, order: str) -> list[int]:
    monkeypatch.setenv("SIMT_SCHEDULE", order)
    out = np.zeros(12, np.uint32)
    bench.kernel(TICKETS, 2)(np.zeros(1, np.uint32), out, grid=(4, 1, 1), block=(96, 1, 1))
    return out.tolist()


def test_forward_is_the_order_of_the_numbers(bench, monkeypatch):
    assert tickets(bench, monkeypatch, "forward") == list(range(12))


def test_reverse_turns_blocks_and_warps_round(bench, monkeypatch):
    assert tickets(bench, monkeypatch, "reverse") == list(range(12))[::-1]


def test_a_seed_gives_the_same_mixed_order_again(bench, monkeypatch):
    once, again, other = (tickets(bench, monkeypatch, order) for order in ("7", "7", "8"))
    assert once == again and sorted(once) == list(range(12)) and once != list(range(12)) and once != other


@pytest.mark.parametrize("text", ["sideways", "-1", "1.5"])
def test_any_other_word_is_refused(monkeypatch, text):
    monkeypatch.setenv("SIMT_SCHEDULE", text)
    with pytest.raises(ValueError, match="forward, reverse, or a number"):
        schedule.chosen()


ENDLESS = """
.loc 1 41 0
LOOP: ld.volatile.global.u32 %r1, [%a0];
.loc 1 42 0
setp.eq.u32 %p1, %r1, 0;
@%p1 bra LOOP;
"""


def test_the_watchdog_names_the_line_of_an_endless_loop(bench, monkeypatch):
    monkeypatch.setenv("SIMT_WATCHDOG_S", "0.2")
    kernel, flag = bench.kernel(ENDLESS, 1), np.zeros(1, np.uint32)
    with pytest.raises(Fault) as stopped:
        kernel(flag)
    assert stopped.value.code == watch.TIMEOUT
    assert "kernel.py:41" in stopped.value.note and "0.2 s" in stopped.value.note
    flag[0] = 1
    kernel(flag)


@pytest.mark.parametrize("text", ["soon", "0", "-3"])
def test_a_watchdog_without_a_time_is_refused(monkeypatch, text):
    monkeypatch.setenv("SIMT_WATCHDOG_S", text)
    with pytest.raises(ValueError, match="seconds above 0"):
        watch.limit_s()
