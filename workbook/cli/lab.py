"""`ladder lab`: JupyterLab on the notebooks, for this machine only."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys

import click

HOST = "127.0.0.1"


@click.command()
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening a browser.")
@click.option("--port", type=click.IntRange(1, 65535), default=8888, show_default=True, help="The first port to try.")
def lab(no_browser: bool, port: int) -> None:
    """Open JupyterLab at the first notebook. It listens on this machine only; Ctrl-C twice ends it."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise click.ClickException("JupyterLab is not installed in this Python: ./ladder makes one that has it")
    given = click.get_current_context().get_parameter_source("port") is not click.core.ParameterSource.DEFAULT
    if given and not _free(port):
        raise click.UsageError(f"port {port} is taken; choose another one, or none for the next free one")
    from workbook.notebook.render import PROJECT, path_with

    os.execve(sys.executable, command(no_browser, port), {**os.environ, "PYTHONPATH": path_with(PROJECT)})


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
