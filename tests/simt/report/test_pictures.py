"""Pictures of a profile: what stands where. The data behind the artists, and the artists' places; no pixels."""
from __future__ import annotations

import io
import random

import numpy as np
import pytest

from simt.observe import addresses, names
from simt.report.pictures import access_map, bank_grid, mix, roofline
from simt.report.pictures.style import lanes_text
from simt.report.pictures.warp_access import FULL, WarpAccess

ROW = [4 * lane for lane in range(32)]


def boxes(figure) -> dict[str, tuple[float, float, float]]:
    """(left, middle, width) of the rectangles that have a name."""
    found = {}
    for patch in figure.axes[0].patches:
        if patch.get_gid():
            found[patch.get_gid()] = (patch.get_x(), patch.get_y() + patch.get_height() / 2, patch.get_width())
    return found


def colours(figure) -> dict[str, tuple]:
    return {patch.get_gid(): patch.get_facecolor() for patch in figure.axes[0].patches if patch.get_gid()}


def title(figure) -> str:
    return figure.axes[0].get_title(loc="left")


def caption(figure) -> str:
    return figure.get_supxlabel()


# --- global memory


def test_a_row_is_one_line_of_four_sectors_and_each_lane_has_its_bytes():
    figure = access_map.access_map(ROW)
    found = boxes(figure)
    assert {name: box for name, box in found.items() if name.startswith("lanes")} == {
        f"lanes {lane}": (4 * lane, 0, 4) for lane in range(32)
    }
    assert [name for name in found if name.startswith("sector")] == [f"sector {number}" for number in range(4)]
    assert title(figure) == "One warp: 32 lanes of 4 B fetch 4 sectors in 1 line"
    assert "100 % used" in caption(figure)


def test_a_column_fetches_a_sector_in_a_line_for_every_lane():
    figure = access_map.access_map([4096 * lane for lane in range(32)], what="matmul.py:14, load")
    assert boxes(figure)["lanes 31"] == (0, 31, 4)
    assert title(figure) == "matmul.py:14, load: 32 lanes of 4 B fetch 32 sectors in 32 lines where 4 would do"
    assert "12 % used" in caption(figure)
    assert figure.axes[0].get_yticklabels()[31].get_text() == f"+{31 * 4096}"


def test_an_offset_of_one_element_costs_a_fifth_sector():
    access = WarpAccess([4 + address for address in ROW])
    assert (len(access.sectors), access.ideal_sectors, access.lines) == (5, 4, [0, 1])
    assert access_map.sector_boxes(access)[0, 1, 4] == [31]


def test_lanes_that_read_one_address_share_a_box():
    figure = access_map.access_map([256] * 32)
    assert [name for name in boxes(figure) if name.startswith("lanes")] == ["lanes 0-31"]
    assert title(figure).endswith("fetch 1 sector in 1 line")


def test_masked_lanes_are_nowhere():
    figure = access_map.access_map([4096 * lane for lane in range(32)], mask=0b101)
    assert [name for name in boxes(figure) if name.startswith("lanes")] == ["lanes 0", "lanes 2"]
    assert title(figure).startswith("One warp: 2 lanes of 4 B fetch 2 sectors in 2 lines where 1 would do")


def test_a_warp_without_lanes_is_an_empty_picture():
    for space in ("global", "shared"):
        assert not [name for name in boxes(access_map.access_map(ROW, mask=0, space=space)) if name.startswith("lane")]
    assert not boxes(bank_grid.bank_grid(ROW, mask=0))


