"""Facts of the modelled devices, read from ``devices/*.toml`` where every number has its source."""
from __future__ import annotations

import dataclasses
import difflib
import functools
import pathlib
import tomllib

WARP_SIZE = 32

_FOLDER = pathlib.Path(__file__).parent / "devices"


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """Where a number comes from.

    tag: "read" in the source's own text, "quoted" by another text, "derived" from a figure of another device,
    "memory" not checked against a text
    """

    tag: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One GPU. Lanes are results per clock of one SM, latencies are cycles of the SM clock; None: no figure was found.

    fp16_results:          half-precision results per clock of one SM, two for each half2 lane
    shared_bytes_reserved: shared memory that the driver takes from every block
    register_port_factor:  slowdown of FP32 where three source registers compete for the ports of two banks
    lsu_cycles:            cycles between two warp memory instructions of one SM
    dram_efficiency:       reachable part of ``dram_gb_per_s``
    """

    name: str
    title: str
    sources: dict[str, Source] = dataclasses.field(repr=False, compare=False)

    compute_capability: tuple[int, int]
    sm_count: int
    clock_ghz: float

    threads_per_sm: int
    warps_per_sm: int
    blocks_per_sm: int
    threads_per_block: int
    registers_per_sm: int
    registers_per_thread: int
    register_unit: int
    sub_partitions: int
    shared_bytes_per_sm: int
    shared_bytes_per_block: int
    shared_bytes_per_block_optin: int
    shared_bytes_reserved: int
    shared_unit_bytes: int
    shared_carveouts_kib: tuple[int, ...]

    fp32_lanes: int
    fp64_lanes: int
    fp16_results: int
    int_lanes: int
    logic_lanes: int
    imul_lanes: int
    sfu_lanes: int
    convert_lanes: int
    shuffle_lanes: int
    tensor_fp16_fma: int
    register_port_factor: float
    lsu_cycles: float

    memory_gib: int
    memory_bus_bits: int
    dram_gb_per_s: float
    dram_efficiency: float
    l1_bytes: int
    l2_bytes: int
    l2_gb_per_s: float | None = None
    l1_latency_cycles: float
    shared_latency_cycles: float
    l2_latency_cycles: float
    dram_latency_cycles: float | None = None
    launch_ns: float

    def peak_gflops(self, dtype: str = "fp32") -> float:
        """Peak for "fp32", "fp64", "fp16" or "int8" without tensor cores: 2 per lane and clock, 8 where dp4a is."""
        # dp4a runs where integer multiply-adds do, at their rate (NVIDIA developer forum, thread 302018: IMAD and IDP).
        lanes = {"fp32": self.fp32_lanes, "fp64": self.fp64_lanes, "fp16": self.fp16_results, "int8": 4 * self.imul_lanes}
        if dtype not in lanes:
            raise ValueError(f"no peak for dtype {dtype!r}; there are {', '.join(lanes)}")
        return 2 * lanes[dtype] * self.sm_count * self.clock_ghz


def names() -> tuple[str, ...]:
    """Names that ``load`` knows, in alphabetical order."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


@functools.cache
def load(name: str) -> Device:
    """The device of that name: ``load("h100")``. Raises ValueError that suggests the nearest name."""
    key = name.lower()
    if key not in names():
        near = difflib.get_close_matches(key, names(), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"no modelled device {name!r}; there are {', '.join(names())}{hint}")
    text = (_FOLDER / f"{key}.toml").read_text(encoding="utf-8")
    return _build(key, tomllib.loads(text))


def _build(name: str, table: dict) -> Device:
    title = table.pop("title")
    sources = {key: Source(entry["tag"], entry["source"]) for key, entry in table.items()}
    values = {key: tuple(entry["value"]) if isinstance(entry["value"], list) else entry["value"]
              for key, entry in table.items()}
    return Device(name=name, title=title, sources=sources, **values)
