"""Each rule speaks where it should, with the line and the numbers worked out by hand, and is silent on the twin."""
from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from simt.observe import names
from simt.observe.profile import AccessSample
from simt.report.global_rules import needed_sectors
from simt.report.rules import advice
from simt.report.subject import COMPUTE, MEMORY

LSU = "load/store unit"


def said(subject, rule):
    """Advice of one rule."""
    return [piece for piece in advice(subject) if piece.rule == rule]


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


# -- coalescing

@pytest.fixture
def strided(launched):
    # 8 warps, each lane in a row of its own, 4096 B apart: 8 requests, 256 sectors. Stores: 8 requests, 32 sectors.
    return launched("column", 8, 32, zeros(256, 1024), zeros(256))


def test_lanes_in_rows_of_their_own_are_uncoalesced_and_the_distance_is_named(strided):
    piece, = said(strided.subject, "uncoalesced loads")
    assert piece.line == strided.line("out[x] = a[x, 0]") and piece.file == __file__.replace("test_rules", "conftest")
    assert piece.text == f"conftest.py:{piece.line}: out[x] = a[x, 0]: 32.0 sectors per load request where 4.00 would do, " \
        "256 in all: neighbouring threads read addresses 4 KiB apart"
    assert "along a row of its own" in piece.remedy         # the block has no y to swap with


def test_the_gain_of_coalescing_is_the_excess_over_all_sectors_while_memory_is_busy(strided):
    piece, = said(strided.subject, "uncoalesced loads")
    # 256 sectors where 8 * 128 / 32 = 32 would do, of 256 + 32 in all
    assert piece.gain_percent == round(100 * strided.subject.gain((256 - 32) / (256 + 32), LSU, "L2 bandwidth"), 1)
    assert said(strided.subject, "uncoalesced stores") == []


@pytest.mark.parametrize(("lsu", "dram", "gain"), [(10**9, 0, 0.75), (10**9, 8 * 10**8, 0.2), (10**9, 10**9, 0), (0, 10**9, 0)])
def test_a_gain_ends_where_the_next_unit_binds(made_up, lsu, dram, gain):
    """Terms in ns; three quarters of the load/store unit's work could go, beside DRAM and a launch that takes no time."""
    subject = made_up(terms={LSU: lsu, "DRAM bandwidth": dram, "launch": 0.0}, time_ns=float(max(lsu, dram)))
    assert subject.gain(0.75, LSU) == pytest.approx(gain)


def remedy_of(launched, name, grid, block, *arrays, rule="uncoalesced loads", key=""):
    piece, = said(launched(name, grid, block, *arrays, key=key).subject, rule)
    return piece.remedy


def test_x_along_rows_is_to_be_swapped_with_y(launched):
    assert "swap x and y" in remedy_of(launched, "x_takes_rows", (2, 2), (32, 8), zeros(64, 64), zeros(64, 64))


def test_axes_are_not_to_be_swapped_where_another_access_lies_in_a_row(launched):
    remedy = remedy_of(launched, "transposed", (2, 8), (32, 8), zeros(64, 64), zeros(64, 64), rule="uncoalesced stores")
    assert "go through a tile in shared memory" in remedy and "let neighbouring threads" not in remedy


def test_addresses_from_data_are_a_gather_which_no_exchange_of_axes_helps(launched, seed):
    index = np.random.default_rng(seed).permutation(1 << 14).astype(np.int32)
    done = launched("gather", 8, 32, zeros(1 << 14), index, zeros(256), key=str(seed))
    piece, = said(done.subject, "uncoalesced loads")
    assert piece.text.endswith("neighbouring threads read addresses without a common distance")
    assert "a gather or a scatter" in piece.remedy and "sort or group the indices" in piece.remedy


def test_a_shifted_start_is_an_offset(launched):
    done = launched("shifted", 8, 32, zeros(257), zeros(256))
    piece, = said(done.subject, "uncoalesced loads")
    assert "5.00 sectors per load request where 4.00 would do" in piece.text
    assert piece.text.endswith("neighbouring threads read neighbouring addresses, from 4 B past a multiple of 32 B on")
    assert "start each row at a multiple of 32 bytes" in piece.remedy


