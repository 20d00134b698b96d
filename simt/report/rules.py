"""Rules: numbers become advice, tied to a line, with the gain that can be expected at most.

Thresholds are those of Nsight Compute's rules where it has one; the others say "ours". Gains are estimated as there: what
is lost at the unit in question (the local gain), times the part of the time in which that unit is busy; but no more than what
the other units leave, by the model. So gains are upper bounds, and those of several rules do not add up.
"""
from __future__ import annotations

from collections.abc import Iterator

from simt.observe import names
from simt.report import global_rules, memory_rules, reuse_rules
from simt.report.advice import Advice, advise, worst_lines
from simt.report.subject import COMPUTE, MEMORY, Subject, quoted
from simt.report.units import count, digits, duration, percent

LATENCY_BELOW = 0.6         # both compute and memory
HIGH_FROM = 0.8
BALANCED_WITHIN = 0.1
TAIL_FROM = 0.2
LANES_BELOW = 24
OCCUPANCY_BELOW = 80
WORTH = 0.05                # ours: of the time, for advice about the shape of a launch
BARRIERS_FROM = 0.1         # ours: of the modelled time
FP64_FROM = 0.05            # ours: of the floating-point instructions
LANES, DOUBLE_BYTES = 32, 8

NAMES = {"issue": "instruction issue", "fp32": "the fp32 pipe", "integer": "the integer pipe", "sfu": "the sfu pipe",
         "fp64": "the fp64 pipe", "load/store unit": "the load/store unit", "L2 bandwidth": "L2", "DRAM bandwidth": "DRAM"}


def advice(subject: Subject) -> list[Advice]:
    """What all rules say: first that the launch is too small, where it waits; the largest gain; last what has no estimate."""
    found = [piece for rule in RULES for piece in rule(subject)]
    size = ("launch-bound", "small grid") if waits(subject) else ()
    return sorted(found, key=lambda piece: (piece.rule not in size, piece.gain_percent is None, -(piece.gain_percent or 0)))


def waits(subject: Subject) -> bool:
    """Whether the launch keeps neither compute nor memory busy for 60 % of its time."""
    return subject.share(*COMPUTE, *MEMORY) < LATENCY_BELOW


# -- what bounds the launch

def launch_bound(subject: Subject) -> Iterator[Advice]:
    """The launch itself takes so much of the time that no unit can be busy for 60 % of it. Gain: that part."""
    overhead, place = subject.share("launch"), subject.kernel_place
    if overhead < 1 - LATENCY_BELOW:
        return
    took, whole = subject.device.launch_ns, subject.time_ns
    rest = max((term for term in subject.profile.terms if term != "launch"), key=lambda term: subject.profile.terms[term])
    yield advise(
        subject, "launch-bound", place,
        f"{quoted(place)}: to launch a kernel takes {duration(took)} of these {duration(whole)}; its own work, "
        f"{duration(max(whole - took, 0))}, is bound by {rest}",
        "give one launch more work: larger arrays, or several steps in one kernel; profile at the size that matters", overhead)


def bottleneck(subject: Subject) -> Iterator[Advice]:
    """What the time goes into. Latency-bound below 60 % of compute and of memory; high from 80 %; balanced within 10 points.

    Gain where it is latency: 1 - the busiest unit's part of the time. Elsewhere the other rules tell.
    """
    compute, memory = subject.share(*COMPUTE), subject.share(*MEMORY)
    if not subject.time_ns:
        return
    place, worst = subject.kernel_place, ""
    if subject.hot_lines:
        place, part = subject.hot_lines[0]
        worst = f"; {quoted(place)} has {percent(100 * part)} of the {subject.weighed_by}"
    busy = f"compute is busy {percent(100 * compute)} of the modelled time, memory {percent(100 * memory)}"
    unit = max(COMPUTE + MEMORY, key=lambda term: subject.profile.terms.get(term, 0.0))
    if waits(subject):
        if subject.share("launch") < 1 - LATENCY_BELOW:         # else it is launch-bound
            what, remedy = WAITING.get(subject.profile.bound_by, WAITING["latency"])
            rule = "one address" if subject.profile.bound_by == "atomics" else "latency-bound"
            yield advise(subject, rule, place, f"{busy}: most of the time is {what}{worst}", remedy,
                         1 - max(compute, memory))
    elif abs(compute - memory) < BALANCED_WITHIN:
        yield advise(subject, "balanced", place, f"{busy}{worst}",
                     f"both sides need less work; for {NAMES[unit]}: {LESS[unit]}", None)
    else:
        word = "close to its limit" if max(compute, memory) >= HIGH_FROM else "the busier side"
        yield advise(subject, "bottleneck", place, f"{busy}; {NAMES[unit]} is {word}{worst}",
                     f"{LESS[unit]}; other work is hidden behind {NAMES[unit]}", None)


