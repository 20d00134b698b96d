"""Counters of random access patterns agree with a count in plain Python over every byte that the lanes ask for."""
from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from simt.observe import names

FILE = "kernel.py"
KIND = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "v4.u32"}
REGISTER = {1: "%r1", 2: "%r1", 4: "%r1", 8: "%d1", 16: "{%r1, %r2, %r3, %r4}"}
SITES = [(space, verb, size) for space in ("global", "shared") for verb in ("ld", "st") for size in KIND]
AREA_BYTES = 8192
BLOCK, BLOCKS = (75, 1, 1), 5       # three warps, the last of 11 lanes
THREADS = BLOCK[0] * BLOCKS
SUFFIX = {"ld": "_LD", "st": "_ST"}


def counter(name: str, verb: str) -> str:
    return getattr(names, name + SUFFIX[verb])


def text() -> str:
    """Each site takes its offset from its row of %a1, and runs in the threads whose bit of that row of %a2 is set."""
    lines = [f"mad.lo.u32 %r9, %ctaid.x, {BLOCK[0]}, %tid.x; mul.wide.u32 %d9, %r9, 8; add.u64 %w1, %a1, %d9;",
             "mov.u64 %d8, tile; add.u64 %w2, %a2, %d9; ld.global.u64 %d7, [%w2];"]
    for number, (space, verb, size) in enumerate(SITES):
        operands = (REGISTER[size], "[%d2]") if verb == "ld" else ("[%d2]", REGISTER[size])
        base = "%a0" if space == "global" else "%d8"
        lines += [f"ld.global.u64 %d2, [%w1+{8 * THREADS * number}]; add.u64 %d2, %d2, {base};",
                  f"shr.u64 %d3, %d7, {number}; and.b64 %d3, %d3, 1; setp.ne.u64 %p1, %d3, 0;",
                  f".loc 1 {number + 1} 0\n@%p1 {verb}.{space}.{KIND[size]} {', '.join(operands)};\n.loc 1 999 0"]
    return f".shared .align 128 .b8 tile[{AREA_BYTES}];\n" + "\n".join(lines)


@pytest.fixture(scope="module")
def kernel(bench):
    return bench.kernel(text(), 3)


def pattern(source: random.Random, size: int) -> list[int]:
    """An offset for each thread, a multiple of the size, by one of the ways in which kernels go wrong or right."""
    cells = AREA_BYTES // size
    start, stride = source.randrange(cells), source.choice((0, 1, 1, 2, 3, 4, 8, 16, 31, 32, 33, source.randrange(cells)))
    few = [source.randrange(cells) for _ in range(source.choice((1, 2, 3, 7)))]
    ways = (lambda t: start + t * stride, lambda t: start - t * stride, lambda t: source.randrange(cells),
            lambda t: source.choice(few), lambda t: start + (t * 7 % 32), lambda t: start + (t % 32 // 4) * stride)
    way = source.choice(ways)
    return [way(t) % cells * size for t in range(THREADS)]


def warps() -> list[list[int]]:
    """Thread numbers in the grid, warp by warp."""
    return [list(range(block * BLOCK[0] + start, block * BLOCK[0] + min(start + 32, BLOCK[0])))
            for block in range(BLOCKS) for start in range(0, BLOCK[0], 32)]


def wavefronts(addresses: dict[int, int], size: int) -> tuple[int, int]:
    """(wavefronts, ideal) of lane -> address: lanes go in groups that fill 128 bytes; a group takes as many wavefronts as one
    of 32 banks has different words."""
    per, total, ideal = max(32 * 4 // max(size, 4), 1), 0, 0
    for start in range(0, 32, per):
        words = {(address + byte) // 4 for lane, address in addresses.items() if start <= lane < start + per
                 for byte in range(size)}
        banks = Counter(word % 32 for word in words)
        total += max(banks.values(), default=0)
        ideal += bool(words)
    return total, ideal


def expected(site: tuple[str, str, int], offsets: list[int], active: list[bool]) -> Counter:
    """Counters of one site; the array and the tile begin at multiples of 128 bytes."""
    space, verb, size = site
    found = Counter()
    for threads in warps():
        addresses = {t % BLOCK[0] % 32: offsets[t] for t in threads if active[t]}
        if not addresses:
            continue
        touched = [address + byte for address in addresses.values() for byte in range(size)]
        taken, ideal = wavefronts(addresses, size)
        asked = len(touched)
        if space == "shared":
            found.update({counter("SHARED_REQUESTS", verb): 1, counter("SHARED_WAVEFRONTS", verb): taken,
                          counter("SHARED_CONFLICTS", verb): taken - ideal, counter("SHARED_BYTES_REQUESTED", verb): asked})
        else:
            found.update({counter("GLOBAL_REQUESTS", verb): 1, counter("GLOBAL_WAVEFRONTS", verb): taken,
                          counter("GLOBAL_SECTORS", verb): len({b // 32 for b in touched}),
                          counter("GLOBAL_LINES", verb): len({b // 128 for b in touched}),
                          counter("GLOBAL_BYTES_REQUESTED", verb): asked})
    return found


def block_sectors(verb: str, offsets: np.ndarray, active: np.ndarray) -> int:
    """Distinct sectors of %a0 that each block touches, all sites together."""
    total = 0
    for block in range(BLOCKS):
        threads = slice(block * BLOCK[0], (block + 1) * BLOCK[0])
        total += len({int(offset) // 32 for number, site in enumerate(SITES) if site[:2] == ("global", verb)
                      for offset in offsets[number, threads][active[number, threads]]})
    return total


@pytest.mark.parametrize("number", range(12))
def test_random_patterns_count_as_in_plain_python(kernel, seed, number):
    source = random.Random(f"{seed} {number}")
    offsets = np.array([pattern(source, size) for _, _, size in SITES], np.uint64)
    density = source.choice((0.03, 0.5, 0.9, 1.0))
    active = np.array([[source.random() < density for _ in range(THREADS)] for _ in SITES])
    bits = np.array([sum(1 << site for site in range(len(SITES)) if active[site, t]) for t in range(THREADS)], np.uint64)
    counted = kernel.count(np.zeros(AREA_BYTES, np.uint8), offsets, bits, grid=(BLOCKS, 1, 1), block=BLOCK,
                           threads=source.choice((1, 2, 3)))
    memory = {name for name in vars(names).values() if isinstance(name, str)} - {
        names.INSTRUCTIONS, names.THREAD_INSTRUCTIONS, names.BLOCK_SECTORS_LD, names.BLOCK_SECTORS_ST}
    for site, description in enumerate(SITES):
        wanted = expected(description, offsets[site].tolist(), active[site].tolist())
        found = {name: value for name, value in counted.lines.get((FILE, site + 1), {}).items() if name in memory}
        assert found == {name: value for name, value in wanted.items() if value}, description
    own = sum(counted.lines[FILE, 999].get(name, 0) for name in (names.BLOCK_SECTORS_LD, names.BLOCK_SECTORS_ST))
    assert own > 0          # the kernel's own reads of its arrays have a line of their own
    for verb in ("ld", "st"):
        name = counter("BLOCK_SECTORS", verb)
        found = sum(counters.get(name, 0) for (_, line), counters in counted.lines.items() if line < 999)
        assert found == block_sectors(verb, offsets, active), verb
