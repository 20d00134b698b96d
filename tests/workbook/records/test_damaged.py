"""A record that is damaged anywhere is named with its file and the field, and no command ends in a traceback over it."""

from __future__ import annotations

import copy
import json

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbook.target
from workbook.cli import cli
from workbook.records import files, recording, recount, table

HUGE = 10**300
STRANGE = [None, True, -1, 0, 1.5, 1e308, HUGE, "", "x", "\ud800", "a\nb", "\u202e", "self", [], {}, [[]], {"self": 1}]
values = st.one_of(st.sampled_from(STRANGE), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=6))
times = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def places(node, path=()):
    """The path of every node below the root."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


def damaged(document, data):
    """The document with one node replaced, deleted, renamed or put elsewhere."""
    document = copy.deepcopy(document)
    path = data.draw(st.sampled_from(list(places(document))))
    *folders, last = path
    parent = document
    for key in folders:
        parent = parent[key]
    how = data.draw(st.sampled_from(["replace", "delete", "rename", "nest"]))
    if how == "replace":
        parent[last] = data.draw(values)
    elif how == "nest":
        parent[last] = data.draw(st.sampled_from([[parent[last]], {str(last): parent[last]}]))
    elif how == "rename" and isinstance(parent, dict):
        parent[data.draw(st.text(max_size=8))] = parent.pop(last)
    else:
        del parent[last]
    return document


def read(path):
    """The record, or None where it is refused: in words that name the file, and that a terminal and a file take."""
    try:
        return files.read(path)
    except files.BadRecord as error:
        said = str(error).encode("utf-8").decode()
        assert path.name in said and len(said.splitlines()) == 1 and ": " in said
        return None


@pytest.fixture
def path(tmp_path):
    made = files.path_of(tmp_path, "h100", "toy")
    made.parent.mkdir()
    return made


def shows(document, family):
    """All that is done with a record that is accepted; the numbers may be nonsense, but they are numbers."""
    table.all_records([document], "").encode("utf-8")
    table.one_ladder(family, [document], "").encode("utf-8")
    table.stale_runs([document])
    assert all(str(trouble) for trouble in recount.troubles(document, copy.deepcopy(document["runs"]), ["toy"]))
    assert json.loads(files.as_text(document)) == document


@given(data=st.data())
@times
def test_a_record_with_one_wrong_node_is_refused_by_name_or_shown(path, document, family, data):
    path.write_text(json.dumps(damaged(document, data)))
    accepted = read(path)
    if accepted is not None:
        shows(accepted, family)


@given(data=st.data())
@times
def test_a_measured_record_with_one_wrong_node_is_refused_by_name_or_shown(tmp_path, measured, data):
    path = files.path_of(tmp_path, "nvidia-toy", "toy")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(damaged(measured, data)))
    accepted = read(path)
    if accepted is not None:
        table.all_records([accepted], "").encode("utf-8")
        recount.troubles(accepted, None, ["toy"])


@given(at=st.integers(0, 10**6), junk=st.binary(max_size=12), cut=st.integers(0, 40))
@times
def test_a_record_with_wrong_bytes_is_refused_by_name_or_shown(path, document, family, at, junk, cut):
    text = files.as_text(document).encode()
    at %= len(text)
    path.write_bytes(text[:at] + junk + text[at + cut :])
    accepted = read(path)
    if accepted is not None:
        shows(accepted, family)


@pytest.fixture
def root(tmp_path, monkeypatch, family, target, document):
    """A checkout with a README and a record of the toy ladder, in which commands run."""
    monkeypatch.setattr(files, "FOLDER", tmp_path / "records")
    monkeypatch.setattr(workbook.target, "choose", lambda device: target)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("<!-- the ladder: toy -->\n<!-- end of the ladder -->\n")
    (tmp_path / "docs").mkdir()
    files.update(files.path_of(tmp_path / "records", "h100", "toy"), lambda old: document)
    return tmp_path


def put(root, text):
    (root / "records" / "h100" / "toy.json").write_text(text)


DAMAGES = {
    "kind": ('"kind": "modelled"', '"kind": []', 'kind: must be modelled or measured, and is []'),
    "huge": ('"time_ns": 64000', '"time_ns": 1' + "0" * 300, "time_ns: must be a whole number up to 2**63 - 1, and has 301"),
    "digits": ('"time_ns": 64000', '"time_ns": 1' + "0" * 9999, "the document: a number of 10000 digits"),
    "surrogate": ('"bound_by": "lsu"', '"bound_by": "\\ud800"', 'bound_by: must be text, and is "\\ud800"'),
    "new line": ('"bound_by": "lsu"', '"bound_by": "a\\nb"', 'bound_by: must be text, and is "a\\nb"'),
    "NaN": ('"error_percent": null', '"error_percent": NaN', "the document: NaN is no number of JSON"),
    "infinity": ('"error_percent": null', '"error_percent": 1e999', "model.error_percent: must be a number >= 0, and is Inf"),
    "twice": ('"kind": "modelled"', '"kind": "modelled", "kind": "measured"', "kind: stands there twice in one object"),
    "nesting": ('"env": {', '"env": [{', "this is no JSON, or not all of it"),
    "key": ('"env": {', '"env": {"\\ud800": 1, ', 'env."\\ud800": schema 1 has no such field'),
}


HERE = ["--folder", "records"]
COMMANDS = [["record", "--check", *HERE], ["record", "toy", "--device", "h100", *HERE], ["table"], ["table", "--check"]]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("damage", DAMAGES)
def test_every_command_names_file_and_field(root, command, damage):
    before, after, said = DAMAGES[damage]
    text = (root / "records" / "h100" / "toy.json").read_text()
    assert before in text
    put(root, text.replace(before, after, 1))
    result = CliRunner().invoke(cli, command, prog_name="ladder")
    assert result.exit_code == 2 and isinstance(result.exception, SystemExit), result.output
    assert "records/h100/toy.json: " in result.stderr and said in result.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_folder_in_the_place_of_a_record_is_named(root, command):
    path = root / "records" / "h100" / "toy.json"
    path.unlink()
    path.mkdir()
    result = CliRunner().invoke(cli, command, prog_name="ladder")
    assert result.exit_code == 2 and isinstance(result.exception, SystemExit), result.output
    assert "records/h100/toy.json cannot be read: Is a directory" in result.stderr


def test_climb_reads_no_record(root):
    put(root, "{")
    assert CliRunner().invoke(cli, ["climb", "toy", "--no-png"], prog_name="ladder").exit_code == 0


def test_a_ladder_that_was_never_heard_of_is_stale(document, family):
    document["runs"][0]["step"] = "nobody/nothing"
    assert recording.schema.validate(document, "h100", "toy") is None
    assert "nobody/nothing is gone from its ladder" in "\n".join(table.stale_runs([document]))