def test_short_rows_of_an_array_are_records(launched):
    done = launched("lengths", 8, 32, zeros(256, 3), zeros(256))
    piece, = said(done.subject, "uncoalesced loads")
    assert "addresses 12 B apart" in piece.text
    assert "each thread goes through 12 B of its own: keep one array per field, or (fields, n)" in piece.remedy


RECORD = [("x", "f4"), ("y", "f4")]


def test_packed_records_are_taken_byte_by_byte_and_aligned_ones_are_not(launched):
    packed = launched("first_fields", 8, 32, np.zeros(256, np.dtype(RECORD)), zeros(256), key="packed").subject
    piece, = said(packed, "small load requests")
    assert "32 load requests of 32.0 B, 1.00 B per lane; the compiler takes each value in pieces" in piece.text
    assert "np.dtype([...], align=True)" in piece.remedy
    aligned = launched("first_fields", 8, 32, np.zeros(256, np.dtype(RECORD, align=True)), zeros(256), key="aligned").subject
    assert said(aligned, "small load requests") == [] and len(said(aligned, "uncoalesced loads")) == 1


def test_a_block_narrower_than_a_sector_is_to_be_widened(launched):
    remedy = remedy_of(launched, "copy_2d", (16, 8), (4, 8), zeros(64, 64), zeros(64, 64))
    assert "make the block at least 32 bytes wide in x" in remedy


def test_neighbouring_elements_are_no_matter_for_advice(launched):
    subject = launched("copy", 8, 32, zeros(256), zeros(256)).subject
    assert [piece.rule for piece in advice(subject) if piece.rule.startswith(("uncoalesced", "small l", "small s"))] == []


@pytest.mark.parametrize(("requests", "asked", "sectors"), [(8, 8 * 128, 32), (8, 8 * 4, 8), (1, 512, 16)])
def test_no_request_needs_less_than_a_sector(requests, asked, sectors):
    assert needed_sectors(requests, asked) == sectors


def test_bytes_one_at_a_time_are_small_requests(launched):
    # 8 warps of 32 one-byte loads: 32 B per request, which 4 bytes per lane would do in a quarter of the requests.
    done = launched("copy", 8, 32, zeros(256, dtype=np.uint8), zeros(256, dtype=np.uint8), key="bytes")
    load, = said(done.subject, "small load requests")
    assert "8 load requests of 32.0 B, 1.00 B per lane" in load.text and load.line == done.line("out[x] = a[x]")
    assert load.gain_percent == round(100 * (8 * 3 / 4) / 16 * done.subject.share(LSU), 1)
    assert len(said(done.subject, "small store requests")) == 1


def test_wide_accesses_of_few_lanes_are_no_small_requests(made_up):
    # Of each warp 8 lanes load a float32, on a line whose other instructions run in all 32: 32 B per request, too.
    counters = {names.INSTRUCTIONS: 1000, names.THREAD_INSTRUCTIONS: 31_000, names.GLOBAL_REQUESTS_LD: 100,
                names.GLOBAL_SECTORS_LD: 100, names.GLOBAL_BYTES_REQUESTED_LD: 3200}
    for width, pieces in ((4, 0), (1, 1)):
        sample = AccessSample("tile.py", 3, "global", "load", width, 255, (0,) * 32)
        subject = made_up(counters=counters, lines={("tile.py", 3): counters}, samples=[sample])
        assert len(said(subject, "small load requests")) == pieces


# -- shared memory

def test_a_column_of_a_32_wide_tile_is_32_ways_in_conflict(launched):
    done = launched("crossed", 1, 32, zeros(32))
    pieces = said(done.subject, "bank conflicts")
    assert sorted(piece.line for piece in pieces) == [done.line("tile[x, 0] = x"), done.line("out[x] = tile")]
    store = next(piece for piece in pieces if "store" in piece.text)
    assert "32.0 wavefronts per store request, 96.9 % of them conflicts, 31 in all: " in store.text
    assert store.text.endswith(": lanes 0 and 1 write words 128 B apart, in one bank")
    assert store.gain_percent == round(100 * done.subject.gain(31 / 64, LSU), 1)


