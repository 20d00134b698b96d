"""`ladder show STEP`: what a step does and how it differs from the step before."""

from __future__ import annotations

import ast

import click

from workbook import families

COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command()
@click.argument("step")
def show(step: str) -> None:
    """Show the docstring of STEP, such as matmul/tiled or tiled, and its diff against the step before."""
    found = families.find_step(step)
    click.secho(found.id, bold=True)
    click.echo(ast.get_docstring(ast.parse(found.source)))
    click.echo()
    if found.previous is None:
        click.echo(f"The first step, so there is nothing to compare it with. All of {found.path.name}:")
        click.echo(found.plain_source)
    for line in found.diff().splitlines():
        click.secho(line, fg=COLOURS.get(line[:1]))
