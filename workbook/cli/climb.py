"""`ladder climb FAMILY`: prove every step, time it, and show what each one gains."""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernels.ladder import load_ladders
from workbook import cases

if TYPE_CHECKING:
    from rich.console import Console

    from kernels.ladder import Ladder
    from workbook.climb import Climb
    from workbook.results import Row

OUT = Path("out")  # of the current folder: git ignores it here


@click.command()
@click.argument("family")
@click.option("--device", metavar="NAME", help="Emulate this device: h100, h200, a100, a6000, t4 or rtx4090.")
@click.option("--case", metavar="M,N,K", help="Time at this size instead of the family's own.")
@click.option("--step", metavar="NAME", help="Climb this step only; speedups still compare with the ladder.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the inputs; fresh by default, and printed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout, the rest on stderr.")
@click.option("--png", type=click.Path(path_type=Path, dir_okay=False, writable=True),
              help="Save the picture here instead of out/.")
@click.option("--no-png", is_flag=True, help="Save no picture.")
@click.pass_context
def climb(
    ctx: click.Context,
    family: str,
    device: str | None,
    case: str | None,
    step: str | None,
    seed: int | None,
    as_json: bool,
    png: Path | None,
    no_png: bool,
) -> None:
    """Prove every step of FAMILY, or of one of its ladders, on small cases, then time it at real size."""
    if png and no_png:
        raise click.UsageError("--png and --no-png exclude each other")
    ladders = load_ladders(family)
    if len(ladders) > 1 and (case or step or as_json or png):
        names = ", ".join(ladder.name for ladder in ladders)
        raise click.UsageError(f"--case, --step, --json and --png need one ladder; {family} has {names}")
    seed = secrets.randbits(32) if seed is None else seed
    verified = [_climb_one(ladder, device, case, step, seed, as_json, png, no_png) for ladder in ladders]
    ctx.exit(0 if all(verified) else 1)


def _climb_one(
    ladder: Ladder,
    device: str | None,
    case: str | None,
    step: str | None,
    seed: int,
    as_json: bool,
    png: Path | None,
    no_png: bool,
) -> bool:
    """Climb one ladder and show it. Whether every step is right."""
    steps = [ladder.step(step)] if step else list(ladder.steps)
    try:
        size = cases.parse(case, ladder.timed_case) if case else ladder.timed_case
    except cases.BadCase as error:
        raise click.BadParameter(str(error), param_hint="--case") from None

    from rich.console import Console

    from workbook import climb as climbing
    from workbook import results, target

    console = Console(stderr=as_json, highlight=False, markup=False, emoji=False)
    try:
        device_target = target.choose(device)
    except (RuntimeError, ValueError) as error:
        raise click.UsageError(str(error)) from None
    try:
        with _progress(climbing.watched(ladder, steps)) as watch:
            climbed = climbing.climb(ladder, device_target, size, seed, steps, watch)
    except climbing.TooLarge as error:
        raise click.BadParameter(str(error), param_hint="--case") from None
    rows = results.rows(climbed)
    _print(console, climbed, rows, device)
    if not no_png and (png or not step):            # a single rung would overwrite the ladder's picture
        _save_picture(console, climbed, rows, png)
    if as_json:
        click.echo(json.dumps(results.as_json(climbed, rows), indent=1))
    return all(row.verified for row in rows)


def _print(console: Console, climbed: Climb, rows: tuple[Row, ...], device: str | None) -> None:
    from workbook import evidence, report, results

    console.print(report.headline(climbed), style="bold", soft_wrap=True)
    console.print(f"inputs from seed {climbed.seed}", soft_wrap=True)
    report.table(console, rows)
    for row, result in zip(rows, climbed.results, strict=True):
        before = results.timed_row(climbed, result.step.previous) if result.step.previous else None
        for index, line in enumerate(evidence.explain(before, row) if before else ()):
            console.print(line if index == 0 else f"  {line}", soft_wrap=True)
    for warning in filter(None, map(report.too_fast, rows)):
        console.print(warning, soft_wrap=True)
    program = click.get_current_context().find_root().info_name
    for result in climbed.results:
        if result.failure is not None:
            again = f"{program} climb {climbed.ladder.name} --step {result.step.name} --seed {climbed.seed}"
            report.failure(console, result.step.id, result.failure, again + (f" --device {device}" if device else ""))


def _save_picture(console: Console, climbed: Climb, rows: tuple[Row, ...], png: Path | None) -> None:
    from workbook import picture

    path = png or OUT / f"climb-{climbed.ladder.name}-{climbed.target.key}.png"
    if not any(row.verified for row in rows):
        return
    try:
        if png is None:
            OUT.mkdir(exist_ok=True)
        picture.save(path, climbed, rows)
    except OSError as error:
        console.print(f"no picture: {path} cannot be written ({error.strerror}); choose a place with --png PATH")
        return
    console.print(f"picture: {path}", soft_wrap=True)


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """A bar on stderr with what runs now; nothing where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(bar_width=24), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=total, completed=-1)
        yield lambda text: progress.update(task, description=text, advance=1)
