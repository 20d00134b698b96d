"""Which blocks are counted, that edges weigh what they weigh, and that threads and samples do not change the counters."""
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from simt.observe import names
from simt.runtime.sampling import PER_CLASS, SMALL_GRID, Sampling, classes, spread

GRIDS = [(1, 1, 1), (64, 1, 1), (65, 1, 1), (1000, 1, 1), (1, 300, 1), (9, 9, 1), (100, 7, 1), (5, 6, 7), (1, 1, 70),
         (2, 2, 40)]


def is_last(index: int, grid: tuple[int, int, int]) -> tuple[bool, ...]:
    x, y, z = grid
    place = index % x, index // x % y, index // (x * y)
    return tuple(at == extent - 1 for at, extent in zip(place, grid, strict=True))


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("sample", ["all", "auto", 1, 3, 13, 10**6])
def test_classes_part_the_grid_and_count_their_own_blocks(grid, sample):
    found = classes(grid, Sampling(sample))
    everything = [index for group in found for index in group.counted]
    assert sum(group.size for group in found) == math.prod(grid)
    assert len(set(everything)) == len(everything) and all(0 <= index < math.prod(grid) for index in everything)
    if sample in ("all", 1) or (sample == "auto" and math.prod(grid) <= SMALL_GRID):
        assert sorted(everything) == list(range(math.prod(grid)))
        return
    for group in found:
        kinds = {is_last(index, grid) for index in group.counted}
        assert len(kinds) == 1
        assert group.size == sum(is_last(index, grid) in kinds for index in range(math.prod(grid)))
        wanted = PER_CLASS if sample == "auto" else max(-(-group.size // sample), 1)
        assert len(group.counted) == min(wanted, group.size)


def test_a_plane_has_an_inside_two_edges_and_a_corner():
    found = classes((10, 12, 1), Sampling())
    assert sorted((group.size, len(group.counted)) for group in found) == [(1, 1), (9, 4), (11, 4), (99, 4)]


def test_sampled_blocks_are_different_and_do_not_beat_with_powers_of_two():
    for size, count in itertools.product((*range(1, 70), 128, 1000, 4096), (1, 2, 3, 4, 7, 64)):
        picked = spread(size, min(size, count))
        assert len(set(picked)) == min(size, count) and 0 <= min(picked) and max(picked) < size
    assert {pick % 4 for pick in spread(4096, 4)} == {0, 1, 2, 3}
    assert {pick % 8 for pick in spread(1 << 20, 8)} == set(range(8))


RAGGED = """mad.lo.u32 %r1, %ctaid.x, %ntid.x, %tid.x; mad.lo.u32 %r2, %ctaid.y, %ntid.y, %tid.y;
cvt.u32.u64 %r3, %a1; cvt.u32.u64 %r4, %a2; setp.ge.u32 %p1, %r1, %r3; @%p1 bra DONE; setp.ge.u32 %p1, %r2, %r4; @%p1 bra DONE;
mov.u64 %d9, tile; mul.wide.u32 %d8, %tid.x, 8; add.u64 %d9, %d9, %d8; st.shared.u64 [%d9], %d8;
mad.lo.u32 %r5, %r2, %r3, %r1; mul.wide.u32 %d1, %r5, 4; add.u64 %d1, %a0, %d1; ld.global.u32 %r6, [%d1]; add.u32 %r6, %r6, 1;
st.global.u32 [%d1], %r6; red.global.add.u32 [%a3], 1; fma.rn.f32 %f1, %f1, %f1, %f1; DONE:"""


@pytest.fixture(scope="module")
def ragged(bench):
    """A grid with ragged edges over a matrix of 4-byte cells; all blocks inside do the same."""
    return bench.kernel(".shared .align 8 .b8 tile[256];" + RAGGED, 4)


def launch(kernel, sample, columns: int, rows: int, threads: int = 1, execute: str = "all"):
    """(counters, what each cell was increased by)."""
    cells, total = np.zeros((rows, columns), np.uint32), np.zeros(1, np.uint32)
    counted = kernel(cells, columns, rows, total, grid=(-(-columns // 32), -(-rows // 4), 1), block=(32, 4, 1), threads=threads,
                     sampling=Sampling(sample, execute))
    assert total[0] == cells.sum()
    return counted, cells


@pytest.mark.parametrize(("columns", "rows"), [(32 * 20, 4 * 9), (32 * 20 - 8, 4 * 9 - 3), (32 * 13 + 8, 4), (24, 4 * 80 - 1)])
def test_sampled_counters_are_those_of_all_blocks_where_blocks_are_alike(ragged, columns, rows):
    """Columns are a multiple of 8 words, so that every row of a block lies in whole sectors."""
    whole, cells = launch(ragged, "all", columns, rows)
    assert (cells == 1).all() and not whole.sampled and whole.blocks_counted == whole.blocks_total
    for sample in ("auto", 7):
        part, cells = launch(ragged, sample, columns, rows)
        assert (cells == 1).all(), "blocks that are not counted run too, and none runs twice"
        assert part.sampled == (part.blocks_counted < part.blocks_total)
        assert part.counters == whole.counters
        assert part.lines == whole.lines
    assert whole.counters[names.FLOPS_FP32] == 2 * columns * rows


def test_counted_blocks_alone_run_where_the_output_does_not_matter(ragged):
    counted, cells = launch(ragged, "auto", 32 * 20, 4 * 9, execute="sampled")
    assert cells.sum() == counted.blocks_counted * 128
    assert counted.counters == launch(ragged, "all", 32 * 20, 4 * 9)[0].counters


def test_worker_threads_do_not_change_the_counters(ragged):
    first = launch(ragged, "all", 32 * 20 - 8, 4 * 9 - 3, threads=1)[0]
    for threads in (2, 3):
        other = launch(ragged, "all", 32 * 20 - 8, 4 * 9 - 3, threads=threads)[0]
        assert (other.counters, other.lines) == (first.counters, first.lines)
        assert launch(ragged, "auto", 32 * 20 - 8, 4 * 9 - 3, threads=threads)[0].counters == first.counters


def test_halves_of_a_sample_tell_how_far_it_may_be_off(bench):
    """Block b of 400 goes round a loop b times: halves differ. Without the loop all blocks agree."""
    from simt.observe import names

    loop = """mov.u32 %r1, %ctaid.x; LOOP: setp.eq.u32 %p1, %r1, 0; @%p1 bra END; sub.u32 %r1, %r1, 1; bra LOOP; END:"""
    counted = bench.kernel(loop, 0).count(grid=(400, 1, 1), sample="auto")
    assert counted.sampled and 0 < counted.errors[names.INSTRUCTIONS] < counted.counters[names.INSTRUCTIONS]
    assert bench.kernel("mov.u32 %r1, %ctaid.x;", 0).count(grid=(400, 1, 1), sample="auto").errors == {}
    assert bench.kernel(loop, 0).count(grid=(400, 1, 1), sample="all").errors == {}
