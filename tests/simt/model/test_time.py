"""Each term of the model by hand, on launches that exercise one thing at a time."""
from __future__ import annotations

import dataclasses

import pytest

from simt.model import MODEL_ERROR_PERCENT, Device, load, modelled, retime
from simt.model.time import phase_rate
from simt.observe import names
from simt.observe.profile import LaunchProfile

H100 = load("h100")


def launch(counters: dict[str, int], *, blocks: int = 132, threads: int = 256, registers: int = 32,
           shared_bytes: int = 0) -> LaunchProfile:
    return LaunchProfile(
        kernel="kernel", grid=(blocks, 1, 1), block=(threads, 1, 1), threads_per_block=threads,
        dynamic_shared_bytes=shared_bytes, static_shared_bytes=0, registers=registers, local_bytes=0, spill_bytes=0,
        counters=counters, sampled=False, blocks_counted=blocks, blocks_total=blocks, device="h100")


def term_cycles(name: str, counters: dict[str, int], device: Device = H100, **shape: int) -> float:
    """A term in cycles of the busiest SM, at the pipes' full rate."""
    return modelled(launch(counters, **shape), device).terms_ns[name] * device.clock_ghz * 0.85


def instructions(**kinds: int) -> dict[str, int]:
    return {names.instructions(kind): count for kind, count in kinds.items()}


@pytest.mark.parametrize(("name", "counters", "cycles"), [
    # 132 SMs share 132 000 warp instructions: 1000 for each.
    ("issue", {names.INSTRUCTIONS: 132_000}, 250),
    ("fp32", instructions(fp32=132_000), 250),
    ("fp64", instructions(fp64=132_000), 500),
    ("fp32", instructions(fp16=132_000), 250),
    ("integer", instructions(int=132_000, logic=132_000), 1000),
    ("integer", instructions(imul=132_000), 500),
    ("sfu", instructions(sfu=132_000, convert=132_000), 4000),
    ("load/store unit", {names.SHARED_REQUESTS_LD: 132_000, names.SHARED_WAVEFRONTS_LD: 4 * 132_000}, 4000),
    ("load/store unit", {names.SHARED_REQUESTS_ST: 132_000, names.SHARED_WAVEFRONTS_ST: 132_000}, 1000),
    ("load/store unit", {names.GLOBAL_REQUESTS_LD: 132_000, names.GLOBAL_WAVEFRONTS_LD: 132_000,
                         names.GLOBAL_LINES_LD: 32 * 132_000}, 920 + 0.233 * 32_000),
    ("load/store unit", {names.LOCAL_REQUESTS_LD: 132_000, names.ATOMICS_GLOBAL: 132_000}, 2000),
    ("load/store unit", {names.ATOMICS_SHARED: 132_000, names.ATOMIC_PASSES: 32 * 132_000}, 32_000),
    ("load/store unit", instructions(warp=132_000), 1000),
])
def test_a_pipe_takes_its_instructions_over_its_lanes(name, counters, cycles):
    assert term_cycles(name, counters) == pytest.approx(cycles)


def test_a_memory_instruction_takes_two_cycles_where_the_unit_is_half_as_wide():
    counters = {names.SHARED_REQUESTS_LD: 84_000, names.SHARED_WAVEFRONTS_LD: 84_000}
    assert term_cycles("load/store unit", counters, load("a6000"), blocks=84) == pytest.approx(2000)


def test_integer_multiplies_share_the_fp32_pipe_before_cc_8_6():
    counters = instructions(fp32=108_000, imul=108_000)
    assert term_cycles("fp32", counters, load("a100"), blocks=108) == pytest.approx(1000)
    assert term_cycles("fp32", instructions(fp32=84_000, imul=84_000), load("a6000"), blocks=84) == \
        pytest.approx(1.45 * 250)


def test_the_busiest_sm_sets_the_pace():
    # 133 blocks on 132 SMs: one SM gets two of them.
    counters = {names.INSTRUCTIONS: 133_000}
    assert term_cycles("issue", counters, blocks=133) == pytest.approx(500)


def test_a_single_warp_uses_one_sub_partition():
    # 1000 instructions of one warp on one SM issue one per cycle, not four.
    assert term_cycles("issue", {names.INSTRUCTIONS: 1000}, blocks=1, threads=32) == pytest.approx(1000)


def test_the_most_wanted_address_takes_its_updates_one_after_the_other():
    timing = modelled(launch({names.ATOMIC_HOTTEST: 17_000_000}), H100)
    assert timing.terms_ns["atomics"] == pytest.approx(10_000_000)
    assert timing.bound_by == "atomics"


def test_bandwidths_are_bytes_over_rates():
    terms = modelled(launch({
        names.FOOTPRINT_BYTES_LD: 10**9, names.FOOTPRINT_BYTES_ST: 10**9,
        names.BLOCK_SECTORS_LD: 10**9 // 32, names.BLOCK_SECTORS_ST: 10**9 // 32,
    }), H100).terms_ns
    assert terms["DRAM bandwidth"] == pytest.approx(2e9 / (3350 * 0.84))
    assert terms["L2 bandwidth"] == pytest.approx(2e9 / 9100)


def test_a_term_without_a_device_fact_is_left_out_and_named():
    timing = modelled(launch({names.BLOCK_SECTORS_LD: 10**9}), load("t4"))
    assert "L2 bandwidth" not in timing.terms_ns
    assert timing.left_out == ("L2 bandwidth", "DRAM latency")
    assert modelled(launch({}), H100).left_out == ()


