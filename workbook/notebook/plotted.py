"""What a figure plots, as one digest: equal for equal data, whatever fonts and pixels a machine makes of it."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DIGITS = 16
DPI = 80


def png(figure: Figure) -> tuple[bytes, dict[str, str]]:
    """(PNG, metadata with the digest), as IPython's formatters take it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, bbox_inches="tight", metadata={"Software": None})
    return buffer.getvalue(), {"plotted": digest(figure)}


def digest(figure: Figure) -> str:
    """16 hex digits of SHA-256 over the data of lines, patches, collections and images, and over all words."""
    parts = hashlib.sha256()
    for words in figure.texts:
        parts.update(words.get_text().encode() + b"\0")
    for axes in figure.axes:
        for line in _axes(axes):
            parts.update(line.encode() + b"\0")
    return parts.hexdigest()[:DIGITS]


def _axes(axes: Axes) -> Iterator[str]:
    yield from (axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale(), axes.get_yscale())
    for line in axes.lines:
        yield _numbers(line.get_xydata())
    for patch in axes.patches:
        yield _numbers(patch.get_bbox().bounds if hasattr(patch, "get_bbox") else patch.get_path().vertices)
        yield _numbers(patch.get_facecolor())
    for collection in axes.collections:
        yield _numbers(collection.get_offsets())
    for image in axes.images:
        yield _numbers(image.get_array())
    for text in axes.texts:
        yield text.get_text()


def _numbers(values: object) -> str:
    return np.array2string(np.asarray(values, dtype=np.float64), precision=6, threshold=1 << 30, floatmode="maxprec")
