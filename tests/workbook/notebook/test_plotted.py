"""The digest of a figure is that of its data and words, not of its pixels."""

from __future__ import annotations

from matplotlib.figure import Figure

from workbook.notebook.plotted import digest, png


def figure(last=4.0, title="title", width=4, bar=1.0):
    made = Figure(figsize=(width, 3))
    axes = made.subplots()
    axes.plot([1, 2], [3, last])
    axes.bar([0], [bar])
    axes.scatter([1], [last])
    axes.set_title(title)
    return made


def test_equal_data_has_one_digest_at_any_size():
    assert digest(figure()) == digest(figure(width=9))
    assert png(figure())[1] == {"plotted": digest(figure())}
    assert png(figure())[0].startswith(b"\x89PNG")


def test_a_point_a_bar_and_a_word_count():
    assert len({digest(figure()), digest(figure(last=5)), digest(figure(bar=2)), digest(figure(title="other"))}) == 4
