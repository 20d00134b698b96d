"""A first-level cache of the running block and a second-level one of the device: the native half of the cache simulation.

Lines of 128 bytes in four sectors, least recently used out first; a miss fetches the sector, not the line. Stores go through
the first level; the second holds what was written until it is pushed out. Compiled by Numba when first used.
"""
from __future__ import annotations

from numba import cfunc, njit, types

WARP, SECTOR_BYTES, SECTORS = 32, 32, 4
LOAD, STORE, ATOMIC = 0, 1, 2
WAYS_L1, WAYS_L2 = 4, 16

# The header of the state, an array of int64: the moment, sets and place of each level, sectors that were pushed out dirty.
TIME, L1_SETS, L1_AT, L2_SETS, L2_AT, WRITTEN_BACK, HEADER = range(7)
# A way: its line plus 1, the block that owns it (first level), bits of the sectors that it holds, of those that are dirty,
# and when it was last used.
LINE, OWNER, HELD, DIRTY, USED, WAY = range(6)
# Counters of a site: sectors found in the first level; asked of the second, found there; sectors fetched from memory.
L1_HITS, L2_READS, L2_HITS, FETCHED, SLOTS = range(5)

pointer = types.CPointer(types.int64)


@njit(cache=True)
def way_of(p, start, sets, ways, line, owner):
    """Place of the line's way; of the one to push out, emptied, where it is not held."""
    base = start + line % sets * ways * WAY
    oldest = base
    for k in range(ways):
        at = base + k * WAY
        mine = p[at + OWNER] == owner
        if p[at + LINE] == line + 1 and mine:
            p[at + USED] = p[TIME]
            return at
        if not mine or p[at + USED] < p[oldest + USED]:
            oldest = at
            if not mine:
                p[at + USED] = -1
    dirty = p[oldest + DIRTY]
    while dirty:
        p[WRITTEN_BACK] += dirty & 1
        dirty >>= 1
    p[oldest + LINE], p[oldest + OWNER], p[oldest + HELD], p[oldest + DIRTY], p[oldest + USED] = line + 1, owner, 0, 0, p[TIME]
    return oldest


@njit(cache=True)
def read_below(p, slots, line, bit):
    """A sector from the second level, or from memory."""
    slots[L2_READS] += 1
    at = way_of(p, p[L2_AT], p[L2_SETS], WAYS_L2, line, 0)
    if p[at + HELD] & bit:
        slots[L2_HITS] += 1
    else:
        slots[FETCHED] += 1
        p[at + HELD] |= bit


@njit(cache=True)
def see(p, slots, sector, action, block):
    line, bit = sector // SECTORS, 1 << sector % SECTORS
    p[TIME] += 1
    if action == LOAD:
        at = way_of(p, p[L1_AT], p[L1_SETS], WAYS_L1, line, block + 1)
        if p[at + HELD] & bit:
            slots[L1_HITS] += 1
        else:
            read_below(p, slots, line, bit)
            p[at + HELD] |= bit
        return
    if action == ATOMIC:
        read_below(p, slots, line, bit)
    at = way_of(p, p[L2_AT], p[L2_SETS], WAYS_L2, line, 0)
    p[at + HELD] |= bit
    p[at + DIRTY] |= bit


@cfunc(types.void(pointer, pointer, pointer, *[types.int64] * 4), cache=True)
def cache_access(p, slots, addresses, mask, size, action, block):
    """One access of the lanes in ``mask``, ``size`` bytes each: every sector of the request once."""
    for lane in range(WARP):
        if not mask >> lane & 1:
            continue
        first, last = addresses[lane] // SECTOR_BYTES, (addresses[lane] + size - 1) // SECTOR_BYTES
        for sector in range(first, last + 1):
            again = False
            for other in range(lane):
                start = addresses[other] // SECTOR_BYTES
                if mask >> other & 1 and start <= sector <= (addresses[other] + size - 1) // SECTOR_BYTES:
                    again = True
                    break
            if not again:
                see(p, slots, sector, action, block)
