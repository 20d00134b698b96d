"""`ladder test`: the project's own tests."""

from __future__ import annotations

import os
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[2]


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def test(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Run the project's tests; further arguments go to pytest."""
    import pytest

    os.chdir(ROOT)
    stopped = _Stopped()
    named = any(Path(argument.partition("::")[0]).exists() for argument in arguments)
    options = [] if named else [*side_by_side(arguments), "tests"]
    code = pytest.main([*arguments, *options], plugins=[stopped])
    if stopped.by_hand:
        raise KeyboardInterrupt
    outcomes = {pytest.ExitCode.OK: 0, pytest.ExitCode.USAGE_ERROR: 2, pytest.ExitCode.NO_TESTS_COLLECTED: 2}
    ctx.exit(outcomes.get(code, 1))


def side_by_side(arguments: tuple[str, ...]) -> list[str]:
    """Options that spread the tests over the cores; none where the reader chose otherwise or watches a debugger."""
    own = ("-n", "--numprocesses", "--pdb", "-s", "--capture", "--collect-only", "--co")
    if any(argument.split("=")[0] in own or argument.startswith("-n") for argument in arguments):
        return []
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ["-n", str(min(cores, 8)), "--dist", "worksteal"] if cores > 1 else []


class _Stopped:
    """A pytest plugin that tells Ctrl-C from a broken collection: pytest gives both one exit code."""

    by_hand = False

    def pytest_keyboard_interrupt(self, excinfo: object) -> None:
        self.by_hand = True
