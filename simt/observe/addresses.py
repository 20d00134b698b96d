"""What observers of memory share: counts over the addresses of one access.

Where the address is a scalar plus constants and all 32 lanes run, the counts are known while compiling, given the base's
alignment; else a native function looks at the lanes (simt/jit/support.py).
"""
from __future__ import annotations

import dataclasses

from simt.ir.shapes import WARP
from simt.observe.observer import Observer

BANKS, BANK_BYTES = 32, 4


def distinct(offsets, unit: int) -> int:
    """Distinct units of ``unit`` bytes among addresses at these offsets from a multiple of ``unit``."""
    return len({offset // unit for offset in offsets})


def lanes_per_wavefront(size: int) -> int:
    """Lanes whose data one wavefront can carry: 32 up to 4 bytes each, 16 of 8 bytes, 8 of 16 bytes."""
    return WARP if size <= BANK_BYTES else BANKS * BANK_BYTES // size


def bank_wavefronts(offsets, size: int) -> int:
    """Wavefronts of a full warp at these byte offsets: per group of lanes, the most distinct words in one bank."""
    per, total = lanes_per_wavefront(size), 0
    for start in range(0, WARP, per):
        words = {offset // BANK_BYTES + k for offset in offsets[start:start + per] for k in range(max(size // BANK_BYTES, 1))}
        load = [0] * BANKS
        for word in words:
            load[word % BANKS] += 1
        total += max(load)
    return total


class AddressObserver(Observer):
    """Base of observers that count over the addresses of an access."""

    def count(self, emitter, access, mask: str, native: str, width: int, known: tuple[int, ...] | None, unit: int) -> Counts:
        """Emit the count of ``width`` numbers: where all lanes run and the base is a multiple of ``unit``, one count stands for
        the ``known`` ones; else ``native(slots, addresses, mask, bytes)`` adds what it finds."""
        text, slot = emitter.text, self.slot(1 + width)
        look, end = text.fresh_label("look"), text.fresh_label("counted")
        if known is not None:
            quick = text.fresh_label("quick")
            text.emit(f"br i1 {self.is_plain(emitter, access, mask, unit)}, label %{quick}, label %{look}")
            text.label(quick)
            self.add(emitter, slot, "1")
            text.emit(f"br label %{end}")
        else:
            text.emit(f"br label %{look}")
        text.label(look)
        emitter.memory.spill_addresses(access)
        at = text.define(f"getelementptr i64, ptr %counters, i64 {slot + 1}")
        text.emit(f"call void @{native}(ptr {at}, ptr %addresses, i32 {mask}, i64 {access.site.bytes})")
        text.emit(f"br label %{end}")
        text.label(end)
        return Counts(slot, known or (0,) * width)

    def is_plain(self, emitter, access, mask: str, unit: int) -> str:
        """i1: all 32 lanes run, and the base is a multiple of ``unit``."""
        text = emitter.text
        full = text.define(f"icmp eq i32 {mask}, -1")
        if unit == 1:
            return full
        odd = text.define(f"and i64 {access.base.parts[0].text}, {unit - 1}")
        return text.define(f"and i1 {full}, {text.define(f'icmp eq i64 {odd}, 0')}")


@dataclasses.dataclass(frozen=True, slots=True)
class Counts:
    """Where the numbers of one access are: how often it was plain, each time with the ``known`` numbers; then the others."""

    slot: int
    known: tuple[int, ...]

    def read(self, values: list[int]) -> list[int]:
        plain = values[self.slot]
        return [plain * number + values[self.slot + 1 + k] for k, number in enumerate(self.known)]
