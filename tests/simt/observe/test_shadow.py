"""What the race checker keeps no records for: sectors written as a whole, and lines of shared memory that are read again."""
from __future__ import annotations

import numpy as np
import pytest

from simt.runtime.sampling import Sampling

TILE = ".shared .align 128 .b8 tile[1024];"
# %d1: the thread's word of global memory, by its number in the block; %d2: by its number in the grid; %r3: its warp
PLACES = """mov.u32 %t, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r2, %r1, %r2, %t; shr.u32 %r3, %t, 5;
mul.wide.u32 %d1, %t, 4; add.u64 %d1, %a0, %d1; mul.wide.u32 %d2, %r2, 4; add.u64 %d2, %a0, %d2;
"""
# %d3: word of the lane in the first line of the tile; %d4: of the thread
SHARED_PLACES = """mov.u32 %t, %tid.x; mov.u32 %r1, %laneid; shr.u32 %r3, %t, 5; mov.u64 %d9, tile;
mul.wide.u32 %d3, %r1, 4; add.u64 %d3, %d9, %d3; mul.wide.u32 %d4, %t, 4; add.u64 %d4, %d9, %d4;
"""


def at(line: int, code: str) -> str:
    return f".loc 1 {line} 0\n{code}\n"


def races(kernel, *arrays, **launch) -> list[tuple[bool, tuple[int, ...]]]:
    """(is a note, lines) of each."""
    counted = kernel(*arrays, sampling=Sampling("none", checks=("race",)), **launch)
    assert {one.kind for one in counted.findings} <= {"race"}
    return [(one.note, tuple(line for _, line in one.places)) for one in counted.findings]


@pytest.mark.parametrize(("offset", "value", "expected"), [
    (0, "%t", [(True, (1,))]), (0, "%r1", [(False, (1,))]),
    (32, "%r1", []), (28, "%r1", [(False, (1,))])])
def test_two_blocks_that_write_one_sector_race_unless_they_write_the_same(bench, offset, value, expected):
    """Block 1 writes 8 words ``offset`` bytes behind those of block 0."""
    text = PLACES + f"mul.wide.u32 %d5, %r1, {offset}; add.u64 %d1, %d1, %d5;" + at(1, f"st.global.u32 [%d1], {value};")
    assert races(bench.kernel(text, 1), np.zeros(64, np.uint32), grid=(2, 1, 1), block=(8, 1, 1)) == expected


@pytest.mark.parametrize(("access", "expected"), [
    ("ld.global.u32 %r5, [%a0+20];", [(False, (1, 2))]), ("ld.global.u8 %r5, [%a0+23];", [(False, (1, 2))]),
    ("st.global.u8 [%a0+21], 7;", [(False, (1, 2))]), ("st.global.u8 [%a0+21], 0;", [(True, (1, 2))]),
    ("st.global.u8 [%a0+20], 5;", [(True, (1, 2))]), ("st.global.u8 [%a0+21], 5;", [(False, (1, 2))]),
    ("red.global.add.u32 [%a0+28], 1;", [(False, (1, 2))]), ("st.global.u32 [%a0+32], 7;", []),
    ("ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%a0+16];", [(False, (1, 2))])])
def test_an_access_to_a_part_of_a_sector_meets_the_write_of_the_whole(bench, access, expected):
    """Warp 0 writes 0 ... 7 into the first sector, thread 32 then accesses some of it, without a barrier and with one."""
    text = PLACES + "setp.ge.u32 %p1, %t, 8; setp.ne.u32 %p2, %t, 32;" + at(1, "@!%p1 st.global.u32 [%d1], %t;")
    ending = at(2, f"@!%p2 {access}")
    for barrier, found in (("", expected), ("bar.sync 0;", [])):
        kernel = bench.kernel(text + barrier + ending, 1)
        assert races(kernel, np.zeros(64, np.uint32), block=(64, 1, 1)) == found


def test_each_of_eight_threads_is_told_apart_in_a_sector(bench):
    """Threads 0-31 write their words; then thread 13 reads its own, or thread 14's."""
    text = PLACES + "setp.ne.u32 %p1, %t, 13;" + at(1, "st.global.u32 [%d1], %t;") + \
        at(2, "@!%p1 ld.global.u32 %r5, [%d1+OFFSET];")
    for offset, expected in ((0, []), (4, [(False, (1, 2))])):
        kernel = bench.kernel(text.replace("OFFSET", str(offset)), 1)
        found = kernel(np.zeros(64, np.uint32), sampling=Sampling("none", checks=("race",))).findings
        assert [(one.note, tuple(line for _, line in one.places)) for one in found] == expected
        assert all("thread (14, 0, 0)" in one.text and "thread (13, 0, 0)" in one.text for one in found)


