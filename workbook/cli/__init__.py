"""The command line: one file per command. Exit codes: 0 right, 1 a wrong result, 2 usage, 130 interrupted."""

from __future__ import annotations

import os
import signal
import sys

import click

from workbook.cli.doctor import doctor

try:
    from kernels.broken import Broken
    from kernels.ladder import UnknownName
    from workbook.cli.climb import climb
    from workbook.cli.exercise import exercise
    from workbook.cli.lab import lab
    from workbook.cli.list import list_
    from workbook.cli.notebook import notebook
    from workbook.cli.profile import profile
    from workbook.cli.record import record
    from workbook.cli.show import show
    from workbook.cli.table import table
    from workbook.cli.test import test

    COMMANDS = (climb, show, list_, profile, lab, exercise, record, table, notebook, test, doctor)
    BROKEN = None
except Exception as error:  # a damaged package, or an unrelated one named kernels: doctor starts and says so
    UnknownName, Broken, COMMANDS, BROKEN = LookupError, ImportError, (doctor,), error

WRONG, INTERRUPTED = 1, 130


class Ladder(click.Group):
    """Suggests the nearest command, and ends on Ctrl-C with one line."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands:
            if BROKEN is not None:
                why = f"{type(BROKEN).__name__}: {BROKEN}"
                raise click.ClickException(f"{args[0]} cannot start ({why}): {ctx.info_name} doctor says what to do")
            raise click.UsageError(str(UnknownName("command", args[0], self.list_commands(ctx))), ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except UnknownName as error:
            raise click.UsageError(str(error), click.get_current_context(silent=True) or ctx) from None
        except Broken as error:
            raise click.ClickException(str(error)) from None
        except SyntaxError as error:  # of a step or an exercise that a command reads without running it
            raise click.ClickException(f"{error.filename}:{error.lineno}: SyntaxError: {error.msg}") from None
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)


@click.group(cls=Ladder, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Climb from a naive GPU kernel to a fast one, step by step, with or without a GPU."""


for command in COMMANDS:
    cli.add_command(command)


def main() -> None:
    installed = os.path.basename(sys.argv[0]) == "ladder"
    try:
        cli(prog_name="ladder" if installed else "./ladder")
    except KeyboardInterrupt:  # outside any command
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would only spoil the end
