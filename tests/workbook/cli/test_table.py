"""`ladder table` writes the tables of the documents, and --check says which are not what the records say."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from workbook.cli import cli
from workbook.records import files, recording

MARKED = "# Read me\n\n<!-- the ladder: toy -->\nold\n<!-- end of the ladder -->\n\nthe rest\n"


@pytest.fixture
def root(tmp_path, monkeypatch, toy, target):
    """A checkout with a README, a document and a record of the toy ladder."""
    monkeypatch.setattr("kernels.ladder.FAMILIES", {"toy": ("toy",)})
    monkeypatch.setattr(files, "FOLDER", tmp_path / "records")
    (tmp_path / "README.md").write_text(MARKED)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "plain.md").write_text("no markers\n")
    (tmp_path / "docs" / "records.md").write_text("<!-- all records -->\n<!-- end of all records -->\n")
    document = recording.document("toy", target, recording.make([toy], target, prove=False))
    files.update(files.path_of(tmp_path / "records", "h100", "toy"), lambda old: document)
    return tmp_path


def ladder(*arguments):
    return CliRunner().invoke(cli, ["table", *arguments], prog_name="ladder")


def test_check_names_the_documents_and_writes_nothing(root):
    result = ladder("--check")
    assert result.exit_code == 1
    assert "README.md: is not what the records say; ./ladder table writes it anew" in result.stdout
    assert "docs/records.md: is not" in result.stdout and "plain" not in result.stdout
    assert (root / "README.md").read_text() == MARKED


def test_tables_are_written_and_then_hold(root):
    assert ladder().exit_code == 0
    text = (root / "README.md").read_text()
    assert "| [fast](kernels/toy/s20_fast.py) | 4.00 µs | 16.0x |" in text
    assert text.startswith("# Read me\n") and text.endswith("<!-- end of the ladder -->\n\nthe rest\n") and "old" not in text
    assert "[fast](../kernels/toy/s20_fast.py)" in (root / "docs" / "records.md").read_text()
    result = ladder("--check")
    assert (result.exit_code, result.stdout) == (0, "every table is what the records say\n")


def test_a_stale_run_is_told_with_its_cause(root):
    path = root / "records" / "h100" / "toy.json"
    document = json.loads(path.read_text())
    document["runs"][0]["fingerprint"] = "0123456789ab"
    path.write_text(json.dumps(document))
    result = ladder()
    assert result.exit_code == 0
    assert "toy/slow on h100 is stale: the code changed: fingerprint 0123456789ab -> " in result.stderr
    cells = " | ".join(["stale"] * 6)
    assert f"| [slow](kernels/toy/s10_slow.py) | {cells} |" in (root / "README.md").read_text()


@pytest.mark.parametrize(
    ("readme", "said"),
    [
        ("a\n<!-- the ladder: toy -->\n", "README.md:2: <!-- the ladder: toy --> has no <!-- end of the ladder --> after it"),
        (MARKED.replace("toy", "toi"), "README.md:3: there is no ladder 'toi'; did you mean 'toy'?"),
        ("<!-- the ladder: toy -->\n" + MARKED, "README.md:1: <!-- the ladder: toy --> has no"),
        (MARKED + MARKED, "README.md:10: <!-- the ladder: toy --> stands there twice, first at README.md:3"),
        ("<!-- end of the ladder -->\n" + MARKED, "README.md:1: <!-- end of the ladder --> has no beginning before it"),
        (MARKED + "<!-- end of all records -->\n", "README.md:8: <!-- end of all records --> has no beginning before it"),
        (MARKED.replace("end of the ladder", "end of all records"), "README.md:3: <!-- the ladder: toy --> has no <!-- end of"),
        (MARKED.replace("the ladder: toy", "the ladder toy"), "README.md:3: <!-- the ladder toy --> is no marker; there are "),
        (MARKED.replace("<!-- the ladder: ", "<!--The Ladder:"), "README.md:3: <!--The Ladder:toy --> is no marker"),
        ("<!-- all record -->\n" + MARKED, "README.md:1: <!-- all record --> is no marker"),
    ],
)
def test_markers_that_are_wrong_are_named_with_file_and_line(root, readme, said):
    (root / "README.md").write_text(readme)
    result = ladder()
    assert result.exit_code == 2 and said in result.stderr
    assert (root / "README.md").read_text() == readme


def test_other_comments_are_none_of_our_business(root):
    (root / "README.md").write_text("<!-- a comment -->\n" + MARKED + "<!-- the end -->\n")
    assert ladder().exit_code == 0


def test_a_broken_record_is_named(root):
    (root / "records" / "h100" / "toy.json").write_text("{")
    result = ladder("--check")
    assert result.exit_code == 2 and "toy.json: line 1, column 2: this is no JSON" in result.stderr