def test_lanes_that_take_no_part_write_no_word_of_a_sector(bench):
    """Threads 0-4 write words 0-4, and thread 33 reads words 4, 5 and 6, one after the other."""
    text = PLACES + "setp.ge.u32 %p1, %t, 5; setp.ne.u32 %p2, %t, 33;" + at(1, "@!%p1 st.global.u32 [%d1], %t;") + "".join(
        at(word, f"@!%p2 ld.global.u32 %r5, [%a0+{4 * word}];") for word in (4, 5, 6))
    assert races(bench.kernel(text, 1), np.zeros(64, np.uint32), block=(64, 1, 1)) == [(False, (1, 4))]


def test_the_threads_that_wrote_a_sector_may_write_it_again(bench):
    text = PLACES + at(1, "st.global.u32 [%d2], %t;") + at(2, "st.global.u32 [%d2], 9;") + at(3, "ld.global.u32 %r5, [%d2];")
    assert races(bench.kernel(text, 1), np.zeros(512, np.uint32), grid=(4, 1, 1), block=(96, 1, 1)) == []


def test_a_sector_begins_at_a_multiple_of_32_bytes(bench):
    """Each block writes 8 words from word 5 + 8 * block on, and its first thread reads the word before them."""
    text = PLACES + "setp.ne.u32 %p1, %t, 0;" + at(1, "st.global.u32 [%d2+20], %r1;") + \
        at(2, "@!%p1 ld.global.u32 %r5, [%d2+OFFSET];")
    for offset, expected in ((20, []), (16, [(False, (1, 2))])):
        kernel = bench.kernel(text.replace("OFFSET", str(offset)), 1)
        assert races(kernel, np.zeros(64, np.uint32), grid=(3, 1, 1), block=(8, 1, 1)) == expected


def test_writes_of_many_sectors_fit_the_table(bench):
    """200,000 words, written whole; then the same by the last block once more."""
    text = PLACES + "setp.ne.u32 %p1, %r1, 199;" + at(1, "st.global.u32 [%d2], %t;") + at(2, "@!%p1 st.global.u32 [%d1], 7;")
    kernel = bench.kernel(text, 1)
    assert races(kernel, np.zeros(200_000, np.uint32), grid=(200, 1, 1), block=(1000, 1, 1)) == [(False, (1, 2))]


@pytest.mark.parametrize("start", ["", "bar.sync 0;", "st.shared.u32 [%d4], %t; bar.sync 0;",
                                   "ld.shared.u32 %r5, [%d3]; bar.sync 0;"])
def test_a_line_that_several_warps_have_read_is_looked_at_when_it_is_written(bench, start):
    """Warps 0 to 3 read one line; warp 3 writes a word of it; warp 4 reads the line."""
    guards = "setp.ge.u32 %p1, %r3, 4; setp.ne.u32 %p2, %t, 101; setp.ne.u32 %p3, %r3, 4;"
    text = SHARED_PLACES + start + guards + "@%p1 bra LATE;" + at(1, "ld.shared.u32 %r5, [%d3];") + "LATE: " + \
        at(2, "@!%p2 st.shared.u32 [tile+20], %t;") + "@%p3 bra END;" + at(3, "ld.shared.u32 %r6, [%d3];") + "END:"
    assert races(bench.kernel(text, 0, TILE), block=(160, 1, 1)) == [(False, (1, 2)), (False, (2, 3))]
    assert races(bench.kernel(text.replace("tile+20", "tile+128"), 0, TILE), block=(160, 1, 1)) == []


@pytest.mark.parametrize("write", ["st.shared.u32 [tile+20], %t;", "st.shared.u8 [tile+23], %t;",
                                   "red.shared.add.u32 [tile+20], 1;", "st.shared.v4.u32 [tile+16], {%t, %t, %t, %t};"])
def test_a_line_is_read_anew_after_each_write_and_barrier(bench, write):
    """Three times: all warps read the line, a barrier, thread 70 writes to it; a barrier or none before the next reads."""
    text = SHARED_PLACES + "setp.ne.u32 %p1, %t, 70; mov.u32 %r4, 0; AGAIN: " + at(1, "ld.shared.u32 %r5, [%d3];") + \
        "bar.sync 0;" + at(2, f"@!%p1 {write}") + "BARRIER add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 3; @%p2 bra AGAIN;"
    for barrier, expected in (("bar.sync 1;", []), ("", [(False, (1, 2))])):
        assert races(bench.kernel(text.replace("BARRIER", barrier), 0, TILE), block=(128, 1, 1)) == expected


