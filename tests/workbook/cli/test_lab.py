"""`ladder lab`: JupyterLab for this machine only, and the first notebook in a real browser."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from workbook.cli import cli
from workbook.cli.lab import command

ROOT = Path(__file__).parents[3]
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--window-size=1400,20000")  # JupyterLab draws what is in view
WAIT_S = 120


def test_it_listens_on_this_machine_only_and_opens_the_first_notebook():
    words = command(no_browser=True, port=8899)
    assert "--ServerApp.ip=127.0.0.1" in words and "--ServerApp.port=8899" in words and "--no-browser" in words
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in words
    assert f"--ServerApp.root_dir={ROOT}" in words
    assert "--no-browser" not in command(no_browser=False, port=8888)


def test_a_port_that_is_taken_is_refused_when_it_was_asked_for():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = CliRunner().invoke(cli, ["lab", "--no-browser", "--port", str(port)])
    assert result.exit_code == 2 and f"port {port} is taken" in result.output


def test_ctrl_c_ends_the_server_and_the_exit_code_says_so(tmp_path):
    with _started(tmp_path) as (process, _):
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) == 130
        said = (tmp_path / "lab.log").read_text()
        assert said.endswith("\ninterrupted\n") and "Traceback" not in said


def test_ctrl_c_while_the_server_starts_is_told_in_one_line(tmp_path):
    with _started(tmp_path, ready=False) as (process, _):
        time.sleep(2)  # within JupyterLab's imports
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) == 130
        assert "Traceback" not in (tmp_path / "lab.log").read_text()


@contextlib.contextmanager
def _started(tmp_path, ready=True):
    """(process, address with its token) of JupyterLab, started by `ladder lab` itself."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path / "lab.log"
    words = [sys.executable, "-m", "workbook", "lab", "--no-browser", "--port", str(port)]
    settings = {**os.environ, "HOME": str(tmp_path), "SIMT": "force", "JUPYTER_PREFER_ENV_PATH": "1"}
    with log.open("w") as out:
        process = subprocess.Popen(words, cwd=ROOT, env=settings, stdout=out, stderr=out, process_group=0)
    try:
        yield process, _address(process, log, port) if ready else ""
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


@pytest.fixture
def server(tmp_path):
    with _started(tmp_path) as (_, address):
        yield address


def _address(process: subprocess.Popen, log: Path, port: int) -> str:
    for _ in range(WAIT_S * 4):
        found = re.search(rf"http://127\.0\.0\.1:{port}/lab/tree/\S*\?token=\w+", log.read_text())
        if found:
            return found[0]
        assert process.poll() is None, log.read_text()
        time.sleep(0.25)
    raise AssertionError(f"no address after {WAIT_S} s:\n{log.read_text()}")


@pytest.fixture
def browser(tmp_path):
    if not (BROWSER and DRIVER):
        pytest.skip("no browser here: the packages chromium and chromium-driver are not installed")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def test_the_first_notebook_runs_in_a_browser_to_its_plot_without_an_error(server, browser):
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    notebook = ROOT / "notebooks" / "00_start_here.ipynb"
    before = notebook.read_bytes()
    wait = WebDriverWait(browser, WAIT_S, ignored_exceptions=[StaleElementReferenceException])
    found = lambda selector: browser.find_elements(By.CSS_SELECTOR, selector)  # noqa: E731  a name for the call

    browser.get(server)
    wait.until(lambda _: found(".jp-Notebook .jp-CodeCell") and found(".jp-Notebook-ExecutionIndicator[data-status='idle']"))
    wait.until(lambda _: not found(".jp-Spinner"))
    cells = json.loads(before)["cells"]
    answers = sum("jupyter" in cell["metadata"] for cell in cells)
    assert answers and not found(".jp-OutputArea img[src^='data:image/png']")  # the first plot is an answer, and folded

    try:
        was = notebook.stat().st_mtime_ns
        save(browser, found)
        wait.until(lambda _: notebook.stat().st_mtime_ns != was)
        assert without_python(notebook.read_bytes()) == without_python(before)
    finally:
        notebook.write_bytes(before)

    wait.until(lambda _: every_cell_ran(found, sum(cell["cell_type"] == "code" for cell in cells)))
    assert found(".jp-OutputArea img[src^='data:image/png']")
    assert not found(".jp-OutputArea-output[data-mime-type$='error']")
    assert notebook.read_bytes() == before


def save(browser, found) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    found(".jp-Notebook .jp-Cell")[0].click()
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("s").key_up(Keys.CONTROL).perform()


def without_python(text: bytes) -> bytes:
    """Without the version of the Python that runs it: nothing else may depend on who opens a notebook."""
    return re.sub(rb'"version": "3\.[\d.]+"', b"", text)


def every_cell_ran(found, cells: int) -> bool:
    """Runs all cells, as often as none of them has started: menu and kernel may not be ready for the first click."""
    prompts = [prompt.text for prompt in found(".jp-CodeCell .jp-InputPrompt")]
    if set(prompts) == {"[ ]:"}:
        run_all_cells(found)
    return len(prompts) == cells and all(re.fullmatch(r"\[\d+\]:", prompt) for prompt in prompts)


def run_all_cells(found) -> None:
    """Through the menu, as a person does."""
    for menu in found(".lm-MenuBar-item:not(.lm-mod-active) .lm-MenuBar-itemLabel"):
        if menu.text == "Run":
            menu.click()
    for item in found(".lm-Menu-itemLabel"):
        if item.text == "Run All Cells" and item.is_displayed():
            item.click()
            return
