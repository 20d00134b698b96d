"""Runs a step of a ladder, or any launches, and keeps what was counted."""

from __future__ import annotations

import dataclasses
import functools
import linecache
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

import simt
from kernels.ladder import load_ladder
from simt.observe import names
from workbook import families, results, verify
from workbook.notebook.timings import SEED, case_of
from workbook.poison import POISON, SCRATCH, fill

if TYPE_CHECKING:
    from simt.driver.profiling import Profile
    from simt.observe.profile import Finding, LaunchProfile
    from simt.report.subject import Place, Subject



@dataclasses.dataclass(frozen=True)
class Ran:
    """Launches that ran under the profiler. `name` is the step's id, or what the caller calls it.

    wrong: {output: cells that are wrong}, empty for a right result, None where nobody compared
    outputs: arrays that the step wrote, on the host
    """

    name: str
    profile: Profile
    wrong: dict[str, int] | None = None
    outputs: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)

    @property
    def launches(self) -> list[LaunchProfile]:
        return self.profile.launches

    @property
    def correct(self) -> bool | None:
        return None if self.wrong is None else not self.wrong

    @functools.cached_property
    def counters(self) -> dict[str, int]:
        """Totals over all launches, by the names of simt/observe/names.py."""
        return results.total([launch.counters for launch in self.launches])

    @property
    def lines(self) -> dict[tuple[str, int], dict[str, int]]:
        """The same by (file, line), of the first launch."""
        return self.launches[0].lines

    @property
    def time_ns(self) -> float:
        """Modelled, of all launches."""
        return sum(launch.time_ns for launch in self.launches)

    @property
    def findings(self) -> list[Finding]:
        return self.profile.findings

    @property
    def report(self) -> Profile:
        """In a cell by itself: the sections, advice and findings of the profiler."""
        return self.profile

    @property
    def sectors_per_request(self) -> float:
        """Of global loads: 4 is all that 32 lanes of 4 bytes need, 32 a sector for each lane."""
        return self.counters[names.GLOBAL_SECTORS_LD] / max(self.counters[names.GLOBAL_REQUESTS_LD], 1)

    @property
    def bank_conflicts(self) -> int:
        """Of shared loads and stores together."""
        return self.counters[names.SHARED_CONFLICTS_LD] + self.counters[names.SHARED_CONFLICTS_ST]

    def place_of(self, words: str, places: Collection[Place], called: str) -> Place:
        """The one of these (file, line) whose line holds the words. `called`: what they are. ValueError unless it is one."""
        found = sorted(place for place in places if words in linecache.getline(*place))
        if len(found) != 1:
            raise ValueError(f"{self.name}: {len(found)} {called} hold {words!r}: {[line for _, line in found]}")
        return found[0]

    def subject(self) -> Subject:
        """The longest launch, as the pictures take it."""
        return max(self.profile.subjects(), key=lambda subject: subject.time_ns or 0)


def run(step: str, check: str = "", kind: str = "normal", seed: int = SEED, **sizes: int) -> Ran:
    """Run a step once on fresh inputs, count every block, and compare with the ladder's reference.

    step: id such as "matmul/tiled"; sizes: axes of the ladder's case, as m=64, n=64, k=64, its last small case without them;
    check: checkers, as "race,init,sync"; kind: of the inputs. Raises UnknownName for a step that does not exist, ValueError
    for sizes of other axes, RuntimeError unless the emulated device is in use.
    """
    found = families.find_step(step)
    ladder = load_ladder(found.ladder)
    case = case_of(ladder, sizes) if sizes else ladder.cases[-1]
    inputs = ladder.make(case, np.random.default_rng(seed), kind)
    layout = ladder.outputs(case, inputs)
    buffers = _on_device(inputs) | _on_device({name: fill(shape, dtype, POISON) for name, (shape, dtype) in layout.items()})
    scratch = found.scratch(case, inputs)
    buffers |= _on_device({name: fill(shape, dtype, SCRATCH) for name, (shape, dtype) in scratch.items()})
    with simt.profile(sample="all", check=check) as profile:
        found.run(buffers)
    outputs = {name: buffers[name].copy_to_host() for name in layout}
    return Ran(found.id, profile, verify.wrong_cells(ladder, case, inputs, outputs), outputs)


def count(launches: Callable[[], Any], name: str = "launch", check: str = "") -> Ran:
    """Run a function that launches kernels of your own, and count every block. Compares nothing."""
    from numba import cuda

    with simt.profile(sample="all", check=check) as profile:
        launches()
        cuda.synchronize()
    return Ran(name, profile)


def _on_device(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    from numba import cuda

    return {name: cuda.to_device(array) for name, array in arrays.items()}

