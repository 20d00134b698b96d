"""`ladder exercise`: shows the next exercise and checks it on each save; lists, checks, hints, resets, solutions."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from workbook.exercises.entry import Exercise
    from workbook.exercises.progress import Progress
    from workbook.exercises.result import Result

MARKS = {"passed": "x", "changed": "~", "begun": ".", "not begun": " ", "missing": "!"}
LEGEND = {"changed": "changed since it passed", "begun": "begun", "missing": "not there: `exercise reset` makes it anew"}
COLOURS = {"passed": "green", "changed": "yellow", "begun": "yellow", "missing": "red"}


class Exercises(click.Group):
    """Tells a broken track as one line."""

    def invoke(self, ctx: click.Context) -> object:
        from workbook.exercises.entry import BrokenTrack

        try:
            return super().invoke(ctx)
        except BrokenTrack as error:
            raise click.ClickException(str(error)) from None


@click.group(cls=Exercises, invoke_without_command=True)
@click.pass_context
def exercise(ctx: click.Context) -> None:
    """Show the next exercise and check it each time you save it; Ctrl-C ends.

    An exercise is a file in exercises/ with a gap to fill or a bug to find. Its answer lies in solutions/.
    """
    from workbook.exercises import entry

    if not (entry.PROJECT / "exercises").is_dir():
        raise click.ClickException("the exercises lie in a checkout of the project: run ./ladder there")
    if ctx.invoked_subcommand is None:
        _next()


@exercise.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_(as_json: bool) -> None:
    """List the exercises: x passed, ~ changed since it passed, . begun, ! not there."""
    from workbook.exercises import entry, stubs

    progress = _progress()
    _warn_of_broken()
    found = [(item, progress.status(item)) for item in entry.exercises()]
    if as_json:
        rows = [{"name": item.name, "title": item.title, "status": status, "path": stubs.relative(item.stub_path)}
                for item, status in found]  # fmt: skip
        click.echo(json.dumps(rows, indent=1))
        return
    width = max((len(item.word) for item, _ in found), default=0)
    for track in entry.TRACKS:
        here = [(item, status) for item, status in found if item.track == track]
        if not here:
            continue
        done = sum(status == "passed" for _, status in here)
        click.echo(f"{click.style(track, bold=True)}  {entry.track_title(track)}  {done} of {len(here)}")
        for item, status in here:
            click.secho(f"  [{MARKS[status]}] {item.word:{width}}  {item.title}", fg=COLOURS.get(status))
    shown = {status for _, status in found}
    if legend := [f"[{MARKS[status]}] {text}" for status, text in LEGEND.items() if status in shown]:
        click.echo(", ".join(legend))


@exercise.command()
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Check every exercise that was begun.")
@click.option("--file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Check this file instead.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of some of the inputs; fresh by default.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def check(
    ctx: click.Context, name: str | None, everything: bool, file: Path | None, seed: int | None, as_json: bool
) -> None:
    """Check the exercise NAME, such as first/map or map; with --all, every one that was begun."""
    from workbook.exercises import entry

    if everything == bool(name) or (everything and file):
        raise click.UsageError("name one exercise, or say --all")
    progress = _progress()
    if name:
        results = [_check(progress, entry.find(name), file, seed)]
    else:
        _warn_of_broken()
        chosen = [item for item in entry.exercises() if progress.status(item) not in ("not begun", "missing")]
        results = [_check(progress, item, None, seed) for item in chosen]
    if as_json:
        documents = [result.as_json() for result in results]
        click.echo(json.dumps(documents[0] if name else documents, indent=1))
    else:
        for result in results:
            _show(result)
        if not results:
            click.echo("no exercise was begun yet")
    ctx.exit(0 if all(result.passed for result in results) else 1)


@exercise.command()
@click.argument("name")
def hint(name: str) -> None:
    """Show a hint for NAME, and one more each time."""
    from workbook.exercises import entry

    found = entry.find(name)
    shown = _progress().next_hint(found)
    for number, text in enumerate(found.hints[:shown], start=1):
        click.echo(f"{number} of {len(found.hints)}: {text}")


@exercise.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def reset(name: str, yes: bool) -> None:
    """Begin NAME anew. Your file is kept beside it, as NAME.py.bak."""
    from workbook import writing
    from workbook.exercises import entry, progress, stubs

    found = entry.find(name)
    path, shown = found.stub_path, stubs.relative(found.stub_path)
    try:
        text = stubs.stub(found)
        if os.path.lexists(path) and not (path.is_file() and progress.is_stub(found)):
            if not yes:
                click.confirm(f"replace {shown} by its beginning?", abort=True)
            click.echo(f"what was there is now {stubs.relative(_backup(path))}")
        path.parent.mkdir(parents=True, exist_ok=True)
        writing.replace(path, text)
    except OSError as error:
        raise click.ClickException(f"{shown} cannot be written: {error.strerror}") from None
    except stubs.BrokenMarkers as error:
        raise click.ClickException(f"{shown} cannot be cut: {error}") from None
    _progress().forget(found)
    click.echo(f"{shown} is as it was at the beginning")


@exercise.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Show it before you have passed.")
def solution(name: str, force: bool) -> None:
    """Show the solution of NAME with its explanation, once you have passed."""
    from kernels.ladder import MARKER
    from workbook.exercises import entry, stubs

    found = entry.find(name)
    if not force and _progress().status(found) not in ("passed", "changed"):
        raise click.ClickException(f"{found.name} has not passed yet; `exercise hint {found.name}` helps, --force shows it")
    paths = [found.solution_path] + ([found.answer_path] if found.answer_path != found.solution_path else [])
    for path in paths:
        click.secho(stubs.relative(path), bold=True)
        lines = path.read_text(encoding="utf-8").splitlines()
        click.echo("\n".join(line for line in lines if not MARKER.match(line)))


@exercise.command()
@click.option("--write", is_flag=True, help="Cut all stubs anew first, over whatever lies in exercises/.")
@click.option("--track", metavar="NAME", help="Only this track.")
@click.pass_context
def verify(ctx: click.Context, write: bool, track: str | None) -> None:
    """For maintainers: every stub fails and is the one cut from its answer, every solution passes, nothing is missing."""
    from kernels.ladder import UnknownName
    from workbook.exercises import entry, stubs, upkeep
    from workbook.words import count

    if track is not None and track not in entry.TRACKS:
        raise UnknownName("track", track, entry.TRACKS)
    chosen = entry.exercises((track,) if track else entry.TRACKS)
    if write:
        try:
            for path in upkeep.write_stubs(chosen):
                click.echo(f"written: {stubs.relative(path)}")
        except (OSError, stubs.BrokenMarkers) as error:
            raise click.ClickException(str(error)) from None
    found = upkeep.faults(chosen, lambda line: click.echo(line, err=True))
    for fault in found:
        click.secho(fault, fg="red")
    click.echo(f"{count(len(chosen), 'exercise')}, {count(len(found), 'fault') if found else 'all is well'}")
    ctx.exit(1 if found else 0)


def _next() -> None:
    """Show the first exercise that has not passed; on a terminal, check it on each save, and go on to the next."""
    from workbook.exercises import entry, watch

    progress = _progress()
    _warn_of_broken()
    for item in entry.exercises():
        if progress.status(item) == "passed":
            continue
        _introduce(item)
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            return
        before, result = watch.mark(item.stub_path), None
        if progress.status(item) in ("begun", "changed"):
            result = _check(progress, item)
            _show(result)
        while result is None or not result.passed:
            before = watch.wait_for_save(item.stub_path, before)
            click.clear()
            result = _check(progress, item)
            _show(result)
        click.echo()
    click.echo("all exercises of the other tracks are passed" if entry.broken() else "all exercises are passed")


def _warn_of_broken() -> None:
    from workbook.exercises import entry

    for fault in entry.broken():
        click.secho(fault, fg="red", err=True)


def _introduce(item: Exercise) -> None:
    from workbook.exercises import stubs

    program = click.get_current_context().find_root().info_name
    click.echo(f"{click.style(item.name, bold=True)}  {item.title}")
    click.echo(f"  edit   {stubs.relative(item.stub_path)}")
    if not item.stub_path.is_file():
        click.echo(f"  it is not there: {program} exercise reset {item.name} makes it anew")
    click.echo(f"  check  {program} exercise check {item.name}")
    click.echo(f"  hint   {program} exercise hint {item.name}")


def _check(progress: Progress, item: Exercise, file: Path | None = None, seed: int | None = None) -> Result:
    """Check the reader's file, and remember a pass, or check another one."""
    from workbook.exercises import check as checking

    with _busy() as busy:
        if file is not None:
            return checking.check(item, file, seed, watch=busy)
        return checking.check_own(progress, item, seed, busy)


def _show(result: Result) -> None:
    from workbook.exercises.result import screen

    first, *others = screen(result)
    click.secho(first, fg="green" if result.passed else "red", bold=True)
    for line in others:
        click.echo(line)
    if result.trouble is not None:
        program = click.get_current_context().find_root().info_name
        click.secho(f"  again: {program} exercise check {result.exercise} --seed {result.seed}", dim=True)


@contextlib.contextmanager
def _busy() -> Iterator[Callable[[str], None]]:
    """One line on stderr that says what is being done, where stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    try:
        yield lambda text: click.echo(f"\r\033[K{text[: shutil.get_terminal_size().columns - 1]}", nl=False, err=True)
    finally:
        click.echo("\r\033[K", nl=False, err=True)


def _progress() -> Progress:
    from workbook.exercises.progress import Progress

    return Progress(tell=lambda line: click.echo(line, err=True))


def _backup(path: Path) -> Path:
    """Move the file aside, over no other one."""
    number = 0
    while True:
        aside = path.with_name(f"{path.name}.bak" + (f".{number}" if number else ""))
        if not os.path.lexists(aside):
            os.replace(path, aside)
            return aside
        number += 1
