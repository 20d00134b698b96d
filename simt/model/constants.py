"""Constants of the time model, frozen: a change of any of them changes MODEL_VERSION.

Device figures stand in ``devices/*.toml``. "fitted" constants were fitted on the SGEMM ladder of an A6000
(siboehm/SGEMM_CUDA) and on the data of RRZE-HPC/gpu-benches; they are in-sample there.
"""
from __future__ import annotations

MODEL_VERSION = "2"

MODEL_ERROR_PERCENT: float | None = None
"""Known error of modelled times against hardware: not validated yet."""

SECTOR_BYTES = 32

PIPE_EFFICIENCY = 0.85
"""Reachable share of an SM's peak rates. Fitted."""

TAG_CYCLES = 0.92
TAG_CYCLES_PER_LINE = 0.233
"""A global request occupies the L1 tag stage for max(1, 0.92 + 0.233 * distinct 128-byte lines) cycles. Fitted."""

ATOMIC_UPDATES_PER_NS = 1.7
"""Updates of one global address that the second-level cache takes, on every device. A microbenchmark on a B300 saw 1.7
updates a nanosecond where a warp's lanes hit two addresses, and 50 to 60 where they hit one, which the assembler makes
one update of 32 lanes: 1.6 to 1.9 again. Assumed to hold for the others, and for floats."""

LOADED_LATENCY = 1.85
"""Latency of DRAM under load, relative to an idle one. Fitted."""

BARRIER_CYCLES = 12
BARRIER_CYCLES_PER_WARP = 2
"""A barrier of a block of W warps takes about 12 + 2 W cycles. Microbenchmarks, Huerta et al., MICRO 2025."""

MAX_LOADS_IN_FLIGHT = 4
"""Independent global loads that a warp keeps in flight at most: NVVM unrolls a loop four times. Assumed."""

LOADS_PER_EXPOSURE = 2
"""Global loads that wait together before a barrier: the two tiles of a product. Assumed."""

BARRIERS_PER_EXPOSURE = 2
"""Barriers for each wait on global memory: load, barrier, use, barrier. Assumed."""
