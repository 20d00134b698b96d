"""`ladder notebook`: renders notebooks from their .py files, or checks that the committed ones are what that gives."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernels.ladder import UnknownName
from workbook import writing

if TYPE_CHECKING:
    from workbook.notebook.document import Document


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where a notebook is not what its .py file gives.")
@click.pass_context
def notebook(ctx: click.Context, names: tuple[str, ...], check: bool) -> None:
    """Execute notebooks on the emulated device and write the .ipynb files: those named, such as 20 or 20_memory, or all.

    Without a name, notebooks that you ran or edited stay as they are.
    """
    from workbook.notebook import document, render

    stale = 0
    for source in _chosen(names, render.sources()):
        path, again = render.path_of(source), f"{ctx.find_root().info_name} notebook {source.stem[:2]}"
        try:
            before, damage = document.read(path), ""
        except document.Damaged as error:
            before, damage = None, str(error)
        if damage and check:
            click.echo(f"{source.stem}: {damage}; `{again}` makes it anew")
            stale += 1
        elif before and not (names or check) and document.touched(before):
            click.echo(f"{source.stem}: kept, since it was run or edited; `{again}` makes it anew")
        else:
            stale += _render(source, before, check)
    ctx.exit(1 if check and stale else 0)


def _render(source: Path, before: Document | None, check: bool) -> bool:
    """Execute one, and write it unless this is a check. Whether it differs from what was there."""
    from workbook.notebook import document, render

    start = time.perf_counter()
    try:
        after = render.render(source)
    except render.CellFailed as error:
        raise click.ClickException(str(error)) from None
    took = f"{time.perf_counter() - start:.0f} s"
    changed = document.differences(before, after)
    if check:
        click.echo(f"{source.stem}: {'stale' if changed else 'unchanged'}, {took}")
        for line in changed:
            click.echo(f"  {line}")
    elif changed or (before and document.touched(before)):
        _write(render.path_of(source), document.text(after))
        click.echo(f"{source.stem}: written, {took}")
    else:
        click.echo(f"{source.stem}: unchanged, {took}")
    return bool(changed)


def _write(path: Path, text: str) -> None:
    try:
        writing.replace(path, text)
    except OSError as error:
        raise click.ClickException(f"{path.name} cannot be written: {error.strerror}; move away what is in its place") from None


def _chosen(names: tuple[str, ...], sources: list[Path]) -> list[Path]:
    chosen = []
    for name in names:
        found = [source for source in sources if source.stem.startswith(name.removesuffix(".py").removesuffix(".ipynb"))]
        if not found:
            raise UnknownName("notebook", name, [source.stem for source in sources])
        chosen += found
    return chosen or sources
