"""`ladder show STEP`: what a step does and how it differs from the step before."""

from __future__ import annotations

import click

from workbook import families
from workbook.cli import list as listing

COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command()
@click.argument("step")
@click.pass_context
def show(ctx: click.Context, step: str) -> None:
    """Show the docstring of STEP and its diff against the step before.

    STEP is an id such as matmul/tiled, or its word where one ladder alone has it, such as coalesced. The name of a ladder or
    of a family lists its steps.
    """
    if ladders := families.find_ladders(step):
        works = [listing.tell(name) for name in ladders]
        ctx.exit(0 if all(works) else 1)
    found = families.find_step(step)
    click.secho(found.id, bold=True)
    click.echo(found.docstring)
    click.echo()
    if found.previous is None:
        click.echo(f"The first step, so there is nothing to compare it with. All of {found.path.name}:")
        click.echo(found.plain_source)
    for line in found.diff().splitlines():
        click.secho(line, fg=COLOURS.get(line[:1]))
