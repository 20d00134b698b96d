"""The committed list of what checkers find in numba-cuda's own tests, each with its reason, and what a run says about it."""
from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from tests.upstream.runner import Result

LIST = Path(__file__).with_name("findings.toml")
CHECKS = ("race", "init", "sync")


def read(path: Path = LIST) -> dict[str, dict[str, str]]:
    """Test -> kind of finding -> why it is right. Raises ValueError for a kind that is listed twice for a test."""
    listed: dict[str, dict[str, str]] = {}
    for reason in tomllib.loads(path.read_text(encoding="utf-8"))["reason"]:
        for test in reason["tests"]:
            if reason["kind"] in listed.setdefault(test, {}):
                raise ValueError(f"{path.name} lists {reason['kind']} of {test} twice")
            listed[test][reason["kind"]] = reason["why"]
    return listed


def surprises(found: Iterable[Result], listed: dict[str, dict[str, str]], check: str) -> list[str]:
    """A sentence about each finding that is not listed, and about each kind that a test was listed with and did not have.

    check: the checkers that ran; what is listed of others is not expected
    """
    said = []
    for result in found:
        known = listed.get(result.test, {})
        said += [f"{one['kind']}, and not in {LIST.name}: {result.test}\n    {one['text']}" for one in result.findings
                 if one["kind"] not in known]
        met = {one["kind"] for one in result.findings}
        said += [f"no {kind}, but {LIST.name} lists one: {result.test}" for kind in known
                 if kind not in met and checker_of(kind) in check.split(",")]
    return said


def checker_of(kind: str) -> str:
    """The checker that says "race note" or "alias" is "race"."""
    name = kind.removesuffix(" note")
    return "race" if name == "alias" else name


def gone(found: Iterable[Result], listed: dict[str, dict[str, str]]) -> list[str]:
    """A sentence about each listed test that a run of everything did not meet."""
    met = {result.test for result in found}
    return [f"listed in {LIST.name}, but no such test ran: {test}" for test in listed if test not in met]