@pytest.mark.parametrize("start", ["", "ld.shared.u32 %r6, [tile+512];"])
def test_a_new_block_reads_its_lines_for_the_first_time(bench, start):
    """Every block reads the line by all of its warps, as its first access or not; in block 5 alone, thread 70 writes to it."""
    text = SHARED_PLACES + "mov.u32 %r7, %ctaid.x; setp.eq.u32 %p1, %r7, 5; setp.eq.u32 %p2, %t, 70;" + \
        "and.pred %p1, %p1, %p2;" + start + at(1, "ld.shared.u32 %r5, [%d3];") + at(2, "@%p1 st.shared.u32 [tile+8], %t;")
    assert races(bench.kernel(text, 0, TILE), grid=(8, 1, 1), block=(96, 1, 1)) == [(False, (1, 2))]


@pytest.mark.parametrize(("readers", "expected"), [(32, []), (64, [(False, (2, 3))]), (96, [(False, (2, 3))])])
def test_the_second_warp_that_reads_a_line_races_with_one_that_waits_for_the_first(bench, readers, expected):
    """The threads below ``readers`` read the line; warp 0 then releases, and thread 101 acquires and writes a word of it."""
    text = SHARED_PLACES + f"setp.ge.u32 %p1, %t, {readers}; setp.ge.u32 %p2, %t, 32; setp.ne.u32 %p3, %t, 101;" + \
        at(2, "@!%p1 ld.shared.u32 %r5, [%d3];") + "@%p2 bra LATE; membar.gl; red.global.add.u32 [%a0], 1; LATE:" + \
        "@!%p3 atom.global.add.u32 %r6, [%a0], 0;" + at(3, "@!%p3 st.shared.u32 [tile+20], %t;")
    assert races(bench.kernel(text, 1, TILE), np.zeros(1, np.uint32), block=(128, 1, 1)) == expected


def test_a_line_that_is_read_through_one_array_is_looked_at_when_it_is_read_through_another(bench):
    """Warp 0 writes a line; then warps 0 to 3 read it, and warp 4, through an array of shape 0 that begins at the same byte."""
    arrays = "".join(f".extern .shared .align 128 .b8 {name}[];" for name in ("tile", "other"))
    text = SHARED_PLACES + "setp.ge.u32 %p1, %r3, 4; setp.ne.u32 %p2, %r3, 0; mov.u64 %d5, PAIR; mul.wide.u32 %d6, %r1, 4;" + \
        "add.u64 %d5, %d5, %d6;" + at(1, "@!%p2 st.shared.u32 [%d3], %t;") + "bar.sync 0; @%p1 bra LATE;" + \
        at(2, "ld.shared.u32 %r5, [%d3];") + "ret; LATE:" + at(3, "ld.shared.u32 %r6, [%d5];")
    for array, expected in (("tile", []), ("other", [("alias", (1, 3))])):
        kernel = bench.kernel(text.replace("PAIR", array), 0, arrays)
        found = kernel(block=(160, 1, 1), shared=1024, sampling=Sampling("none", checks=("race",))).findings
        assert [(one.kind, tuple(line for _, line in one.places)) for one in found] == expected


@pytest.mark.parametrize("part", ["@%p1 ld.shared.u32 %r5, [%d3];", "ld.shared.u32 %r5, [%d3+64];"])
def test_a_line_that_several_warps_have_read_in_part_is_looked_at_when_it_is_read_as_a_whole(bench, part):
    """Warps 0 to 3 read words 16 to 31 of a line, warp 4 reads all of it, then warp 5 writes word 3."""
    text = SHARED_PLACES + "setp.ge.u32 %p1, %r1, 16; setp.ge.u32 %p2, %r3, 4; setp.ne.u32 %p3, %r3, 4; " \
        "setp.ne.u32 %p4, %t, 170; @%p2 bra LATE;" + at(1, part) + "LATE: @%p3 bra END;" + \
        at(2, "ld.shared.u32 %r6, [%d3];") + "END:" + at(3, "@!%p4 st.shared.u32 [tile+12], %t;")
    assert races(bench.kernel(text, 0, TILE), block=(192, 1, 1)) == [(False, (2, 3))]


def test_a_line_out_of_bounds_is_a_fault_and_no_race(bench):
    from simt.runtime.faults import Fault

    for offset in (1024, 1 << 20, -128):
        text = SHARED_PLACES + f"mov.u64 %d5, {offset}; add.u64 %d3, %d3, %d5;" + at(1, "ld.shared.u32 %r5, [%d3];") + \
            at(2, "st.shared.u32 [%d3], %r5;")
        with pytest.raises(Fault, match="out of bounds"):
            races(bench.kernel(text, 0, TILE), block=(96, 1, 1))
