"""`ladder table`: write the tables of README.md and docs/ anew from the records."""

from __future__ import annotations

from pathlib import Path

import click

from workbook import writing
from workbook.records import files


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if a table is not what the records say.")
@click.pass_context
def table(ctx: click.Context, check: bool) -> None:
    """Write the tables between the markers of README.md and docs/*.md from the records."""
    from workbook.records import table as tables

    try:
        changed = update(files.FOLDER.parent, files.FOLDER, check)
        stale = tables.stale_runs(files.read_all(files.FOLDER))
    except (files.BadRecord, tables.BadMarker, ValueError) as error:
        click.echo(str(error), err=True)
        ctx.exit(2)
    except OSError as error:
        raise click.ClickException(f"{error.filename} cannot be written ({error.strerror})") from None
    for line in stale:
        click.echo(line, err=True)
    if stale:
        click.echo("they show as stale; ./ladder record makes them anew", err=True)
    for path in changed:
        click.echo(f"{path}: {'is not what the records say; ./ladder table writes it anew' if check else 'written'}")
    if not changed:
        click.echo("every table is what the records say")
    ctx.exit(1 if check and changed else 0)


def update(root: Path, folder: Path, check: bool) -> list[Path]:
    """The documents below `root` whose tables differ from the records in `folder`; written anew unless `check`."""
    from workbook.records import table as tables

    documents = files.read_all(folder)
    changed = []
    for path in (root / "README.md", *sorted((root / "docs").rglob("*.md"))):
        text = path.read_text(encoding="utf-8")
        anew = tables.render(text, path, root, documents)
        if anew != text:
            changed.append(path.relative_to(root))
            if not check:
                writing.replace(path, anew)
    return changed
