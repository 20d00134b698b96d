"""`ladder notebook`: renders notebooks from their .py files, or checks that the committed ones are what that gives."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from kernels.ladder import UnknownName
from workbook import writing


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where a notebook is not what its .py file gives.")
@click.pass_context
def notebook(ctx: click.Context, names: tuple[str, ...], check: bool) -> None:
    """Execute notebooks on the emulated device and write the .ipynb files: all, or those named, such as 20 or 20_memory."""
    from workbook.notebook import render

    stale = 0
    for source in _chosen(names, render.sources()):
        start = time.perf_counter()
        try:
            document = render.render(source)
        except render.CellFailed as error:
            raise click.ClickException(str(error)) from None
        took = f"{time.perf_counter() - start:.0f} s"
        changed = render.differences(_committed(render.path_of(source)), document)
        if changed and check:
            click.echo(f"{source.stem}: stale, {took}")
            for line in changed:
                click.echo(f"  {line}")
        elif changed:
            writing.replace(render.path_of(source), render.text(document))
            click.echo(f"{source.stem}: written, {took}")
        else:
            click.echo(f"{source.stem}: unchanged, {took}")
        stale += bool(changed)
    ctx.exit(1 if check and stale else 0)


def _chosen(names: tuple[str, ...], sources: list[Path]) -> list[Path]:
    chosen = []
    for name in names:
        found = [source for source in sources if source.stem.startswith(name.removesuffix(".py").removesuffix(".ipynb"))]
        if not found:
            raise UnknownName("notebook", name, [source.stem for source in sources])
        chosen += found
    return chosen or sources


def _committed(path: Path) -> dict:
    """The .ipynb as it is; an empty document where there is none, or a damaged one."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}

