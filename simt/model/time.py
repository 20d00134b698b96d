"""Device time of one launch from its counters.

Per-SM pipes are throughput bounds in cycles: warp instructions of a kind times 32 over the lanes of that kind.
The launch takes ``launch + max(busiest pipe + barriers, L2, DRAM, latency)``. What the model simplifies:

- Counters are totals, so the load/store unit takes, for each kind of access, the largest of three sums (issue slots,
  data wavefronts, tag lookups) instead of the sum of each request's largest: a lower bound.
- Traffic below L1 is what each block touches, once (a perfect L1 that blocks do not share); DRAM traffic is what the
  grid touches, once. Both are lower bounds.
- The most wanted global address takes its updates one after the other; other contention of atomics is not modelled, but for
  the turns that the lanes of one request take.
- PTX instructions stand for machine instructions one to one. In the hot loops of the nine matmul kernels, compiled
  for sm_75, 80, 86 and 90, floating-point, memory and barrier instructions of PTX and SASS agree exactly. All
  instructions together are 0.95 to 1.03 machine instructions for each PTX one in six of the seven tiled kernels, 1.15
  in the first, and 1.55 to 1.66 in the two that index global memory in the loop: 64-bit arithmetic takes two and more.
  Integer add and logic alone are 0.1 to 1.24: where they are few, their term is too high. No factor is applied.
"""
from __future__ import annotations

import dataclasses
import math

from simt.model import constants
from simt.model.device import WARP_SIZE, Device
from simt.model.occupancy import occupancy
from simt.observe import names
from simt.observe.profile import LaunchProfile

MODEL_VERSION = constants.MODEL_VERSION
MODEL_ERROR_PERCENT = constants.MODEL_ERROR_PERCENT

BESIDE = ("L2 bandwidth", "DRAM bandwidth", "latency", "atomics")
"""Terms that run beside the pipes of the SMs."""


@dataclasses.dataclass(frozen=True, slots=True)
class Timing:
    """Modelled time of one launch.

    terms_ns: "issue", "fp32", "integer", "sfu", "fp64", "load/store unit", "L2 bandwidth", "DRAM bandwidth",
              "latency", "atomics" (turns of the most wanted address), "barriers" (stalls on top of the busiest pipe), "launch"
    bound_by: the largest term of what sets the time
    left_out: what the device's facts do not let the model say: "L2 bandwidth", "DRAM latency"
    """

    time_ns: float
    bound_by: str
    terms_ns: dict[str, float]
    left_out: tuple[str, ...]


def modelled(profile: LaunchProfile, device: Device) -> Timing:
    """Time of the launch on ``device``. Raises ValueError where its blocks do not fit on an SM."""
    launch = _Launch(profile, device)
    on_sm = {name: cycles / device.clock_ghz for name, cycles in launch.sm_cycles().items()}
    pipe_ns = max(on_sm.values())
    on_sm["barriers"] = launch.barrier_cycles() / device.clock_ghz
    beside = _bandwidth_ns(profile.counters, device)
    beside["latency"] = launch.latency_cycles() / device.clock_ghz
    beside["atomics"] = profile.counters.get(names.ATOMIC_HOTTEST, 0) / constants.ATOMIC_UPDATES_PER_NS
    sm_ns, beside_ns = pipe_ns + on_sm["barriers"], max(beside.values())
    slowest = on_sm if sm_ns >= beside_ns else beside
    candidates = {**slowest, "launch": device.launch_ns}
    terms = {**on_sm, **beside, "launch": device.launch_ns}
    return Timing(
        time_ns=whole_ns(terms),
        bound_by=max(candidates, key=lambda name: candidates[name]),
        terms_ns=terms,
        left_out=_left_out(device),
    )


def whole_ns(terms: dict[str, float]) -> float:
    """The time of a launch from its terms."""
    beside = max(terms.get(name, 0.0) for name in BESIDE)
    pipes = max((ns for name, ns in terms.items() if name not in (*BESIDE, "barriers", "launch")), default=0.0)
    return terms.get("launch", 0.0) + max(pipes + terms.get("barriers", 0.0), beside)


