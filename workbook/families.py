"""Which step a typed name means."""

from __future__ import annotations

from kernels.ladder import Step, UnknownName, ladder_names, load_ladder, load_step


def find_step(typed: str) -> Step:
    """The step of an id such as matmul/tiled, or of a bare name that one family has. Raises UnknownName."""
    if "/" in typed:
        return load_step(typed)
    steps = [step for family in ladder_names() for step in load_ladder(family)]
    found = [step for step in steps if step.name == typed]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownName("single step", typed, [step.id for step in found])
    raise UnknownName("step", typed, sorted({step.name for step in steps}))
