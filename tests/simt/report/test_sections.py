"""Sections hold the numbers that can be worked out by hand, each with its unit, tag and metric name."""
from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from simt.model import Occupancy
from simt.observe import names
from simt.report import whatif
from simt.report.sections import limiters, sections


def rows(subject):
    """All rows by metric, those of words by label."""
    return {row.metric or row.label: row for section in sections(subject) for row in section.rows}


@pytest.fixture
def strided(launched):
    return launched("column", 8, 32, np.zeros((256, 1024), np.float32), np.zeros(256, np.float32)).subject


def test_the_sections_are_those_of_nsight_compute(strided):
    assert [section.title for section in sections(strided)] == [
        "Speed of light", "Compute workload", "Memory workload", "Caches and DRAM", "Launch", "Occupancy"]


@pytest.mark.parametrize(("metric", "value"), [
    (names.GLOBAL_REQUESTS_LD, 8),
    (names.GLOBAL_SECTORS_LD, 256),
    ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", 32),
    ("simt__global_bytes_per_sector_op_ld.ratio", 4),
    (names.GLOBAL_SECTORS_ST, 32),
    ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", 4),
    ("simt__global_bytes_per_sector_op_st.ratio", 32),
    ("ptx__thread_inst_executed_pred_on_per_inst_executed.ratio", 32),
    ("launch__grid_size", 8),
    ("launch__block_size", 32),
    ("launch__thread_count", 256),
    ("launch__occupancy_limit_warps", 64),
    ("launch__occupancy_limit_blocks", 32),
    ("sm__maximum_warps_per_active_cycle_pct", 50),      # 32 blocks of one warp, of 64 warps
    ("launch__waves_per_multiprocessor", 8 / (132 * 32)),
])
def test_numbers_of_a_strided_copy_by_eight_warps(strided, metric, value):
    row = rows(strided)[metric]
    assert row.value == value and row.tag == "exact"


def test_shared_memory_has_wavefronts_and_conflicts(launched):
    found = rows(launched("crossed", 1, 32, np.zeros(32, np.float32)).subject)
    assert found[names.SHARED_WAVEFRONTS_LD].value == found[names.SHARED_WAVEFRONTS_ST].value == 32
    assert found[names.SHARED_CONFLICTS_LD].value == 31
    assert found["simt__shared_conflicts_op_ld.pct"].value == 100 * 31 / 32
    assert found[names.BARRIERS].value == 1


def test_what_did_not_happen_has_no_row(strided):
    found = rows(strided)
    assert not {names.SHARED_REQUESTS_LD, names.LOCAL_REQUESTS_LD, names.ATOMICS_GLOBAL, names.FLOPS_FP64} & set(found)


def test_a_counter_that_was_not_taken_has_no_row(strided):
    fewer = dict(strided.profile.counters)
    del fewer[names.GLOBAL_SECTORS_LD], fewer[names.DIVERGENT_BRANCHES]
    found = rows(dataclasses.replace(strided, profile=dataclasses.replace(strided.profile, counters=fewer)))
    assert not {names.GLOBAL_SECTORS_LD, names.DIVERGENT_BRANCHES,
                "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"} & set(found)
    assert names.GLOBAL_REQUESTS_LD in found


def test_a_number_has_the_least_certain_tag_of_what_it_is_made_of(strided):
    tags = {**strided.profile.tags, names.GLOBAL_SECTORS_LD: "simulated"}
    found = rows(dataclasses.replace(strided, profile=dataclasses.replace(strided.profile, tags=tags)))
    assert found["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"].tag == "simulated"
    assert found["simt__time_ns"].tag == "modelled"


def test_the_speed_of_light_is_in_parts_of_the_modelled_time(made_up):
    found = rows(made_up(device="a100"))
    # Nothing but fp32: 10**9 / 4 issue slots, and 10**9 * 32 / 64 of the pipe, twice that.
    assert found["bound by"].value == "fp32"
    assert found["simt__compute_throughput.pct"].value == found["simt__time_fp32.pct"].value > 99
    assert found["simt__time_issue.pct"].value == pytest.approx(found["simt__time_fp32.pct"].value / 2)
    assert found["simt__memory_throughput.pct"].value == 0


def test_the_instruction_mix_adds_up(strided):
    mix, = next(section.tables for section in sections(strided) if section.title == "Compute workload")
    assert sum(int(row[1]) for row in mix.rows) == strided.profile.counters[names.INSTRUCTIONS]
    assert ("load global", "8") in {row[:2] for row in mix.rows}


# -- what if (occupancy itself: tests/simt/model/test_occupancy.py)

def test_what_if_the_block_were_larger(made_up):
    # H100, 32 registers: 32 blocks of one warp are half of 64; 24 warps fit twice and leave 16; 33 threads take two warps.
    found = {row.first: row for row in whatif.block_sizes(made_up(threads=33))}
    assert (found[32].found.warps_per_sm, found[768].found.warps_per_sm, found[1024].found.warps_per_sm) == (32, 48, 64)
    assert [size for size, row in found.items() if row.now] == [33]


def test_what_if_there_were_more_registers_comes_in_ranges(made_up):
    # 8 warps: 65536 / (8 * 32 * 32) = 8 blocks up to 32 registers; 40 (in steps of 8) give 6; 255 one.
    found = whatif.registers(made_up(registers=33))
    assert [(row.first, row.last, row.found.blocks_per_sm) for row in found[:2]] == [(1, 32, 8), (33, 40, 6)]
    assert (found[-1].first, found[-1].last, found[-1].found.blocks_per_sm) == (129, 255, 1)
    assert [row.now for row in found] == [False, True, *[False] * (len(found) - 2)]


def test_what_if_there_were_more_shared_memory_comes_in_ranges(made_up):
    # 228 KiB of an SM for 8 blocks are 28.5 KiB, less 1 KiB of the driver's: 28160 B.
    found = whatif.shared_memory(made_up())
    assert (found[0].first, found[0].last, found[0].found.blocks_per_sm, found[0].now) == (0, 28160, 8, True)
    assert found[-1].last == 232448 and found[-1].found.blocks_per_sm == 1


@pytest.mark.parametrize("shared", [0, 1000, 100_000, 200_000])
def test_ranges_are_few_and_hold_the_launch(made_up, shared):
    found = whatif.shared_memory(made_up(threads=32, shared=shared))
    assert len(found) <= whatif.ROWS and sum(row.now for row in found) == 1


def test_limits_that_are_equally_tight_are_all_named():
    assert limiters(Occupancy(8, 64, 100.0, "registers", {"registers": 8, "shared_mem": None, "warps": 8, "blocks": 32})) \
        == "registers, warps"