@pytest.mark.parametrize(("size", "sectors"), [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16)])
def test_neighbours_of_every_width_fetch_what_they_ask_for(size, sectors):
    found = WarpAccess([size * lane for lane in range(32)], size=size)
    assert len(found.sectors) == found.ideal_sectors == sectors
    assert access_map.sector_boxes(found)[(size * 31) % 128, size * 31 // 128, size] == [31]


# --- shared memory


def test_each_lane_has_its_bank():
    found = boxes(access_map.access_map(ROW, space="shared"))
    assert found == {f"lane {lane} bank {lane}": (lane - 0.5, lane, 1) for lane in range(32)}


def test_a_stride_of_two_words_meets_every_second_bank_twice():
    figure = access_map.access_map([8 * lane for lane in range(32)], space="shared")
    assert {name for name in boxes(figure)} == {f"lane {lane} bank {2 * lane % 32}" for lane in range(32)}
    assert title(figure) == "One warp: 32 lanes of 4 B take 2 wavefronts, 1 of them bank conflicts"
    assert {text.get_text() for text in figure.axes[0].texts} == {"2"}


def test_lanes_in_conflict_have_another_colour():
    figure = access_map.access_map([0, 128, *[4 * lane for lane in range(2, 32)]], space="shared")
    found = colours(figure)
    assert found["lane 0 bank 0"] == found["lane 1 bank 0"] != found["lane 2 bank 2"]


def test_the_grid_shows_the_lanes_of_each_word():
    figure = bank_grid.bank_grid([132 * (lane // 2) for lane in range(32)])
    assert boxes(figure)["bank 3 row 3"] == (2.5, 3, 1)
    assert [text.get_text() for text in figure.axes[0].texts][:2] == ["0-1", "2-3"]
    assert title(figure).endswith("take 1 wavefront, no bank conflicts")


def test_the_grid_colours_two_words_of_a_bank_and_more_of_them_apart():
    alone, two, four = ([step * (lane % 4) for lane in range(32)] for step in (4, 0, 128))
    two = [128 * (lane % 2) for lane in range(32)]
    colour = {colours(bank_grid.bank_grid(places))["bank 0 row 0"] for places in (alone, two, four)}
    assert len(colour) == 3


def test_of_a_large_spread_the_grid_shows_the_rows_that_are_touched():
    figure = bank_grid.bank_grid([4096 * lane for lane in range(32)])
    assert boxes(figure)["bank 0 row 992"][1] == 31
    assert figure.axes[0].get_yticklabels()[31].get_text() == f"+{31 * 4096}"


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("stride", [*range(1, 34), 64])
def test_wavefronts_are_those_of_the_counters(size, stride):
    places = [size * stride * lane for lane in range(32)]
    found = WarpAccess(places, size=size)
    assert found.wavefronts == addresses.bank_wavefronts(places, size)
    assert found.ideal_wavefronts == size // 4


def test_random_accesses_have_the_wavefronts_of_the_counters(seed):
    pick = random.Random(seed)
    for _ in range(200):
        size = pick.choice([4, 8, 16])
        places = [size * pick.randrange(256) for _ in range(32)]
        assert WarpAccess(places, size=size).wavefronts == addresses.bank_wavefronts(places, size), (places, size)


@pytest.mark.parametrize(("change", "message"), [
    ({"addresses": ROW[:31]}, "31 addresses"), ({"size": 3}, "an access of 3 bytes"), ({"mask": FULL + 1}, "mask 0x100000000"),
    ({"size": 8}, "lane 1: address 4 is no multiple of the access' 8 bytes"), ({"space": "local"}, "space='local'"),
])
def test_what_no_warp_can_do_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        access_map.access_map(**{"addresses": ROW} | change)


def test_samples_of_a_launch_become_maps(launched):
    profile = launched("column", 2, 64, np.ones((128, 32), np.float32), np.zeros(128, np.float32)).profile
    sample = next(sample for sample in profile.samples if (sample.space, sample.action) == ("global", "load"))
    assert len(WarpAccess(sample.addresses, sample.mask, sample.bytes).sectors) == 32
    assert "fetch 32 sectors in 32 lines where 4 would do" in title(
        access_map.access_map(sample.addresses, sample.mask, sample.bytes, sample.space))


# --- the mix and the roof


def test_the_mix_is_sorted_and_in_percent():
    figure = mix.instruction_mix({"FP32": 600, "branch": 100, "barrier": 0, "integer": 300}, tag="exact")
    bars = {patch.get_gid(): patch.get_width() for patch in figure.axes[0].patches}
    assert bars == {"FP32": 600, "integer": 300, "branch": 100}
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["FP32", "integer", "branch"]
    assert title(figure) == "Instruction mix: FP32 is 60.0 % of 1.00 k warp instructions"
    assert caption(figure) == "counts are exact"


def test_an_empty_mix_says_that_nothing_ran():
    assert title(mix.instruction_mix({})) == "Instruction mix: nothing ran"


def test_a_launch_stands_below_the_roof_where_its_counters_put_it(made_up):
    counters = {names.FLOPS_FP32: 8 * 10**9, names.FOOTPRINT_BYTES_LD: 10**9, names.INSTRUCTIONS: 10**9,
                names.instructions("fp32"): 10**9, names.THREAD_INSTRUCTIONS: 32 * 10**9}
    subject = made_up(counters=counters)
    found = roofline.place(subject)
    assert found.intensity == 8
    assert found.achieved_gflops == pytest.approx(8 * 10**9 / subject.time_ns)
    figure = roofline.roofline_of([subject])
    axes = figure.axes[0]
    (x, y), = axes.collections[0].get_offsets().tolist()
    assert (x, y) == (8, pytest.approx(found.achieved_gflops))
    roof, = (line for line in axes.lines if line.get_gid() == "roof")
    ridge = subject.device.peak_gflops("fp32") / subject.device.dram_gb_per_s
    assert roof.get_xdata()[1] == pytest.approx(ridge) and max(roof.get_ydata()) == subject.device.peak_gflops("fp32")
    assert "of what bandwidth allows" in title(figure)
    assert "Times are modelled" in caption(figure)


def test_a_launch_without_arithmetic_has_no_place_below_a_roof(made_up):
    subject = made_up(counters={names.FOOTPRINT_BYTES_LD: 10**9})
    assert roofline.place(subject) is None
    with pytest.raises(ValueError, match="no launch has a place"):
        roofline.roofline_of([subject])


def test_pictures_can_be_written_in_any_format():
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        out = io.BytesIO()
        access_map.access_map(ROW).savefig(out, format=kind)
        assert out.getvalue().startswith(start)


def test_lanes_are_written_as_ranges():
    assert lanes_text([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"
    assert lanes_text([]) == ""
