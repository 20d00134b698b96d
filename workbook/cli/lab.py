"""`ladder lab`: JupyterLab on the notebooks, for this machine only."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys

import click

HOST = "127.0.0.1"
PATIENCE_S = 10  # for the server to end its kernels; one that is only just starting can keep it waiting for ever


@click.command()
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening a browser.")
@click.option("--port", type=click.IntRange(1, 65535), default=8888, show_default=True, help="The first port to try.")
@click.pass_context
def lab(ctx: click.Context, no_browser: bool, port: int) -> None:
    """Open JupyterLab at the first notebook. It listens on this machine only; Ctrl-C ends it and its kernels."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise click.ClickException("JupyterLab is not installed in this Python: ./ladder makes one that has it")
    given = ctx.get_parameter_source("port") is not click.core.ParameterSource.DEFAULT
    if given and not _free(port):
        raise click.UsageError(f"port {port} is taken; choose another one, or none for the next free one")
    from workbook.notebook.render import PROJECT, path_with

    ctx.exit(_attended(command(no_browser, port), {**os.environ, "PYTHONPATH": path_with(PROJECT)}))


def _attended(words: list[str], settings: dict[str, str]) -> int:
    """Exit code of a server in a process group of its own: it gets no Ctrl-C, which it would ask about or die of half-way.

    Whatever ends this process ends the server, and that its kernels. Raises KeyboardInterrupt, SystemExit.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    server = subprocess.Popen(words, env=settings, stdin=subprocess.DEVNULL, process_group=0)
    try:
        return max(server.wait(), 0)
    finally:
        server.terminate()
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(PATIENCE_S)
        finally:
            server.kill()  # nothing where it has ended; kernels notice that it is gone


def command(no_browser: bool, port: int) -> list[str]:
    """The command line of JupyterLab."""
    from workbook.notebook.render import PROJECT, path_of, sources

    first = path_of(sources()[0])
    options = [
        f"--ServerApp.ip={HOST}",
        f"--ServerApp.port={port}",
        f"--ServerApp.root_dir={PROJECT}",
        f"--LabApp.default_url=/lab/tree/{first.relative_to(PROJECT).as_posix()}",
    ]
    options += ["--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]  # asks no network
    if no_browser:
        options.append("--no-browser")
    if os.geteuid() == 0:
        options.append("--allow-root")
    return [sys.executable, "-m", "jupyterlab", *options]


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
