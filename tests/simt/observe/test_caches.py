"""Simulated caches on accesses whose hits and misses can be worked out by hand."""
from __future__ import annotations

import numpy as np
import pytest

from simt.observe import names
from simt.observe.caches import CacheSizes
from simt.runtime.sampling import Sampling

BIG = CacheSizes(l1_bytes=1 << 16, l2_bytes=1 << 20)
WANTED = (names.L1_HITS_LD, names.L2_READS, names.L2_READ_HITS, names.DRAM_READ_SECTORS, names.DRAM_WRITE_SECTORS)
ROUNDS = """mov.u32 %t, %laneid; mul.wide.u32 %d1, %t, 4; add.u64 %d1, %a0, %d1; mov.u32 %r1, 0; cvt.u32.u64 %r8, %a1;
cvt.u32.u64 %r9, %a2;
ROUND: mov.u32 %r2, 0; mov.u64 %d2, %d1;
LINE: ld.global.u32 %r3, [%d2]; add.u64 %d2, %d2, 128; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r8; @%p1 bra LINE;
add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, %r9; @%p2 bra ROUND;"""


def counts(kernel, *arguments, caches: CacheSizes = BIG, **launch) -> tuple[int, ...]:
    counted = kernel(*arguments, sampling=Sampling("all", caches=caches), **launch)
    assert {counted.tags[name] for name in WANTED} == {"simulated"}
    return tuple(counted.counters[name] for name in WANTED)


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_what_a_block_has_read_it_finds_again(bench, rounds):
    """10 lines of 4 sectors."""
    memory = np.zeros(10 * 32, np.uint32)
    assert counts(bench.kernel(ROUNDS, 3), memory, 10, rounds) == (40 * (rounds - 1), 40, 0, 40, 0)


def test_a_block_finds_what_the_one_before_read_in_the_second_level_only(bench):
    memory = np.zeros(10 * 32, np.uint32)
    assert counts(bench.kernel(ROUNDS, 3), memory, 10, 1, grid=(3, 1, 1), threads=2) == (0, 120, 80, 40, 0)


@pytest.mark.parametrize(("lines", "hits"), [(4, 16), (5, 0), (8, 0)])
def test_the_line_used_longest_ago_goes_first(bench, lines, hits):
    """A first level of one set of four lines, read twice in order: five lines push each other out."""
    sizes = CacheSizes(l1_bytes=4 * 128, l2_bytes=1 << 20)
    memory = np.zeros(8 * 32, np.uint32)
    assert counts(bench.kernel(ROUNDS, 3), memory, lines, 2, caches=sizes) == (
        hits, 8 * lines - hits, 4 * lines - hits, 4 * lines, 0)


def test_a_second_level_that_is_too_small_fetches_again(bench):
    """One set of sixteen lines below a first level of four: 17 lines, read three times, never hit."""
    sizes = CacheSizes(l1_bytes=4 * 128, l2_bytes=16 * 128)
    memory = np.zeros(17 * 32, np.uint32)
    assert counts(bench.kernel(ROUNDS, 3), memory, 17, 3, caches=sizes) == (0, 204, 0, 204, 0)


def test_a_miss_fetches_the_sectors_asked_for_and_no_more(bench):
    """Lanes 4 bytes apart from lane 0 to 7 only: one sector of each line."""
    text = ROUNDS.replace("ROUND:", "setp.gt.u32 %p5, %t, 7;\nROUND:").replace("ld.global", "@!%p5 ld.global")
    assert counts(bench.kernel(text, 3), np.zeros(10 * 32, np.uint32), 10, 1) == (0, 10, 0, 10, 0)


def test_what_is_written_goes_back_to_memory_once(bench):
    """Two stores to 4 sectors, then a load that finds them in the second level: nothing is fetched."""
    text = """mov.u32 %t, %laneid; mul.wide.u32 %d1, %t, 4; add.u64 %d1, %a0, %d1; st.global.u32 [%d1], %t;
    st.global.u32 [%d1], %t; ld.global.u32 %r1, [%d1];"""
    assert counts(bench.kernel(text, 1), np.zeros(32, np.uint32)) == (0, 4, 4, 0, 4)


def test_lines_pushed_out_of_the_second_level_are_written_back(bench):
    text = ROUNDS.replace("ld.global.u32 %r3, [%d2]", "st.global.u32 [%d2], %t")
    sizes = CacheSizes(l1_bytes=4 * 128, l2_bytes=16 * 128)
    assert counts(bench.kernel(text, 3), np.zeros(17 * 32, np.uint32), 17, 2, caches=sizes) == (0, 0, 0, 0, 2 * 4 * 17)


def test_atomics_pass_the_first_level(bench):
    """32 lanes on one word: a sector read, then in place, for each of two atomics."""
    text = "red.global.add.u32 [%a0], 1; red.global.add.u32 [%a0], 1;"
    assert counts(bench.kernel(text, 1), np.zeros(1, np.uint32)) == (0, 2, 1, 1, 1)


def test_without_caches_a_profile_has_none_of_their_counters(bench):
    counted = bench.kernel(ROUNDS, 3).count(np.zeros(320, np.uint32), 10, 1)
    assert not set(names.SIMULATED) & (set(counted.counters) | set(counted.tags))
