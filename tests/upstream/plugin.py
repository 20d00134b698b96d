"""The pytest plugin inside a child: says on a file which test runs and how each ended, one JSON object a line.

Upstream's own conftest.py is not part of the wheel; the one fixture of it that the tests ask for is here.
"""
from __future__ import annotations

import importlib.util
import json
import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import simt
from simt.driver.profiling import Profile
from simt.observe.profile import LaunchProfile

# Environment: where to write; what has run before; the checkers under which tests run.
REPORT, FINISHED, CHECK = "UPSTREAM_REPORT", "UPSTREAM_FINISHED", "UPSTREAM_CHECK"
MESSAGE_CHARACTERS = 1500


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request: pytest.FixtureRequest) -> None:
    """What numba.cuda.testing.CUDATestCase expects of the conftest.py that upstream runs under."""
    request.cls._dump_failed_filechecks = False


class Reporter:
    """Outcomes of a test: passed, failed, skipped, xfailed. Failed subtests make a failed test, and count once."""

    def __init__(self, path: Path, finished: set[str], check: str) -> None:
        self.file = path.open("a", encoding="utf-8", buffering=1)
        self.finished, self.check = finished, check
        self.profile: Profile | None = None
        self.names: dict[str, str] = {}
        self.outcome, self.message, self.seconds = "passed", "", 0.0

    def write(self, **fields: object) -> None:
        self.file.write(json.dumps(fields) + "\n")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.names = {item.nodeid: stable_name(item) for item in items}
        items[:] = [item for item in items if self.names[item.nodeid] not in self.finished]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome != "passed" and report.fspath:
            self.write(test=module_name(Path(report.fspath)), outcome=report.outcome, message=message_of(report), seconds=0.0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        if not self.check:
            return (yield)
        with simt.profile(sample="none", check=self.check) as self.profile:     # set-up and tear-down are checked too
            return (yield)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.outcome, self.message, self.seconds = "passed", "", 0.0
        self.write(test=self.names[nodeid], outcome="started")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds += report.duration
        part_of_test = type(report).__name__ == "SubtestReport" and not report.failed
        if part_of_test or self.outcome == "failed" or report.passed:
            return
        self.outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        self.message = message_of(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        launches = self.profile.launches if self.profile is not None else []
        found = {"launches": len(launches), "findings": told(launches)}
        self.write(test=self.names[nodeid], outcome=self.outcome, message=self.message, seconds=round(self.seconds, 2), **found)


def told(launches: list[LaunchProfile]) -> list[dict[str, object]]:
    """What checkers saw in the launches of a test, each once: kind, places and words."""
    found = {}
    for launch in launches:
        for one in launch.findings:
            kind = f"{one.kind} note" if one.note else one.kind
            places = [f"{Path(file).name}:{line}" for file, line in one.places]
            found.setdefault((kind, *places), {"kind": kind, "places": places, "text": one.text, "kernel": launch.kernel})
    return list(found.values())


def pytest_configure(config: pytest.Config) -> None:
    if importlib.util.find_spec("filecheck") is None:
        stand_in_for_filecheck()
    if path := os.environ.get(REPORT):
        finished = json.loads(Path(os.environ[FINISHED]).read_text(encoding="utf-8"))
        config.pluginmanager.register(Reporter(Path(path), set(finished), os.environ.get(CHECK, "")))


def stand_in_for_filecheck() -> None:
    """numba.cuda.testing imports it, for the few tests that compare generated code; so the others run without it."""
    names = {"": "", ".matcher": "Matcher", ".options": "Options", ".parser": "Parser pattern_for_opts", ".finput": "FInput"}
    for name, contents in names.items():
        module = types.ModuleType("filecheck" + name)
        vars(module).update(dict.fromkeys(contents.split(), needs_filecheck))
        sys.modules[module.__name__] = module


def needs_filecheck(*_arguments: object, **_options: object) -> None:
    raise ModuleNotFoundError("this test needs filecheck: pip install -r tests/upstream/requirements.txt")


def stable_name(item: pytest.Item) -> str:
    """"cudapy/test_array.py::TestCudaArray::test_carray", wherever the suite is installed."""
    return "::".join([module_name(item.path), *item.nodeid.split("::")[1:]])


def module_name(path: Path) -> str:
    return "/".join(path.parts[-2:])


def message_of(report: pytest.CollectReport | pytest.TestReport) -> str:
    """The reason of a skip, or the lines that pytest marks as the error: the exception, its message and its notes."""
    place = report.longrepr
    if isinstance(place, tuple):
        return str(place[2]).removeprefix("Skipped: ")
    marked = [line[1:].strip() for line in report.longreprtext.splitlines() if line.startswith("E ")]
    return "\n".join(marked or [str(place).strip()])[-MESSAGE_CHARACTERS:]
