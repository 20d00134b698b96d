"""Saves the pictures of a profile: roofline, instruction mix, and what the warps of the worst lines touch."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simt.observe import names
from simt.report import access, mix
from simt.report.sass import NoSass
from simt.report.subject import Subject, by_launch_shape, named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = 4  # of each kernel, the worst ones
DPI = 110


def save(subjects: Sequence[Subject], folder: Path) -> list[Path]:
    """Write PNG files, those there are overwritten; returns their paths. Raises OSError where the folder cannot be written."""
    import matplotlib

    matplotlib.use("agg")
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in pictures(subjects):
        path = folder / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', name)}.png"
        figure.savefig(path, dpi=DPI)
        paths.append(path)
    return paths


def pictures(subjects: Sequence[Subject]) -> Iterator[tuple[str, Figure]]:
    """(name, picture), the slowest launch of each kernel and shape."""
    from simt.report.pictures.roofline import place, roofline_of

    slowest = [group[0] for group in by_launch_shape(list(subjects))]
    if any(place(subject) is not None for subject in slowest):
        yield "roofline", roofline_of(slowest)
    seen: collections.Counter[str] = collections.Counter()
    for subject in slowest:
        seen[subject.kernel] += 1
        name = subject.kernel if seen[subject.kernel] == 1 else f"{subject.kernel}-{seen[subject.kernel]}"
        yield f"{name}-mix", mix_of(subject)
        yield from accesses(subject, name)


def mix_of(subject: Subject) -> Figure:
    """By SASS where the machine code has lines, else by PTX."""
    from simt.report.pictures.mix import instruction_mix

    try:
        counts = mix.instruction_mix(subject.profile).by_class
        return instruction_mix(counts, what=subject.kernel, of="SASS instructions", tag="estimated")
    except NoSass:
        counts = {kind.replace("_", " "): subject.count(names.instructions(kind)) for kind in names.KINDS}
        return instruction_mix(counts, what=subject.kernel, of="PTX instructions", tag=subject.tag(names.INSTRUCTIONS))


def accesses(subject: Subject, name: str) -> Iterator[tuple[str, Figure]]:
    """The worst sampled access of each kind on the worst lines: its sectors, or its banks."""
    from simt.report.pictures.access_map import access_map
    from simt.report.pictures.bank_grid import bank_grid

    for place, _ in subject.hot_lines[:LINES]:
        for space, action in sorted({(found.space, found.action) for found in subject.profile.samples
                                     if (found.file, found.line) == place and found.space != "local"}):
            sample = access.worst_at(subject, place, space, action)
            what, file = f"{named(place)}, {action}", f"{name}-line-{place[1]}-{space}-{action}"
            yield file, access_map(sample.addresses, sample.mask, sample.bytes, space, what=what)
            if space == "shared":
                yield f"{file}-banks", bank_grid(sample.addresses, sample.mask, sample.bytes, what=what)
