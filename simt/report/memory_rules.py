"""The rules about memory: coalescing, small requests, bank conflicts, local memory, atomics. See rules.py."""
from __future__ import annotations

from collections.abc import Iterator

from simt.observe import names
from simt.report import source
from simt.report.access import apart, collision, widths
from simt.report.advice import MOST_LINES, Advice, advise, worst_lines
from simt.report.subject import MEMORY, Subject, quoted
from simt.report.units import count, digits, percent

SECTOR_BYTES = 32
LANES = 32
CONFLICTS_FROM = 0.1        # of the wavefronts
SMALL_BELOW = 4             # ours: bytes that a lane asks for
FULL_FROM = 24              # ours: lanes of a request that counts as a full one
FAR_FROM = 6                # ours: sectors per request; fewer are a matter of alignment
LSU = "load/store unit"

GLOBAL = {
    "load": (names.GLOBAL_REQUESTS_LD, names.GLOBAL_SECTORS_LD, names.GLOBAL_BYTES_REQUESTED_LD),
    "store": (names.GLOBAL_REQUESTS_ST, names.GLOBAL_SECTORS_ST, names.GLOBAL_BYTES_REQUESTED_ST),
}
SHARED = {
    "load": (names.SHARED_REQUESTS_LD, names.SHARED_WAVEFRONTS_LD, names.SHARED_CONFLICTS_LD),
    "store": (names.SHARED_REQUESTS_ST, names.SHARED_WAVEFRONTS_ST, names.SHARED_CONFLICTS_ST),
}
LOCAL = (names.LOCAL_REQUESTS_LD, names.LOCAL_REQUESTS_ST)
ATOMICS = (names.ATOMICS_GLOBAL, names.ATOMICS_SHARED)
REQUESTS = (*(GLOBAL[word][0] for word in GLOBAL), *(SHARED[word][0] for word in SHARED), *LOCAL, *ATOMICS)
"""What a warp asks of the load/store unit."""

Counters = dict[str, int]


def added(counters: Counters, *wanted: str) -> int:
    return sum(counters.get(name, 0) for name in wanted)


# -- global memory

def needed_sectors(requests: int, asked_bytes: int) -> float:
    """Sectors that would do: all bytes asked for, packed; no fewer than one per request."""
    return max(requests, asked_bytes / SECTOR_BYTES)


def uncoalesced(subject: Subject) -> Iterator[Advice]:
    """Lines that move more sectors than their bytes fill.

    Gain: sectors too many on the line / all sectors of global memory, times the busiest memory unit's part of the time.
    """
    total = subject.count(*(GLOBAL[word][1] for word in GLOBAL))
    for word, (requests, sectors, asked) in GLOBAL.items():
        def excess(counters: Counters, requests=requests, sectors=sectors, asked=asked) -> float:
            return added(counters, sectors) - needed_sectors(added(counters, requests), added(counters, asked))

        for place, counters, part in worst_lines(subject, excess, total):
            times = max(added(counters, requests), 1)
            each, ideal = counters[sectors] / times, needed_sectors(times, added(counters, asked)) / times
            where = apart(subject, place, word)
            yield advise(
                subject, f"uncoalesced {word}s", place,
                f"{quoted(place)}: {digits(each)} sectors per {word} request where {digits(ideal)} would do, "
                f"{count(counters[sectors])} in all{where}",
                remedy_for_sectors(each), part * subject.share(*MEMORY))


def remedy_for_sectors(per_request: float) -> str:
    if per_request < FAR_FROM:
        return "start each row at a multiple of 32 bytes (pad the rows, or shift the index), so that a warp fills its sectors"
    return "let neighbouring threads (threadIdx.x) take neighbouring elements of the last axis: swap x and y, transpose the " \
        "array, or go through shared memory"


def small_requests(subject: Subject) -> Iterator[Advice]:
    """Full warps whose lanes ask for less than 4 bytes each, as far as samples of the addresses tell.

    Gain: requests that 4 bytes per lane would save on the line / all requests, times the load/store unit's part of the time.
    """
    total = subject.count(*REQUESTS)
    for word, (requests, _, asked) in GLOBAL.items():
        def excess(counters: Counters, requests=requests, asked=asked) -> float:
            lanes = added(counters, names.THREAD_INSTRUCTIONS) / max(added(counters, names.INSTRUCTIONS), 1)
            wide = SMALL_BELOW * lanes * added(counters, requests)
            return added(counters, requests) * (1 - added(counters, asked) / wide) if lanes >= FULL_FROM and wide else 0

        for place, counters, part in worst_lines(subject, excess, total):
            each = added(counters, asked) / counters[requests]
            if min(widths(subject, place, "global", word), default=0) >= SMALL_BELOW:
                continue            # wide accesses of few lanes
            yield advise(
                subject, f"small {word} requests", place,
                f"{quoted(place)}: {count(counters[requests])} {word} requests of {digits(each)} B, {digits(each / LANES)} B "
                "per lane; a request can carry 128 to 512 B",
                "let a thread take several neighbouring elements at once, such as four bytes seen as one int32",
                part * subject.share(LSU))