def test_a_padded_tile_has_no_conflicts(launched):
    assert said(launched("padded", 1, 32, zeros(32)).subject, "bank conflicts") == []


@pytest.mark.parametrize(("conflicts", "pieces"), [(9, 0), (10, 1)])
def test_conflicts_count_from_ten_per_cent_of_the_wavefronts(made_up, conflicts, pieces):
    counters = {names.SHARED_REQUESTS_LD: 90, names.SHARED_WAVEFRONTS_LD: 100, names.SHARED_CONFLICTS_LD: conflicts}
    subject = made_up(counters=counters, lines={("tile.py", 3): counters})
    assert len(said(subject, "bank conflicts")) == pieces


def test_lanes_a_few_words_apart_collide_though_rows_are_padded(launched):
    # Each lane takes 8 neighbouring words: lanes 0, 4, 8 ... want bank 0.
    done = launched("eight_each", 1, 32, zeros(256))
    piece, = said(done.subject, "bank conflicts")
    assert "8.00 wavefronts per store request" in piece.text
    assert "let neighbouring lanes take neighbouring words" in piece.remedy and "padding the rows does not help" in piece.remedy


# -- values that are used again

def multiply_adds(made_up, loads, fused=10**9, flops=2, **changes):
    """A launch of multiply-adds on values from shared memory, on one line."""
    counters = {names.INSTRUCTIONS: loads + fused, names.THREAD_INSTRUCTIONS: 32 * (loads + fused),
                names.instructions("fp32"): fused, names.FLOPS_FP32: flops * 32 * fused,
                names.instructions("load_shared"): loads, names.SHARED_REQUESTS_LD: loads, names.SHARED_WAVEFRONTS_LD: loads}
    return made_up(counters=counters, lines={("tile.py", 9): counters}, **changes)


def test_two_shared_loads_per_multiply_add_ask_for_register_tiling(made_up):
    subject = multiply_adds(made_up, 2 * 10**9)
    piece, = said(subject, "shared loads")
    # H100: one load of a warp per cycle, and 128 lanes of multiply-adds, which are 4 warps
    assert "2.00 shared loads per fused multiply-add, 2.00 G in all; an SM starts 1 of them and 4 multiply-adds per cycle, " \
        "so more than 0.25 leave the fp32 pipe waiting (MIO throttle)" in piece.text
    assert "8 x 8 results in registers loads 16 values for 64 multiply-adds" in piece.remedy and piece.line == 9
    # 2 G loads bind it; with 0.25 G the issue slots do, 1.25 G instructions over 4 partitions
    assert piece.gain_percent == pytest.approx(100 * (1 - 1.25 / 4 / 2), abs=0.2)


@pytest.mark.parametrize(("loads", "flops", "why"), [
    (250_000_000, 2, "one load for four multiply-adds"), (2 * 10**9, 1, "sums, whose values are used once")])
def test_shared_loads_that_registers_cannot_spare_are_left_alone(made_up, loads, flops, why):
    assert said(multiply_adds(made_up, loads, flops=flops), "shared loads") == [], why


def test_bytes_that_a_block_loads_again_and_again_belong_into_shared_memory(launched):
    # 8 warps of a 32 x 8 block read the same 32 rows of b, and each row of a is read by 32 lanes.
    done = launched("plain_matmul", (2, 8), (32, 8), zeros(64, 64), zeros(64, 64), zeros(64, 64))
    asked, distinct = done.profile.counters[names.GLOBAL_BYTES_REQUESTED_LD], done.profile.counters[names.BLOCK_SECTORS_LD]
    # per block 256 threads times 64 rounds of 8 B; 64 rows of 32 columns of b, and 8 rows of a
    assert (asked, distinct) == (16 * 256 * 64 * 8, 16 * (64 * 4 + 8 * 8))
    busy = dataclasses.replace(done.profile, terms={**done.profile.terms, LSU: done.subject.time_ns})
    piece, = said(dataclasses.replace(done.subject, profile=busy), "loaded again and again")
    assert f"load each of its bytes {asked / (32 * distinct):.1f} times: 2.10 MB asked for, 164 kB distinct" in piece.text
    assert "shared memory" in piece.remedy and piece.gain_percent is None
    assert said(launched("copy", 8, 32, zeros(256), zeros(256)).subject, "loaded again and again") == []


