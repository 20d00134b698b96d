"""Loads of one base that share a check, kept short on the fast way: the check chooses where the base points, and each load
follows at its own place in the code, without a branch.

It points at memory itself; or, where lanes do not run or an address is wrong, at a copy on the stack that the slow way has
filled for the lanes that do run. So the compiler may use an operand straight from memory, as if nothing were checked.
"""
from __future__ import annotations

import dataclasses

from simt.ir.shapes import SEGMENT
from simt.jit.access import SITE_FIELDS, Access
from simt.jit.builder import Value

EXTENT_LIMIT = 8192         # bytes of one copy
TOTAL_LIMIT = 1 << 18       # bytes of all copies of a kernel: they lie on the stack of a worker thread


class Standby:
    def __init__(self, emitter):
        self.emitter, self.text, self.lanes = emitter, emitter.text, emitter.lanes
        self.copies: list[int] = []         # bytes of each
        self.batches: list[list[Access]] = []

    def serves(self, accesses: list[Access]) -> bool:
        """Whether the loads have scalar bases, and lie close enough together for a copy."""
        access = accesses[0]
        if not access.shape.bases or access.site.space == "local":      # local: frames of lanes lie apart
            return False
        extent = access.site.group.extent
        return extent <= EXTENT_LIMIT and sum(self.copies) + access.shape.bases * extent <= TOTAL_LIMIT

    def ready(self, accesses: list[Access], mask: str) -> list[Access]:
        """Emit the check; returns the accesses with host pointers that any lane may load from."""
        memory, text, first = self.emitter.memory, self.text, accesses[0]
        passed = memory.check(first)
        bases = memory.moves.hosts(first)
        check, slow, join = (text.fresh_label(stem) for stem in ("check", "slow", "ready"))
        text.emit(f"br label %{check}")
        text.label(check)
        text.emit(f"br i1 {passed}, label %{join}, label %{slow}, !prof !0")
        text.label(slow)
        copies = self.fill(accesses, mask)
        filled = text.fresh_label("filled")
        text.emit(f"br label %{filled}")
        text.label(filled)
        text.emit(f"br label %{join}")
        text.label(join)
        hosts = tuple(Value("i64", text.define(f"phi i64 [ {base.text}, %{check} ], [ {copy}, %{filled} ]"))
                      for base, copy in zip(bases, copies, strict=True))
        return [dataclasses.replace(access, hosts=hosts) for access in accesses]

    def fill(self, accesses: list[Access], mask: str) -> list[str]:
        """The slow way: check lane by lane and copy. Returns what stands in for the bases."""
        memory, text, first = self.emitter.memory, self.text, accesses[0]
        group = first.site.group
        starts = [self.copy_of(group.extent, group.low) for _ in range(first.shape.bases)]
        upper = starts[-1] if len(starts) > 1 else text.define(f"add i64 {starts[0]}, {first.shape.offsets[SEGMENT]}")
        low, high = memory.lanes.bases(first.base, 2)
        failed = text.define(
            f"call i32 @simt_access_kept(ptr %context, ptr %checks, ptr @sites, ptr @batch{len(self.batches)}, "
            f"i64 {len(accesses)}, i32 {mask}, i32 %warp, i64 {low.text}, i64 {high.text}, ptr {memory.pattern(first)}, "
            f"ptr %addresses, ptr %exchange, i64 {starts[0]}, i64 {upper})")
        self.batches.append(accesses)
        wrong = text.define(f"icmp ne i32 {failed}, 0")
        going = text.fresh_label("legal")
        text.emit(f"br i1 {wrong}, label %stopped, label %{going}")
        text.label(going)
        return starts

    def copy_of(self, extent: int, low: int) -> str:
        """Room for ``extent`` bytes; its address as if the byte at ``low`` from the base were the first."""
        start = self.text.define(f"ptrtoint ptr %standby{len(self.copies)} to i64")
        self.copies.append(extent)
        return self.text.define(f"sub i64 {start}, {low}") if low else start

    def allocations(self) -> list[str]:
        """For the entry block of the function, known once all of it has been emitted."""
        return [f"%standby{k} = alloca [{extent} x i8], align 64" for k, extent in enumerate(self.copies)]

    def global_text(self) -> list[str]:
        """The sites and offsets of each batch."""
        lines = []
        for number, accesses in enumerate(self.batches):
            pairs = ", ".join(f"i64 {access.site.index * SITE_FIELDS}, i64 {access.offset}" for access in accesses)
            lines.append(f"@batch{number} = internal constant [{2 * len(accesses)} x i64] [{pairs}], align 16")
        return lines
