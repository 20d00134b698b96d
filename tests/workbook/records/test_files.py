"""Files of records come whole or not at all, whatever interrupts, and say what is wrong with them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from workbook.records import files


@pytest.fixture
def path(tmp_path):
    return files.path_of(tmp_path, "h100", "toy")


def written(path, document):
    files.update(path, lambda old: document)
    return path


def test_a_record_is_read_as_it_was_written(path, document):
    assert files.read(path) is None
    assert files.read(written(path, document)) == document
    assert [item.name for item in path.parent.iterdir()] == ["toy.json"]


def test_a_file_has_one_line_for_each_counter_and_stays_small(path, document):
    lines = written(path, document).read_text().splitlines()
    assert '    "ptx__inst_executed": {"value": 1000, "tag": "exact"},' in lines
    assert max(map(len, lines)) <= files.WIDTH + 40
    assert lines[0] == "{" and lines[-1] == "}"


def test_samples_stand_in_one_line(tmp_path, measured):
    text = written(files.path_of(tmp_path, "nvidia-toy", "toy"), measured).read_text()
    assert f'"samples_ns": {measured["runs"][0]["samples_ns"]}' in text


@pytest.mark.parametrize("length", [0, 1, 40, 1000, -3])
def test_a_truncated_file_is_named_with_line_and_column(path, document, length):
    text = written(path, document).read_text()
    path.write_text(text[:length])
    with pytest.raises(files.BadRecord, match=r"toy\.json: line \d+, column \d+: this is no JSON, or not all of it"):
        files.read(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"schema": NaN}', "the document: NaN is no number of JSON"),
        (b'{"schema": 1, "schema": 1}', "schema: stands there twice in one object"),
        (b"[" * 100_000, "the document: nested too deeply"),
        (b"\xff\xfe", "cannot be read: 'utf-8' codec"),
        (b"null", "the document: must be an object"),
    ],
)
def test_a_strange_file_is_named(path, content, said):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(files.BadRecord) as caught:
        files.read(path)
    assert "toy.json" in str(caught.value) and said in str(caught.value)


def test_a_folder_in_the_place_of_a_file_is_named(path):
    path.mkdir(parents=True)
    with pytest.raises(files.BadRecord, match=r"toy\.json cannot be read: Is a directory"):
        files.read(path)


def test_a_wrong_field_is_named_with_its_file(path, document):
    document["runs"][0]["time_ns"] = 64000
    text = written(path, document).read_text()
    path.write_text(text.replace('"time_ns": 64000', '"time_ns": "fast"', 1))
    with pytest.raises(files.BadRecord, match=r'toy\.json: runs\[0\]\.time_ns: must be a whole number >= 1, and is "fast"'):
        files.read(path)


def test_a_broken_file_is_not_overwritten_unless_it_is_to_be_replaced(path, document):
    path.parent.mkdir()
    path.write_text("{")
    with pytest.raises(files.BadRecord):
        files.update(path, lambda old: document)
    assert path.read_text() == "{"
    files.update(path, lambda old: document, replace=True)
    assert files.read(path) == document


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("moment", ["os.fsync", "pathlib.Path.replace"])
def test_an_interrupted_write_leaves_the_old_file_and_no_other(path, document, monkeypatch, moment, error):
    before = written(path, document).read_bytes()

    def stop(*arguments):
        raise error

    monkeypatch.setattr(moment, stop)
    with pytest.raises(error):
        files.update(path, lambda old: {**document, "recorded": "2031-01-01"})
    assert path.read_bytes() == before
    assert [item.name for item in path.parent.iterdir()] == ["toy.json"]


def test_an_invalid_record_is_not_written(path, document):
    before = written(path, document).read_bytes()
    with pytest.raises(ValueError, match="recorded: must be a date"):
        files.update(path, lambda old: {**document, "recorded": "soon"})
    assert path.read_bytes() == before


ADD_FIVE_RUNS = """
import pathlib, sys
from workbook.records import files
for size in range(int(sys.argv[2]), int(sys.argv[2]) + 5):
    change = lambda old: {**old, "runs": [*old["runs"], {**old["runs"][0], "case": {"m": size}}]}
    files.update(pathlib.Path(sys.argv[1]), change)
"""


def test_writers_at_once_lose_nothing(path, document):
    written(path, document)
    command = [sys.executable, "-c", ADD_FIVE_RUNS, str(path)]
    writers = [subprocess.Popen([*command, first], cwd=files.FOLDER.parent) for first in ("100", "200", "300")]
    while any(writer.poll() is None for writer in writers):
        assert files.read(path)["runs"][: len(document["runs"])] == document["runs"]  # never torn
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    added = json.loads(path.read_text())["runs"][len(document["runs"]) :]
    assert sorted(run["case"]["m"] for run in added) == [*range(100, 105), *range(200, 205), *range(300, 305)]