# -- local memory and atomics

def test_a_local_array_with_a_computed_index_lies_in_memory(launched):
    done = launched("local", 1, 32, zeros(32, dtype=np.int32), zeros(32))
    piece, = said(done.subject, "local memory")
    assert piece.line == done.line("kept[i] = a[i]")
    assert "0 loads and 4 stores of local memory" in piece.text           # the compiler packs 16 values into 4 stores
    # Global: 16 + 1 loads and 1 store; local: 4 stores and 1 load, which is below 5 % of all 23 requests.
    assert piece.gain_percent == round(100 * done.subject.gain(4 / 23, LSU), 1)


def test_spills_are_named_by_line(launched):
    done = launched("crowded", 1, 32, zeros(64), zeros(64))
    pieces = said(done.subject, "spills")
    assert done.profile.spill_bytes > 0 and pieces
    first = done.line("kept = cuda.local")
    assert all(first < piece.line < first + 10 and piece.gain_percent is None for piece in pieces)
    assert f"spill code stores and loads {done.profile.spill_bytes} B per thread, at 24 registers" in pieces[0].text


def test_spills_without_machine_code_are_told_with_their_bytes(made_up):
    piece, = said(made_up(spill_bytes=48, registers=255), "spills")
    assert "stores and loads 48 B per thread, at 255 registers" in piece.text and piece.gain_percent is None


def test_atomics_on_one_address_take_turns(launched):
    done = launched("count_at", 1, 32, zeros(32, dtype=np.int64), zeros(32, dtype=np.int32))
    piece, = said(done.subject, "atomics")
    assert "1 global atomics of 32.0 lanes, of which 32.0 want the same address" in piece.text
    # one load, one atomic and 31 turns
    assert piece.gain_percent == round(100 * 31 / 33 * done.subject.share(LSU), 1)


def test_updates_of_one_address_that_bind_the_launch_are_told_as_such(made_up):
    counters = {names.ATOMICS_GLOBAL: 10**6, names.ATOMIC_LANES: 10**6, names.ATOMIC_PASSES: 10**6, names.ATOMIC_HOTTEST: 10**6}
    subject = made_up(counters=counters, lines={("tile.py", 3): counters})
    assert subject.profile.bound_by == "atomics"
    piece, = said(subject, "one address")
    assert "most of the time is updates of one address" in piece.text and piece.gain_percent > 90
    assert said(subject, "latency-bound") == []


def test_atomics_on_addresses_of_their_own_do_not(launched):
    places = np.arange(32)
    assert said(launched("count_at", 1, 32, places, zeros(32, dtype=np.int32), key="own").subject, "atomics") == []


# -- lanes and precision

def test_a_branch_for_eight_lanes_is_divergence(launched):
    done = launched("first_lanes", 1, 32, zeros(32), 8)
    worst, *_ = said(done.subject, "divergence")
    assert worst.line == done.line("total = total * total")
    counters = done.profile.lines[worst.file, worst.line]
    # 64 multiply-adds without 24 of the lanes; what the compiler moved in front of the branch runs in all of them.
    assert 32 * counters[names.INSTRUCTIONS] - counters[names.THREAD_INSTRUCTIONS] == 64 * 24
    mean = counters[names.THREAD_INSTRUCTIONS] / counters[names.INSTRUCTIONS]
    assert 8 <= mean < 10 and f"{mean:.2f} of 32.0 lanes take part" in worst.text
    whole = 32 * done.profile.counters[names.INSTRUCTIONS]
    assert worst.gain_percent == round(100 * 64 * 24 / whole * done.subject.share(*COMPUTE), 1)


def test_a_line_whose_guard_holds_in_no_lane_has_no_lanes(made_up):
    idle = {names.INSTRUCTIONS: 9}
    subject = made_up(counters={**idle, names.THREAD_INSTRUCTIONS: 0}, lines={("k.py", 3): idle})
    piece, = said(subject, "divergence")
    assert "0.00 of 32.0 lanes take part" in piece.text


def test_a_branch_that_all_lanes_take_is_not(launched):
    assert said(launched("first_lanes", 1, 32, zeros(32), 32, key="all").subject, "divergence") == []