WAITING = {
    "atomics": ("updates of one address, one after the other",
                "add up within the block first (shuffles, shared memory), and let one thread of it update the address; or "
                "spread the updates over several addresses"),
    "barriers": ("waiting at barriers", "more blocks per SM, which run while others wait, or more work between barriers"),
    "latency": ("latency", "let each thread have several independent loads under way (unroll, or several results per thread), "
                           "or keep more warps resident"),
}
"""(what a launch that keeps no unit busy does, what to do)"""

LESS = {
    "issue": "fewer instructions per result: take index arithmetic out of loops, unroll, load several values at once",
    "fp32": "the arithmetic itself takes the time: fewer operations, or tensor cores with a narrower type",
    "integer": "take index arithmetic out of loops, keep a running index instead of a multiplication, and use shifts and masks "
               "in place of // and % (numba's integers have 64 bits, which take two instructions and more)",
    "sfu": "fewer divisions, roots, exponentials and conversions between types: once per row rather than per element",
    "fp64": "float32 where the precision allows",
    "load/store unit": "fewer and wider requests: keep what is used again in registers, load several values at once, coalesce",
    "L2 bandwidth": "fewer bytes leave the SM if larger tiles are used again from shared memory or registers",
    "DRAM bandwidth": "every array crosses the bus at least once: narrower types, or steps fused in one kernel, so that "
                      "intermediate results stay on the chip",
}
"""What makes a unit's work less."""


# -- the shape of the launch

def small_grid(subject: Subject) -> Iterator[Advice]:
    """Less than one wave of blocks. Gain: SMs without a block, of all SMs, after the launch; or the last round's imbalance."""
    blocks, sms, place = subject.profile.blocks_total, subject.device.sm_count, subject.kernel_place
    if subject.waves >= 1 or not subject.occupancy.blocks_per_sm or subject.imbalance < WORTH:
        return
    if blocks < sms:
        gain = (1 - blocks / sms) * (1 - subject.share("launch"))
        if gain >= WORTH:
            yield advise(subject, "small grid", place,
                         f"{quoted(place)}: {blocks} block{'s leave' if blocks > 1 else ' leaves'} {sms - blocks} of {sms} SMs "
                         "without work",
                         "more blocks: smaller ones, or less work per thread; or a larger problem", gain)
        return
    held = sms * subject.occupancy.blocks_per_sm
    yield advise(subject, "small grid", place,
                 f"{quoted(place)}: {blocks} blocks are {digits(subject.waves)} of a wave: the device holds {held} at once",
                 "more blocks hide more latency, if the problem has them", subject.imbalance)


