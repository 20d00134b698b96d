"""`ladder list`: the families and their steps."""

from __future__ import annotations

import click

from kernels.broken import Broken
from kernels.ladder import Step, ladder_names, load_ladder


@click.command(name="list")
@click.pass_context
def list_(ctx: click.Context) -> None:
    """List the families and their steps, slow to fast."""
    works = [tell(name) for name in ladder_names()]
    ctx.exit(0 if all(works) else 1)


def tell(name: str) -> bool:
    """Print a ladder's steps with their titles. Whether all of its files can be read."""
    click.echo(click.style(name, bold=True))
    try:
        ladder = load_ladder(name)
    except Broken as error:
        click.echo(f"  broken: {error}")
        return False
    width = max(len(step.id) for step in ladder.steps)
    works = True
    for step in ladder.steps:
        title, right = _title(step)
        click.echo(f"  {step.id:{width}}  {title}")
        works &= right
    return works


def _title(step: Step) -> tuple[str, bool]:
    """What its file says of a step, and whether it could."""
    try:
        return step.doc["title"], True
    except Broken as error:
        return f"broken: {error}", False