@pytest.mark.parametrize(("lanes", "pieces"), [(23, 1), (24, 0)])
def test_divergence_is_below_24_lanes(made_up, lanes, pieces):
    counters = {names.INSTRUCTIONS: 1000, names.THREAD_INSTRUCTIONS: 1000 * lanes}
    assert len(said(made_up(counters=counters, lines={("tile.py", 3): counters}), "divergence")) == pieces


def test_a_line_with_few_lanes_is_told_where_the_launch_as_a_whole_has_enough(made_up):
    # 25 of 32 lanes on average: one line is full, on the other 4 lanes of a quarter of the instructions take part.
    full = {names.INSTRUCTIONS: 750, names.THREAD_INSTRUCTIONS: 750 * 32}
    part = {names.INSTRUCTIONS: 250, names.THREAD_INSTRUCTIONS: 250 * 4}
    both = {name: full[name] + part[name] for name in full}
    piece, = said(made_up(counters=both, lines={("tree.py", 3): full, ("tree.py", 4): part}), "divergence")
    assert piece.line == 4 and "4.00 of 32.0 lanes take part" in piece.text

    rare = {names.INSTRUCTIONS: 50, names.THREAD_INSTRUCTIONS: 50 * 4}    # 44 of 1000 lanes are lost: not worth a line
    most = {names.INSTRUCTIONS: 950, names.THREAD_INSTRUCTIONS: 950 * 32}
    both = {name: most[name] + rare[name] for name in most}
    assert said(made_up(counters=both, lines={("tree.py", 3): most, ("tree.py", 4): rare}), "divergence") == []


def test_warps_of_a_ragged_block_are_no_divergence(made_up):
    # Blocks of 48 threads: on average 24 lanes of a warp exist, and all of them work.
    counters = {names.INSTRUCTIONS: 1000, names.THREAD_INSTRUCTIONS: 24_000}
    subject = made_up(threads=48, counters=counters, lines={("tile.py", 3): counters})
    assert said(subject, "divergence") == []
    piece, = said(subject, "partial warp")
    assert piece.gain_percent == 25 and "48 threads per block are 2 warps, and the last has 16 of 32 lanes" in piece.text


def test_a_float64_literal_in_a_float32_sum_is_found(launched):
    done = launched("wide_sum", 1, 32, zeros(64), zeros(32))
    piece, = said(done.subject, "float64")
    assert piece.line == done.line("total += a[i]") and "64 float64 instructions and 64 conversions" in piece.text
    assert "an SM has 64 lanes for float64 beside 128 for float32" in piece.text
    assert piece.gain_percent == 0                      # one warp's launch is bound by its latency, with float32 too


def test_the_gain_of_float32_is_that_of_the_model_without_float64_and_conversions(made_up):
    """A million float64 instructions and two million conversions that bind the launch: only float32 ones stay."""
    counters = {names.INSTRUCTIONS: 3_000_000, names.instructions("fp64"): 1_000_000, names.instructions("convert"): 2_000_000}
    single = {names.INSTRUCTIONS: 1_000_000, names.instructions("fp32"): 1_000_000}
    subject = made_up(counters=counters, lines={("tile.py", 3): counters})
    piece, = said(subject, "float64")
    after = made_up(counters=single, lines={("tile.py", 3): single}).time_ns
    assert piece.gain_percent == round(100 * (1 - after / subject.time_ns), 1) > 50


def test_float64_that_no_array_asks_for_is_found_without_a_conversion_on_its_line(made_up):
    counters = {names.instructions("fp64"): 100}
    accesses = [AccessSample("tile.py", 4, "global", "store", size, 1, (0,) * 32) for size in (4, 8)]
    lines = {("tile.py", 3): counters}
    piece, = said(made_up(counters=counters, lines=lines, samples=accesses[:1]), "float64")
    assert piece.line == 3 and "no access of the kernel is of 8 bytes" in piece.text
    assert said(made_up(counters=counters, lines=lines, samples=accesses), "float64") == []
    assert said(made_up(counters=counters, lines=lines), "float64") == []       # nothing is known of the data


