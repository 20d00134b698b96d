"""Figures that others published of the same problems, from records/published/*.toml, each with its source."""

from __future__ import annotations

import dataclasses
import functools
import tomllib
from pathlib import Path

from kernels.case import Case
from workbook.records import files

FOLDER = files.FOLDER / "published"
UNITS = ("GFLOP/s", "GB/s", "ms")
RATES = UNITS[:2]


@dataclasses.dataclass(frozen=True)
class Rung:
    """One published kernel; `step` is the word of our step that makes the same change, "" for none."""

    name: str
    value: float
    step: str = ""


@dataclasses.dataclass(frozen=True)
class Published:
    """A published climb, measured on `gpu`; `device` is the modelled device of that GPU, "" for none."""

    ladder: str
    gpu: str
    device: str
    case: Case
    unit: str
    source: str
    url: str
    rungs: tuple[Rung, ...]
    library: Rung | None

    def speedup(self, rung: Rung) -> float:
        """Over the first rung."""
        first = self.rungs[0].value
        return rung.value / first if self.unit in RATES else first / rung.value


@functools.cache
def load(folder: Path = FOLDER) -> tuple[Published, ...]:
    """Every published climb. Raises ValueError that names the file and what is wrong with it."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        try:
            found += [_climb(dict(table)) for table in tomllib.loads(path.read_text(encoding="utf-8"))["climb"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{files.shown(path)}: {type(error).__name__}: {error}") from None
    return tuple(found)


def cases(ladder: str, device: str) -> tuple[Case, ...]:
    """Sizes of the published climbs of that ladder on that modelled device."""
    return tuple(climb.case for climb in load() if climb.ladder == ladder and climb.device == device)


def _climb(table: dict) -> Published:
    if table["unit"] not in UNITS:
        raise ValueError(f"unit {table['unit']!r}: there are {', '.join(UNITS)}")
    library = table.pop("library", None)
    rungs = tuple(Rung(**rung) for rung in table.pop("rungs"))
    parts = {"device": "", **table, "case": Case(**table["case"])}
    return Published(**parts, rungs=rungs, library=Rung(**library) if library else None)
