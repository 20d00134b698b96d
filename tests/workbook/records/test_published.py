"""Published figures have a source, and name steps and devices that exist."""

from __future__ import annotations

import pytest

from kernels.ladder import ladder_names, load_ladder
from simt import model
from workbook.records import published


def test_every_published_climb_has_its_source_and_a_known_ladder_device_and_steps():
    assert published.load()
    for found in published.load():
        assert found.source and found.url.startswith("https://") and found.gpu
        assert found.device in ("", *model.names())
        assert len(found.rungs) > 1 and all(rung.value > 0 for rung in found.rungs)
        if found.ladder in ladder_names():
            steps = [rung.step for rung in found.rungs if rung.step]
            assert set(steps) <= {step.name for step in load_ladder(found.ladder)} and len(steps) == len(set(steps))
            assert found.note if found.case is None else set(found.case) == set(load_ladder(found.ladder).timed_case)


@pytest.mark.parametrize("device", ["a6000", "rtx4090"])
def test_a_device_records_the_published_size(device):
    assert [dict(case) for case in published.cases("matmul", device)] == [{"m": 4096, "n": 4096, "k": 4096}]
    assert published.cases("matmul", "h100") == published.cases("toy", "a6000") == ()


@pytest.mark.parametrize(("unit", "speedup"), [("GFLOP/s", 4), ("GB/s", 4), ("ms", 0.25)])
def test_speedups_go_up_with_rates_and_down_with_times(unit, speedup):
    rungs = (published.Rung("first", 10.0), published.Rung("second", 40.0))
    climb = published.Published("l", "g", "", None, unit, "s", "u", rungs, None)
    assert climb.speedup(rungs[1]) == speedup


CLIMB = "[[climb]]\nladder = 'l'\ngpu = 'g'\nsource = 's'\nurl = 'u'\nunit = 'ms'\n"


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path):
    (tmp_path / "wrong.toml").mkdir()
    with pytest.raises(ValueError, match="wrong.toml: IsADirectoryError"):
        published.load(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[climb]\n", "wrong.toml: TOMLDecodeError"),
        ("[[climb]]\nladder = 'l'\n", "wrong.toml: KeyError: 'unit'"),
        ("[[climb]]\nunit = 'furlongs'\n", "wrong.toml: ValueError: unit 'furlongs'"),
        (CLIMB + "rungs = [{name = 'a', value = 'fast'}]\n", "wrong.toml: ValueError: rung 'a': .* and is 'fast'"),
        (CLIMB + "rungs = [{name = 'a', value = nan}]\n", "wrong.toml: ValueError: rung 'a': .* and is nan"),
        (CLIMB + "rungs = [{name = 'a', value = 0}]\n", "wrong.toml: ValueError: rung 'a': .* and is 0"),
        (CLIMB + "rungs = [{name = 'a'}]\n", "wrong.toml: TypeError: .*'value'"),
        (CLIMB + "rungs = []\n", "wrong.toml: ValueError: a climb has at least one rung"),
        (CLIMB + "rungs = 3\n", "wrong.toml: TypeError"),
        (CLIMB + "speed = 3\nrungs = []\n", "wrong.toml: TypeError: .*'speed'"),
        (CLIMB.replace("'g'", "3") + "rungs = [{name = 'a', value = 1}]\n", "wrong.toml: ValueError: .* gpu, .* are text"),
        ("[[climb]]\nunit = 'ms'\ndevice = 'h100'\nrungs = []\n", "wrong.toml: ValueError: .* needs its case"),
    ],
)
def test_a_wrong_file_is_named(tmp_path, text, said):
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(ValueError, match=said):
        published.load(tmp_path)
