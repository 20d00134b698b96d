"""Rendering gives the same bytes every time, names the cell that fails, and compares pictures by their data."""

from __future__ import annotations

import copy
import json

import pytest
from click.testing import CliRunner

from workbook.cli import cli
from workbook.notebook import render

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
    assert render.differences(document, other) == []
    other["cells"][2]["outputs"][-1]["metadata"]["plotted"] = "another digest"
    assert render.differences(document, other) == ["cell 2 (['from matplotlib.figure import Figure']): the output changed"]


def test_a_changed_source_and_output_are_told_by_cell(document):
    other = copy.deepcopy(document)
    other["cells"][0]["source"] = ["# Other"]
    other["cells"][1]["outputs"][0]["text"] = ["2\n"]
    assert render.differences(other, document) == [
        "cell 0 (['# Title']): the source changed",
        "cell 1 (['print(1)']): the output changed",
    ]
    assert render.differences({}, document)[0] == "0 cells, now 3"


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


def test_the_command_writes_checks_and_says_what_is_stale(source, document, monkeypatch):
    monkeypatch.setattr(render, "sources", lambda: [source])
    monkeypatch.setattr(render, "render", lambda path: copy.deepcopy(document))
    run = lambda *arguments: CliRunner().invoke(cli, ["notebook", *arguments])  # noqa: E731  a name for the call

    assert run("--check").exit_code == 1
    assert "10_toy: written" in run().output
    assert json.loads(render.path_of(source).read_text()) == document
    assert run("--check", "10").exit_code == 0
    render.path_of(source).write_text("{ torn")
    assert "10_toy: stale" in run("--check").output
    result = run("99")
    assert result.exit_code == 2 and "no notebook '99'" in result.output
