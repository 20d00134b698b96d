"""Figures that others published of the same problems, from records/published/*.toml, each with its source."""

from __future__ import annotations

import dataclasses
import functools
import math
import tomllib
from pathlib import Path

from kernels.case import Case
from workbook.records import files

FOLDER = files.FOLDER / "published"
UNITS = ("GFLOP/s", "GB/s", "x over FP16", "ms")
RATES = UNITS[:3]


@dataclasses.dataclass(frozen=True)
class Rung:
    """One published kernel; `step` is the word of our step that makes the same change, "" for none."""

    name: str
    value: float
    step: str = ""


@dataclasses.dataclass(frozen=True)
class Published:
    """A published climb, measured on `gpu`; `device` is the modelled device of that GPU, "" for none.

    `case` is None where the problem is not quite the ladder's, or of a size that is not told; then `note` says what it was.
    """

    ladder: str
    gpu: str
    device: str
    case: Case | None
    unit: str
    source: str
    url: str
    rungs: tuple[Rung, ...]
    library: Rung | None = None
    note: str = ""

    def speedup(self, rung: Rung) -> float:
        """Over the first rung."""
        first = self.rungs[0].value
        return rung.value / first if self.unit in RATES else first / rung.value

    @property
    def kernels(self) -> tuple[Rung, ...]:
        """The rungs, then the library's."""
        return (*self.rungs, self.library) if self.library else self.rungs

    @property
    def climbed(self) -> float:
        """Speedup of the best rung over the first."""
        return max(self.speedup(rung) for rung in self.rungs)


@functools.cache
def load(folder: Path = FOLDER) -> tuple[Published, ...]:
    """Every published climb. Raises ValueError that names the file and what is wrong with it."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        try:
            found += [_climb(dict(table)) for table in tomllib.loads(path.read_text(encoding="utf-8"))["climb"]]
        except (KeyError, OSError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(f"{files.shown(path)}: {type(error).__name__}: {error}") from None
    return tuple(found)


def cases(ladder: str, device: str) -> tuple[Case, ...]:
    """Sizes of the published climbs of that ladder on that modelled device."""
    return tuple(climb.case for climb in load() if climb.ladder == ladder and climb.device == device and climb.case)


def _climb(table: dict) -> Published:
    if table["unit"] not in UNITS:
        raise ValueError(f"unit {table['unit']!r}: there are {', '.join(UNITS)}")
    library = table.pop("library", None)
    rungs = tuple(Rung(**rung) for rung in table.pop("rungs"))
    parts = {"device": "", **table, "case": Case(**table["case"]) if "case" in table else None}
    if parts["device"] and parts["case"] is None:
        raise ValueError("a climb on a modelled device needs its case, of which our steps are counted too")
    found = Published(**parts, rungs=rungs, library=Rung(**library) if library else None)
    for rung in found.kernels:
        if not isinstance(rung.value, int | float) or not 0 < rung.value < math.inf:
            raise ValueError(f"rung {rung.name!r}: its value has to be a number above 0, and is {rung.value!r}")
    texts = (found.ladder, found.gpu, found.device, found.source, found.url, found.note)
    if not rungs or not all(isinstance(text, str) for text in texts):
        raise ValueError("a climb has at least one rung; ladder, gpu, device, source, url and note are text")
    return found
