"""Barriers, divergence and races: each case is found, and its correct twin is not, in whatever order warps and blocks run."""
from __future__ import annotations

import numpy as np
import pytest
from cuda.core._utils.cuda_utils import CUDAError
from numba import cuda, float32, int32

import simt

CHECKS = "race,init,sync"
TILE = 8


@pytest.fixture(params=["forward", "reverse"], autouse=True)
def schedule(request, monkeypatch):
    monkeypatch.setenv("SIMT_SCHEDULE", request.param)


def findings(kernel, grid, block, *arguments, shared: int = 0) -> list:
    with simt.profile(check=CHECKS) as profile:
        kernel[grid, block, 0, shared](*arguments)
    return profile.findings


def kinds(found: list) -> set[str]:
    return {finding.kind for finding in found if not finding.note}


def lines(kernel, finding) -> list[int]:
    """Lines of the finding, counted from the line of the kernel's ``def``."""
    start = kernel.py_func.__code__.co_firstlineno + 1
    return [line - start for _, line in finding.places]


def test_a_barrier_that_part_of_a_warp_goes_round_is_told_with_its_lanes():
    """numba#2655: threads 14-20 take another path around the barrier, which they never reach, as they end there."""

    @cuda.jit
    def skipping(out):
        box = cuda.shared.array(1, int32)
        i = cuda.threadIdx.x
        if 14 <= i <= 20:
            out[i] = -1
            return
        if i == 0:
            box[0] = 7
        cuda.syncthreads()
        out[i] = box[0]

    found, = [one for one in findings(skipping, 1, 32, np.zeros(32, np.int32)) if one.kind == "sync"]
    assert "lanes 14-20 of warp 0" in found.text and lines(skipping, found) == [8]


def test_a_table_look_up_that_decides_a_branch_does_not_part_a_barrier():
    """numba#1626: block (1, 3); all three cells are read behind the barrier."""

    @cuda.jit
    def looked_up(table, out):
        cells = cuda.shared.array(3, int32)
        y = cuda.threadIdx.y
        if table[y] > 0:
            cells[y] = -999
        else:
            cells[y] = -999 + table[y]
        cuda.syncthreads()
        if y == 0:
            for k in range(3):
                out[k] = cells[k]

    out = np.zeros(3, np.int32)
    assert findings(looked_up, 1, (1, 3), np.array([1, 0, 5], np.int32), out) == []
    assert out.tolist() == [-999] * 3


def test_a_barrier_under_a_condition_of_the_thread_fails_or_is_told():
    """tile-ai/tilelang#1026: 32 threads exchange with ``tid ^ 1`` under ``if tid % 2 == 0``."""

    @cuda.jit
    def exchanging(x):
        cells = cuda.shared.array(32, float32)
        i = cuda.threadIdx.x
        cells[i] = x[i]
        if i % 2 == 0:
            cuda.syncthreads()
            x[i] = cells[i ^ 1]

    found = findings(exchanging, 1, 32, np.arange(32, dtype=np.float32))
    assert kinds(found) == {"sync"}             # the odd threads end without ever coming
    assert all("lanes 1, 3, 5" in one.text and lines(exchanging, one) == [5] for one in found)


