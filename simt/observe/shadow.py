"""Which accesses of a launch are ordered, and which race: the native half of the race checker.

A word of 4 bytes has a record: its last write, and up to two reads and two atomics of different threads since. A new access
races with one of another thread if both touch a common byte, one of them writes, not both are atomic, and nothing orders
them. Two cases need no record. Eight threads side by side that write a whole sector of global memory, which nobody else has
accessed, have one entry until somebody does. A line of shared memory that two warps have read since the last barrier, and
nobody has written, is not looked at when it is read again: that would change nothing. These order two accesses:

- a barrier of the block, or of the whole grid, between them;
- within a warp, a ``syncwarp`` that both threads took part in;
- a fence and an atomic after the first, then an atomic of the same word before the second: locks, and tickets by which the
  last block knows that all others are done. Towards other blocks, one thread releases what its block did before a barrier.

Shuffles, votes and ``volatile`` order nothing (PTX ISA, "Memory Consistency Model"). Compiled by Numba when first used.
"""
from __future__ import annotations

from numba import cfunc, njit, types
from numba.cpython.unsafe.numbers import trailing_zeros

WORD_BYTES = 4
ALL_BYTES = 0b1111
MAX_THREADS = 1024
WARP = 32
LOAD, STORE, ATOMIC, ALIAS = 0, 1, 2, 3
GLOBAL, SHARED = 0, 1

# The header of the state, an array of int64: sizes and places of its parts, counted in elements. Behind it, for each access of
# the kernel, 1 where it need not be looked at.
# LEARNT: a syncwarp has run in the block; STEPPED: that, an atomic or a fence, so that its threads differ in their steps;
# MISSED: accesses to words of global memory for which there was no room.
(TIME, BLOCK, THREAD_COUNT, CLOCKS, KNOWN, THREADS, BLOCKS, BLOCK_COUNT, LINES_AT, LINES, SHARED_AT, SHARED_WORDS, SECTORS_AT,
 SECTORS, SECTORS_USED, GLOBAL_AT, GLOBAL_WORDS, GLOBAL_USED, LEARNT, STEPPED, FOUND_AT, FOUND, MISSED, HEADER) = range(24)

# One record, of two cache lines: the block it belongs to (in shared memory); through which variable it was last written; the
# write, and the word as it was written; a read and an atomic, and SECOND fields behind each of these another one. An access
# has two fields. The common cases look at the first line only.
KEY, VARIABLE, WRITE, VALUE, READS, ATOMICS, RECORD = 0, 1, 2, 4, 5, 7, 16
SECOND = 6
# An access: thread, site and bytes in one number (0: none), and when.
WHO_SHIFT, SITE_BITS = 20, 16
# When: how many grid barriers, barriers of the block and 1, and steps of the thread had passed.
PHASE_SHIFT, EPOCH_SHIFT = 44, 20
# The mark of a line of shared memory: when all its words had been read by two warps, and through which variable; or 0.
LINE_BYTES, VARIABLE_BITS = 128, 16
# A sector of global memory: its number plus 1; the place of its records, if it has them; or the write by the first of eight
# threads, when, and the words written, two in a field.
SECTOR_KEY, SECTOR_RECORDS, SECTOR_WRITE, SECTOR_VALUES, SECTOR = 0, 1, 2, 4, 8
SECTOR_WORDS, SECTOR_BYTES = 8, 32
NEIGHBOURS = 64             # sectors whose entries lie together

# What an agent (a thread towards its block, a block towards others) last released and acquired: the word, the time, and for a
# release its thread and when. FENCED: it has fenced since its last release.
RELEASED, RELEASED_AT, RELEASED_BY, RELEASED_WHEN, ACQUIRED, ACQUIRED_AT, FENCED, AGENT = range(8)

# One finding: both actions (ALIAS first: no race, but a word that was written through another variable), sites and threads;
# twice the address plus the space; how often; 1 if both wrote the same; and whether the threads are of one warp (0), one block
# (1) or two blocks (2).
FINDING = 10
MAX_FINDINGS = 64

pointer = types.CPointer(types.int64)
byte_pointer = types.CPointer(types.uint8)


@njit(cache=True)
def known_at(p, thread, lane):
    """Place of what a thread knows of the steps of a lane of its warp."""
    return p[KNOWN] + thread * WARP + lane


