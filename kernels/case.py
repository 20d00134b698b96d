"""What a step says of itself besides its kernel: sizes, work, and claims. Steps import this, and nothing of ladders.

A step's fingerprint, to which its records are tied, covers this file: the less stands here, the longer records hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

Arrays = dict[str, np.ndarray]
Layout = dict[str, tuple[tuple[int, ...], str]]  # name -> (shape, dtype)

class Case(Mapping[str, int]):
    """The sizes of one problem, immutable: Case(m=64, n=64, k=8)["m"] is 64, and str() of it is "m=64 n=64 k=8"."""

    __slots__ = ("_sizes",)

    def __init__(self, /, **sizes: int) -> None:
        if not sizes:
            raise ValueError("a case needs at least one size, as in Case(m=64, n=64, k=64)")
        self._sizes = sizes

    def __getitem__(self, axis: str) -> int:
        try:
            return self._sizes[axis]
        except KeyError:
            raise KeyError(f"no size {axis!r} in this case: {self}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)

    def __hash__(self) -> int:
        return hash(frozenset(self._sizes.items()))

    def __str__(self) -> str:
        return " ".join(f"{axis}={size}" for axis, size in self._sizes.items())

    def __repr__(self) -> str:
        return f"Case({str(self).replace(' ', ', ')})"


@dataclass(frozen=True)
class Cost:
    """Work of one run: FLOPs of the algorithm (a multiply-add is 2, of integers too), global bytes that active lanes ask for.

    Multiply-adds on the zeros that pad a ragged tile are executed, and counted by the device, but are not in `flops`.
    """

    flops: int
    load_bytes: int
    store_bytes: int


@dataclass(frozen=True)
class Claim:
    """On `case`, the total of `counter` goes from `before` (in the previous step) to `after`; compared with ==."""

    counter: str
    before: int
    after: int
    case: Case


def ceil_div(size: int, tile: int) -> int:
    """How many tiles it takes to cover `size`."""
    return -(-size // tile)
