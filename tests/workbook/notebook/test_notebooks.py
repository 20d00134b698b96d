"""The committed notebooks are what their .py files give: two of them here, all of them with EVERYTHING=1, as .ci/run says.

A notebook that somebody ran or edited is theirs: it is looked at with EVERYTHING=1 only.
"""

from __future__ import annotations

import os
import re

import pytest

from workbook.notebook import document, render

SOURCES = render.sources()
FEW = ("00", "20")
RUN = SOURCES if os.environ.get("EVERYTHING") else [source for source in SOURCES if source.stem.startswith(FEW)]
WANTED = ("00", "10", "20", "30", "40", "50", "60", "70", "80", "90")

every_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)


def committed(source):
    """The rendered notebook."""
    found = document.read(render.path_of(source))
    if document.touched(found) and not os.environ.get("EVERYTHING"):
        pytest.skip(f"{source.stem} was run or edited since it was rendered: ./ladder notebook {source.stem[:2]} makes it anew")
    return found


@pytest.mark.parametrize("source", RUN, ids=lambda source: source.stem)
def test_a_notebook_runs_and_gives_what_is_committed(source):
    before = committed(source)
    assert document.differences(before, render.render(source)) == []


@every_source
def test_a_rendered_notebook_is_whole_and_small(source):
    found = committed(source)
    assert not document.touched(found)
    assert len(document.text(found).encode()) <= render.LIMIT_BYTES
    assert [cell["id"] for cell in found["cells"]] == sorted(cell["id"] for cell in found["cells"])
    assert not any(output["output_type"] == "error" for cell in found["cells"] for output in cell.get("outputs", []))


@every_source
def test_a_notebook_says_what_one_does_learns_and_needs_and_starts_a_device(source):
    cells = committed(source)["cells"]
    first = "".join(cells[0]["source"])
    assert first.startswith("# ")
    assert all(f"\n- **{word}:**" in first for word in ("You will do", "You will learn", "You need"))
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert "notebook.start(" in "".join(code[0]["source"])


@every_source
def test_no_answer_is_seen_before_a_guess(source):
    """A cell with a guess or a comparison says nothing but to guess first; what shows the answer comes after it, and folded."""
    cells = committed(source)["cells"]
    asked = [cell for cell in cells if document.guesses(cell)]
    assert asked, "nothing to predict"
    for cell in cells:
        if document.guesses(cell) or document.compares(cell):
            lines = [line for output in cell["outputs"] for line in "".join(output["text"]).splitlines()]
            assert all(line.endswith(": write your guess first, in place of the dots, and run again") for line in lines), lines
    folded = [cell for cell in cells if cell["metadata"].get("jupyter", {}).get("outputs_hidden")]
    assert folded == document.answers(cells)


@every_source
def test_every_guess_is_compared(source):
    cells = committed(source)["cells"]
    for index, cell in enumerate(cells):
        later = [line for after in cells[index:] if document.compares(after) for line in "".join(after["source"]).splitlines()]
        for name in document.guesses(cell):
            used = [line for line in later if re.search(rf"\b{name}\b(?!.* = \.\.\.)", line)]
            assert used, f"{name} of cell {index} is compared with nothing"


def test_the_notebooks_are_those_of_the_course():
    assert tuple(source.stem[:2] for source in SOURCES) == WANTED
    assert sorted(render.FOLDER.glob("*.ipynb")) == [render.path_of(source) for source in SOURCES]
