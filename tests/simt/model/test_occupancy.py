"""Occupancy by hand, and against values that cuda_occupancy.h of CUDA 13 computed."""
from __future__ import annotations

import numpy as np
import pytest

from simt.model import load, names, occupancy
from tests.simt.model import occupancy_oracle


def test_a_kernel_without_registers_or_shared_memory_is_limited_by_warps():
    # h100: 64 warps / 8 warps of a block. The driver's own 1024 bytes still count: 233472 / 1024.
    found = occupancy(load("h100"), threads_per_block=256, registers=0, shared_bytes=0)
    assert (found.blocks_per_sm, found.warps_per_sm, found.percent, found.limiter) == (8, 64, 100.0, "warps")
    assert found.limits == {"registers": None, "shared_mem": 228, "warps": 8, "blocks": 32}


def test_registers_are_allocated_to_a_warp_in_units_of_256():
    # 33 registers * 32 lanes = 1056, rounded up to 1280; 16384 of a sub-partition / 1280 = 12 warps; 4 * 12 / 8 = 6.
    found = occupancy(load("h100"), threads_per_block=256, registers=33, shared_bytes=0)
    assert (found.limits["registers"], found.limiter, found.percent) == (6, "registers", 75.0)


def test_each_sub_partition_rounds_its_warps_down():
    # 72 * 32 = 2304; 16384 / 2304 = 7 warps in each of 4 sub-partitions, 28 in all, and not 65536 / 2304 = 28.4.
    # 168 * 32 = 5376: 3 warps in each, 12 in all.
    assert occupancy(load("a100"), 32, 72, 0).limits["registers"] == 28
    assert occupancy(load("a100"), 32, 168, 0).limits["registers"] == 12


def test_shared_memory_rounds_up_to_its_unit_after_the_reserved_kilobyte():
    # a6000: 8193 + 1024 = 9217, rounded up to 9344; 102400 / 9344 = 10. t4 reserves nothing: 65536 / 8448 = 7.
    assert occupancy(load("a6000"), 64, 16, 8193).limits["shared_mem"] == 10
    assert occupancy(load("t4"), 64, 16, 8193).limits["shared_mem"] == 7


def test_warps_of_a_partial_block_count_whole():
    # 33 threads take 2 warps: 32 warps of a t4 hold 16 such blocks; the block limit is 16 as well.
    found = occupancy(load("t4"), threads_per_block=33, registers=16, shared_bytes=0)
    assert (found.limits["warps"], found.limits["blocks"], found.warps_per_sm, found.percent) == (16, 16, 32, 100.0)


def test_small_blocks_are_limited_by_blocks():
    # a6000: 16 blocks of one warp, of 48 warps.
    found = occupancy(load("a6000"), threads_per_block=32, registers=16, shared_bytes=0)
    assert (found.blocks_per_sm, found.limiter, round(found.percent, 1)) == (16, "blocks", 33.3)


@pytest.mark.parametrize(("threads", "registers", "shared_bytes", "limiter"), [
    (1025, 16, 0, "warps"), (1024, 128, 0, "registers"), (32, 256, 0, "registers"), (32, 16, 232449, "shared_mem"),
])
def test_a_launch_that_cannot_start_has_no_blocks_and_says_why(threads, registers, shared_bytes, limiter):
    found = occupancy(load("h100"), threads, registers, shared_bytes)
    assert (found.blocks_per_sm, found.percent, found.limiter) == (0, 0.0, limiter)


def test_the_launch_check_counts_warps_in_whole_rounds_over_the_sub_partitions():
    # 5 warps of 255 registers: 8192 each. 5 * 8192 = 40960 would fit; the check counts 8 warps, 65536, and passes.
    # 9 warps count as 12: 98304 of 65536.
    assert occupancy(load("a100"), 160, 255, 0).limits["registers"] == 1
    assert occupancy(load("a100"), 288, 255, 0).limits["registers"] == 0


# device, threads, registers, shared bytes -> active blocks, limits by registers and shared memory
ORACLE = [
    ("t4", 256, 64, 4096, 4, 4, 16), ("t4", 1024, 33, 65536, 1, 1, 1), ("t4", 96, 40, 33792, 1, 16, 1),
    ("a100", 512, 72, 49152, 1, 1, 3), ("a100", 128, 40, 8193, 12, 12, 17), ("a100", 768, 24, 166912, 1, 3, 1),
    ("a6000", 256, 128, 8192, 2, 2, 11), ("a6000", 640, 32, 101376, 1, 3, 1), ("a6000", 384, 96, 0, 1, 1, 100),
    ("rtx4090", 160, 64, 1024, 6, 6, 50), ("rtx4090", 1000, 33, 4096, 1, 1, 20), ("rtx4090", 32, 16, 0, 24, 128, 100),
    ("h100", 384, 96, 33792, 1, 1, 6), ("h100", 128, 168, 232448, 1, 3, 1), ("h100", 512, 200, 0, 0, 0, 228),
]


@pytest.mark.parametrize(
    ("device", "threads", "registers", "shared_bytes", "active", "by_registers", "by_shared"), ORACLE)
def test_values_of_cuda_occupancy_h(device, threads, registers, shared_bytes, active, by_registers, by_shared):
    found = occupancy(load(device), threads, registers, shared_bytes)
    assert found.blocks_per_sm == active
    assert (found.limits["registers"], found.limits["shared_mem"]) == (by_registers, by_shared)


def test_every_case_of_the_committed_table_of_cuda_occupancy_h():
    table = occupancy_oracle.table()
    assert len(table) > 5000 and {name for name, *_ in table} == set(names())
    wrong = {case: (blocks, occupancy(load(case[0]), *case[1:]).blocks_per_sm) for case, blocks in table.items()
             if occupancy(load(case[0]), *case[1:]).blocks_per_sm != blocks}
    assert wrong == {}


needs_header = pytest.mark.skipif(bool(occupancy_oracle.why_not()), reason=occupancy_oracle.why_not())


@needs_header
def test_all_limits_of_random_launches_agree_with_the_header_itself(seed):
    random = np.random.default_rng(seed)
    cases = []
    for name in names():
        device = load(name)
        for _ in range(500):
            cases.append((device, int(random.integers(1, device.threads_per_block + 1)),
                          int(random.integers(1, device.registers_per_thread + 1)),
                          int(random.integers(0, device.shared_bytes_per_block_optin + 1))))
    for (device, *launch), (active, *limits) in zip(cases, occupancy_oracle.ask(cases), strict=True):
        found = occupancy(device, *launch)
        assert found.blocks_per_sm == active, (device.name, *launch)
        own = [occupancy_oracle.NONE if limit is None else limit for limit in found.limits.values()]
        assert own == limits, (device.name, *launch)


@needs_header
def test_the_table_says_what_the_header_says_today():
    cases = list(occupancy_oracle.grid())
    answers = occupancy_oracle.ask(cases)
    said = {(device.name, *launch): active for (device, *launch), (active, *_) in zip(cases, answers, strict=True)}
    assert said == occupancy_oracle.table()


@pytest.mark.parametrize("device", names())
def test_more_resources_never_mean_more_blocks(device):
    for threads in (32, 160, 256, 1024):
        by_registers = [occupancy(load(device), threads, count, 0).blocks_per_sm for count in range(0, 256, 5)]
        by_shared = [occupancy(load(device), threads, 32, size).blocks_per_sm for size in range(0, 60000, 999)]
        assert by_registers == sorted(by_registers, reverse=True)
        assert by_shared == sorted(by_shared, reverse=True)


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="threads_per_block must be 1 or more"):
        occupancy(load("h100"), 0, 16, 0)
