"""The committed notebooks are what their .py files give: two of them here, all of them with EVERYTHING=1, as .ci/run says."""

from __future__ import annotations

import json
import os

import pytest

from workbook.notebook import render

SOURCES = render.sources()
FEW = ("00", "20")
RUN = SOURCES if os.environ.get("EVERYTHING") else [source for source in SOURCES if source.stem.startswith(FEW)]
WANTED = ("00", "10", "20", "30", "40", "50", "60", "70", "80", "90")

every_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)


@pytest.mark.parametrize("source", RUN, ids=lambda source: source.stem)
def test_a_notebook_runs_and_gives_what_is_committed(source):
    committed = json.loads(render.path_of(source).read_text(encoding="utf-8"))
    assert render.differences(committed, render.render(source)) == []


@every_source
def test_a_rendered_notebook_is_whole_and_small(source):
    text = render.path_of(source).read_text(encoding="utf-8")
    document = json.loads(text)
    assert text == render.text(document)
    assert len(text.encode()) <= render.LIMIT_BYTES
    assert [cell["id"] for cell in document["cells"]] == sorted(cell["id"] for cell in document["cells"])
    assert not any(output["output_type"] == "error" for cell in document["cells"] for output in cell.get("outputs", []))


@every_source
def test_a_notebook_says_what_one_does_learns_and_needs_and_starts_a_device(source):
    document = json.loads(render.path_of(source).read_text(encoding="utf-8"))
    first = "".join(document["cells"][0]["source"])
    assert first.startswith("# ")
    assert all(f"**{word}:**" in first for word in ("You will do", "You will learn", "You need"))
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert "notebook.start(" in "".join(code[0]["source"])


def test_the_notebooks_are_those_of_the_course():
    assert tuple(source.stem[:2] for source in SOURCES) == WANTED
    assert sorted(render.FOLDER.glob("*.ipynb")) == [render.path_of(source) for source in SOURCES]
