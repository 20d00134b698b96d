"""The rules about shared and local memory and atomics. See rules.py."""
from __future__ import annotations

from collections.abc import Iterator

from simt.observe import names
from simt.report import source
from simt.report.access import collision, within_a_row
from simt.report.advice import ATOMICS, LOCAL, LSU, MOST_LINES, REQUESTS, SHARED, Advice, Counters, added, advise, worst_lines
from simt.report.subject import Subject, quoted
from simt.report.units import count, digits, percent

CONFLICTS_FROM = 0.1        # of the wavefronts


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
                remedy_for_banks(within_a_row(subject, place, word)),
                subject.gain(part, LSU))


def remedy_for_banks(near: bool) -> str:
    """near: neighbouring lanes are a few words of one row apart."""
    if near:
        return "let neighbouring lanes take neighbouring words: thread t the words t, t + T, t + 2 T, not several in a row; " \
            "padding the rows does not help here"
    return "pad the rows of the shared array by one element, as in (32, 33), or exchange the indices: the lanes of a warp " \
        "should fall into different banks"


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
            subject.gain(part, LSU))


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
    the time; where the turns of one global address bind the launch, all of their part.
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
            max(subject.gain(part, LSU), subject.share("atomics") if space == "global" else 0))


def turns(counters: Counters) -> int:
    """Updates that wait for another one of the same request."""
    return added(counters, names.ATOMIC_PASSES) - added(counters, *ATOMICS)


RULES = (bank_conflicts, local_memory, spills, atomics)
