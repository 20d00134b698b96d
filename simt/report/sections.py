"""The numbers of a launch in the sections that Nsight Compute has: rows with value, unit, tag and metric name.

A row whose counters were not taken, or that has nothing to say, is left out. Metrics with Nsight Compute's names are
defined as there; ``ptx__`` is about PTX instructions, ``simt__`` is ours.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from simt.model import MODEL_VERSION, Occupancy
from simt.observe import names
from simt.report import whatif
from simt.report.subject import COMPUTE, MEMORY, Subject
from simt.report.units import count

SECTOR_BYTES = 32
LIMITS = {"registers": "registers", "shared_mem": "shared memory", "warps": "warps", "blocks": "blocks"}
DIRECTIONS = (("load", "ld", "LD"), ("store", "st", "ST"))


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """unit: "ns", "B", "%", or "" for a count or a ratio;  metric: "" where the value is a word

    spread: what sampling may be off by, as a part of the value; None where it has no say
    fact: whether the number holds for the launch itself, so that sampling its blocks leaves it as it is
    """

    label: str
    value: float | int | str
    unit: str
    tag: str
    metric: str
    fact: bool = False
    spread: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """Cells as they are printed, the first column flush left."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """One topic; ``note`` says how far to trust it."""

    title: str
    rows: tuple[Row, ...]
    tables: tuple[Table, ...] = ()
    note: str = ""


def sections(subject: Subject) -> list[Section]:
    """All sections, without those that have nothing to say."""
    made = (make(subject) for make in (speed_of_light, compute, memory, caches, launch, occupancy))
    return [section for section in made if section.rows]


# -- speed of light

TERMS = {
    "issue": "issue slots", "fp32": "fp32 pipe", "integer": "integer pipe", "sfu": "sfu and converts", "fp64": "fp64 pipe",
    "load/store unit": "load/store unit", "L2 bandwidth": "L2 bandwidth", "DRAM bandwidth": "DRAM bandwidth",
    "latency": "latency", "atomics": "turns of one address", "barriers": "barrier stalls", "launch": "launch overhead",
}


def speed_of_light(subject: Subject) -> Section:
    """How busy the launch keeps each unit, in per cent of the modelled time."""
    if not subject.time_ns:
        return Section("Speed of light", ())
    rows = [
        Row("duration", subject.time_ns, "ns", "modelled", "simt__time_ns"),
        Row("bound by", subject.profile.bound_by, "", "modelled", ""),
        Row("compute throughput", 100 * subject.share(*COMPUTE), "%", "modelled", "simt__compute_throughput.pct"),
        Row("memory throughput", 100 * subject.share(*MEMORY), "%", "modelled", "simt__memory_throughput.pct"),
        *(Row(label, 100 * subject.share(term), "%", "modelled", f"simt__time_{slug(term)}.pct")
          for term, label in TERMS.items() if subject.profile.terms.get(term)),
    ]
    note = f"per cent of the modelled time on {subject.device.title}; model {MODEL_VERSION}, {subject.error}"
    return Section("Speed of light", tuple(rows), note=note)


def slug(term: str) -> str:
    """A term of the model inside a metric's name."""
    return term.lower().replace("/", "_").replace(" ", "_")


# -- compute

def compute(subject: Subject) -> Section:
    """Instructions by class, and how many of the 32 lanes take part."""
    rows = [
        *counted(subject, "PTX instructions", names.INSTRUCTIONS),
        *divided(subject, "lanes per instruction", (names.THREAD_INSTRUCTIONS,), (names.INSTRUCTIONS,),
                 "ptx__thread_inst_executed_pred_on_per_inst_executed.ratio"),
        *divided(subject, "active lanes", (names.ACTIVE_THREAD_INSTRUCTIONS,), (names.INSTRUCTIONS,),
                 "ptx__thread_inst_executed_per_inst_executed.ratio"),
        *counted(subject, "divergent branches", names.DIVERGENT_BRANCHES),
        *(row for name, label in ((names.FLOPS_FP32, "fp32 FLOP"), (names.FLOPS_FP64, "fp64 FLOP"),
                                  (names.FLOPS_FP16, "fp16 FLOP")) for row in present(subject, label, name)),
        *present(subject, "barrier arrivals", names.BARRIERS),
    ]
    return Section("Compute workload", tuple(rows), (mix(subject),) if subject.count(names.INSTRUCTIONS) else (),
                   "PTX instructions; the assembler fuses and splits some of them")