def tail(subject: Subject) -> Iterator[Advice]:
    """SMs that idle while others run the last blocks, from 20 %. Gain: 1 - (blocks/SMs) / ceil(blocks/SMs).

    Nsight Compute takes 1 / (whole waves + 1), and asks in addition for a low achieved occupancy, which is not modelled.
    """
    if subject.waves < 1 or subject.imbalance < TAIL_FROM:
        return
    blocks, sms, place = subject.profile.blocks_total, subject.device.sm_count, subject.kernel_place
    most = -(-blocks // sms)
    yield advise(
        subject, "tail effect", place,
        f"{quoted(place)}: {blocks} blocks over {sms} SMs: some SMs run {most}, and on average it is {digits(blocks / sms)}",
        "a grid that is a multiple of the SMs, or smaller blocks", subject.imbalance)


def partial_warp(subject: Subject) -> Iterator[Advice]:
    """Blocks that are not whole warps. Gain: (1 / warps of a block) (1 - threads of the last warp / 32)."""
    threads, warps = subject.profile.threads_per_block, subject.profile.warps_per_block
    rest, place = threads % LANES, subject.kernel_place
    if rest:
        yield advise(
            subject, "partial warp", place,
            f"{quoted(place)}: {threads} threads per block are {warps} warps, and the last has {rest} of 32 lanes",
            "a block size that is a multiple of 32", (1 - rest / LANES) / warps)


def occupancy(subject: Subject) -> Iterator[Advice]:
    """Theoretical occupancy below 80 %, where the grid has more blocks than the device holds at once.

    Gain: the smaller of what is missing of the occupancy and of the busiest unit's time.
    """
    found, profile, place = subject.occupancy, subject.profile, subject.kernel_place
    gain = min(1 - found.percent / 100, 1 - subject.share(*COMPUTE, *MEMORY))
    if found.percent >= OCCUPANCY_BELOW or subject.waves <= 1 or gain < WORTH:
        return
    reasons = {
        "registers": (f"{profile.registers} registers per thread",
                      "fewer registers (values that live shorter, cuda.jit(max_registers=…)) or smaller blocks"),
        "shared_mem": (f"{profile.shared_bytes} B of shared memory per block", "less shared memory per block"),
        "warps": (f"{profile.warps_per_block} warps per block", "a block size that divides the warps of an SM"),
        "blocks": (f"blocks of only {profile.warps_per_block} warps", "larger blocks"),
    }
    what, remedy = reasons[found.limiter]
    yield advise(
        subject, "low occupancy", place,
        f"{quoted(place)}: {percent(found.percent)} theoretical occupancy, {found.warps_per_sm} of "
        f"{subject.device.warps_per_sm} warps: limited by {what}",
        f"{remedy}; it helps only where latency is not hidden otherwise", gain)


# -- what the warps do

def divergence(subject: Subject) -> Iterator[Advice]:
    """Fewer than 24 of 32 lanes take part in an instruction, where blocks are whole warps (else 24/32 of the lanes that exist).

    Of the launch, as in Nsight Compute, or of a line that loses 5 % of the launch's lanes (ours): a tree that leaves most lanes
    idle has other lines that are full.
    Gain: lanes lost on the line / (32 x all instructions), times the busiest compute unit's part of the time.
    """
    width = subject.profile.threads_per_block / subject.profile.warps_per_block
    fewest = LANES_BELOW * width / LANES
    lanes = subject.ratio((names.THREAD_INSTRUCTIONS,), (names.INSTRUCTIONS,))
    everywhere = lanes is not None and lanes < fewest

    def lost(counters: dict[str, int]) -> float:
        full, taking = width * counters.get(names.INSTRUCTIONS, 0), counters.get(names.THREAD_INSTRUCTIONS, 0)
        return full - taking if everywhere or taking * width < fewest * full else 0.0

    for place, counters, part in worst_lines(subject, lost, LANES * subject.count(names.INSTRUCTIONS)):
        executed, taking, branches = (
            counters.get(name, 0) for name in (names.INSTRUCTIONS, names.THREAD_INSTRUCTIONS, names.DIVERGENT_BRANCHES))
        parted = f"; {count(branches)} branches part a warp here" if branches else ""
        yield advise(
            subject, "divergence", place,
            f"{quoted(place)}: {digits(taking / executed)} of {digits(width)} lanes take part, "
            f"over {count(executed)} instructions{parted}",
            "let whole warps take one way: branch on the warp or the block, not on the lane; give neighbouring threads "
            "equal work",
            subject.gain(part, *COMPUTE))


def float64(subject: Subject) -> Iterator[Advice]:
    """float64 instructions that no data asks for: beside float32 ones, on converted values, or where no access is of 8 bytes.

    Only on devices where they are slower, and from 5 % of the floating-point instructions.

    Gain: what the modelled time loses where the line's fp64 instructions become fp32 ones and its conversions go.
    """
    double, single, convert = (names.instructions(kind) for kind in ("fp64", "fp32", "convert"))
    rate = subject.device.fp64_lanes / subject.device.fp32_lanes
    total = subject.count(double)
    if not total or total < FP64_FROM * (total + subject.count(single)) or rate >= 1:
        return
    accesses = [sample.bytes for sample in subject.profile.samples if sample.space != "local"]
    narrow = bool(accesses) and DOUBLE_BYTES not in accesses
    for place, counters, _ in worst_lines(subject, lambda counters: counters.get(double, 0), total):
        converts, singles = counters.get(convert, 0), counters.get(single, 0)
        if converts or singles or narrow:       # else the data are float64: the precision that was asked for
            data = "; no access of the kernel is of 8 bytes" if narrow else ""
            yield advise(
                subject, "float64", place,
                f"{quoted(place)}: {count(counters[double])} float64 instructions and {count(converts)} conversions beside "
                f"{count(singles)} float32 ones; an SM has {subject.device.fp64_lanes} lanes for float64 beside "
                f"{subject.device.fp32_lanes} for float32{data}",
                "a literal such as 0.0 or 2.0, or a NumPy float64 scalar, makes it float64: write float32(0), or start the sum "
                "from a float32",
                in_single(subject, counters))


def in_single(subject: Subject, line: dict[str, int]) -> float:
    """Part of the modelled time that goes if a line computes in float32 and converts nothing."""
    double, single, convert = (names.instructions(kind) for kind in ("fp64", "fp32", "convert"))
    moved, gone = line.get(double, 0), line.get(convert, 0)
    changes = ((double, -moved), (single, moved), (convert, -gone), (names.INSTRUCTIONS, -gone))
    return subject.saved({name: max(subject.count(name) + change, 0) for name, change in changes})


def barriers(subject: Subject) -> Iterator[Advice]:
    """Waiting at barriers, from 10 % of the modelled time. Gain: that part of the time."""
    stalls, total = subject.share("barriers"), subject.count(names.BARRIERS)
    if stalls < BARRIERS_FROM:
        return
    for place, counters, part in worst_lines(subject, lambda counters: counters.get(names.BARRIERS, 0), total):
        yield advise(
            subject, "barrier stalls", place,
            f"{quoted(place)}: {count(counters[names.BARRIERS])} arrivals of warps; waiting at barriers is "
            f"{percent(100 * stalls)} of the modelled time, with {subject.resident_blocks} blocks per SM to fill gaps",
            "more work between barriers (larger tiles, several results per thread), or smaller blocks so that others run "
            "meanwhile",
            part * stalls)


RULES = (launch_bound, small_grid, tail, partial_warp, occupancy, *global_rules.RULES, *memory_rules.RULES, *reuse_rules.RULES,
         divergence, float64, barriers, bottleneck)