@njit(cache=True)
def enter(p, block):
    """A new block: its threads know nothing of each other."""
    p[BLOCK] = block
    for k in range(p[LINES]):
        p[p[LINES_AT] + k] = 0
    for k in range(p[THREAD_COUNT] * WARP if p[LEARNT] else 0):
        p[p[KNOWN] + k] = 0
    if p[STEPPED]:
        for k in range(p[THREAD_COUNT]):
            p[p[CLOCKS] + k] = 1
        for k in range(p[THREAD_COUNT] * AGENT):
            p[p[THREADS] + k] = 0
    p[LEARNT] = p[STEPPED] = 0


@njit(cache=True)
def handed_over(p, first, second, other, then):
    """Whether one agent released, after the access of ``other`` at ``then``, what the second acquired later."""
    word = p[first + RELEASED]
    if word == 0 or word != p[second + ACQUIRED] or p[first + RELEASED_AT] >= p[second + ACQUIRED_AT]:
        return False
    released = p[first + RELEASED_WHEN]
    return then >> EPOCH_SHIFT < released >> EPOCH_SHIFT or (other == p[first + RELEASED_BY] and then <= released)


@njit(cache=True)
def ordered(p, access, who, when):
    """Whether the recorded access comes before whatever the thread ``who`` does at ``when``."""
    other, then = p[access] >> WHO_SHIFT, p[access + 1]
    if other == 0 or other == who or then >> PHASE_SHIFT != when >> PHASE_SHIFT:
        return True
    block, thread = (who - 1) // MAX_THREADS, (who - 1) % MAX_THREADS
    its_block, its_thread = (other - 1) // MAX_THREADS, (other - 1) % MAX_THREADS
    if block != its_block:
        its, mine = p[BLOCKS] + its_block % p[BLOCK_COUNT] * AGENT, p[BLOCKS] + block % p[BLOCK_COUNT] * AGENT
        return handed_over(p, its, mine, other, then)
    if then >> EPOCH_SHIFT != when >> EPOCH_SHIFT:
        return True
    if thread // WARP == its_thread // WARP and p[known_at(p, thread, its_thread % WARP)] >= then & ((1 << EPOCH_SHIFT) - 1):
        return True
    return handed_over(p, p[THREADS] + its_thread * AGENT, p[THREADS] + thread * AGENT, other, then)


@njit(cache=True)
def report(p, access, its_action, what, action, memory, equal):
    """Note a race once for each pair of places in the code and each distance of the threads, and count it."""
    who, other = what >> WHO_SHIFT, p[access] >> WHO_SHIFT
    site, its_site = what >> WORD_BYTES & ((1 << SITE_BITS) - 1), p[access] >> WORD_BYTES & ((1 << SITE_BITS) - 1)
    apart = 2 if (who - 1) // MAX_THREADS != (other - 1) // MAX_THREADS else int((who - 1) // WARP != (other - 1) // WARP)
    for k in range(p[FOUND]):
        at = p[FOUND_AT] + k * FINDING
        same_place = p[at] == its_action and p[at + 1] == action and p[at + 2] == its_site and p[at + 3] == site
        if same_place and p[at + 9] == apart:
            p[at + 7] += 1
            p[at + 8] = min(p[at + 8], equal)
            return
    if p[FOUND] < MAX_FINDINGS:
        at = p[FOUND_AT] + p[FOUND] * FINDING
        p[at], p[at + 1], p[at + 2], p[at + 3] = its_action, action, its_site, site
        p[at + 4], p[at + 5], p[at + 6], p[at + 7], p[at + 8], p[at + 9] = other, who, memory, 1, equal, apart
        p[FOUND] += 1


@njit(cache=True)
def compare(p, access, its_action, what, when, action, memory, equal):
    """Report the recorded access if it races with this one."""
    if p[access] & what & ((1 << WORD_BYTES) - 1) and not ordered(p, access, what >> WHO_SHIFT, when):
        report(p, access, its_action, what, action, memory, equal)


@njit(cache=True)
def put(p, access, what, when):
    p[access], p[access + 1] = what, when