def mix(subject: Subject) -> Table:
    """Warp instructions by class, the most frequent first."""
    total = subject.count(names.INSTRUCTIONS)
    found = sorted(((subject.count(names.instructions(kind)), kind) for kind in names.KINDS), reverse=True)
    rows = [(kind.replace("_", " "), f"~{count(value)}" if subject.profile.sampled else f"{value}",
             f"{100 * value / total:.1f} %", "#" * round(40 * value / total)) for value, kind in found if value]
    tag = tagged(subject.tag(names.INSTRUCTIONS), subject.spread(names.INSTRUCTIONS))
    return Table(f"instruction mix, {tag}", ("class", "instructions", "part", ""), tuple(rows))


# -- memory

def memory(subject: Subject) -> Section:
    """Requests of the program to global, shared and local memory, and what each costs."""
    rows = [row for make in (global_rows, shared_rows, other_rows) for row in make(subject)]
    return Section("Memory workload", tuple(rows))


def global_rows(subject: Subject) -> Iterator[Row]:
    for word, op, suffix in DIRECTIONS:
        wanted = ("REQUESTS", "SECTORS", "BYTES_REQUESTED")
        requests, sectors, asked = (getattr(names, f"GLOBAL_{what}_{suffix}") for what in wanted)
        if subject.count(requests):
            yield from counted(subject, f"global {word} requests", requests)
            yield from counted(subject, f"global {word} sectors", sectors)
            yield from divided(subject, f"sectors per {word}", (sectors,), (requests,),
                               f"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{op}.ratio")
            yield from divided(subject, f"{word} bytes / sector", (asked,), (sectors,),
                               f"simt__global_bytes_per_sector_op_{op}.ratio")


def shared_rows(subject: Subject) -> Iterator[Row]:
    for word, op, suffix in DIRECTIONS:
        wanted = ("REQUESTS", "WAVEFRONTS", "CONFLICTS")
        requests, wavefronts, conflicts = (getattr(names, f"SHARED_{what}_{suffix}") for what in wanted)
        if subject.count(requests):
            yield from counted(subject, f"shared {word} requests", requests)
            yield from counted(subject, f"shared {word} wavefr.", wavefronts)
            yield from counted(subject, f"bank conflicts, {word}", conflicts)
            yield from divided(subject, f"conflicts, {word}", (conflicts,), (wavefronts,),
                               f"simt__shared_conflicts_op_{op}.pct", "%")


def other_rows(subject: Subject) -> Iterator[Row]:
    yield from present(subject, "local loads", names.LOCAL_REQUESTS_LD)
    yield from present(subject, "local stores", names.LOCAL_REQUESTS_ST)
    yield from present(subject, "global atomics", names.ATOMICS_GLOBAL)
    yield from present(subject, "shared atomics", names.ATOMICS_SHARED)
    yield from present(subject, "lanes of atomics", names.ATOMIC_LANES)
    yield from present(subject, "their addresses", names.ATOMIC_ADDRESSES)
    yield from present(subject, "their turns", names.ATOMIC_PASSES)
    yield from present(subject, "of the most wanted address", names.ATOMIC_HOTTEST)


# -- caches

def caches(subject: Subject) -> Section:
    """What is left of the traffic below the caches."""
    rows = []
    for word, _, suffix in DIRECTIONS:
        sectors, footprint = (getattr(names, f"{what}_{suffix}") for what in ("BLOCK_SECTORS", "FOOTPRINT_BYTES"))
        rows += present(subject, f"block sectors, {word}", sectors)
        rows += present(subject, f"{word} footprint", footprint, "B")
    rows += simulated(subject)
    note = "block sectors: distinct ones of each block, which a perfect L1 passes on; footprint: the arrays that were touched"
    return Section("Caches and DRAM", tuple(rows), note=note)


def simulated(subject: Subject) -> Iterator[Row]:
    """Hit rates and DRAM bytes, where the profile simulated caches. Of L1, those of global loads only."""
    yield from divided(subject, "L1 hit rate, loads", (names.L1_HITS_LD,), (names.GLOBAL_SECTORS_LD,),
                       "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct", "%")
    yield from divided(subject, "L2 hit rate, reads", (names.L2_READ_HITS,), (names.L2_READS,),
                       "lts__t_sector_op_read_hit_rate.pct", "%")
    for word, name, metric in (("read", names.DRAM_READ_SECTORS, "dram__bytes_read.sum"),
                               ("written", names.DRAM_WRITE_SECTORS, "dram__bytes_write.sum")):
        if subject.has(name):
            yield Row(f"DRAM bytes {word}", SECTOR_BYTES * subject.count(name), "B", subject.tag(name), metric)


