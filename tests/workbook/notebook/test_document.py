"""What a rendered notebook holds, what of two is compared, whose it is, and what is said of a damaged one."""

from __future__ import annotations

import copy
import json

import nbformat
import pytest

from workbook.notebook import document

CELLS = (
    ("markdown", "# Title", ()),
    ("code", "predicted = ...  # sectors", ()),
    ("code", "notebook.compare('sectors', predicted, 4)", ("sectors: write your guess first",)),
    ("code", "show()", ("four",)),
    ("markdown", "Four.", ()),
    ("code", "show()", ("four",)),
)


@pytest.fixture
def made():
    cells = []
    for kind, source, said in CELLS:
        cell = nbformat.v4.new_markdown_cell(source) if kind == "markdown" else nbformat.v4.new_code_cell(source)
        if said:
            cell.outputs = [nbformat.v4.new_output("stream", text="".join(said))]
        cells.append(cell)
    executed = nbformat.v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python", "version": "3.11"}})
    return document.made(executed)


def test_what_follows_a_guess_is_folded_up_to_the_next_text(made):
    assert [bool(cell["metadata"]) for cell in made["cells"]] == [False, False, False, True, False, False]
    assert made["cells"][3]["metadata"]["jupyter"] == {"outputs_hidden": True}


@pytest.mark.parametrize(("source", "names"), [
    ("a = ...", ["a"]),
    ("a, b = ..., ...  # two", ["a", "b"]),
    ("x[...] = 3\ny = x[..., 1]", []),
    ("a = None", []),
])
def test_a_guess_is_a_name_set_to_dots(source, names):
    assert document.guesses({"cell_type": "code", "source": source}) == names


def test_it_is_a_notebook_that_jupyter_takes_and_has_the_metadata_that_it_writes(made):
    nbformat.validate(made)
    assert set(made["metadata"]) == {"kernelspec", "language_info", "rendered"}
    assert made["metadata"]["kernelspec"]["display_name"] == "Python 3 (ipykernel)"


@pytest.mark.parametrize("change", [
    lambda cells: cells[1].update(source="predicted = 4  # sectors"),
    lambda cells: cells[3].update(outputs=[]),
    lambda cells: cells[3].update(execution_count=7),
    lambda cells: cells.pop(),
])
def test_a_notebook_that_was_edited_cleared_or_run_is_known(made, change):
    assert not document.touched(made)
    change(made["cells"])
    assert document.touched(made)


def test_metadata_and_the_form_of_texts_do_not_count(made):
    saved = copy.deepcopy(made)
    saved["metadata"]["language_info"]["version"] = "3.13.1"
    for cell in saved["cells"]:
        cell["metadata"], cell["source"] = {"editable": True}, "".join(cell["source"])
    assert not document.touched(saved)
    assert document.differences(saved, made) == []


def test_differences_are_told_by_cell(made):
    other = copy.deepcopy(made)
    other["cells"][0]["source"] = ["# Other"]
    other["cells"][3]["outputs"][0]["text"] = ["five"]
    assert document.differences(other, made) == [
        "cell 0 (['# Title']): the source changed",
        "cell 3 (['show()']): the output changed",
    ]
    assert document.differences(None, made)[0] == "0 cells, now 6"


@pytest.mark.parametrize(("text", "why"), [
    ("{ torn", "is no JSON, or not all of it"),
    ("", "is no JSON, or not all of it"),
    ("[]", "is JSON, but no notebook"),
    ("3", "is JSON, but no notebook"),
    ('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}', "is JSON, but no notebook"),
    ('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [3]}', "is JSON, but no notebook"),
    ('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code"}]}', "is JSON, but no notebook"),
    ("[" * 100_000, "is no JSON, or not all of it"),
])
def test_a_damaged_file_is_named(tmp_path, text, why):
    path = tmp_path / "10_toy.ipynb"
    path.write_text(text)
    with pytest.raises(document.Damaged, match=f"10_toy.ipynb {why}"):
        document.read(path)


def test_a_folder_and_bytes_that_are_no_text_are_named_and_a_missing_file_is_none(tmp_path):
    path = tmp_path / "10_toy.ipynb"
    assert document.read(path) is None
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(document.Damaged, match="10_toy.ipynb is no JSON"):
        document.read(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(document.Damaged, match="10_toy.ipynb cannot be read: Is a directory"):
        document.read(path)


def test_what_was_written_is_read_again(tmp_path, made):
    path = tmp_path / "10_toy.ipynb"
    path.write_text(document.text(made))
    assert document.read(path) == made == json.loads(path.read_text())