@njit(cache=True)
def remember(p, first, what, when):
    """Keep a read or an atomic beside those that are still unordered; of several threads, one of another warp if possible."""
    second, who = first + SECOND, what >> WHO_SHIFT
    if p[first] == 0 or ordered(p, first, who, when):
        put(p, first, what, when)
    elif ordered(p, second, who, when) or \
            ((p[second] >> WHO_SHIFT) - 1) // WARP == ((p[first] >> WHO_SHIFT) - 1) // WARP != (who - 1) // WARP:
        put(p, second, what, when)


@njit(cache=True)
def sector_of(p, number):
    """Place of the entry of a sector of global memory; 0 where the table is full."""
    mask = p[SECTORS] - 1                   # neighbours lie side by side: pages are touched in order
    slot = (((number // NEIGHBOURS * 0x9E3779B97F4A7C15) >> 20) * NEIGHBOURS + number % NEIGHBOURS) & mask
    at = p[SECTORS_AT] + slot * SECTOR
    while p[at + SECTOR_KEY] != number + 1:
        if p[at + SECTOR_KEY] == 0:
            if 4 * p[SECTORS_USED] > 3 * p[SECTORS]:
                return 0
            p[SECTORS_USED] += 1
            p[at + SECTOR_KEY] = number + 1
            break
        slot = (slot + NEIGHBOURS + 1) & mask
        at = p[SECTORS_AT] + slot * SECTOR
    return at


@njit(cache=True)
def records_of(p, sector):
    """Place of the records of a sector's words; 0 where there is no room for more. A write of the whole goes into them."""
    if p[sector + SECTOR_RECORDS] == 0:
        if p[GLOBAL_USED] + SECTOR_WORDS > p[GLOBAL_WORDS]:
            return 0
        at = p[GLOBAL_AT] + p[GLOBAL_USED] * RECORD
        p[GLOBAL_USED] += SECTOR_WORDS
        p[sector + SECTOR_RECORDS] = at
        for word in range(SECTOR_WORDS if p[sector + SECTOR_WRITE] else 0):
            put(p, at + word * RECORD + WRITE, p[sector + SECTOR_WRITE] + (word << WHO_SHIFT), p[sector + SECTOR_WRITE + 1])
            p[at + word * RECORD + VALUE] = p[sector + SECTOR_VALUES + word // 2] >> 32 * (word % 2) & 0xFFFFFFFF
    return p[sector + SECTOR_RECORDS]


@njit(cache=True)
def record_of(p, space, word, block):
    """Place of the word's record; 0 where there is none."""
    if space == GLOBAL:
        sector = sector_of(p, word // SECTOR_WORDS)
        at = records_of(p, sector) if sector else 0
        p[MISSED] += at == 0
        return at + word % SECTOR_WORDS * RECORD if at else 0
    if not 0 <= word < p[SHARED_WORDS]:     # out of bounds: the launch will fail
        return 0
    at = p[SHARED_AT] + word * RECORD
    if p[at + KEY] != block + 1:
        for k in range(RECORD if p[at + KEY] else 0):
            p[at + k] = 0
        p[at + KEY] = block + 1
    return at


@njit(cache=True)
def write_sector(p, addresses, words, lane, what, when):
    """Eight lanes from ``lane`` on write one word each: True if they write a whole sector that nobody else has accessed, and
    have been recorded. ``what``: of the first lane, whole words; ``when``: the same for all."""
    start = addresses[lane]
    for k in range(SECTOR_WORDS):
        if addresses[lane + k] != start + k * WORD_BYTES:
            return False
    sector = sector_of(p, start // SECTOR_BYTES) if start % SECTOR_BYTES == 0 else 0
    if not sector or p[sector + SECTOR_RECORDS] or \
            (p[sector + SECTOR_WRITE] and p[sector + SECTOR_WRITE] >> WHO_SHIFT != what >> WHO_SHIFT):
        return False
    put(p, sector + SECTOR_WRITE, what, when)
    for k in range(SECTOR_WORDS // 2):
        p[sector + SECTOR_VALUES + k] = words[lane // 2 + k]
    return True


@njit(cache=True)
def touch(p, at, action, what, when, memory, value, variable):
    """Compare an access with a word's record, then record it."""
    if memory & 1 == SHARED:
        p[p[LINES_AT] + (memory >> 1) // LINE_BYTES] = 0
    if action == STORE and not (p[at + WRITE] or p[at + READS] or p[at + ATOMICS]):
        put(p, at + WRITE, what, when)
        p[at + VALUE], p[at + VARIABLE] = value, variable
        return
    if variable and p[at + VARIABLE] and variable != p[at + VARIABLE]:
        report(p, at + WRITE, ALIAS, what, action, memory, 0)
    if p[at + WRITE]:
        common = (p[at + WRITE] & what & ALL_BYTES) * 0x204081 & 0x01010101         # the lowest bit of each byte in question
        equal = int(action == STORE and (value ^ p[at + VALUE]) & common * 0xFF == 0)
        compare(p, at + WRITE, STORE, what, when, action, memory, equal)
    if action != LOAD:
        compare(p, at + READS, LOAD, what, when, action, memory, 0)
        compare(p, at + READS + SECOND, LOAD, what, when, action, memory, 0)
    if action != ATOMIC and p[at + ATOMICS]:
        compare(p, at + ATOMICS, ATOMIC, what, when, action, memory, 0)
        compare(p, at + ATOMICS + SECOND, ATOMIC, what, when, action, memory, 0)
    if action == LOAD:
        remember(p, at + READS, what, when)
    elif action == ATOMIC:
        remember(p, at + ATOMICS, what, when)
    else:
        put(p, at + WRITE, what, when)
        p[at + VALUE], p[at + VARIABLE] = value, variable


@njit(cache=True)
def synchronise(p, agent, word, who, when):
    """An atomic: acquire what others released on this word; release, after a fence, what was done before."""
    p[agent + ACQUIRED], p[agent + ACQUIRED_AT] = word, p[TIME]
    if p[agent + FENCED]:
        p[agent + RELEASED], p[agent + RELEASED_AT], p[agent + FENCED] = word, p[TIME], 0
        p[agent + RELEASED_BY], p[agent + RELEASED_WHEN] = who, when


@njit(cache=True)
def value_of(values, lane, word, size, elements):
    """What a lane stores into one word, from its lowest byte on; ``values`` is laid out [element][lane]."""
    found = 0
    for byte in range(min(size * elements, WORD_BYTES)):
        k = word * WORD_BYTES + byte
        found |= values[(k // size * WARP + lane) * size + k % size] << 8 * byte
    return found


@njit(cache=True)
def representatives(addresses, mask):
    """Lanes that stand for all that read: the first and the last where they read one word, else every one."""
    rest, address = mask, addresses[trailing_zeros(mask)]
    while rest & rest - 1:
        rest &= rest - 1
        if addresses[trailing_zeros(rest)] != address:
            return mask
    return mask & -mask | rest


@njit(cache=True)
def read_quietly(p, word, block, what, when, variable):
    """The common cases of a read of a whole word of shared memory that nobody has written since the last barrier: the first
    since, a second one, or one more when two warps are recorded. Returns 1 if that was it, 2 if it changed nothing, else 0."""
    at, epoch = p[SHARED_AT] + word * RECORD, when >> EPOCH_SHIFT
    first, second = at + READS, at + READS + SECOND
    if not 0 <= word < p[SHARED_WORDS] or p[at + KEY] != block + 1 or p[at + ATOMICS] \
            or p[at + WRITE + 1] >> EPOCH_SHIFT == epoch or (variable and p[at + VARIABLE] and variable != p[at + VARIABLE]):
        return 0
    if p[first + 1] >> EPOCH_SHIFT != epoch:
        put(p, first, what, when)
        return 1
    if p[first] & p[second] & ALL_BYTES != ALL_BYTES and (p[first] & ALL_BYTES != ALL_BYTES or p[second]):
        return 0
    warp = ((p[first] >> WHO_SHIFT) - 1) // WARP
    if p[second + 1] >> EPOCH_SHIFT == epoch:
        return 2 if ((p[second] >> WHO_SHIFT) - 1) // WARP != warp else 0
    if ((what >> WHO_SHIFT) - 1) // WARP == warp and (p[STEPPED] or p[first] >> WHO_SHIFT == what >> WHO_SHIFT):
        return 0
    put(p, second, what, when)
    return 1


@njit(cache=True)
def access_lane(p, address, values, lane, size, elements, what, when, action, space, variable, block):
    """The access of one lane, word by word. ``what``: without bytes. Returns as ``read_quietly``."""
    total = size * elements
    if total == WORD_BYTES and space == SHARED and action == LOAD:
        quiet = read_quietly(p, address // WORD_BYTES, block, what + ALL_BYTES, when, variable)
        if quiet:
            return quiet
    for word in range(max(total // WORD_BYTES, 1)):
        at = record_of(p, space, address // WORD_BYTES + word, block)
        if at:
            first = address % WORD_BYTES if total < WORD_BYTES else 0
            touched = ((1 << min(total, WORD_BYTES)) - 1) << first
            value = value_of(values, lane, word, size, elements) << 8 * first if action == STORE else 0
            touch(p, at, action, what + touched, when, 2 * (address + word * WORD_BYTES) + space, value, variable)
    return 0


@cfunc(types.void(pointer, pointer, pointer, byte_pointer, *[types.int64] * 12), cache=True)
def race_access(p, addresses, words, values, mask, size, elements, site, action, space, variable, warp, block, epoch, phase,
                line):
    """One access of the lanes in ``mask``, at least one: ``elements`` of ``size`` bytes each, at addresses in the space.

    words, values: what a store writes, the same memory as 8 bytes and as one
    variable: a number for the shared variable that the addresses are based on; 0 where that is not known
    line: where the mark lies of the line of shared memory that a warp reads word by word; 0 where it does not
    """
    if p[BLOCK] != block:
        enter(p, block)
    p[TIME] += 1
    if action == LOAD:
        mask = representatives(addresses, mask)
    whole_sectors = action == STORE and space == GLOBAL and size == WORD_BYTES and elements == 1 and not p[STEPPED]
    now, rest, quiet = (phase << PHASE_SHIFT) + (epoch + 1 << EPOCH_SHIFT), mask, 2
    while rest:
        lane = trailing_zeros(rest)
        who, clock = 1 + block * MAX_THREADS + warp * WARP + lane, p[CLOCKS] + warp * WARP + lane
        what, when = (who << WHO_SHIFT) + (site << WORD_BYTES), now + p[clock]
        if whole_sectors and lane % SECTOR_WORDS == 0 and rest >> lane & 0xFF == 0xFF \
                and write_sector(p, addresses, words, lane, what + ALL_BYTES, when):
            rest &= ~(0xFF << lane)
            continue
        rest &= rest - 1
        quiet = min(quiet, access_lane(p, addresses[lane], values, lane, size, elements, what, when, action, space, variable,
                                       block))
        if action == ATOMIC:
            word, p[STEPPED] = addresses[lane] // WORD_BYTES + 1, 1
            synchronise(p, p[THREADS] + (warp * WARP + lane) * AGENT, word, who, when)
            synchronise(p, p[BLOCKS] + block % p[BLOCK_COUNT] * AGENT, word, who, when)
            p[clock] += 1                   # what comes now is not released
    if line and quiet == 2:
        p[line] = (now >> EPOCH_SHIFT << VARIABLE_BITS) + variable + 1


@njit(cache=True)
def learn(p, first, mask, lane):
    """The lanes of a warp in the mask share the latest that one of them knows of a lane."""
    latest = 0
    for one in range(WARP):
        if mask >> one & 1:
            latest = max(latest, p[known_at(p, first + one, lane)])
    for one in range(WARP):
        if mask >> one & 1:
            p[known_at(p, first + one, lane)] = latest


@cfunc(types.void(pointer, types.int64, types.int64, types.int64), cache=True)
def race_sync_warp(p, mask, warp, block):
    """A ``syncwarp`` of these lanes: each learns what the others had done."""
    if p[BLOCK] != block:
        enter(p, block)
    first, p[LEARNT], p[STEPPED] = warp * WARP, 1, 1
    for lane in range(WARP):
        if mask >> lane & 1:
            p[known_at(p, first + lane, lane)] = p[p[CLOCKS] + first + lane]
            p[p[CLOCKS] + first + lane] += 1
    for lane in range(WARP):
        learn(p, first, mask, lane)


@cfunc(types.void(pointer, types.int64, types.int64, types.int64), cache=True)
def race_fence(p, mask, warp, block):
    """A fence of these lanes: their next atomic releases what came before."""
    if p[BLOCK] != block:
        enter(p, block)
    p[STEPPED] = 1
    for lane in range(WARP):
        if mask >> lane & 1:
            p[p[THREADS] + (warp * WARP + lane) * AGENT + FENCED] = 1
    p[p[BLOCKS] + block % p[BLOCK_COUNT] * AGENT + FENCED] = 1
