"""Names of the counters. Every value is an integer, a total over the launch.

Nsight Compute's own metric names stand where the definition is the same; ``ptx__`` counts executed PTX instructions,
``simt__`` is ours.
"""
from __future__ import annotations

INSTRUCTIONS = "ptx__inst_executed"
"""Warp-level PTX instructions."""
THREAD_INSTRUCTIONS = "ptx__thread_inst_executed"
"""The same, times the lanes that were active and whose guard held."""
ACTIVE_THREAD_INSTRUCTIONS = "ptx__thread_inst_active"
"""The same, times the lanes that were active, whether their guard held or not."""

KINDS = (
    "fp32", "fp64", "fp16",
    "int", "imul",  # imul: integer multiply, multiply-add, dp4a
    "logic",  # and, or, shift, select, compare, mov
    "sfu", "convert",
    "load_global", "store_global", "load_shared", "store_shared", "load_local", "store_local",
    "load_generic", "store_generic",  # the address tells which space
    "load_param",  # parameters and constants
    "atomic",
    "warp",  # shuffle, vote, match, redux, syncwarp
    "barrier", "branch", "other",
)

FLOPS_FP32 = "simt__flops_fp32"
"""Per-lane floating-point operations; a fused multiply-add counts two."""
FLOPS_FP64 = "simt__flops_fp64"
FLOPS_FP16 = "simt__flops_fp16"

GLOBAL_REQUESTS_LD = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
GLOBAL_REQUESTS_ST = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"
GLOBAL_SECTORS_LD = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
"""32-byte sectors, counted per request."""
GLOBAL_SECTORS_ST = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
GLOBAL_BYTES_REQUESTED_LD = "simt__global_bytes_requested_op_ld"
"""Bytes that active lanes ask for."""
GLOBAL_BYTES_REQUESTED_ST = "simt__global_bytes_requested_op_st"
GLOBAL_WAVEFRONTS_LD = "simt__global_wavefronts_op_ld"
"""Data wavefronts: accesses to the worst bank, summed over requests."""
GLOBAL_WAVEFRONTS_ST = "simt__global_wavefronts_op_st"
GLOBAL_LINES_LD = "simt__global_lines_op_ld"
"""Distinct 128-byte lines, summed over requests."""
GLOBAL_LINES_ST = "simt__global_lines_op_st"

SHARED_REQUESTS_LD = "simt__shared_requests_op_ld"
SHARED_REQUESTS_ST = "simt__shared_requests_op_st"
SHARED_WAVEFRONTS_LD = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
SHARED_WAVEFRONTS_ST = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
SHARED_CONFLICTS_LD = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
"""Wavefronts above the ideal for the access width."""
SHARED_CONFLICTS_ST = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"
SHARED_BYTES_REQUESTED_LD = "simt__shared_bytes_requested_op_ld"
SHARED_BYTES_REQUESTED_ST = "simt__shared_bytes_requested_op_st"

LOCAL_REQUESTS_LD = "simt__local_requests_op_ld"
LOCAL_REQUESTS_ST = "simt__local_requests_op_st"

DIVERGENT_BRANCHES = "simt__branches_divergent"
"""Branches that lanes of a warp left both ways. A compiler may turn a short one into predication, which cannot diverge."""

BARRIERS = "simt__barriers"
"""Arrivals of warps at barriers."""
ATOMICS_GLOBAL = "simt__atomics_global"
ATOMICS_SHARED = "simt__atomics_shared"
ATOMIC_LANES = "simt__atomic_lanes"
ATOMIC_ADDRESSES = "simt__atomic_addresses"
"""Distinct addresses, summed over requests."""
ATOMIC_PASSES = "simt__atomic_passes"
"""Lanes on the most wanted address, summed over requests: updates of one address take their turns."""

ATOMIC_HOTTEST = "simt__atomic_hottest"
"""Updates of the global address that the whole grid updates most: the memory takes them one after the other. A request of the
integer kinds to an address that the compiler sees to be one for the warp is one update, else each lane is one."""

BLOCK_SECTORS_LD = "simt__block_sectors_op_ld"
"""Distinct sectors that each block touches, summed over blocks: traffic below a perfect L1 of one block."""
BLOCK_SECTORS_ST = "simt__block_sectors_op_st"
FOOTPRINT_BYTES_LD = "simt__footprint_bytes_op_ld"
"""Bytes of the touched extents of distinct allocations, over the whole grid: traffic that DRAM cannot avoid."""
FOOTPRINT_BYTES_ST = "simt__footprint_bytes_op_st"


L1_HITS_LD = "simt__l1_sector_hits_op_ld"
"""Sectors of loads that the simulated first-level cache holds; of ``l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum``."""
L2_READS = "simt__l2_sectors_op_read"
"""Sectors that loads and atomics ask of the simulated second-level cache."""
L2_READ_HITS = "simt__l2_sector_hits_op_read"
DRAM_READ_SECTORS = "simt__dram_sectors_read"
DRAM_WRITE_SECTORS = "simt__dram_sectors_write"
"""Sectors written back to memory, those that are still in the second level at the end included."""
SIMULATED = (L1_HITS_LD, L2_READS, L2_READ_HITS, DRAM_READ_SECTORS, DRAM_WRITE_SECTORS)
"""Only in profiles that ask for caches."""


def instructions(kind: str) -> str:
    """Counter of warp-level PTX instructions of one kind: ``instructions("fp32")``."""
    if kind not in KINDS:
        raise ValueError(f"no instruction kind {kind!r}; there are {', '.join(KINDS)}")
    return f"{INSTRUCTIONS}_{kind}"


def part_of_most(name: str, part: int) -> str:
    """Name of one of the sums of which the counter is the largest."""
    return f"{name}/{part}"


def with_most(totals: dict[str, int]) -> dict[str, int]:
    """The largest of such sums in place of them all."""
    found: dict[str, int] = {}
    for part, value in totals.items():
        name, slash, _ = part.partition("/")
        found[name] = max(found.get(name, 0), value, key=abs) if slash else value
    return found


COUNTERS = (
    *(value for name, value in list(globals().items())
      if name.isupper() and isinstance(value, str) and value not in SIMULATED),
    *(instructions(kind) for kind in KINDS),
)
"""Every counter of any profile; one that saw nothing is 0."""