def test_latency_is_a_chain_of_loads_for_each_wave_of_blocks():
    # 8 warps a block, 8 loads a warp, 4 in flight, all from L2: 2 * 280 cycles a wave.
    # 8 blocks fit on an SM, so 16 of them on each SM are two waves.
    blocks = 16 * 132
    requests = 8 * 8 * blocks
    counters = {names.GLOBAL_REQUESTS_LD: requests, names.GLOBAL_SECTORS_LD: 4 * requests,
                names.BLOCK_SECTORS_LD: 4 * requests}
    assert modelled(launch(counters, blocks=blocks), H100).terms_ns["latency"] * 1.98 == pytest.approx(2 * 2 * 280)


def test_latency_mixes_the_levels_that_serve_the_sectors():
    # One load a warp: of its 4 sectors 2 come from L1, 1 from L2, 1 from DRAM under load.
    warps = 8 * 132
    counters = {names.GLOBAL_REQUESTS_LD: warps, names.GLOBAL_SECTORS_LD: 4 * warps, names.BLOCK_SECTORS_LD: 2 * warps,
                names.FOOTPRINT_BYTES_LD: 32 * warps}
    expected = (2 * 32 + 280 + 1.85 * 670) / 4
    assert modelled(launch(counters), H100).terms_ns["latency"] * 1.98 == pytest.approx(expected)


def test_one_resident_block_adds_its_whole_stall_to_its_work():
    assert phase_rate(1, work=100, stall=50) == pytest.approx(1 / 150)


def test_resident_blocks_hide_each_others_stalls_up_to_the_pipe():
    rates = [phase_rate(blocks, work=100, stall=300) for blocks in range(1, 33)]
    assert rates == sorted(rates)
    # Two blocks: the second finds the first at work with probability 1/4 (exact mean-value analysis).
    assert rates[1] == pytest.approx(2 / (100 * 1.25 + 300))
    assert rates[-1] == pytest.approx(1 / 100)


def test_barriers_without_work_cost_their_latency():
    # 132 blocks of 8 warps, 10 barriers each: 10 * (12 + 2 * 8) cycles on top of nothing.
    terms = modelled(launch({names.BARRIERS: 132 * 8 * 10}), H100).terms_ns
    assert terms["barriers"] * 1.98 == pytest.approx(280)


def test_more_resident_blocks_hide_more_of_the_barriers():
    counters = {names.BARRIERS: 1320 * 8 * 10, names.INSTRUCTIONS: 1320 * 8 * 1000}
    crowded = modelled(launch(counters, blocks=1320), H100)
    alone = modelled(launch(counters, blocks=1320, shared_bytes=200 * 1024), H100)
    assert alone.terms_ns["barriers"] > 2 * crowded.terms_ns["barriers"] > 0


def test_time_is_launch_plus_the_slowest_and_names_it():
    dram = modelled(launch({names.FOOTPRINT_BYTES_LD: 10**9}), H100)
    assert (dram.bound_by, dram.time_ns) == ("DRAM bandwidth", pytest.approx(2430 + 1e9 / (3350 * 0.84)))
    stalled = modelled(launch({names.BARRIERS: 132 * 8 * 10**5, names.INSTRUCTIONS: 132 * 8 * 10**6}), H100)
    assert stalled.bound_by == "barriers"
    assert stalled.time_ns == pytest.approx(2430 + stalled.terms_ns["issue"] + stalled.terms_ns["barriers"])
    assert modelled(launch({}), H100).bound_by == "launch"


def test_time_never_falls_when_a_counter_grows():
    base = {names.instructions(kind): 10**6 for kind in names.KINDS} | {
        names.INSTRUCTIONS: 2 * 10**7, names.GLOBAL_REQUESTS_LD: 10**6, names.GLOBAL_SECTORS_LD: 4 * 10**6,
        names.BLOCK_SECTORS_LD: 10**6, names.SHARED_REQUESTS_LD: 10**6, names.SHARED_WAVEFRONTS_LD: 10**6}
    time_ns = modelled(launch(base, blocks=1000), H100).time_ns
    for name in set(base) - {names.GLOBAL_SECTORS_LD}:  # More sectors at the same traffic mean more hits.
        assert modelled(launch(base | {name: 50 * base[name]}, blocks=1000), H100).time_ns >= time_ns, name


def test_a_block_that_does_not_fit_is_an_error_that_says_why():
    with pytest.raises(ValueError, match="kernel does not fit on NVIDIA T4: .* 98304 bytes .* shared_mem limit"):
        modelled(launch({}, shared_bytes=96 * 1024), load("t4"))


def test_retiming_changes_the_time_and_nothing_else():
    profile = launch({names.FOOTPRINT_BYTES_LD: 10**9})
    before = dataclasses.asdict(profile)
    other = retime(profile, load("a100"))
    assert dataclasses.asdict(profile) == before
    assert (other.device, other.bound_by, other.time_ns) == (
        "a100", "DRAM bandwidth", pytest.approx(2560 + 1e9 / (2039 * 0.85)))
    timed = {"device", "time_ns", "terms", "bound_by"}
    assert {key: value for key, value in dataclasses.asdict(other).items() if key not in timed} == \
        {key: value for key, value in before.items() if key not in timed}


def test_the_error_of_the_model_is_not_claimed():
    assert MODEL_ERROR_PERCENT is None
