"""The committed list of tests that do not pass, each with its reason, and what a run says about it."""
from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from tests.upstream.runner import Result

LIST = Path(__file__).with_name("non_passes.toml")


@dataclasses.dataclass(frozen=True, slots=True)
class NonPass:
    """How a test is known to end, other than passed, and why. passes_elsewhere: on some computers it passes."""

    outcome: str
    why: str
    passes_elsewhere: bool = False


def read(path: Path = LIST) -> dict[str, NonPass]:
    """Test -> how it ends. Raises ValueError for a test that is listed twice."""
    listed: dict[str, NonPass] = {}
    for reason in tomllib.loads(path.read_text(encoding="utf-8"))["reason"]:
        for test in reason["tests"]:
            if test in listed:
                raise ValueError(f"{path.name} lists {test} twice")
            listed[test] = NonPass(reason["outcome"], reason["why"], reason.get("passes_elsewhere", False))
    return listed


def version() -> str:
    """The numba-cuda that the list is about."""
    return tomllib.loads(LIST.read_text(encoding="utf-8"))["numba-cuda"]


def surprises(found: Iterable[Result], listed: dict[str, NonPass]) -> list[str]:
    """A sentence about each test that did not end as the list says."""
    return [f"{said}: {result.test}" + "".join(f"\n    {line}" for line in result.message.splitlines()[:6])
            for result in found if (said := surprise(result, listed.get(result.test)))]


def surprise(result: Result, known: NonPass | None) -> str:
    """What to tell about one test; "" where it ended as listed, or passed unlisted."""
    if known is None:
        return "" if result.outcome == "passed" else f"{result.outcome}, and not in {LIST.name}"
    if result.outcome == "passed":
        return "" if known.passes_elsewhere else f"passed, but {LIST.name} lists it as {known.outcome}"
    return "" if result.outcome == known.outcome else f"{result.outcome}, but {LIST.name} lists it as {known.outcome}"


def gone(found: Iterable[Result], listed: dict[str, NonPass]) -> list[str]:
    """A sentence about each listed test that a run of everything did not meet."""
    met = {result.test for result in found}
    return [f"listed, but no such test ran: {test}" for test in listed if test not in met]


def other_version() -> str:
    """A sentence where another numba-cuda is installed than the one that the list is about; else ""."""
    installed = metadata.version("numba-cuda")
    return "" if installed == version() else f"{LIST.name} is about numba-cuda {version()}, and {installed} is installed"
