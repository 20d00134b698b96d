"""The bank grid: shared memory as rows of 32 words, one in each bank, with the lanes that want them."""
from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simt.observe.addresses import BANK_BYTES, BANKS
from simt.report.pictures.access_map import shared_words
from simt.report.pictures.style import BLUE, FAINT, ORANGE, VERMILION, finish, lanes_text, new_figure
from simt.report.pictures.warp_access import FULL, WarpAccess

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = 40                       # at most: of a larger spread, the rows that lanes touch, without those between


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """A word that lanes want. ways: different words that a group of lanes wants from this bank, at worst"""

    bank: int
    row: int
    lanes: tuple[int, ...]
    ways: int


def cells(access: WarpAccess) -> list[Cell]:
    """By word; row: word number divided by 32, from the lowest row on."""
    lanes: dict[int, list[int]] = collections.defaultdict(list)
    worst: dict[int, int] = {}
    for (lane, word), ways in access.ways().items():
        lanes[word].append(lane)
        worst[word] = max(worst.get(word, 0), ways)
    first = min(lanes, default=0) // BANKS
    return [Cell(word % BANKS, word // BANKS - first, tuple(lanes[word]), worst[word]) for word in sorted(lanes)]


def bank_grid(addresses: Sequence[int], mask: int = FULL, size: int = 4, *, what: str = "One warp",
              tag: str = "exact") -> Figure:
    """addresses: 32 offsets in shared memory, in bytes; mask, size: as for ``access_map``. Raises ValueError as it does."""
    from matplotlib.patches import Rectangle

    access = WarpAccess(addresses, mask, size)
    found = cells(access)
    touched = sorted({cell.row for cell in found})
    shown = list(range(touched[-1] + 1)) if touched and touched[-1] < ROWS else touched
    at = {row: place for place, row in enumerate(shown)}
    figure, axes = new_figure(11, 1.7 + 0.28 * max(len(shown), 3))
    axes.set_facecolor(FAINT)
    for cell in found:
        colour = BLUE if cell.ways == 1 else ORANGE if cell.ways == 2 else VERMILION
        axes.add_patch(Rectangle((cell.bank - 0.5, at[cell.row] - 0.5), 1, 1, facecolor=colour, edgecolor="white",
                                 gid=f"bank {cell.bank} row {cell.row}"))
        label = lanes_text(cell.lanes)
        axes.text(cell.bank, at[cell.row], label, fontsize=7 if len(label) <= 2 else 5, ha="center", va="center",
                  color="white" if cell.ways == 1 else "black", clip_on=True)
    axes.set_xlim(-0.5, BANKS - 0.5)
    axes.set_xticks(range(0, BANKS, 4))
    axes.set_xlabel("bank, 4 bytes wide")
    axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    axes.set_yticks(range(len(shown)), [f"+{row * BANKS * BANK_BYTES}" for row in shown])
    axes.set_ylabel("row, bytes\nfrom the first")
    return finish(axes, f"{what}: {shared_words(access)}",
                  "numbers: lanes that want this word; blue: the only word of its bank that is wanted; orange: one of 2, "
                  f"vermilion: of more. {tag}")
