"""Names of functions as the linker sees them, and as a learner wrote them."""
from __future__ import annotations

import re


def kernel_name(mangled: str) -> str:
    """The Python name in an Itanium-mangled one: "_ZN8__main__4tileB2v1…" -> "tile"."""
    if not mangled.startswith("_ZN"):
        return mangled
    rest, names = mangled[3:], []
    while match := re.match(r"(\d+)", rest):
        length, rest = int(match[1]), rest[match.end():]
        names.append(rest[:length])
        rest = rest[length:]
    return names[-1].replace("_3clambda_3e", "<lambda>") if names else mangled
