"""`ladder profile STEP|FILE.py[:KERNEL]`: what the hardware sees of a kernel, which line is the worst, and what to do."""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from simt.driver.profiling import Profile

_PROGRAM = re.compile(r"(?P<file>.+\.py)(?::(?P<kernel>[^:/\\]+))?")
SEED = 1

Run = Callable[[], int]


class _Sample(click.ParamType):
    name = "all|auto|N"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        text = str(value)
        if text in ("all", "auto"):
            return text
        if text.isascii() and text.isdigit() and int(text):
            return int(text)
        self.fail(f'{text!r}: it is "auto", "all", or N for about one block in N', param, ctx)


@click.command()
@click.argument("target", metavar="STEP|FILE.py[:KERNEL]")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGUMENTS]")
@click.option("--check", default="", metavar="race,init,sync,bounds",
              help="Look for these errors, which can be several times slower; bounds are always checked.")
@click.option("--device", metavar="NAME", help="Model this device: h100, h200, a100, a6000, t4 or rtx4090.")
@click.option("--sample", type=_Sample(), default="auto", metavar="auto|all|N",
              help="Count all blocks, one in N, or as many as it takes (auto).")
@click.option("--case", metavar="M,N,K", help="Profile a step at this size instead of the ladder's own.")
@click.option("--source", is_flag=True, help="Show each line with its counters, PTX and SASS, in the HTML too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout, the program's output on stderr.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False, writable=True), help="Save the report here as HTML.")
@click.option("--picture", type=click.Path(path_type=Path, file_okay=False), help="Save pictures in this folder.")
@click.option("--caches", is_flag=True,
              help="Simulate caches too, over all blocks: hit rates, DRAM bytes. Can be several times slower.")
@click.option("--ncu", type=click.Path(path_type=Path, dir_okay=False, exists=True),
              help="Compare with this output of `ncu --csv --page raw`, measured on a GPU.")
@click.pass_context
def profile(
    ctx: click.Context,
    target: str,
    arguments: tuple[str, ...],
    check: str,
    device: str | None,
    sample: str | int,
    case: str | None,
    source: bool,
    as_json: bool,
    html: Path | None,
    picture: Path | None,
    caches: bool,
    ncu: Path | None,
) -> None:
    """Profile a step of a ladder, such as matmul/naive, or any program that uses numba.cuda.

    The program runs as `python FILE.py ARGUMENTS` would, on the emulated device, and needs no change. Times are modelled.
    Exit code 1 if a checker finds an error.
    """
    if ncu is not None and as_json:
        raise click.UsageError("--ncu prints a table, --json a document: take one of them")
    _writable(html, picture)
    is_program, whole = _PROGRAM.fullmatch(target), bool(check) or caches
    if is_program:
        run, execute = _program(is_program["file"], arguments, case), "all"
    else:
        # Checkers and caches look at all blocks, so the size is small then; counters are right with the sampled blocks alone.
        run, execute = _step(target, arguments, case, small=whole), "all" if whole else "sampled"
    _warn_of_slow(check, caches)
    if caches and sample == "auto":
        sample = "all"              # what a few blocks find in a cache says nothing about the rest
    counted = _profile(device, sample=sample, execute=execute, check=check, caches=caches)
    from workbook.profile import numba_warnings, stdout_to_stderr

    with stdout_to_stderr() if as_json else contextlib.nullcontext(), numba_warnings() as warned, counted:
        code = run()
    if code:
        ctx.exit(code)
    if is_program and is_program["kernel"]:
        _keep(counted, is_program["kernel"])
    if not counted.launches:
        raise click.UsageError(f"{target} launched no kernel, so there is nothing to profile")
    click.echo("".join(f"numba warns: {text}\n" for text in warned), err=True, nl=False)
    saved = _save(counted, target, source, html, picture)       # before anything is printed: a reader may stop early
    if as_json:
        click.echo(counted.to_json())
    else:
        _show(counted, source, "" if is_program else target, ncu)
    for path in saved:
        click.echo(f"saved: {path}", err=as_json)
    ctx.exit(1 if any(not finding.note for finding in counted.findings) else 0)


def _warn_of_slow(check: str, caches: bool) -> None:
    """A line before a run that will be long."""
    for option, asked in (("--check", check), ("--caches", caches)):
        if asked:
            click.echo(f"{option} runs every block of every launch, which can take several times as long", err=True)


def _program(file: str, arguments: tuple[str, ...], case: str | None) -> Run:
    """How to run a program."""
    from workbook.profile import run_program

    path = Path(file)
    if not path.is_file():
        raise click.UsageError(f"there is no file {file}")
    if case is not None:
        raise click.UsageError("--case is for steps; a program takes its arguments after --")
    return lambda: run_program(path, arguments)


def _step(name: str, arguments: tuple[str, ...], case: str | None, small: bool) -> Run:
    """How to run a step, on the size that its ladder is timed with, or its last small one."""
    from kernels.ladder import load_ladder
    from workbook import cases, families
    from workbook.profile import run_step

    if arguments:
        raise click.UsageError("a step takes no arguments; --case sets its size")
    step = families.find_step(name)
    ladder = load_ladder(step.ladder)
    try:
        size = cases.parse(case, ladder.timed_case) if case else ladder.cases[-1] if small else ladder.timed_case
    except cases.BadCase as error:
        raise click.BadParameter(str(error), param_hint="--case") from None
    click.echo(f"{step.id} at {size}", err=True)

    def run() -> int:
        from workbook import failure, report

        try:
            run_step(step, size, SEED)
        except Exception as error:
            from rich.console import Console

            console = Console(stderr=True, highlight=False, markup=False, emoji=False)
            again = click.get_current_context().command_path + f" {step.id}"
            report.failure(console, step.id, failure.broken(error, f"running {step.id} on {size}", str(step.path)), again)
            return 1
        return 0

    return run


def _profile(device: str | None, **options: Any) -> Profile:
    """A profile on the emulated device, also where there is a GPU."""
    import simt

    try:
        if device is not None:
            simt.set_device(device)
        simt.enable("force", quiet=True)
        return simt.profile(**options)
    except (RuntimeError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def _keep(counted: Profile, kernel: str) -> None:
    """Only the launches of that kernel."""
    from simt.ptx.mangled import kernel_name
    from simt.report.subject import named
    from workbook.profile import definition

    seen = {kernel_name(launch.kernel): launch for launch in counted.launches}
    if kernel not in seen:
        known = ", ".join(f"{name} ({named(definition(name, launch))})" for name, launch in seen.items())
        nearest = difflib.get_close_matches(kernel, seen, n=1)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        raise click.UsageError(f"no kernel {kernel!r} was launched{hint}\nkernels that were: {known or 'none'}")
    counted.launches = [launch for launch in counted.launches if kernel_name(launch.kernel) == kernel]


def _show(counted: Profile, source: bool, step: str, ncu: Path | None) -> None:
    """The report, for a step with the one that comes next, and beside it what was measured."""
    measured = _compared(counted, ncu) if ncu is not None else ""
    _print(counted.report(source=source))
    if step:
        click.echo(_next_step(step))
    _print(measured)


def _print(text: str) -> None:
    """Headings stand out on a terminal."""
    for line in text.splitlines():
        click.secho(line, bold=bool(line) and not line.startswith(" "))


def _compared(counted: Profile, path: Path) -> str:
    """What a GPU measured beside what was emulated."""
    from simt.report import ncu
    from simt.report.subject import Subject
    from simt.report.text import shape

    try:
        measured = ncu.read(path)
    except ncu.NcuError as error:
        raise click.UsageError(str(error)) from None
    pairs = ncu.pair(counted.launches, measured)
    if not pairs:
        there = ", ".join(dict.fromkeys(f"{found.short_name} {found.grid} x {found.block}" for found in measured))
        raise click.UsageError(f"{path} holds no launch of this kernel in this shape, only {there}")
    tables = []
    for launch, found in pairs:
        subject = Subject.of(launch)
        tables.append(f"\nMeasured beside emulated: {subject.kernel}  {shape(subject)}\n{ncu.text(ncu.compare(launch, found))}")
    return "".join(tables)


def _writable(html: Path | None, picture: Path | None) -> None:
    """Raises BadParameter where a file that is asked for cannot be written, before anything runs."""
    from workbook.profile import obstacle

    for option, path, folder in (("--html", html, html and html.parent), ("--picture", picture, picture)):
        why = obstacle(folder, must_exist=option == "--html") if folder is not None else ""
        if why:
            raise click.BadParameter(f"{path} cannot be written: {why}", param_hint=option)


def _next_step(name: str) -> str:
    """The step of the ladder that comes after this one, in words."""
    from kernels.ladder import load_ladder
    from workbook import families

    here = families.find_step(name)
    program = click.get_current_context().find_root().info_name
    for step in load_ladder(here.ladder):
        if step.previous == here:
            return f"  next: {step.id}, which {program} show {step.id} explains"
    return f"  {here.id} is the last step of its ladder"


def _save(counted: Profile, title: str, source: bool, html: Path | None, picture: Path | None) -> list[Path]:
    """What is asked for as files, and where it is."""
    saved = []
    try:
        if html is not None:
            html.write_text(counted.to_html(title, source=source), encoding="utf-8")
            saved.append(html)
        if picture is not None:
            from workbook import profile_pictures

            saved += profile_pictures.save(counted.subjects(), picture)
    except OSError as error:
        raise click.ClickException(f"{error.filename or html or picture} cannot be written ({error.strerror})") from None
    return saved
