"""What the addresses of a sampled warp say in words: how far neighbouring lanes are apart, and which lanes share a bank."""
from __future__ import annotations

import collections

from simt.observe.addresses import BANK_BYTES, BANKS
from simt.observe.profile import AccessSample
from simt.report.pictures.warp_access import SECTOR_BYTES, WarpAccess
from simt.report.subject import Place, Subject

VERBS = {"load": "read", "store": "write", "atomic": "update"}


def of(sample: AccessSample) -> WarpAccess:
    return WarpAccess(sample.addresses, sample.mask, sample.bytes)


def stride(access: WarpAccess) -> int | None:
    """Bytes from a lane's address to that of the next lane, where most pairs of neighbours agree on it."""
    steps = collections.Counter(access.addresses[lane + 1] - access.addresses[lane]
                                for lane in access.lanes if lane + 1 in access.lanes)
    if not steps:
        return None
    step, times = steps.most_common(1)[0]
    return step if 2 * times > steps.total() else None


def pattern(sample: AccessSample, block_width: int) -> str:
    """How the addresses of neighbouring lanes lie:

    "row"        next to each other, so that only the start can cost sectors
    "short rows" next to each other as far as the block is wide (its extent in x), then elsewhere
    "strided"    a constant distance apart
    "irregular"  no distance is common
    "unknown"    no two neighbours, or all at one address
    """
    access = of(sample)
    step = stride(access)
    if not any(lane + 1 in access.lanes for lane in access.lanes) or step == 0:
        return "unknown"
    if step is None:
        return "irregular"
    if abs(step) != sample.bytes:
        return "strided"
    return "short rows" if block_width * sample.bytes < SECTOR_BYTES else "row"


def colliding(access: WarpAccess) -> tuple[int, int, int] | None:
    """(lane, lane, bytes between their words): two that want different words of the worst bank; None without a conflict."""
    ways = access.ways()
    first, word = max(ways, key=lambda place: (ways[place], -place[0]), default=(0, 0))
    if ways.get((first, word), 1) == 1:
        return None
    group = next(group for group in access.groups if first in group)
    return next((first, lane, BANK_BYTES * abs(other - word)) for lane in group for other in access.words(lane)
                if other != word and other % BANKS == word % BANKS)


def at(subject: Subject, place: Place, space: str, action: str) -> list[AccessSample]:
    """The samples of that line."""
    return [sample for sample in subject.profile.samples
            if (sample.file, sample.line, sample.space, sample.action) == (*place, space, action)]


def widths(subject: Subject, place: Place, space: str, action: str) -> set[int]:
    """Bytes of a lane's access, of the sampled accesses of that line."""
    return {sample.bytes for sample in at(subject, place, space, action)}


def worst_at(subject: Subject, place: Place, space: str, action: str) -> AccessSample | None:
    """The sample of that line that touches most sectors, or takes most wavefronts."""
    return max(at(subject, place, space, action), default=None,
               key=lambda sample: of(sample).wavefronts if space == "shared" else len(of(sample).sectors))


def apart(sample: AccessSample | None, how: str) -> str:
    """': neighbouring threads read addresses 4 KiB apart', where a warp's global addresses were sampled; else ''."""
    if sample is None or how == "unknown":
        return ""
    access, verb = of(sample), VERBS[sample.action]
    if how == "irregular":
        return f": neighbouring threads {verb} addresses without a common distance"
    past = min(access.addresses[lane] for lane in access.lanes) % SECTOR_BYTES
    if how == "row" and past:
        return f": neighbouring threads {verb} neighbouring addresses, from {past} B past a multiple of {SECTOR_BYTES} B on"
    return f": neighbouring threads {verb} addresses {length(abs(stride(access) or 0))} apart"


def collision(subject: Subject, place: Place, action: str) -> str:
    """': lanes 0 and 1 read words 128 B apart, in one bank', where a warp's shared addresses were sampled; else ''."""
    sample = worst_at(subject, place, "shared", action)
    found = colliding(of(sample)) if sample is not None else None
    if found is None:
        return ""
    return f": lanes {found[0]} and {found[1]} {VERBS[action]} words {length(found[2])} apart, in one bank"


def within_a_row(subject: Subject, place: Place, action: str) -> bool:
    """Whether lanes collide in banks because neighbours are a few words apart, less than the banks are wide."""
    sample = worst_at(subject, place, "shared", action)
    step = stride(of(sample)) if sample is not None else None
    return bool(step) and sample.bytes <= abs(step) < BANKS * BANK_BYTES


def in_pieces(subject: Subject, place: Place, action: str) -> bool:
    """Whether every lane takes one value in several accesses, each the next to the one before."""
    starts = {(sample.bytes, sample.addresses[0]) for sample in at(subject, place, "global", action) if sample.mask & 1}
    return any((size, address + size) in starts for size, address in starts)


def length(size_bytes: int) -> str:
    """4096 -> "4 KiB"; 4100 -> "4100 B" """
    return f"{size_bytes // 1024} KiB" if size_bytes % 1024 == 0 and size_bytes else f"{size_bytes} B"
