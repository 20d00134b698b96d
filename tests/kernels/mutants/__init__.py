"""Wrong kernels, as data: one file per family, each with MUTANTS = (Mutant(…), …). tests/kernels/test_mutants.py runs them."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.case import Case


@dataclass(frozen=True)
class Mutant:
    """One edit of a step's source, and the check that is there to reject it.

    step:  id, as in "reduction/interleaved"; the edit is made in the file of this step, and this step is run
    wrong: what is wrong with the kernel then, in a few words
    old, new: text that stands in the file exactly once, and what to put there
    check: "values"            workbook.verify calls the result wrong
           "bounds"            workbook.verify reports an access outside an array
           "race", "init", "sync"  this checker finds something that is no note; for "sync", a launch that the device stops
                               because threads miss a barrier counts as well
           "budget:<counter>"  the total of this counter is higher than the step's own
    case:  where to look: a small case that shows it. Without one: every case of the ladder for "values" and "bounds", in
           their order until one fails; the last case of the ladder for the others
    kind:  kind of the inputs; without one every kind for "values" and "bounds", the first that the ladder has for the others
    """

    step: str
    wrong: str
    old: str
    new: str
    check: str
    case: Case | None = None
    kind: str | None = None

    @property
    def id(self) -> str:
        return f"{self.step}-{self.wrong}".replace(" ", "-")
