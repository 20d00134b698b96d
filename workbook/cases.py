"""Reads the sizes that a person types as a case of a ladder."""

from __future__ import annotations

from kernels.case import Case


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
