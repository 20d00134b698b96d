"""Which memory has been written: the native half of the initialisation checker. Compiled by Numba when first used."""
from __future__ import annotations

from numba import cfunc, njit, types

WARP = 32
WORD_BYTES = 4
ALL_BYTES = 0b1111
MAX_THREADS = 1024
LOAD, STORE, ATOMIC = 0, 1, 2
GLOBAL, SHARED, LOCAL = 0, 1, 2

# The header of the state, an array of int64. SELF: its own address. RESIDENT: blocks that live at once. A word of their shared
# and local memory has an entry: the block that wrote it, plus 1, times 16, plus a bit for each byte. Ranges: start, end, and
# the address of a byte for each byte.
(SELF, RESIDENT, THREADS, SHARED_AT, SHARED_WORDS, LOCAL_AT, LOCAL_WORDS, RANGES_AT, RANGES, FOUND_AT, FOUND,
 HEADER) = range(12)
RANGE = 3
# One finding: site, thread, address, space, how often.
FINDING, MAX_FINDINGS = 5, 64

pointer = types.CPointer(types.int64)
byte_pointer = types.CPointer(types.uint8)


@njit(cache=True)
def report(p, site, who, address, space):
    """Note an access once, with the first thread that made it, and count it."""
    for k in range(p[FOUND]):
        at = p[FOUND_AT] + k * FINDING
        if p[at] == site and p[at + 3] == space:
            p[at + 4] += 1
            return
    if p[FOUND] < MAX_FINDINGS:
        at = p[FOUND_AT] + p[FOUND] * FINDING
        p[at], p[at + 1], p[at + 2], p[at + 3], p[at + 4] = site, who, address, space, 1
        p[FOUND] += 1


@njit(cache=True)
def range_of(p, address):
    """Place of the range that holds an address; 0 for memory that is not followed."""
    low, high = 0, p[RANGES]
    while low < high:
        middle = (low + high) // 2
        at = p[RANGES_AT] + middle * RANGE
        if address < p[at]:
            high = middle
        elif address >= p[at + 1]:
            low = middle + 1
        else:
            return at
    return 0


@njit(cache=True)
def see_global(p, raw, address, total, action):
    """False if a byte that is read was never written. Marks what is written."""
    at, sound = range_of(p, address), True
    if at:
        marks = p[at + 2] - p[SELF] + address - p[at]
        for byte in range(total):
            sound = sound and (action == STORE or raw[marks + byte] != 0)
            if action != LOAD:
                raw[marks + byte] = 1
    return sound


@njit(cache=True)
def see_own(p, start, words, address, total, block, action):
    """As see_global, of the block's own memory, whose entries begin at ``start``."""
    first, last = address >> 2, (address + total - 1) >> 2
    if first < 0 or last >= words:              # out of bounds: the launch will fail
        return True
    touched = ((1 << min(total, WORD_BYTES)) - 1) << (address % WORD_BYTES if total < WORD_BYTES else 0)
    sound, unwritten = True, (block + 1) << WORD_BYTES
    for at in range(start + first, start + last + 1):
        entry = p[at] if p[at] >> WORD_BYTES == block + 1 else unwritten
        if action != STORE and entry & touched != touched:
            sound = False
        if action != LOAD:
            p[at] = entry | touched
    return sound


@njit(cache=True)
def all_written(p, addresses, mask, start, step, words, block):
    """The common case: the words of all these lanes are written, whatever they do now. Without branches, for speed."""
    whole, missing = ((block + 1) << WORD_BYTES) + ALL_BYTES, 0
    for lane in range(WARP):
        runs = -(mask >> lane & 1)              # all bits, or none
        word = addresses[lane] >> 2
        inside = min(max(word, 0), words - 1)
        missing |= ((p[start + (lane * step + inside & runs)] ^ whole) | (word ^ inside)) & runs
    return missing == 0


@cfunc(types.void(pointer, byte_pointer, pointer, *[types.int64] * 7), cache=True)
def init_access(p, raw, addresses, mask, total, site, action, space, warp, block):
    """One access of the lanes in ``mask``: ``total`` bytes each, at addresses in the space."""
    own, words, step = block % p[RESIDENT], p[SHARED_WORDS], 0
    start = p[SHARED_AT] + own * words
    if space == LOCAL:
        words = step = p[LOCAL_WORDS]
        start = p[LOCAL_AT] + (own * p[THREADS] + warp * WARP) * words
    if total == WORD_BYTES and space != GLOBAL and all_written(p, addresses, mask, start, step, words, block):
        return
    for lane in range(WARP):
        if not mask >> lane & 1:
            continue
        address = addresses[lane]
        if space == GLOBAL:
            sound = see_global(p, raw, address, total, action)
        else:
            sound = see_own(p, start + lane * step, words, address, total, block, action)
        if not sound:
            report(p, site, 1 + block * MAX_THREADS + warp * WARP + lane, address, space)
