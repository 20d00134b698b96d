"""The access map of a warp: which sector each lane touches in global memory, or which bank in shared memory."""
from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simt.observe.addresses import BANKS
from simt.report.pictures.style import BLUE, FAINT, GRID, ORANGE, SKY, finish, lanes_text, new_figure
from simt.report.pictures.warp_access import FULL, LANES, LINE_BYTES, SECTOR_BYTES, WarpAccess

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Box = tuple[int, int, int]      # column of the left edge, row, width


def access_map(addresses: Sequence[int], mask: int = FULL, size: int = 4, space: str = "global", *, what: str = "One warp",
               tag: str = "exact") -> Figure:
    """addresses: 32, in bytes; mask: lanes that take part; size: bytes of each lane's access; space: "global" or "shared".

    what: words for the title, such as "matmul.py:14, load"; tag: of the addresses. Raises ValueError for anything else.
    """
    access = WarpAccess(addresses, mask, size)
    if space not in ("global", "shared"):
        raise ValueError(f'space={space!r}: the map is of "global" or "shared" memory')
    return _global(access, what, tag) if space == "global" else _shared(access, what, tag)


def sector_boxes(access: WarpAccess) -> dict[Box, list[int]]:
    """Box -> its lanes: column in bytes from the start of a 128-byte line, row among the lines that the warp touches."""
    rows = {line: row for row, line in enumerate(access.lines)}
    found: dict[Box, list[int]] = collections.defaultdict(list)
    for lane in access.lanes:
        line, column = divmod(access.addresses[lane], LINE_BYTES)
        found[column, rows[line], access.size].append(lane)
    return dict(found)


def bank_boxes(access: WarpAccess) -> dict[tuple[int, int], int]:
    """(bank, lane) -> words that its group wants from that bank."""
    return {(word % BANKS, lane): ways for (lane, word), ways in access.ways().items()}


def _global(access: WarpAccess, what: str, tag: str) -> Figure:
    from matplotlib.patches import Rectangle

    lines = access.lines
    figure, axes = new_figure(11, 1.7 + 0.28 * max(len(lines), 3))
    rows = {line: row for row, line in enumerate(lines)}
    per_line = LINE_BYTES // SECTOR_BYTES
    for line, row in rows.items():
        for sector in range(per_line):
            fetched = line * per_line + sector in access.sectors
            axes.add_patch(Rectangle(
                (sector * SECTOR_BYTES, row - 0.45), SECTOR_BYTES, 0.9, facecolor=SKY if fetched else FAINT, edgecolor="white",
                linewidth=2, gid=f"sector {line * per_line + sector}", alpha=0.55 if fetched else 1,
            ))
    for (column, row, width), lanes in sector_boxes(access).items():
        axes.add_patch(Rectangle((column, row - 0.36), width, 0.72, facecolor=BLUE, edgecolor="white", linewidth=0.5,
                                 gid=f"lanes {lanes_text(lanes)}"))
        axes.text(column + width / 2, row, lanes_text(lanes), color="white", fontsize=6.5 if width > 2 else 4.5, ha="center",
                  va="center", clip_on=True)
    axes.set_xlim(0, LINE_BYTES)
    axes.set_xticks(range(0, LINE_BYTES + 1, SECTOR_BYTES))
    axes.set_xlabel("byte of a 128-byte line; each column of 32 bytes is a sector")
    axes.set_ylim(max(len(lines), 1) - 0.5, -0.5)
    first = lines[0] if lines else 0
    axes.set_yticks(range(len(lines)), [f"+{(line - first) * LINE_BYTES}" for line in lines])
    axes.set_ylabel("line, bytes\nfrom the first")
    fetched = len(access.sectors)
    would = "" if fetched <= access.ideal_sectors else f" where {access.ideal_sectors} would do"
    used = 100 * access.bytes_used / (fetched * SECTOR_BYTES) if fetched else 0
    return finish(
        axes, f"{what}: {some(len(access.lanes), 'lane')} of {access.size} B fetch {some(fetched, 'sector')} in "
        f"{some(len(lines), 'line')}{would}",
        f"dark: bytes that lanes ask for, with lane numbers; light: fetched all the same ({used:.0f} % used). {tag}",
    )


def _shared(access: WarpAccess, what: str, tag: str) -> Figure:
    from matplotlib.patches import Rectangle

    figure, axes = new_figure(8.5, 7.6)
    axes.set_facecolor(FAINT)
    for (bank, lane), ways in bank_boxes(access).items():
        axes.add_patch(Rectangle((bank - 0.5, lane - 0.5), 1, 1, facecolor=BLUE if ways == 1 else ORANGE, edgecolor="white",
                                 gid=f"lane {lane} bank {bank}"))
        if ways > 1:
            axes.text(bank, lane, str(ways), fontsize=7, ha="center", va="center")
    _bank_axis(axes)
    axes.set_ylim(LANES - 0.5, -0.5)
    axes.set_yticks(range(0, LANES, 4))
    axes.set_ylabel("lane")
    axes.grid(color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    return finish(axes, f"{what}: {shared_words(access)}",
                  "blue: alone in its bank, or with lanes that want the same word; orange: so many different words of one "
                  f"bank, served one after another. {tag}")


def shared_words(access: WarpAccess) -> str:
    """What a shared access costs."""
    wavefronts, ideal = access.wavefronts, access.ideal_wavefronts
    kept = "no bank conflicts" if wavefronts == ideal else f"{wavefronts - ideal} of them bank conflicts"
    return f"{some(len(access.lanes), 'lane')} of {access.size} B take {some(wavefronts, 'wavefront')}, {kept}"


def some(number: int, what: str) -> str:
    """(1, "line") -> "1 line" """
    return f"{number} {what}{'s' * (number != 1)}"


def _bank_axis(axes) -> None:
    axes.set_xlim(-0.5, BANKS - 0.5)
    axes.set_xticks(range(0, BANKS, 4))
    axes.set_xlabel("bank, 4 bytes wide")
