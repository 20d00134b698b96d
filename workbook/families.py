"""Which step, or which ladders, a typed name means."""

from __future__ import annotations

from kernels.ladder import Step, UnknownName, families, ladder_names, load_ladder, load_step


class Ambiguous(UnknownName):
    """A word that steps of several ladders have."""

    def __init__(self, typed: str, ids: list[str]) -> None:
        LookupError.__init__(self, f"{typed!r} is a step of several ladders: say {' or '.join(ids)}")


def find_step(typed: str) -> Step:
    """The step of an id such as matmul/tiled, or of a word that one ladder alone has. Raises UnknownName."""
    if "/" in typed:
        return load_step(typed)
    steps = [step for family in ladder_names() for step in load_ladder(family)]
    found = [step for step in steps if step.name == typed]
    if len(found) == 1:
        return found[0]
    if found:
        raise Ambiguous(typed, [step.id for step in found])
    raise UnknownName("step", typed, sorted({step.name for step in steps}))


def find_ladders(typed: str) -> tuple[str, ...]:
    """The ladder of that name, or all of the family of that name; none where it is neither."""
    return (typed,) if typed in ladder_names() else families().get(typed, ())
