"""Loads of one base share a check (simt/jit/standby.py): from memory or from a copy, every lane gets its own bytes."""
from __future__ import annotations

import numpy as np
import pytest

from simt.runtime.faults import Fault

ILLEGAL_ADDRESS = 700
START = """mov.u32 %t, %tid.x; mul.wide.u32 %d1, %t, 4; add.u64 %d2, %a0, %d1; add.u64 %d3, %a1, %d1;
"""


def window(kernel_loads: int, stride: int) -> str:
    """out[t] = the sum over k of (k + 1) * x[t + k * stride], all loads in one block of the code."""
    lines = [START, "mov.u32 %r1, 0;"]
    for k in range(kernel_loads):
        lines.append(f".loc 1 {10 + k} 0\nld.global.u32 %r{k + 2}, [%d2+{4 * k * stride}];")
    lines += [f"mad.lo.u32 %r1, %r{k + 2}, {k + 1}, %r1;" for k in range(kernel_loads)]
    return "\n".join([*lines, "st.global.u32 [%d3], %r1;"])


def expected(x: np.ndarray, threads: int, loads: int, stride: int) -> list[int]:
    return [sum((k + 1) * int(x[t + k * stride]) for k in range(loads)) for t in range(threads)]


@pytest.mark.parametrize("threads", [1, 15, 16, 17, 31, 32, 40])
@pytest.mark.parametrize(("loads", "stride"), [(1, 1), (5, 3), (8, 64), (3, 4000)], ids=str)
def test_lanes_that_do_not_exist_need_no_memory(bench, threads, loads, stride):
    """The array ends with the last thread's last load: what the missing lanes would read lies past the end."""
    x = np.random.default_rng(threads).integers(0, 1000, threads + (loads - 1) * stride, np.uint32)
    out = np.zeros(threads, np.uint32)
    bench.kernel(window(loads, stride), 2)(x, out, block=(threads, 1, 1))
    assert out.tolist() == expected(x, threads, loads, stride)


@pytest.mark.parametrize("short", range(1, 5))
def test_a_load_of_a_batch_that_leaves_the_array_faults_at_its_own_line_and_lane(bench, short):
    x, out = np.zeros(32 + 4 * 2 - short, np.uint32), np.zeros(32, np.uint32)
    with pytest.raises(Fault) as caught:
        bench.kernel(window(5, 2), 2)(x, out)
    assert caught.value.code == ILLEGAL_ADDRESS
    late = -(-short // 2)                   # loads of the batch that pass the end; the first of them is reported
    assert f"kernel.py:{10 + 5 - late}" in caught.value.note
    assert f"thread ({32 - (short - 2 * (late - 1))}, 0, 0)" in caught.value.note


def test_a_base_of_each_half_warp(bench):
    """A 16 x 2 block reads two rows; the array ends behind the second."""
    body = """mov.u32 %t, %tid.x; mov.u32 %r1, %tid.y; mul.wide.u32 %d1, %t, 4; mul.wide.u32 %d4, %r1, 100;
    add.u64 %d2, %a0, %d1; add.u64 %d2, %d2, %d4; ld.global.u32 %r2, [%d2]; ld.global.u32 %r3, [%d2+32];
    mad.lo.u32 %r2, %r3, 1000, %r2; mad.lo.u32 %r4, %r1, 16, %t; mul.wide.u32 %d5, %r4, 4; add.u64 %d5, %a1, %d5;
    st.global.u32 [%d5], %r2;"""
    x, out = np.arange(25 + 24, dtype=np.uint32), np.zeros(32, np.uint32)
    kernel = bench.kernel(body, 2)
    kernel(x, out, block=(16, 2, 1))
    assert out.tolist() == [1000 * (25 * row + lane + 8) + 25 * row + lane for row in range(2) for lane in range(16)]
    with pytest.raises(Fault) as caught:
        kernel(x[:-1].copy(), out, block=(16, 2, 1))
    assert "thread (15, 1, 0)" in caught.value.note


def test_vector_loads_of_a_partial_warp(bench):
    body = """mov.u32 %t, %tid.x; mul.wide.u32 %d1, %t, 16; add.u64 %d2, %a0, %d1;
    mul.wide.u32 %d4, %t, 4; add.u64 %d3, %a1, %d4; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d2];
    mad.lo.u32 %r1, %r2, 10, %r1; mad.lo.u32 %r3, %r4, 10, %r3;
    mad.lo.u32 %r1, %r3, 100, %r1; st.global.u32 [%d3], %r1;"""
    x, out = np.arange(4 * 19, dtype=np.uint32), np.zeros(19, np.uint32)
    bench.kernel(body, 2)(x, out, block=(19, 1, 1))
    assert out.tolist() == [4 * t + 10 * (4 * t + 1) + 100 * (4 * t + 2) + 1000 * (4 * t + 3) for t in range(19)]


def test_a_store_between_two_loads_is_seen_by_the_second(bench):
    """In a partial warp, the copy must not keep what the first load found."""
    body = START + """ld.global.u32 %r1, [%d2]; add.u32 %r2, %r1, 7; st.global.u32 [%d2], %r2; ld.global.u32 %r3, [%d2];
    mad.lo.u32 %r3, %r3, 100, %r1; st.global.u32 [%d3], %r3;"""
    x, out = np.arange(9, dtype=np.uint32), np.zeros(9, np.uint32)
    bench.kernel(body, 2)(x, out, block=(9, 1, 1))
    assert out.tolist() == [100 * (t + 7) + t for t in range(9)]
