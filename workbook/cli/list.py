"""`ladder list`: the families and their steps."""

from __future__ import annotations

import click

from kernels.ladder import ladder_names, load_ladder


@click.command(name="list")
def list_() -> None:
    """List the families and their steps, slow to fast."""
    for family in ladder_names():
        ladder = load_ladder(family)
        click.echo(click.style(family, bold=True))
        width = max(len(step.id) for step in ladder.steps)
        for step in ladder.steps:
            click.echo(f"  {step.id:{width}}  {step.doc['title']}")
