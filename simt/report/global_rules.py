"""The rules about global memory: coalescing, small requests, bytes that are loaded again and again. See rules.py."""
from __future__ import annotations

from collections.abc import Iterator

from simt.observe import names
from simt.observe.profile import AccessSample
from simt.report import access
from simt.report.advice import GLOBAL, LSU, REQUESTS, Advice, Counters, added, advise, worst_lines
from simt.report.subject import Subject, quoted
from simt.report.units import count, digits

SECTOR_BYTES = 32
LANES = 32
SMALL_BELOW = 4             # ours: bytes that a lane asks for
FULL_FROM = 24              # ours: lanes of a request that counts as a full one
RECORD_UP_TO = 128          # ours: bytes between neighbours that share a record or a short row rather than a matrix
AGAIN_FROM = 8              # ours: times that a byte is loaded by a block
BUSY_FROM = 0.2             # ours: of the modelled time in which the load/store unit works


# -- coalescing

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
            worst = access.worst_at(subject, place, "global", word)
            how = access.pattern(worst, subject.profile.block[0]) if worst is not None else "unknown"
            yield advise(
                subject, f"uncoalesced {word}s", place,
                f"{quoted(place)}: {digits(each)} sectors per {word} request where {digits(ideal)} would do, "
                f"{count(counters[sectors])} in all{access.apart(worst, how)}",
                remedy(subject, worst, how), subject.gain(part, LSU, "L2 bandwidth"))


REMEDIES = {
    "row": "start each row at a multiple of 32 bytes (pad the rows, or shift the index), so that a warp fills its sectors",
    "short rows": "make the block at least 32 bytes wide in x, better 32 threads: its rows are shorter than a sector",
    "irregular": "the addresses come from data (a gather or a scatter), so no exchange of axes helps: sort or group the "
                 "indices so that neighbouring threads go near each other, stage the region in shared memory if it fits, or "
                 "accept it",
    "unknown": "let neighbouring threads (threadIdx.x) take neighbouring elements of the last axis, or go through shared "
               "memory",
    "record": "each thread goes through {apart} of its own: keep one array per field, or (fields, n) in place of (n, fields); "
              "let thread t take the elements t, t + T, t + 2 T, not neighbours; or pass the data through shared memory",
    "rows": "each thread goes along a row of its own: let the threads of a warp walk one row together, store the array "
            "transposed, or stage tiles of it in shared memory",
    "axes": "let neighbouring threads (threadIdx.x) take neighbouring elements of the last axis: swap x and y, or transpose "
            "the array",
    "transpose": "other accesses of the kernel lie in a row, so to swap x and y would only move the problem: go through a tile "
                 "in shared memory, as wide as a warp, which is filled along one axis and emptied along the other",
}
"""By the pattern of a warp's addresses; "strided" is one of four."""


def remedy(subject: Subject, worst: AccessSample | None, how: str) -> str:
    if how != "strided" or worst is None:
        return REMEDIES[how]
    apart = abs(access.stride(access.of(worst)) or 0)
    if apart <= RECORD_UP_TO:
        return REMEDIES["record"].format(apart=access.length(apart))
    if 1 in subject.profile.block[:2]:
        return REMEDIES["rows"]
    return REMEDIES["transpose" if any_in_a_row(subject) else "axes"]


def any_in_a_row(subject: Subject) -> bool:
    """Whether a sampled access of the kernel to global memory is coalesced as it is."""
    return any(access.pattern(sample, subject.profile.block[0]) == "row" for sample in subject.profile.samples
               if sample.space == "global")


# -- small requests

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
            if min(access.widths(subject, place, "global", word), default=0) >= SMALL_BELOW:
                continue            # wide accesses of few lanes
            packed = "unaligned" in subject.profile.kernel and access.in_pieces(subject, place, word)
            yield advise(
                subject, f"small {word} requests", place,
                f"{quoted(place)}: {count(counters[requests])} {word} requests of {digits(each)} B, {digits(each / LANES)} B "
                f"per lane; {'the compiler takes each value in pieces' if packed else 'a request can carry 128 to 512 B'}",
                PACKED if packed else "let a thread take several neighbouring elements at once, such as four bytes seen as one "
                "int32",
                subject.gain(part, LSU))


PACKED = "the array's records are packed, so that numba relies on no alignment: np.dtype([...], align=True) lets it take " \
    "whole values"


# -- reuse

def loaded_again(subject: Subject) -> Iterator[Advice]:
    """Bytes that the threads of a block load 8 times and more, where the load/store unit works 20 % of the time and more.

    No gain: what shared memory costs instead depends on the tile.
    """
    asked, distinct = subject.count(names.GLOBAL_BYTES_REQUESTED_LD), SECTOR_BYTES * subject.count(names.BLOCK_SECTORS_LD)
    if not distinct or asked < AGAIN_FROM * distinct or subject.share(LSU) < BUSY_FROM:
        return
    for place, _, _ in worst_lines(subject, lambda counters: added(counters, names.GLOBAL_BYTES_REQUESTED_LD), asked)[:1]:
        yield advise(
            subject, "loaded again and again", place,
            f"{quoted(place)}: the threads of a block load each of its bytes {digits(asked / distinct)} times: "
            f"{count(asked)}B asked for, {count(distinct)}B distinct",
            "load a tile once into shared memory, wait at cuda.syncthreads(), and let all threads of the block read it there",
            None)


RULES = (uncoalesced, small_requests, loaded_again)
