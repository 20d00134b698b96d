"""Cases of a ladder: one read from what a person types, one chosen to be checked."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kernels.case import Case

FEW_TILES = 32**3  # a case of more cells than this has several tiles along some axis


class BadCase(ValueError):
    """A --case that does not fit the ladder; the message names the format."""


def parse(text: str, like: Case) -> Case:
    """Read "512,256,64" as the axes of `like`, in its order. Raises BadCase."""
    parts = [part.strip() for part in text.split(",")]
    sizes = [int(part) for part in parts if part.isascii() and part.isdigit()]
    if len(sizes) != len(parts) or len(parts) != len(like) or min(sizes) < 1:
        form, example = ",".join(like), ",".join(str(size) for size in like.values())
        raise BadCase(f'"{text}" is not {form}: {len(like)} whole numbers >= 1, such as {example}')
    return Case(**dict(zip(like, sizes, strict=True)))


def ragged(cases: Sequence[Case]) -> Case:
    """The smallest case with an odd size that has several blocks; if none is large enough, the largest odd one."""
    volume = {case: math.prod(case.values()) for case in cases}
    odd = [case for case in volume if any(size % 2 for size in case.values())] or list(volume)
    large = [case for case in odd if volume[case] > FEW_TILES]
    return min(large, key=volume.__getitem__) if large else max(odd, key=volume.__getitem__)
