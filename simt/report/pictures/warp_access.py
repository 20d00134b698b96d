"""One access of a warp as plain data: bytes, sectors, lines, words and banks of each lane. No drawing.

Rules of the counters (simt/observe/global_memory.py, shared_memory.py): a request fetches whole 32-byte sectors of 128-byte
lines; shared memory serves one 4-byte word of each of 32 banks at a time, to all lanes that want it, and takes 8-byte accesses
by half warps and 16-byte ones by quarters.
"""
from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence

from simt.observe.addresses import BANK_BYTES, BANKS, lanes_per_wavefront

LANES, FULL = 32, (1 << 32) - 1
SECTOR_BYTES, LINE_BYTES = 32, 128


@dataclasses.dataclass(frozen=True)
class WarpAccess:
    """addresses: of 32 lanes, in bytes;  mask: lanes that take part, a bit each;  size: bytes of each lane's access

    Raises ValueError for anything else, misaligned addresses included.
    """

    addresses: tuple[int, ...]
    mask: int
    size: int

    def __init__(self, addresses: Sequence[int], mask: int = FULL, size: int = 4) -> None:
        if len(addresses) != LANES:
            raise ValueError(f"{len(addresses)} addresses: a warp has {LANES} lanes")
        if size not in (1, 2, 4, 8, 16):
            raise ValueError(f"an access of {size} bytes: lanes access 1, 2, 4, 8 or 16")
        if not 0 <= mask <= FULL:
            raise ValueError(f"mask {mask:#x}: it has a bit for each of {LANES} lanes")
        object.__setattr__(self, "addresses", tuple(int(address) for address in addresses))
        object.__setattr__(self, "mask", mask)
        object.__setattr__(self, "size", size)
        for lane in self.lanes:
            if self.addresses[lane] < 0 or self.addresses[lane] % size:
                raise ValueError(f"lane {lane}: address {self.addresses[lane]} is no multiple of the access' {size} bytes")

    @property
    def lanes(self) -> list[int]:
        """Those that take part."""
        return [lane for lane in range(LANES) if self.mask >> lane & 1]

    # -- global memory

    @property
    def sectors(self) -> set[int]:
        """Numbers of the 32-byte sectors that the request fetches."""
        return {self.addresses[lane] // SECTOR_BYTES for lane in self.lanes}

    @property
    def lines(self) -> list[int]:
        """Numbers of the 128-byte lines, ascending."""
        return sorted({self.addresses[lane] // LINE_BYTES for lane in self.lanes})

    @property
    def ideal_sectors(self) -> int:
        """Sectors that the bytes asked for would fill: lanes that read one address ask once."""
        distinct = {self.addresses[lane] for lane in self.lanes}
        return -(-len(distinct) * self.size // SECTOR_BYTES)

    @property
    def bytes_used(self) -> int:
        """Distinct bytes asked for."""
        return len({self.addresses[lane] for lane in self.lanes}) * self.size

    # -- shared memory

    @property
    def groups(self) -> list[list[int]]:
        """Lanes that are served together."""
        per = lanes_per_wavefront(self.size)
        found = [[lane for lane in self.lanes if lane // per == group] for group in range(LANES // per)]
        return [group for group in found if group]

    def words(self, lane: int) -> list[int]:
        """Numbers of the 4-byte words of a lane."""
        start = self.addresses[lane]
        return list(range(start // BANK_BYTES, (start + self.size - 1) // BANK_BYTES + 1))

    def ways(self) -> dict[tuple[int, int], int]:
        """(lane, word) -> distinct words that lanes of its group want from that word's bank: 1 without a conflict."""
        found = {}
        for group in self.groups:
            wanted = {word for lane in group for word in self.words(lane)}
            load = collections.Counter(word % BANKS for word in wanted)
            found |= {(lane, word): load[word % BANKS] for lane in group for word in self.words(lane)}
        return found

    @property
    def wavefronts(self) -> int:
        """Rounds that shared memory needs: for each group, the words of its worst bank."""
        ways = self.ways()
        return sum(max(ways[lane, word] for lane in group for word in self.words(lane)) for group in self.groups)

    @property
    def ideal_wavefronts(self) -> int:
        return len(self.groups)
