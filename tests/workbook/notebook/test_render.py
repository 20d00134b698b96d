"""Rendering gives the same every time, names the cell that fails, and compares pictures by their data; so does the command."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from workbook.cli import cli
from workbook.notebook import render
from workbook.notebook.document import differences

SOURCE = """# %% [markdown]
# # Title

# %%
print(1)
print(object())

# %%
from matplotlib.figure import Figure
from workbook import notebook
notebook.start()
figure = Figure()
figure.subplots().plot([1, 2], [3, {last}])
figure
"""

INTERRUPTED = """import pathlib, sys
from workbook.cli import main
from workbook.notebook import render
render.sources = lambda: [pathlib.Path({slow!r})]
sys.argv = ["ladder", "notebook"]
main()
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("notebooks") / "10_toy.py"
    path.write_text(SOURCE.format(last=4))
    return path


@pytest.fixture(scope="module")
def document(source):
    return render.render(source)


def test_a_document_holds_no_counts_no_addresses_and_stable_ids(document):
    title, prints, picture = document["cells"]
    assert title["source"] == ["# Title"]
    assert prints["execution_count"] is None
    assert prints["outputs"] == [{"output_type": "stream", "name": "stdout", "text": ["1\n", "<object object at 0x…>\n"]}]
    assert [cell["id"][:3] for cell in document["cells"]] == ["00-", "01-", "02-"]
    (shown,) = [output for output in picture["outputs"] if output["output_type"] == "execute_result"]
    assert set(shown["data"]) == {"image/png"} and len(shown["metadata"]["plotted"]) == 16


def test_pictures_differ_by_their_data_only(document, source):
    other = copy.deepcopy(document)
    other["cells"][2]["outputs"][-1]["data"]["image/png"] = "other pixels"
    assert differences(document, other) == []
    other["cells"][2]["outputs"][-1]["metadata"]["plotted"] = "another digest"
    assert differences(document, other) == ["cell 2 (['from matplotlib.figure import Figure']): the output changed"]


def test_outputs_name_files_within_the_project_and_keep_masks(tmp_path):
    path = tmp_path / "30_words.py"
    file = str(render.PROJECT / "kernels" / "case.py")
    path.write_text(f"# %%\nprint({file!r}, 'mask 0xffffffff, address 0xfffffffff000')\n")
    (cell,) = render.render(path)["cells"]
    assert cell["outputs"][0]["text"] == ["kernels/case.py mask 0xffffffff, address 0x…\n"]


def test_a_cell_that_raises_is_named_by_its_line(tmp_path):
    path = tmp_path / "20_broken.py"
    path.write_text("# %%\nx = 1\n\n# %%\ny = x / 0\n")
    with pytest.raises(render.CellFailed, match="20_broken.py, line 5: ZeroDivisionError: division by zero"):
        render.render(path)


def test_a_kernel_that_dies_and_a_source_that_is_no_text_are_named(tmp_path):
    path = tmp_path / "20_broken.py"
    path.write_text("# %%\nimport os\nos._exit(1)\n")
    with pytest.raises(render.CellFailed, match="20_broken.py: Kernel died"):
        render.render(path)
    path.write_bytes(b"# %%\n\xff\xfe")
    with pytest.raises(render.CellFailed, match="20_broken.py cannot be read"):
        render.render(path)


@pytest.fixture
def command(source, document, monkeypatch):
    """The command, with the toy as the only notebook, rendered before. It ends without a file."""
    monkeypatch.setattr(render, "sources", lambda: [source])
    monkeypatch.setattr(render, "render", lambda path: copy.deepcopy(document))
    yield lambda *arguments: CliRunner().invoke(cli, ["notebook", *arguments])
    render.path_of(source).unlink(missing_ok=True)


def test_the_command_writes_and_checks_and_suggests_names(command, source, document):
    assert command("--check").exit_code == 1
    assert "10_toy: written" in command().output
    assert json.loads(render.path_of(source).read_text()) == document
    assert "10_toy: unchanged" in command().output and command("--check", "10").exit_code == 0
    result = command("99")
    assert result.exit_code == 2 and "no notebook '99'" in result.output


@pytest.mark.parametrize("damage", ["{ torn", "[]", '{"cells": {}}', '"text"'])
def test_a_damaged_notebook_is_named_and_made_anew(command, source, damage):
    path = render.path_of(source)
    path.write_text(damage)
    checked = command("--check")
    assert checked.exit_code == 1 and "10_toy.ipynb is" in checked.output
    assert "notebook 10` makes it anew" in checked.output and path.read_text() == damage
    assert "10_toy: written" in command().output and command("--check").exit_code == 0


def test_a_folder_in_the_place_of_a_notebook_is_named(command, source):
    path = render.path_of(source)
    path.mkdir()
    try:
        result = command()
        assert result.exit_code == 1 and "10_toy.ipynb cannot be written" in result.output
    finally:
        path.rmdir()


def test_what_somebody_ran_or_edited_is_kept_until_it_is_named(command, source):
    command()
    path = render.path_of(source)
    theirs = path.read_text().replace("print(1)", "print(1)  # mine")
    path.write_text(theirs)
    assert "10_toy: kept, since it was run or edited" in command().output and path.read_text() == theirs
    assert command("--check").exit_code == 1
    assert "10_toy: written" in command("10").output and path.read_text() != theirs


def test_ctrl_c_ends_the_command_and_the_kernel_with_one_line(tmp_path):
    told, slow, program = tmp_path / "kernel", tmp_path / "10_slow.py", tmp_path / "program.py"
    slow.write_text(f"# %%\nimport os, time\nopen({str(told)!r}, 'w').write(str(os.getpid()))\ntime.sleep(100)\n")
    program.write_text(INTERRUPTED.format(slow=str(slow)))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    settings = {**os.environ, "PYTHONPATH": render.path_with(render.PROJECT)}
    process = subprocess.Popen([sys.executable, program], env=settings, process_group=0, **pipes)
    try:
        _until(lambda: told.exists() and told.read_text())
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert said == "interrupted\n"
    _until(lambda: not _runs(int(told.read_text())))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10_slow.py", "kernel", "program.py"]


def _runs(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _until(true) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
