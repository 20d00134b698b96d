"""Random kernels with their counters worked out in plain Python, from the bytes that every thread asks for.

    python -m tests.simt.observe.random_kernels [--kernels 300] [--seed 0]

A kernel has a block shape of its own and up to a dozen accesses: to global or shared memory, loads, stores and atomics of
1 to 16 bytes, under guards, in branches and in loops; addresses come by constants that the compiler knows, by products of
the thread's place, or from an array that it cannot know.
"""
from __future__ import annotations

import argparse
import dataclasses
import math
import random
import sys
from collections import Counter

import numpy as np

from simt.observe import names

FILE = "kernel.py"
AREA_BYTES = 16384
KIND = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "v4.u32"}
REGISTER = {1: "%r1", 2: "%r1", 4: "%r1", 8: "%d1", 16: "{%r1, %r2, %r3, %r4}"}
BLOCKS = ((32, 1, 1), (75, 1, 1), (16, 4, 1), (8, 5, 3), (33, 2, 1), (1, 40, 1), (4, 4, 4), (128, 1, 1))
SUFFIX = {"ld": "_LD", "st": "_ST"}
DECLARATIONS = f".shared .align 128 .b8 tile[{AREA_BYTES}];"
PLACES = ("tx", "ty", "tz", "linear", "block")
REGISTERS = {"tx": "%r20", "ty": "%r21", "tz": "%r22", "linear": "%r23", "block": "%r24"}
START = """mov.u32 %r20, %tid.x; mov.u32 %r21, %tid.y; mov.u32 %r22, %tid.z; mov.u32 %r24, %ctaid.x;
mad.lo.u32 %r23, %r22, %ntid.y, %r21; mad.lo.u32 %r23, %r23, %ntid.x, %r20; mov.u64 %d8, tile;
mul.lo.u32 %r25, %r24, THREADS; add.u32 %r25, %r25, %r23;
.loc 1 999 0
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Site:
    """One access. strides: by place of the thread, in elements; table: row of the array of offsets, or None.

    active: linear threads of a block below this number run it;  branch: as a branch and not a guard
    trips: times it runs, in a loop that moves on by ``advance`` elements
    """

    number: int
    space: str
    verb: str
    size: int
    start: int
    strides: dict[str, int]
    table: int | None
    active: int
    branch: bool
    trips: int
    advance: int

    def cell(self, thread: dict[str, int], table: np.ndarray, trip: int) -> int:
        """The element that a thread accesses."""
        place = self.start + sum(stride * thread[name] for name, stride in self.strides.items())
        if self.table is not None:
            place = int(table[self.table, thread["grid"]])
        return (place + trip * self.advance) % (AREA_BYTES // self.size)

    def text(self) -> str:
        lines = [f"mov.u32 %r30, {self.start};"]
        lines += [f"mad.lo.u32 %r30, {REGISTERS[name]}, {stride}, %r30;" for name, stride in self.strides.items()]
        if self.table is not None:
            lines = [f"mul.wide.u32 %d2, %r25, 4; add.u64 %d2, %a1, %d2; ld.global.u32 %r30, [%d2+ROW{self.table}];"]
        label, guard = f"L{self.number}", ""
        if self.active < 1024:
            lines.append(f"setp.lt.u32 %p1, %r23, {self.active};")
            if self.branch:
                lines.append(f"@!%p1 bra END{self.number};")
            else:
                guard = "@%p1 "
        lines += ["mov.u32 %r31, 0;", f"{label}: and.b32 %r32, %r30, {AREA_BYTES // self.size - 1};",
                  f"mul.wide.u32 %d3, %r32, {self.size}; add.u64 %d3, %d3, {'%a0' if self.space == 'global' else '%d8'};",
                  f".loc 1 {self.number + 1} 0", guard + self.instruction(), ".loc 1 999 0",
                  f"add.u32 %r30, %r30, {self.advance}; add.u32 %r31, %r31, 1; setp.lt.u32 %p3, %r31, {self.trips};",
                  f"@%p3 bra {label};",
                  f"END{self.number}:"]
        return "\n".join(lines)

    def instruction(self) -> str:
        register = REGISTER[self.size]
        if self.verb == "atom":
            return f"red.{self.space}.add.{KIND[self.size]} [%d3], 1;"
        operands = (register, "[%d3]") if self.verb == "ld" else ("[%d3]", register)
        return f"{self.verb}.{self.space}.{KIND[self.size]} {', '.join(operands)};"


class RandomKernel:
    """text: its PTX body;  table: the array of offsets;  expected: counters by line, and those of whole blocks"""

    def __init__(self, seed: int):
        self.source = random.Random(seed)
        self.block, self.blocks = self.source.choice(BLOCKS), self.source.choice((1, 2, 5))
        self.threads = math.prod(self.block)
        self.sites = [self.site(number) for number in range(self.source.randrange(3, 13))]
        self.table = np.array([[self.source.randrange(AREA_BYTES) for _ in range(self.threads * self.blocks)]
                               for _ in self.sites], np.uint32)
        body = START.replace("THREADS", str(self.threads)) + "\n".join(site.text() for site in self.sites)
        for site in self.sites:
            body = body.replace(f"ROW{site.number}]", f"{4 * site.number * self.threads * self.blocks}]")
        self.text = body

    def site(self, number: int) -> Site:
        source = self.source
        verb = source.choice(("ld", "ld", "ld", "st", "st", "atom"))
        size = source.choice((4, 8)) if verb == "atom" else source.choice(tuple(KIND))
        steps = (0, 0, 1, 1, 2, 3, 4, 8, 16, 17, 31, 32, 33, 64, 100)
        strides = {name: source.choice(steps) for name in PLACES if source.random() < 0.6}
        return Site(number, source.choice(("global", "shared")), verb, size, source.randrange(64), strides,
                    number if source.random() < 0.3 else None, source.choice((1024, 1024, 0, 1, 7, 16, 31, 40)),
                    source.random() < 0.5, source.choice((1, 1, 2, 3)), source.choice((0, 1, 16, 33)))

    def warps(self) -> list[list[dict[str, int]]]:
        """Threads warp by warp, each with its place."""
        x, y, _ = self.block
        found = []
        for block in range(self.blocks):
            threads = [{"tx": t % x, "ty": t // x % y, "tz": t // (x * y), "linear": t, "block": block,
                        "grid": block * self.threads + t} for t in range(self.threads)]
            found += [threads[start:start + 32] for start in range(0, self.threads, 32)]
        return found

    def expected(self) -> dict[int, Counter]:
        """Counters of memory by line."""
        found: dict[int, Counter] = {}
        for site in self.sites:
            total = Counter()
            for warp in self.warps():
                for trip in range(site.trips):
                    addresses = {thread["linear"] % 32: site.cell(thread, self.table, trip) * site.size
                                 for thread in warp if thread["linear"] < site.active}
                    if addresses:
                        total.update(counts(site, addresses))
            found[site.number + 1] = Counter({name: value for name, value in total.items() if value})
        return found

    def block_sectors(self, verb: str) -> int:
        """Distinct sectors of the array that each block touches, over all its sites."""
        touched: dict[int, set[int]] = {}
        for site in self.sites:
            if (site.space, site.verb) != ("global", verb):
                continue
            for warp in self.warps():
                for thread in warp:
                    for trip in range(site.trips if thread["linear"] < site.active else 0):
                        address = site.cell(thread, self.table, trip) * site.size
                        touched.setdefault(thread["block"], set()).add(address // 32)
        return sum(map(len, touched.values()))


def counts(site: Site, addresses: dict[int, int]) -> Counter:
    """Of one request: lane -> address."""
    if site.verb == "atom":
        crowd = Counter(addresses.values())
        space = names.ATOMICS_GLOBAL if site.space == "global" else names.ATOMICS_SHARED
        return Counter({space: 1, names.ATOMIC_LANES: len(addresses), names.ATOMIC_ADDRESSES: len(crowd),
                        names.ATOMIC_PASSES: max(crowd.values())})
    touched = [address + byte for address in addresses.values() for byte in range(site.size)]
    taken, ideal = wavefronts(addresses, site.size)
    if site.space == "shared":
        return Counter({counter("SHARED_REQUESTS", site.verb): 1, counter("SHARED_WAVEFRONTS", site.verb): taken,
                        counter("SHARED_CONFLICTS", site.verb): taken - ideal,
                        counter("SHARED_BYTES_REQUESTED", site.verb): len(touched)})
    return Counter({counter("GLOBAL_REQUESTS", site.verb): 1, counter("GLOBAL_WAVEFRONTS", site.verb): taken,
                    counter("GLOBAL_SECTORS", site.verb): len({b // 32 for b in touched}),
                    counter("GLOBAL_LINES", site.verb): len({b // 128 for b in touched}),
                    counter("GLOBAL_BYTES_REQUESTED", site.verb): len(touched)})


def counter(name: str, verb: str) -> str:
    return getattr(names, name + SUFFIX[verb])


def wavefronts(addresses: dict[int, int], size: int) -> tuple[int, int]:
    """(wavefronts, ideal): lanes go in groups that fill 128 bytes; a group takes as many as its busiest bank has words."""
    per, total, ideal = max(32 * 4 // max(size, 4), 1), 0, 0
    for start in range(0, 32, per):
        words = {(address + byte) // 4 for lane, address in addresses.items() if start <= lane < start + per
                 for byte in range(size)}
        banks = Counter(word % 32 for word in words)
        total += max(banks.values(), default=0)
        ideal += bool(words)
    return total, ideal


MEMORY = frozenset(value for key, value in vars(names).items() if isinstance(value, str) and key.isupper() and key.startswith(
    ("GLOBAL_", "SHARED_", "ATOMIC")))


def difference(bench, seed: int) -> str:
    """What the device counts otherwise than plain Python on the kernel of a seed; "" if nothing."""
    kernel = RandomKernel(seed)
    counted = bench.kernel(kernel.text, 2, DECLARATIONS).count(
        np.zeros(AREA_BYTES, np.uint8), kernel.table, grid=(kernel.blocks, 1, 1), block=kernel.block, threads=1 + seed % 3)
    for line, wanted in kernel.expected().items():
        found = {name: value for name, value in counted.lines.get((FILE, line), {}).items() if name in MEMORY}
        if found != dict(wanted):
            return f"seed {seed}: {kernel.sites[line - 1]}\ncounted {found}\nexpected {dict(wanted)}"
    for verb in ("ld", "st"):
        name = counter("BLOCK_SECTORS", verb)
        found = sum(counters.get(name, 0) for (_, line), counters in counted.lines.items() if line < 999)
        if found != kernel.block_sectors(verb):
            return f"seed {seed}: {name}: counted {found}, expected {kernel.block_sectors(verb)}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simt.observe.random_kernels", description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="of the first kernel")
    options = parser.parse_args()
    from tests.simt.conftest import Bench

    bench = Bench()
    wrong = [told for seed in range(options.seed, options.seed + options.kernels) if (told := difference(bench, seed))]
    print(*wrong, f"{options.kernels - len(wrong)} of {options.kernels} random kernels count as in plain Python", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