@pytest.mark.parametrize(("kernel", "dtype"), [("narrow_sum", np.float32), ("double_sum", np.float64)])
def test_sums_in_the_precision_of_the_data_are_left_alone(launched, kernel, dtype):
    assert said(launched(kernel, 1, 32, zeros(64, dtype=dtype), zeros(32, dtype=dtype)).subject, "float64") == []


# -- the shape of the launch

def test_fewer_blocks_than_sms_are_a_small_grid(made_up):
    piece, = said(made_up(blocks=33), "small grid")
    assert "33 blocks leave 99 of 132 SMs without work" in piece.text and piece.gain_percent == 75


def test_less_than_a_wave_is_a_small_grid_too(made_up):
    # 8 blocks of 256 threads fit on an SM; 594 are 4.5 for each, so some SMs run 5.
    piece, = said(made_up(blocks=594), "small grid")
    assert "594 blocks are 0.562 of a wave: the device holds 1056 at once" in piece.text and piece.gain_percent == 10
    assert said(made_up(blocks=528), "small grid") == said(made_up(blocks=1056), "small grid") == []


@pytest.mark.parametrize(("blocks", "gain"), [(133, 49.6), (264, None), (396, None), (132 * 9 + 1, None)])
def test_a_last_block_on_one_sm_makes_the_others_wait(made_up, blocks, gain):
    # One block of 200 KiB per SM. 133 blocks: 2 rounds for 133/132 = 1.0076 blocks per SM, so 1 - 1.0076 / 2.
    found = [piece.gain_percent for piece in said(made_up(blocks=blocks, shared=200 * 1024), "tail effect")]
    assert found == ([] if gain is None else [gain])


IDLE = {names.INSTRUCTIONS: 10**5, names.THREAD_INSTRUCTIONS: 32 * 10**5}
"""A few cycles of work: the launch itself takes most of the time."""


def test_low_occupancy_names_what_limits_it(made_up):
    # 255 registers, 256 threads: 1 block of 8 warps, of 64.
    piece, = said(made_up(registers=255, counters=IDLE), "low occupancy")
    assert "12.5 % theoretical occupancy, 8 of 64 warps: limited by 255 registers per thread" in piece.text
    assert piece.gain_percent == 87.5
    assert said(made_up(registers=32, counters=IDLE), "low occupancy") == []


def test_low_occupancy_is_no_matter_without_more_blocks(made_up):
    assert said(made_up(registers=255, counters=IDLE, blocks=132), "low occupancy") == []
    assert len(said(made_up(registers=255, counters=IDLE, blocks=133), "low occupancy")) == 1


def test_low_occupancy_is_no_matter_while_a_pipe_is_busy(made_up):
    subject = made_up(registers=255)
    assert subject.share(*COMPUTE) > 0.99 and said(subject, "low occupancy") == []


# -- what bounds the launch

def test_a_tiny_launch_is_bound_by_the_launch_itself_which_is_said_first(strided):
    first, *others = advice(strided.subject)
    assert first.rule == "launch-bound" and "to launch a kernel takes 2.43 µs of these" in first.text
    assert first.gain_percent == round(100 * 2430 / strided.subject.time_ns, 1)
    assert "latency-bound" not in {piece.rule for piece in others}


def waiting(made_up, blocks, rounds):
    """A launch whose warps do little but wait for their loads, one after another."""
    loads = 8 * blocks * rounds
    counters = {names.INSTRUCTIONS: loads, names.THREAD_INSTRUCTIONS: 32 * loads, names.GLOBAL_REQUESTS_LD: loads,
                names.GLOBAL_SECTORS_LD: 4 * loads, names.GLOBAL_BYTES_REQUESTED_LD: 128 * loads,
                names.BLOCK_SECTORS_LD: 4 * loads}
    return made_up(blocks=blocks, counters=counters)


def test_latency_is_named_where_the_grid_is_large_enough(made_up):
    subject = waiting(made_up, 132, 4000)
    assert subject.profile.bound_by == "latency" and subject.share("launch") < 0.4
    assert advice(subject)[0].rule == "latency-bound"


