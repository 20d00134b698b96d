"""Which bytes of fresh device memory have been written, for the initialisation checker.

Only memory that is allocated while somebody checks is followed; what was there before counts as written.
"""
from __future__ import annotations

import numpy as np


class Fresh:
    """marks: start of an allocation -> a byte for each of its bytes, 1 once it has been written.

    ``users`` counts the checks that are going on.
    """

    def __init__(self):
        self.marks: dict[int, np.ndarray] = {}
        self.users = 0

    def begin(self, base: int, size: int) -> None:
        self.marks[base] = np.zeros(size, np.uint8)

    def end(self, base: int) -> None:
        self.marks.pop(base, None)

    def of(self, address: int, size: int) -> np.ndarray | None:
        """The marks of a range inside one followed allocation."""
        for base, marks in self.marks.items():
            if base <= address and address + size <= base + len(marks):
                return marks[address - base:address - base + size]
        return None

    def written(self, address: int, size: int) -> None:
        """The host wrote a range."""
        marks = self.of(address, size)
        if marks is not None:
            marks[:] = 1

    def copied(self, target: int, source: int, size: int) -> None:
        """A range was copied: what is unwritten in the source stays so in the target."""
        marks, origin = self.of(target, size), self.of(source, size)
        if marks is not None:
            marks[:] = 1 if origin is None else origin
