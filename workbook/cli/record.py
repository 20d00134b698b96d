"""`ladder record [FAMILY…]`: write down what every step costs; `--check` says whether that still holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernels.ladder import families, load_ladders
from workbook.records import files

if TYPE_CHECKING:
    from workbook.failure import Failure
    from workbook.records.schema import Document
    from workbook.records.workers import Plan


@click.command()
@click.argument("names", metavar="[FAMILY]...", nargs=-1)
@click.option("--device", "devices", metavar="NAME", multiple=True,
              help="This device; may stand several times. Otherwise a usable GPU, or all that are modelled.")
@click.option("--check", is_flag=True, help="Write nothing; count anew and compare with ==. Exit code 1 if a record is stale.")
@click.option("--replace", is_flag=True, help="Begin each file anew, whatever it holds.")
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), default=files.FOLDER, show_default="records/",
              help="Where the records lie.")
@click.pass_context
def record(
    ctx: click.Context, names: tuple[str, ...], devices: tuple[str, ...], check: bool, replace: bool, folder: Path
) -> None:
    """Prove and time every step of the families, or of single ladders, and write records/<device>/<family>.json.

    Without a GPU the times are modelled, for all modelled devices, and counters go with them. On a GPU they are measured.
    """
    if check and replace:
        raise click.UsageError("--check writes nothing, so there is nothing to --replace")
    from workbook import climb
    from workbook.records import merging, workers

    plan = _plan(names)
    devices = tuple(dict.fromkeys(devices))
    try:
        right = _check(plan, devices, folder, bool(names)) if check else _record(plan, devices, folder, replace)
    except files.BadRecord as error:
        click.echo(str(error), err=True)
        if not check:
            click.echo("nothing was written; mend the file, or begin it anew with --replace", err=True)
        ctx.exit(2)
    except merging.Mixed as error:
        click.echo(f"not recorded: {error}", err=True)
        ctx.exit(2)
    except OSError as error:
        raise click.ClickException(f"{error.filename or folder} cannot be written ({error.strerror})") from None
    except (workers.Lost, climb.TooLarge) as error:
        raise click.ClickException(str(error)) from None
    except (RuntimeError, ValueError) as error:  # no such device, or none to run on
        raise click.UsageError(str(error)) from None
    ctx.exit(0 if right else 1)


def _plan(names: tuple[str, ...]) -> Plan:
    """The families and ladders that are meant; all for no name. Raises UnknownName."""
    wanted = [ladder.name for name in names for ladder in load_ladders(name)]
    chosen = {family: [name for name in ladders if name in wanted or not names] for family, ladders in families().items()}
    return {family: ladders for family, ladders in chosen.items() if ladders}


def _record(plan: Plan, devices: tuple[str, ...], folder: Path, replace: bool) -> bool:
    """Whether every step was recorded."""
    from workbook.records import merging, workers

    on = list(devices) or _default_devices()
    if not replace:  # a file that is damaged is told of before the work, not after it
        for device in on:
            for family in plan:
                files.read(files.path_of(folder, device or "-", family))
    right = True
    _say(f"counting on {', '.join(device or 'the GPU' for device in on)}")
    counts = workers.here(plan, on, True, _say) if on == [None] else workers.count(plan, on, True, _say)
    for counted in counts:
        family = counted.document["family"]
        path = files.path_of(folder, counted.document["device"], family)
        right &= not counted.failures
        if counted.document["runs"]:
            files.update(path, lambda old, done=counted: merging.merge(
                old, done.document, plan[done.document["family"]]), replace)
            _tell(f"{files.shown(path)}: {len(counted.document['runs'])} runs, {counted.document['kind']}")
        _tell_failures(counted.document, counted.failures)
    return right


def _default_devices() -> list[str | None]:
    """All modelled devices; [None], which means the GPU, where there is a usable one."""
    import simt
    from simt import model

    return [None] if simt.enable("auto", quiet=True) == "gpu" else list(model.names())


def _tell_failures(document: Document, failures: list[tuple[str, Failure]]) -> None:
    from rich.console import Console

    from workbook import report

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    device = document["device"]
    for step, failure in failures:
        emulated = f" --device {device}" if document["kind"] == "modelled" else ""
        ladder, _, name = step.partition("/")
        click.echo(f"{step} fails on {device}:", err=True)
        report.failure(console, step, failure, f"./ladder climb {ladder} --step {name}{emulated}")


def _check(plan: Plan, devices: tuple[str, ...], folder: Path, is_named: bool) -> bool:
    """Whether every record holds. What has none fails where it was asked for by name, and is mentioned otherwise."""
    from workbook.records import checking

    documents = [
        document for document in files.read_all(folder)
        if document["family"] in plan and (not devices or document["device"] in devices)
    ]
    lacking = checking.lacking(plan, documents, devices)
    for what in lacking:
        click.echo(f"{what}: no record yet")
    right = not (lacking and (is_named or devices))
    _say("counting anew")
    for checked in checking.check(plan, documents, _say):
        right &= not checked.troubles
        for trouble in checked.troubles:
            _tell(str(trouble))
        if not checked.troubles:
            _tell(f"{', '.join(checked.ladders)} on {checked.document['device']}: {checked.runs} runs hold")
        _tell_failures(checked.document, checked.failures)
    if not right:
        click.echo("what is meant to change is recorded anew by: ./ladder record [FAMILY]...")
    return right


def _say(text: str) -> None:
    """What runs now, on a terminal; the next line takes its place."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{text[:100]}\r", nl=False, err=True)


def _tell(text: str) -> None:
    _say("")
    click.echo(text)