# -- launch and occupancy

def launch(subject: Subject) -> Section:
    """Shape and resources."""
    profile = subject.profile
    facts = (
        ("blocks", profile.blocks_total, "", "launch__grid_size"),
        ("threads per block", profile.threads_per_block, "", "launch__block_size"),
        ("threads", profile.blocks_total * profile.threads_per_block, "", "launch__thread_count"),
        ("registers / thread", profile.registers, "", "launch__registers_per_thread"),
        ("static shared", profile.static_shared_bytes, "B", "launch__shared_mem_per_block_static"),
        ("dynamic shared", profile.dynamic_shared_bytes, "B", "launch__shared_mem_per_block_dynamic"),
        ("local per thread", profile.local_bytes, "B", "simt__local_bytes_per_thread"),
        ("spill code / thread", profile.spill_bytes, "B", "simt__spill_bytes_per_thread"),
        ("waves", subject.waves, "", "launch__waves_per_multiprocessor"),
        ("blocks counted", profile.blocks_counted, "", "simt__blocks_counted"),
    )
    return Section("Launch", tuple(Row(label, value, unit, "exact", metric, True) for label, value, unit, metric in facts
                                   if value is not None))


def occupancy(subject: Subject) -> Section:
    """How many warps an SM can hold, and what limits them."""
    found, device = subject.occupancy, subject.device
    rows = [
        Row("theoretical", found.percent, "%", "exact", "sm__maximum_warps_per_active_cycle_pct", True),
        Row("warps per SM", found.warps_per_sm, "", "exact", "simt__warps_per_sm", True),
        Row("limited by", limiters(found), "", "exact", "", True),
        *(Row(f"limit: {LIMITS[name]}", limit, "", "exact", f"launch__occupancy_limit_{name}", True)
          for name, limit in found.limits.items() if limit is not None),
    ]
    tables = (
        what_if("threads per block", whatif.block_sizes(subject)),
        what_if("registers per thread", whatif.registers(subject)),
        what_if("shared bytes per block", whatif.shared_memory(subject)),
    )
    note = f"blocks per SM that each limit alone allows; an SM of {device.title} holds {device.warps_per_sm} warps"
    return Section("Occupancy", tuple(rows), tables, note)


def limiters(found: Occupancy) -> str:
    """Every limit that allows no more blocks than there are."""
    return ", ".join(LIMITS[name] for name, limit in found.limits.items() if limit == found.blocks_per_sm)


def what_if(varied: str, found: list[whatif.WhatIf]) -> Table:
    rows = [(f"{row.first}" if row.first == row.last else f"{row.first} - {row.last}", f"{row.found.blocks_per_sm}",
             f"{row.found.warps_per_sm}", f"{row.found.percent:.1f} %", limiters(row.found), "<- now" if row.now else "")
            for row in found]
    return Table(f"what if: {varied}", (varied, "blocks/SM", "warps/SM", "occupancy", "limit", ""), tuple(rows))


# -- rows

def counted(subject: Subject, label: str, name: str, unit: str = "") -> Iterable[Row]:
    """The row of one counter, if it was taken."""
    if subject.has(name):
        yield Row(label, subject.count(name), unit, subject.tag(name), name, spread=subject.spread(name))


def present(subject: Subject, label: str, name: str, unit: str = "") -> Iterable[Row]:
    """The same, if it is not 0."""
    return counted(subject, label, name, unit) if subject.count(name) else ()


def divided(subject: Subject, label: str, over: tuple[str, ...], under: tuple[str, ...], metric: str,
            unit: str = "") -> Iterable[Row]:
    """Sum over sum, in per cent where the unit says so."""
    ratio = subject.ratio(over, under)
    if ratio is not None:
        spread = subject.spread(*over) + subject.spread(*under) if subject.profile.sampled else None
        yield Row(label, 100 * ratio if unit == "%" else ratio, unit, subject.tag(*over, *under), metric, spread=spread)


def tagged(tag: str, spread: float | None) -> str:
    """A tag as it is printed: "exact", "sampled ±0.65 %"."""
    return f"{tag} ±{100 * spread:.2g} %" if tag == "sampled" and spread is not None else tag
