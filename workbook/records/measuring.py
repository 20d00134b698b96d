"""Measures for a record, on a real GPU: more care than a climb takes, the library's time, and the GPU's state."""

from __future__ import annotations

import dataclasses
import importlib
import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbook.timing import Timing

if TYPE_CHECKING:
    from workbook.target import Target

WARM_UPS, SAMPLES = 10, 30
FLUSH_TIMES = 2  # a buffer of twice the size of L2 leaves nothing of the last run in it
UNKNOWN_L2_BYTES = 128 << 20
LIBRARIES = ("cupy", "torch")

Arrays = dict[str, Any]


class Careful:
    """A target that times as a record asks: warm-up runs, then samples, each after L2 was overwritten."""

    def __init__(self, target: Target) -> None:
        self._target = target
        size = getattr(target.cuda.get_current_device(), "L2_CACHE_SIZE", 0) or UNKNOWN_L2_BYTES
        self._flush, self._source = (target.empty((FLUSH_TIMES * size,), "uint8") for _ in range(2))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def time(self, run: Callable[[], None]) -> Timing:
        """The median of SAMPLES event pairs, each around one `run` that finds nothing of the last one in L2."""
        cuda = self._target.cuda
        for _ in range(WARM_UPS):
            run()
        samples: list[int] = []
        for _ in range(SAMPLES):
            self._flush.copy_to_device(self._source)
            start, end = cuda.event(), cuda.event()
            start.record()
            run()
            end.record()
            end.synchronize()
            samples.append(max(1, round(cuda.event_elapsed_time(start, end) * 1e6)))
        return Timing("measured", statistics.median(samples), samples_ns=tuple(samples))


@dataclasses.dataclass(frozen=True)
class Baseline:
    """What a library does for a ladder's problem: call(library, {name: its view of a buffer}) writes the outputs."""

    title: str
    call: Callable[[Any, Arrays], Any]


BASELINES = {
    "matmul": Baseline("matmul (cuBLAS)", lambda library, arrays: library.matmul(arrays["a"], arrays["b"], out=arrays["c"])),
    "reduction": Baseline("sum", lambda library, arrays: library.sum(next(iter(arrays.values())))),
}
"""{ladder: its library baseline}"""


def library_calls(ladder: str, buffers: Arrays) -> dict[str, Callable[[], Any]]:
    """{name and version: a call on the ladder's buffers}, for each library that is installed and has a baseline."""
    calls = {}
    for name in LIBRARIES if ladder in BASELINES else ():
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        view = library.asarray if name == "cupy" else lambda array, torch=library: torch.as_tensor(array, device="cuda")
        arrays = {key: view(buffer) for key, buffer in buffers.items()}
        baseline = BASELINES[ladder]
        calls[f"{name} {library.__version__}: {baseline.title}"] = _call(baseline, library, arrays)
    return calls


def _call(baseline: Baseline, library: Any, arrays: Arrays) -> Callable[[], Any]:
    return lambda: baseline.call(library, arrays)