def test_a_barrier_in_a_loop_with_another_trip_count_in_each_warp_is_told():
    """ggml-org/llama.cpp#27678: the results are right, and warps pass the barrier different numbers of times."""

    @cuda.jit
    def uneven(out):
        i = cuda.threadIdx.x
        for _ in range(1 + i // 32):
            out[i] += 1
            cuda.syncthreads()

    found = findings(uneven, 1, 96, np.zeros(96, np.int32))
    assert kinds(found) == {"sync"}
    assert any("1 whole warp of the block ends without coming" in one.text for one in found)


@pytest.mark.parametrize("rounds", [(1, 2, 3, 4), (7, 3, 5, 0), (4, 4, 4, 4)])
def test_warps_may_leave_a_loop_with_a_barrier_in_different_rounds(rounds):
    """The compiler copies the body of the loop, and the barrier with it: the copies are one. It is a finding, no failure."""

    @cuda.jit
    def leaving(rounds, out):
        i = cuda.threadIdx.x
        for _ in range(rounds[i // 32]):
            cuda.syncthreads()
            out[i] += 1

    out = np.zeros(128, np.int32)
    leaving[1, 128](np.array(rounds, np.int32), out)
    assert out.tolist() == np.repeat(rounds, 32).tolist()
    assert kinds(findings(leaving, 1, 128, np.array(rounds, np.int32), out)) == (set() if len(set(rounds)) == 1 else {"sync"})


def test_a_barrier_in_a_helper_for_one_warp_names_the_helper_and_its_caller():
    """victorprad/InfiniTAM#75: a device function with barriers, called by the first 32 of 256 threads."""

    @cuda.jit
    def reduce_warp(cells, i):
        step = 16
        while step > 0:
            if i < step:
                cells[i] += cells[i + step]
            cuda.syncthreads()
            step //= 2

    @cuda.jit
    def calling(x):
        cells = cuda.shared.array(256, float32)
        i = cuda.threadIdx.x
        cells[i] = x[i]
        cuda.syncthreads()
        if i < 32:
            reduce_warp(cells, i)
        cuda.syncthreads()
        x[i] = cells[0]

    with pytest.raises(CUDAError, match="LAUNCH_FAILED") as failed:
        findings(calling, 1, 256, np.ones(256, np.float32))
    note, = failed.value.__notes__
    assert "different barriers" in note and "called from" in note


def scans(size):
    @cuda.jit
    def in_place(x):
        cells = cuda.shared.array(size, float32)
        i = cuda.threadIdx.x
        cells[i] = x[i]
        cuda.syncthreads()
        step = 1
        while step < size:
            if i >= step:
                cells[i] += cells[i - step]
            cuda.syncthreads()
            step *= 2
        x[i] = cells[i]

    @cuda.jit
    def by_register(x):
        cells = cuda.shared.array(size, float32)
        i = cuda.threadIdx.x
        cells[i] = x[i]
        cuda.syncthreads()
        step = 1
        while step < size:
            value = float32(0)
            if i >= step:
                value = cells[i - step]
            cuda.syncthreads()
            cells[i] += value
            cuda.syncthreads()
            step *= 2
        x[i] = cells[i]

    return in_place, by_register


@pytest.mark.parametrize("size", [32, 256])
def test_a_scan_that_reads_and_writes_in_one_step_races(size):
    """mojo#26: with one warp in lock step the numbers may be right, and it is a race all the same."""
    in_place, by_register = scans(size)
    found = findings(in_place, 1, size, np.ones(size, np.float32))
    assert kinds(found) == {"race"} and {tuple(lines(in_place, one)) for one in found} == {(8,)}
    out = np.ones(size, np.float32)
    assert findings(by_register, 1, size, out) == [] and out.tolist() == list(range(1, size + 1))


@cuda.jit
def unordered_tail(x):
    cells = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    cells[i] = x[i]
    cuda.syncthreads()
    if i < 32:
        cells[i] += cells[i + 32]
        cells[i] += cells[i + 16]
        cells[i] += cells[i + 8]
    if i == 0:
        x[0] = cells[0]


@cuda.jit
def ordered_tail(x):
    cells = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    cells[i] = x[i]
    cuda.syncthreads()
    if i < 32:
        step = 32
        while step > 0:
            value = cells[i + step]
            cuda.syncwarp()
            cells[i] += value
            cuda.syncwarp()
            step //= 2
    if i == 0:
        x[0] = cells[0]


@cuda.jit
def shuffled_tail(x):
    """A shuffle orders no memory: reading what another lane stored needs a syncwarp all the same."""
    cells = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    cells[i] = x[i]
    other = cuda.shfl_xor_sync(0xFFFFFFFF, x[i], 1)
    x[i] = cells[i ^ 1] + other


def test_steps_of_one_warp_without_a_syncwarp_race():
    """numba PR#6127, ORNL/HeCBench#263: the last steps of a reduction relied on lock step."""
    found = findings(unordered_tail, 1, 64, np.ones(64, np.float32))
    assert kinds(found) == {"race"} and all("syncwarp" in one.advice for one in found)
    out = np.ones(64, np.float32)
    assert findings(ordered_tail, 1, 64, out) == [] and out[0] == 64
    assert kinds(findings(shuffled_tail, 1, 32, np.ones(32, np.float32))) == {"race"}


def two_reductions(between: bool):
    @cuda.jit
    def reduce_block(value, cells, i, largest):
        cells[i] = value
        cuda.syncthreads()
        step = 16
        while step > 0:
            if i < step:
                cells[i] = max(cells[i], cells[i + step]) if largest else cells[i] + cells[i + step]
            cuda.syncthreads()
            step //= 2
        return cells[0]

    @cuda.jit
    def twice(x, out):
        cells = cuda.shared.array(32, float32)
        i = cuda.threadIdx.x
        most = reduce_block(x[i], cells, i, True)
        if between:
            cuda.syncthreads()
        total = reduce_block(x[i], cells, i, False)
        if i == 0:
            out[0], out[1] = most, total

    return twice


def test_two_reductions_over_one_scratch_array_race_without_a_barrier_between():
    """ggml-org/llama.cpp PR#26385: the second call overwrites what the first is still read from; numbers mostly pass."""
    x, out = np.arange(32, dtype=np.float32), np.zeros(2, np.float32)
    assert kinds(findings(two_reductions(False), 1, 32, x, out)) == {"race"}
    assert findings(two_reductions(True), 1, 32, x, out) == [] and out.tolist() == [31, 496]


def rounds(ordered: bool):
    @cuda.jit
    def rounds_of_a_sum(x, out):
        total = cuda.shared.array(1, float32)
        i = cuda.threadIdx.x
        for k in range(out.size):
            if i == 31:
                total[0] = 0
            cuda.syncthreads()
            if i < 5:
                cuda.atomic.add(total, 0, x[i] + k)
            cuda.syncthreads()
            if i == 0:
                out[k] = total[0]
            if ordered:
                cuda.syncthreads()

    return rounds_of_a_sum


def test_idle_threads_that_run_ahead_to_the_next_reset_race():
    """NVIDIA/Fuser#678: 5 of 32 threads work, another one resets the shared sum for the next round."""
    x, out = np.ones(5, np.float32), np.zeros(3, np.float32)
    assert kinds(findings(rounds(False), 1, 32, x, out)) == {"race"}
    assert findings(rounds(True), 1, 32, x, out) == [] and out.tolist() == [5, 10, 15]


def halves(rounded_up: bool):
    @cuda.jit
    def halved(x):
        cells = cuda.shared.array(64, float32)
        i, count = cuda.threadIdx.x, cuda.blockDim.x
        cells[i] = x[i]
        cuda.syncthreads()
        while count > 1:
            middle = (count + 1) // 2
            reach = middle if rounded_up else count // 2
            if i < reach and i + middle < 64:
                cells[i] += cells[i + count // 2] if rounded_up else cells[i + middle]
            cuda.syncthreads()
            count = middle
        x[i] = cells[0]

    return halved


@pytest.mark.parametrize("threads", [3, 31, 33, 63])
def test_a_reduction_of_an_odd_number_races_at_a_midpoint_that_is_rounded_up(threads):
    """kaldi-asr/kaldi#3036. The right one is right for 1, 2, 3, 31, 33 and 63 threads."""
    assert kinds(findings(halves(True), 1, threads, np.ones(64, np.float32))) >= {"race"}


@pytest.mark.parametrize("threads", [1, 2, 3, 31, 33, 63])
def test_a_reduction_by_the_middle_of_an_odd_number_is_right(threads):
    x = np.ones(64, np.float32)
    assert findings(halves(False), 1, threads, x) == [] and x[0] == threads


def test_a_barrier_does_not_order_blocks():
    """numba#7502: each step copies from a neighbour cell that another block may write. A cooperative grid orders them."""

    @cuda.jit
    def copying(cells, steps):
        i = cuda.grid(1)
        for _ in range(steps):
            value = cells[(i + 1) % cells.size]
            cuda.syncthreads()
            cells[i] = value
            cuda.syncthreads()

    @cuda.jit
    def cooperating(cells, steps):
        grid = cuda.cg.this_grid()
        i = cuda.grid(1)
        for _ in range(steps):
            value = cells[(i + 1) % cells.size]
            grid.sync()
            cells[i] = value
            grid.sync()

    found = [one for one in findings(copying, 4, 32, np.arange(128, dtype=np.float32), 2) if not one.note]
    assert {one.kind for one in found} == {"race"}
    assert all("blocks of one launch are not ordered" in one.advice for one in found)
    cells = np.arange(128, dtype=np.float32)
    assert findings(cooperating, 4, 32, cells, 2) == [] and cells[0] == 2


def test_blocks_that_store_the_same_rows_are_noted_and_do_no_harm():
    """fla-org/flash-linear-attention PR#1249: 4 owned rows a block, a tile of 8 rows, all stored with equal values."""

    @cuda.jit
    def overlapping(out):
        row = cuda.blockIdx.x * 4 + cuda.threadIdx.x
        if row < out.size:
            out[row] = row

    found = findings(overlapping, 3, 8, np.zeros(16, np.float32))
    assert [(one.kind, one.note) for one in found] == [("race", True)]
    assert "the same value" in found[0].text


@pytest.mark.parametrize("missing", ["between", "after"])
def test_a_tiled_product_without_one_of_its_barriers_races(missing):
    """puzzles#14, numba#5620: the hazard is named, not a wrong number. Both barriers: none."""

    def product(first: bool, second: bool):
        @cuda.jit
        def tiled(a, b, c):
            tile_a, tile_b = cuda.shared.array((TILE, TILE), float32), cuda.shared.array((TILE, TILE), float32)
            x, y = cuda.threadIdx.x, cuda.threadIdx.y
            col, row = cuda.grid(2)
            total = float32(0)
            for k in range(0, a.shape[1], TILE):
                tile_a[y, x] = a[row, k + x]
                tile_b[y, x] = b[k + y, col]
                if first:
                    cuda.syncthreads()
                for i in range(TILE):
                    total += tile_a[y, i] * tile_b[i, x]
                if second:
                    cuda.syncthreads()
            c[row, col] = total

        return tiled

    a = np.random.default_rng(1).random((16, 16), np.float32)
    c = np.zeros((16, 16), np.float32)
    wrong = product(missing == "after", missing == "between")
    found = findings(wrong, (2, 2), (TILE, TILE), a, a, c)
    assert kinds(found) == ({"race"} if missing == "after" else {"race", "init"})   # some reads come before any write
    assert {tuple(lines(wrong, one)) for one in found if one.kind == "race"} == {(6, 11), (7, 11)}
    assert findings(product(True, True), (2, 2), (TILE, TILE), a, a, c) == []
    assert np.allclose(c, a @ a)


def test_shared_memory_of_the_block_before_is_no_start_value():
    """puzzles#20: the last block sums 8 cells, and writes 7 of them."""

    @cuda.jit
    def summing(x, out):
        cells = cuda.shared.array(8, float32)
        i = cuda.grid(1)
        if i < x.size:
            cells[cuda.threadIdx.x] = x[i]
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            total = float32(0)
            for k in range(8):
                total += cells[k]
            out[cuda.blockIdx.x] = total

    out = np.zeros(2, np.float32)
    found, = findings(summing, 2, 8, np.ones(15, np.float32), out)
    assert found.kind == "init" and "thread (0, 0, 0) of block (1, 0, 0) reads cells" in found.text
    assert "element 7" in found.text and np.isnan(out[1])
    assert findings(summing, 2, 8, np.ones(16, np.float32), out) == [] and out.tolist() == [8, 8]


def test_a_halo_of_one_block_copied_to_many_reads_what_nobody_wrote():
    """mojo PR#243: the halo is guarded by the size of the whole array only."""

    @cuda.jit
    def convolving(x, taps, out):
        cells = cuda.shared.array(16, float32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        cells[t] = x[i]
        cuda.syncthreads()
        total = float32(0)
        for k in range(taps.size):
            if i + k < x.size:
                total += cells[t + k] * taps[k]
        out[i] = total

    x, out = np.ones(24, np.float32), np.zeros(24, np.float32)
    found = findings(convolving, 3, 8, x, np.ones(3, np.float32), out)
    assert kinds(found) == {"init"}
    assert findings(convolving, 1, 8, x[:8], np.ones(3, np.float32), out[:8]) == []


def test_two_arrays_of_dynamic_shared_memory_are_the_same_bytes():
    """numba PR#8839, JuliaGPU/CUDA.jl#555. One array cut into slices is the right form."""

    @cuda.jit
    def two(out):
        floats, ints = cuda.shared.array(0, float32), cuda.shared.array(0, int32)
        i = cuda.threadIdx.x
        floats[i] = 1.5
        ints[i] = 7
        out[i] = floats[i]

    @cuda.jit
    def cut(out):
        floats = cuda.shared.array(0, float32)
        ints = cuda.shared.array(0, int32)[32:64]
        i = cuda.threadIdx.x
        floats[i] = 1.5
        ints[i] = 7
        out[i] = floats[i] + ints[i]

    out = np.zeros(32, np.float32)
    found = findings(two, 1, 32, out, shared=256)
    assert "alias" in kinds(found) and "the same byte" in found[0].text
    assert findings(cut, 1, 32, out, shared=256) == [] and out.tolist() == [8.5] * 32


def test_the_last_block_may_read_what_others_left_if_they_fenced_before_their_ticket():
    """The ticket orders blocks where a fence precedes it; without the fence it does not."""

    def last_block(fenced: bool):
        @cuda.jit
        def adding(x, partial, ticket, out):
            i, block = cuda.grid(1), cuda.blockIdx.x
            last = cuda.shared.array(1, int32)
            if cuda.threadIdx.x == 0:
                partial[block] = x[i] + x[i + 1]
                if fenced:
                    cuda.threadfence()
                last[0] = cuda.atomic.add(ticket, 0, 1) == cuda.gridDim.x - 1
            cuda.syncthreads()
            if last[0] and cuda.threadIdx.x == 0:
                total = float32(0)
                for k in range(partial.size):
                    total += partial[k]
                out[0] = total

        return adding

    x, out = np.ones(64, np.float32), np.zeros(1, np.float32)
    for fenced, wanted in ((True, set()), (False, {"race"})):
        arguments = x, np.zeros(2, np.float32), np.zeros(1, np.int32), out
        assert kinds(findings(last_block(fenced), 2, 32, *arguments)) == wanted, fenced
        assert out[0] == 4


def test_atomics_do_not_race_with_each_other_and_plain_reads_race_with_them():
    @cuda.jit
    def counting(count, out):
        cuda.atomic.add(count, 0, 1)
        out[cuda.grid(1)] = count[0]

    @cuda.jit
    def only_atomics(count):
        cuda.atomic.add(count, 0, 1)

    count = np.zeros(1, np.int32)
    assert findings(only_atomics, 4, 32, count) == [] and count[0] == 128
    assert kinds(findings(counting, 4, 32, count, np.zeros(128, np.int32))) == {"race"}


def test_a_shuffle_that_reads_a_lane_that_takes_no_part_is_told():
    """ROCm/hip#3213 and others: what such a lane holds is undefined, not a value to compare."""

    @cuda.jit
    def partial(x):
        i = cuda.threadIdx.x
        x[i] += cuda.shfl_down_sync(0xFFFFFFFF, x[i], 4)

    found, = findings(partial, 1, 40, np.ones(40, np.float32))
    assert found.kind == "sync" and "lanes 4-7 of warp 1" in found.text
    assert findings(partial, 1, 64, np.ones(64, np.float32)) == []


def test_fresh_device_memory_is_not_zero():
    @cuda.jit
    def adding(x):
        x[cuda.grid(1)] += 1

    with simt.profile(check="init") as profile:
        fresh, filled = cuda.device_array(64, np.float32), cuda.to_device(np.zeros(64, np.float32))
        adding[2, 32](filled)
        adding[2, 32](fresh)
        adding[2, 32](fresh)
    assert [len(launch.findings) for launch in profile.launches] == [0, 1, 0]
    assert "x[0]" in profile.findings[0].text


def test_a_return_before_a_barrier_of_the_grid_is_told_at_the_line_that_calls_it():
    """As in numba-cuda's own example of heat in a bar: the threads beyond the data have ended."""

    @cuda.jit
    def spreading(out):
        i = cuda.grid(1)
        if i >= len(out):
            return
        grid = cuda.cg.this_grid()
        out[i] = 1
        grid.sync()
        out[i] += 1

    found, = findings(spreading, 1, 32, np.zeros(20, np.int32))
    assert (found.kind, lines(spreading, found)) == ("sync", [6])
    assert found.text.startswith("grid.sync ") and "lanes 20-31 of warp 0" in found.text