def retime(profile: LaunchProfile, device: Device) -> LaunchProfile:
    """The same counters with another device's time. Registers and PTX stay those of the profile."""
    timing = modelled(profile, device)
    return dataclasses.replace(
        profile, device=device.name, time_ns=timing.time_ns, terms=dict(timing.terms_ns), bound_by=timing.bound_by)


class _Launch:
    """A launch on the SM that gets the most blocks."""

    def __init__(self, profile: LaunchProfile, device: Device) -> None:
        resident = occupancy(device, profile.threads_per_block, profile.registers, profile.shared_bytes)
        if not resident.blocks_per_sm:
            raise ValueError(
                f"{profile.kernel} does not fit on {device.title}: a block of {profile.threads_per_block} threads, "
                f"{profile.registers} registers each, {profile.shared_bytes} bytes of shared memory exceeds the "
                f"{resident.limiter} limit")
        self.counters = profile.counters
        self.device = device
        self.grid_blocks = profile.blocks_total
        self.warps_per_block = profile.warps_per_block
        self.sm_blocks = math.ceil(profile.blocks_total / device.sm_count)
        self.resident_blocks = min(resident.blocks_per_sm, self.sm_blocks)

    def count(self, name: str) -> float:
        return self.counters.get(name, 0)

    def instructions(self, *kinds: str) -> float:
        return sum(self.count(names.instructions(kind)) for kind in kinds)

    def sm_cycles(self) -> dict[str, float]:
        """Cycles that the busiest SM needs on each pipe."""
        share = self.sm_blocks / self.grid_blocks / constants.PIPE_EFFICIENCY
        # A warp uses the pipes of its own sub-partition only.
        partitions = self.device.sub_partitions
        used = min(partitions, self.resident_blocks * self.warps_per_block)
        cycles = {name: value * share * partitions / used for name, value in self._partition_cycles().items()}
        cycles["load/store unit"] = self._lsu_cycles() * share
        return cycles

    def _partition_cycles(self) -> dict[str, float]:
        device = self.device
        multiply = WARP_SIZE * self.instructions("imul") / device.imul_lanes
        add_and_logic = WARP_SIZE * (
            self.instructions("int") / device.int_lanes + self.instructions("logic") / device.logic_lanes)
        fp32 = WARP_SIZE * self.instructions("fp32") * device.register_port_factor / device.fp32_lanes
        fp32 += 2 * WARP_SIZE * self.instructions("fp16") / device.fp16_results
        if device.compute_capability < (8, 6):
            fp32 += multiply  # One pipe serves both.
        return {
            "issue": self.count(names.INSTRUCTIONS) / device.sub_partitions,
            "fp32": fp32,
            "integer": max(multiply, add_and_logic),
            "sfu": WARP_SIZE * (
                self.instructions("sfu") / device.sfu_lanes + self.instructions("convert") / device.convert_lanes),
            "fp64": WARP_SIZE * self.instructions("fp64") / device.fp64_lanes,
        }

    def _lsu_cycles(self) -> float:
        return (
            self._global_cycles(names.GLOBAL_REQUESTS_LD, names.GLOBAL_WAVEFRONTS_LD, names.GLOBAL_LINES_LD)
            + self._global_cycles(names.GLOBAL_REQUESTS_ST, names.GLOBAL_WAVEFRONTS_ST, names.GLOBAL_LINES_ST)
            + self._request_cycles(names.SHARED_REQUESTS_LD, names.SHARED_WAVEFRONTS_LD)
            + self._request_cycles(names.SHARED_REQUESTS_ST, names.SHARED_WAVEFRONTS_ST)
            + self.device.lsu_cycles * sum(self.count(name) for name in (
                names.LOCAL_REQUESTS_LD, names.LOCAL_REQUESTS_ST))
            + self._atomic_cycles()
            + WARP_SIZE * self.instructions("warp") / self.device.shuffle_lanes
        )

    def _atomic_cycles(self) -> float:
        requests = self.count(names.ATOMICS_GLOBAL) + self.count(names.ATOMICS_SHARED)
        return self.device.lsu_cycles * max(requests, self.count(names.ATOMIC_PASSES))

    def _request_cycles(self, requests: str, wavefronts: str) -> float:
        return max(self.device.lsu_cycles * self.count(requests), self.count(wavefronts))

    def _global_cycles(self, requests: str, wavefronts: str, lines: str) -> float:
        tags = constants.TAG_CYCLES * self.count(requests) + constants.TAG_CYCLES_PER_LINE * self.count(lines)
        return max(self._request_cycles(requests, wavefronts), tags)

    def latency_cycles(self) -> float:
        """Each wave of resident blocks waits once for the chain of a warp's global loads."""
        in_flight = min(max(self._loads_per_warp(), 1), constants.MAX_LOADS_IN_FLIGHT)
        waves = math.ceil(self.sm_blocks / self.resident_blocks)
        return waves * self._loads_per_warp() * self._load_latency() / in_flight

    def _loads_per_warp(self) -> float:
        return self.count(names.GLOBAL_REQUESTS_LD) / (self.grid_blocks * self.warps_per_block)

    def _load_latency(self) -> float:
        """Mean latency of a global load, from the sectors that L1, L2 and DRAM serve at best."""
        sectors = self.count(names.GLOBAL_SECTORS_LD)
        if not sectors:
            return 0.0
        device = self.device
        below_l1 = min(self.count(names.BLOCK_SECTORS_LD), sectors)
        from_dram = min(self.count(names.FOOTPRINT_BYTES_LD) / constants.SECTOR_BYTES, below_l1)
        dram_latency = device.l2_latency_cycles
        if device.dram_latency_cycles is not None:
            dram_latency = constants.LOADED_LATENCY * device.dram_latency_cycles
        return (device.l1_latency_cycles * (sectors - below_l1) + device.l2_latency_cycles * (below_l1 - from_dram)
                + dram_latency * from_dram) / sectors

    def barrier_cycles(self) -> float:
        """Stalls at barriers: resident blocks alternate between work on the SM's busiest pipe and waiting."""
        phases = self.count(names.BARRIERS) / (self.grid_blocks * self.warps_per_block)
        if not phases:
            return 0.0
        pipe = max(self.sm_cycles().values())
        work = pipe / self.sm_blocks / phases
        exposures = min(self._loads_per_warp() / constants.LOADS_PER_EXPOSURE, phases / constants.BARRIERS_PER_EXPOSURE)
        stall = (constants.BARRIER_CYCLES + constants.BARRIER_CYCLES_PER_WARP * self.warps_per_block
                 + self._load_latency() * exposures / phases)
        waves, rest = divmod(self.sm_blocks, self.resident_blocks)
        cycles = waves * self.resident_blocks * phases / phase_rate(self.resident_blocks, work, stall)
        cycles += rest * phases / phase_rate(rest, work, stall) if rest else 0.0
        return max(cycles - pipe, 0.0)