# -- shared memory

def bank_conflicts(subject: Subject) -> Iterator[Advice]:
    """From 10 % of the wavefronts of shared memory.

    Gain: conflicts of the line / all shared wavefronts, times the load/store unit's part of the time.
    """
    total = subject.count(*(SHARED[word][1] for word in SHARED))
    if subject.count(*(SHARED[word][2] for word in SHARED)) < CONFLICTS_FROM * max(total, 1):
        return
    for word, (requests, wavefronts, conflicts) in SHARED.items():
        found = worst_lines(subject, lambda counters, conflicts=conflicts: added(counters, conflicts), total)
        for place, counters, part in found:
            each, bad = counters[wavefronts] / counters[requests], counters[conflicts]
            yield advise(
                subject, "bank conflicts", place,
                f"{quoted(place)}: {digits(each)} wavefronts per {word} request, {percent(100 * bad / counters[wavefronts])} "
                f"of them conflicts, {count(bad)} in all{collision(subject, place, word)}",
                "pad the rows of the shared array by one element, as in (32, 33), or exchange the indices: the lanes of a warp "
                "should fall into different banks",
                part * subject.share(LSU))


# -- local memory

def local_memory(subject: Subject) -> Iterator[Advice]:
    """Local arrays that are no registers.

    Gain: local requests of the line / all requests, times the load/store unit's part of the time.
    """
    found = worst_lines(subject, lambda counters: added(counters, *LOCAL), subject.count(*REQUESTS))
    for place, counters, part in found:
        loads, stores = (count(added(counters, name)) for name in LOCAL)
        yield advise(
            subject, "local memory", place,
            f"{quoted(place)}: {loads} loads and {stores} stores of local memory, which lies in DRAM behind the caches",
            "index local arrays by constants only (loops with constant bounds unroll), make them smaller, or use shared memory",
            part * subject.share(LSU))


def spills(subject: Subject) -> Iterator[Advice]:
    """Registers that the assembler keeps in local memory, by the lines that save and restore most of them.

    No gain: spills are in the machine code, and the PTX that is counted does not have them.
    """
    spilled, registers = subject.profile.spill_bytes, subject.profile.registers
    if not spilled:
        return
    whole = f"spill code stores and loads {spilled} B per thread, at {registers} registers"
    remedy = "fewer values alive at once: smaller tiles per thread, or a higher max_registers"
    lines = [line for line in source.source_view(subject.profile).lines if line.spill_stores or line.spill_loads]
    for line in sorted(lines, key=lambda line: -(line.spill_stores + line.spill_loads))[:MOST_LINES]:
        text = f"{quoted(line.place)}: saves {line.spill_stores} registers and restores {line.spill_loads}; {whole}"
        yield advise(subject, "spills", line.place, text, remedy, None)
    if not lines:
        yield advise(subject, "spills", subject.kernel_place, f"{quoted(subject.kernel_place)}: {whole}", remedy, None)


# -- atomics

def atomics(subject: Subject) -> Iterator[Advice]:
    """Atomics of a warp that meet at one address take turns.

    Gain: turns of the line beyond the first of each request / (all requests + those turns), times the load/store unit's part of
    the time. The time model has no contention yet: the real gain can be larger.
    """
    if not subject.has(names.ATOMIC_PASSES):
        return
    for place, counters, part in worst_lines(subject, turns, subject.count(*REQUESTS) + turns(subject.profile.counters)):
        requests = added(counters, *ATOMICS)
        space = "shared" if added(counters, names.ATOMICS_SHARED) else "global"
        lanes, passes = (counters[name] / requests for name in (names.ATOMIC_LANES, names.ATOMIC_PASSES))
        yield advise(
            subject, "atomics", place,
            f"{quoted(place)}: {count(requests)} {space} atomics of {digits(lanes)} lanes, of which {digits(passes)} want the "
            "same address and take turns",
            "add up within the warp (shuffles) or the block (shared memory) first, and let one thread do one atomic",
            part * subject.share(LSU))


def turns(counters: Counters) -> int:
    """Updates that wait for another one of the same request."""
    return added(counters, names.ATOMIC_PASSES) - added(counters, *ATOMICS)


RULES = (uncoalesced, small_requests, bank_conflicts, local_memory, spills, atomics)
