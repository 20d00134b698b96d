"""Which memory has been written: the native half of the initialisation checker. Compiled by Numba when first used."""
from __future__ import annotations

from numba import cfunc, njit, types

WARP = 32
WORD_BYTES = 4
MAX_THREADS = 1024
LOAD, STORE, ATOMIC = 0, 1, 2
GLOBAL, SHARED, LOCAL = 0, 1, 2

# The header of the state, an array of int64. SELF: its own address. A word of shared or local memory has an entry: the block
# that wrote it, plus 1, times 16, plus a bit for each byte. Ranges: start, end, and the address of a byte for each byte.
(SELF, SHARED_AT, SHARED_WORDS, LOCAL_AT, LOCAL_WORDS, RANGES_AT, RANGES, FOUND_AT, FOUND, HEADER) = range(10)
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
def see_word(p, at, block, touched, action):
    """As see_global, of one word of the block's own memory."""
    entry = p[at] if p[at] >> WORD_BYTES == block + 1 else (block + 1) << WORD_BYTES
    sound = action == STORE or entry & touched == touched
    p[at] = entry | touched if action != LOAD else entry
    return sound


@njit(cache=True)
def see_own(p, start, words, address, total, block, action):
    sound = True
    for word in range(max(total // WORD_BYTES, 1)):
        touched = ((1 << min(total, WORD_BYTES)) - 1) << (address % WORD_BYTES if total < WORD_BYTES else 0)
        sound = see_word(p, start + (address // WORD_BYTES + word) % words, block, touched, action) and sound
    return sound


@cfunc(types.void(pointer, byte_pointer, pointer, *[types.int64] * 7), cache=True)
def init_access(p, raw, addresses, mask, total, site, action, space, warp, block):
    """One access of the lanes in ``mask``: ``total`` bytes each, at addresses in the space."""
    for lane in range(WARP):
        if not mask >> lane & 1:
            continue
        address, thread = addresses[lane], warp * WARP + lane
        if space == GLOBAL:
            sound = see_global(p, raw, address, total, action)
        elif space == SHARED:
            sound = see_own(p, p[SHARED_AT], p[SHARED_WORDS], address, total, block, action)
        else:
            sound = see_own(p, p[LOCAL_AT] + thread * p[LOCAL_WORDS], p[LOCAL_WORDS], address, total, block, action)
        if not sound:
            report(p, site, 1 + block * MAX_THREADS + thread, address, space)