def test_a_grid_with_fewer_blocks_than_sms_is_named_before_latency(made_up):
    subject = waiting(made_up, 8, 4000)
    assert subject.profile.bound_by == "latency" and subject.share("launch") < 0.4
    assert [piece.rule for piece in advice(subject)[:2]] == ["small grid", "latency-bound"]


def test_a_small_grid_that_keeps_its_sms_busy_is_ranked_by_its_gain(launched):
    # Half of the SMs have a block, whose threads each walk a row of their own: 32 sectors per load.
    subject = launched("row_sums", 66, 256, zeros(66 * 256, 1024), zeros(66 * 256), sample=16).subject
    assert subject.share(*MEMORY) > 0.6
    assert [piece.rule for piece in advice(subject)[:2]] == ["uncoalesced loads", "small grid"]


def test_a_busy_pipe_is_named_with_the_line_that_keeps_it_busy(made_up):
    fp32 = names.instructions("fp32")
    lines = {("tile.py", 3): {fp32: 9 * 10**8}, ("tile.py", 4): {fp32: 10**8}}
    counters = {names.INSTRUCTIONS: 10**9, names.THREAD_INSTRUCTIONS: 32 * 10**9, fp32: 10**9}
    subject = made_up(counters=counters, lines=lines, device="a100")      # 64 lanes: half the issue rate
    piece, = said(subject, "bottleneck")
    assert "the fp32 pipe is close to its limit; tile.py:3 has 90.0 % of the fp32 time" in piece.text
    assert (piece.file, piece.line, piece.gain_percent) == ("tile.py", 3, None)


def test_barriers_that_cost_a_tenth_of_the_time_are_told(made_up):
    counters = {names.BARRIERS: 1056 * 8 * 1000}
    subject = made_up(counters=counters, lines={("tile.py", 5): counters})
    assert subject.share("barriers") > 0.5
    piece, = said(subject, "barrier stalls")
    assert piece.line == 5 and "8.45 M arrivals of warps" in piece.text
    assert piece.gain_percent == round(100 * subject.share("barriers"), 1)


def test_advice_comes_with_the_largest_gain_first_and_the_unknown_last(made_up):
    gains = [piece.gain_percent for piece in advice(made_up(blocks=33, registers=255, threads=48, spill_bytes=8))]
    assert None in gains and len(gains) > 3
    known = [gain for gain in gains if gain is not None]
    assert gains == sorted(known, reverse=True) + [None] * (len(gains) - len(known))


def possible(random):
    """Random counters of a line, each within what the others allow."""
    line = {name: int(10 ** random.uniform(0, 6)) for name in names.COUNTERS}
    line[names.THREAD_INSTRUCTIONS] = int(line[names.INSTRUCTIONS] * random.uniform(1, 32))
    for op in ("LD", "ST"):
        requests, wavefronts = (getattr(names, f"{what}_{op}") for what in ("SHARED_REQUESTS", "SHARED_WAVEFRONTS"))
        line[wavefronts] = int(line[requests] * random.uniform(1, 32))
        line[getattr(names, f"SHARED_CONFLICTS_{op}")] = line[wavefronts] - line[requests]
        requests = getattr(names, f"GLOBAL_REQUESTS_{op}")
        line[getattr(names, f"GLOBAL_SECTORS_{op}")] = int(line[requests] * random.uniform(1, 32))
    atomics = line[names.ATOMICS_GLOBAL] + line[names.ATOMICS_SHARED]
    line[names.ATOMIC_PASSES] = int(atomics * random.uniform(1, 32))
    return line


def test_no_rule_breaks_or_promises_more_than_all_the_time(made_up, seed):
    random = np.random.default_rng(seed)
    rules = set()
    for _ in range(200):
        lines = {("k.py", line): possible(random) for line in range(5)}
        counters = {name: sum(line[name] for line in lines.values()) for name in names.COUNTERS}
        pieces = advice(made_up(
            blocks=int(random.integers(1, 5000)), threads=int(random.integers(1, 257)), registers=int(random.integers(16, 256)),
            shared=int(random.integers(0, 100_000)), counters=counters, lines=lines))
        rules |= {piece.rule for piece in pieces}
        assert all(piece.gain_percent is None or 0 <= piece.gain_percent <= 100 for piece in pieces)
    assert len(rules) > 8