def phase_rate(blocks: int, work: float, stall: float) -> float:
    """Phases per cycle that ``blocks`` resident blocks finish, each ``work`` cycles on a shared pipe, then ``stall``.

    Exact mean-value analysis of a closed queue with one station and a delay (Reiser and Lavenberg, 1980).
    """
    queue, rate = 0.0, 0.0
    for population in range(1, blocks + 1):
        response = work * (1 + queue)
        rate = population / (response + stall)
        queue = rate * response
    return rate


def _bandwidth_ns(counters: dict[str, int], device: Device) -> dict[str, float]:
    """Bytes over GB/s are nanoseconds."""
    below_l1 = constants.SECTOR_BYTES * (
        counters.get(names.BLOCK_SECTORS_LD, 0) + counters.get(names.BLOCK_SECTORS_ST, 0))
    footprint = counters.get(names.FOOTPRINT_BYTES_LD, 0) + counters.get(names.FOOTPRINT_BYTES_ST, 0)
    terms = {"DRAM bandwidth": footprint / (device.dram_gb_per_s * device.dram_efficiency)}
    if device.l2_gb_per_s is not None:
        terms["L2 bandwidth"] = below_l1 / device.l2_gb_per_s
    return terms


def _left_out(device: Device) -> tuple[str, ...]:
    missing = {"L2 bandwidth": device.l2_gb_per_s, "DRAM latency": device.dram_latency_cycles}
    return tuple(name for name, value in missing.items() if value is None)
