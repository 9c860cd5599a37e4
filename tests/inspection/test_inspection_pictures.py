"""Each source is shown as what it is, and in its right colours, and texts are not cut off."""

from __future__ import annotations

import io
import os
from pathlib import Path

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.datasets.hdf5 import H5PYDataset
from fuel.inspection import _choice, _images, preview
from fuel.inspection._choice import chosen_positions, spread_positions
from fuel.inspection._drawing import _Canvas, _columns, _Pen, _writable
from fuel.inspection._figures import Histograms, Lines, Pictures, Waves
from fuel.inspection._preview import figures


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "file.hdf5")


def shown(place: str, **chosen):
    options = {"split": None, "count": None, "seed": None, **chosen}
    _, sections = figures(place, **options)
    return {section.source: section for section in sections}


def written(place: str, name: str, data, labels=()):
    with h5py.File(place, "a") as h5file:
        h5file[name] = data
        for axis, label in enumerate(labels):
            h5file[name].dims[axis].label = label
    return place


COLOURS = numpy.zeros((2, 6, 5, 3), "u1")
COLOURS[0, :, :, 0], COLOURS[1, :3, :, 2] = 200, 100


@pytest.mark.parametrize(
    "labels, axes",
    [
        (("batch", "height", "width", "channel"), (0, 1, 2, 3)),
        (("batch", "channel", "height", "width"), (0, 3, 1, 2)),
        (("batch", "width", "channel", "height"), (0, 2, 3, 1)),
        ((), (0, 3, 1, 2)),
        ((), (0, 1, 2, 3)),
    ],
)
@pytest.mark.parametrize("kind", ["u1", "f4", ">f8", "i8"])
def test_layouts_and_types_give_the_same_colours(place: str, labels, axes, kind) -> None:
    data = COLOURS.transpose(axes)
    section = shown(written(place, "x", data.astype(kind), labels))["x"]
    assert isinstance(section.figure, Pictures)
    for image, wanted in zip(section.figure.images, COLOURS, strict=True):
        assert numpy.array_equal(numpy.asarray(image), wanted)


@pytest.mark.parametrize(
    "data, white",
    [
        (numpy.array([0, 1], "u1"), 1),
        (numpy.array([0, 1], "?"), 1),
        (numpy.array([0.0, 1.0]), 1),
        (numpy.array([-1.0, 1.0]), 1),
        (numpy.array([-3.0, 17.5]), 17.5),
        (numpy.array([0, 60000], "u2"), 60000),
        (numpy.array([1e308, -1e308]), 1e308),
    ],
)
def test_black_and_white_are_the_ends_of_the_range(place: str, data, white) -> None:
    images = numpy.repeat(data, 64).reshape(2, 8, 8)
    section = shown(written(place, "x", images))["x"]
    drawn = [numpy.asarray(image)[0, 0, 0] for image in section.figure.images]
    assert sorted(drawn) == [0, 255]
    assert f"white {white:.6g}" in section.note


def test_other_channels_other_axes_and_what_is_no_number(place: str) -> None:
    written(place, "many", numpy.zeros((2, 7, 9, 9)), ("batch", "channel", "height", "width"))
    film = numpy.zeros((2, 3, 9, 9, 3), "u1")
    film[:, 1] = 255
    written(place, "film", film, ("batch", "time", "height", "width", "channel"))
    written(place, "holes", numpy.full((2, 9, 9), numpy.nan))
    written(place, "sound", numpy.zeros((2, 30, 12)), ("batch", "time", "frequency"))
    found = shown(place)
    assert "the first of 7 channels" in found["many"].note
    assert "the middle of axis time" in found["film"].note
    assert numpy.asarray(found["film"].figure.images[0]).min() == 255
    assert numpy.asarray(found["holes"].figure.images[0]).max() == 0
    assert found["sound"].figure.images[0].size == (30, 12)


def test_large_images_are_reduced_by_their_mean() -> None:
    plane = numpy.tile(numpy.array([0, 255], "u1"), (600, 500))
    small = _images.reduced(plane, (0, 1, None))
    assert max(small.shape) <= _images.LONGEST_SIDE
    assert abs(float(small.mean()) - 127.5) < 2
    assert _images.reduced(numpy.zeros((1, 9000)), (0, 1, None)).shape[0] == 1


def test_rows_larger_than_memory_may_hold_are_read_in_part(place: str, monkeypatch) -> None:
    monkeypatch.setattr(_choice, "_LARGE_ROW", 1000)
    image = numpy.zeros((100, 100), "u1")
    image[:50] = 255
    section = shown(written(place, "x", image[None]))["x"]
    pixels = numpy.asarray(section.figure.images[0])[..., 0]
    assert pixels.size <= 1000
    assert pixels[: len(pixels) // 2].min() == 255 and pixels[-1].max() == 0


def png(mode: str, colour) -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, (10, 8), colour).save(buffer, "PNG")
    return buffer.getvalue()


def test_encoded_images_are_decoded(place: str) -> None:
    with HDF5Writer(place, {"x": SourceSpec((None,), "u1")}) as writer:
        for content in (png("RGB", (9, 99, 199)), png("L", 50), png("RGBA", (0, 0, 0, 0))):
            writer.add_example("train", x=content)
    colours = [image.getpixel((3, 3)) for image in shown(place)["x"].figure.images]
    assert colours == [(9, 99, 199), (50, 50, 50), (255, 255, 255)]
    assert _images.decode(png("L", 7))[0].getpixel((0, 0)) == (7, 7, 7)


def test_a_picture_that_would_fill_the_memory_is_not_decoded(monkeypatch) -> None:
    monkeypatch.setattr(_images, "_MOST_PIXELS", 50)
    with pytest.raises(ValueError, match="too large to draw: 10 x 8"):
        _images.decode(png("L", 0))


def test_labels_belong_to_their_examples(place: str) -> None:
    sources = {
        "x": SourceSpec((9, 9), "u1"),
        "y": SourceSpec((1,), "u1"),
        "name": SourceSpec((), "str"),
        "story": SourceSpec((), "str"),
        "v": SourceSpec((3,), "f4"),
    }
    with HDF5Writer(place, sources) as writer:
        writer.describe("y", {"class_names": ["cat", "dog"]})
        for k in range(30):
            example = {"x": numpy.full((9, 9), k, "u1"), "y": [k % 2], "v": [1, 2, k]}
            split = "train" if k % 3 else "test"
            writer.add_example(split, **example, name=f"n{k}", story="word " * 20)
    figure = shown(place, split="test", count=4, seed=3)["x"].figure
    for image, caption, row in zip(figure.images, figure.captions, figure.rows, strict=True):
        assert row % 3 == 0
        assert caption == f"name: n{row}\ny: {['cat', 'dog'][row % 2]}"
        assert numpy.asarray(image).max() == numpy.rint(255 * row / 27) or row


def test_signals_keep_their_peaks(place: str) -> None:
    signal = numpy.zeros((2, 40_000), "i2")
    signal[0, 12_345], signal[1, 39_999] = 30_000, -30_000
    written(place, "x", signal, ("batch", "time"))
    written(place, "y", numpy.zeros((2, 50, 2)), ("batch", "time", "channel"))
    found = shown(place)
    assert isinstance(found["x"].figure, Waves)
    waves = found["x"].figure.waves
    assert (waves[0].most, waves[1].least) == (30_000, -30_000)
    assert waves[0].high[0].argmax() == 12_345 * len(waves[0].high[0]) // 40_000
    assert len(found["y"].figure.waves[0].low) == 2


def test_vectors_texts_and_tables(place: str) -> None:
    written(place, "few", numpy.arange(20.0).reshape(5, 4))
    written(place, "many", numpy.zeros((5, 300), "f4"))
    written(place, "table", numpy.zeros(5, [("a", "i4"), ("b", "S2")]))
    written(place, "lines", numpy.array([b"one", b"two"]))
    written(place, "refs", numpy.array([h5py.Reference()] * 3, dtype=h5py.ref_dtype))
    found = shown(place)
    assert [bars.title for bars in found["few"].figure.bars] == [f"few[{k}]" for k in range(4)]
    assert [sum(bars.counts) for bars in found["few"].figure.bars] == [5] * 4
    assert [bars.title for bars in found["many"].figure.bars] == ["all 300 values"]
    assert found["table"].figure.texts[0] == "a = 0, b = (empty)"
    assert found["lines"].figure.texts == ["one", "two"]
    assert found["refs"].figure is None and "kind" in found["refs"].note


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(), min_size=1, max_size=40))
def test_distributions_count_every_finite_value(values) -> None:
    from fuel.inspection._figures import _bars

    bars = _bars(numpy.array(values), "x", {})
    assert sum(bars.counts) == numpy.isfinite(values).sum()


def test_words_of_ragged_numbers_are_lines_and_sound_is_a_curve(place: str) -> None:
    sources = {"words": SourceSpec((None,), "i8"), "sound": SourceSpec((None,), "f4")}
    with HDF5Writer(place, sources) as writer:
        writer.add_example("train", words=[3, 14, 15], sound=[0.0, 1.0])
        writer.add_example("train", words=[], sound=[])
    found = shown(place)
    assert isinstance(found["words"].figure, Lines)
    assert found["words"].figure.texts == ["3 14 15", "(empty)"]
    assert isinstance(found["sound"].figure, Waves)


@given(st.integers(1, 10**9), st.integers(1, 400), st.none() | st.integers(0, 9))
@settings(max_examples=100, deadline=None)
def test_each_example_is_chosen_once(number, count, seed) -> None:
    chosen = chosen_positions(number, count, seed)
    assert len(chosen) == len(set(chosen)) == min(number, count)
    assert 0 <= min(chosen) <= max(chosen) < number
    assert chosen == chosen_positions(number, count, seed)
    many = spread_positions(number, 1000)
    assert len(many) <= 1000 and many[-1] == number - 1


def test_splits_by_index_are_followed(place: str) -> None:
    with h5py.File(place, "w") as h5file:
        h5file["x"] = numpy.arange(10)
        h5file["chosen"] = [9, 3, 3]
        split = {"few": {"x": (-1, -1, h5file["chosen"].ref)}, "none": {"x": (0, 0)}}
        h5file.attrs["split"] = H5PYDataset.create_split_array(split)
    bars = shown(place)["x"].figure.bars[0]
    assert dict(zip(bars.names, bars.counts))["3"] == 2
    with pytest.raises(ValueError, match="nothing to draw in .*x: no examples"):
        preview(place, io.BytesIO(), split="none")


def test_texts_are_shortened_to_fit_never_cut() -> None:
    pen = _Pen(_Canvas().part(50))
    for text in ("word " * 200, "x" * 900, "é" * 900, "short", ""):
        for width in (60, 300):
            assert pen.length(pen.fitted(text, width, 15), 15) <= width
            lines = pen.wrapped(text, width, 15, 3)
            assert len(lines) <= 3
            assert all(pen.length(line, 15) <= width for line in lines)
    assert pen.wrapped("one two", 500, 15, 3) == ["one two"]
    assert _writable("plain", 15)[0] == "plain"


def test_there_are_columns_for_any_number() -> None:
    counts = [_columns(count) for count in range(1, 401)]
    assert counts == sorted(counts) and min(counts) >= 4 and max(counts) <= 12


def test_the_picture_is_replaced_only_by_a_whole_one(place: str, tmp_path: Path) -> None:
    written(place, "x", numpy.zeros((3, 9, 9), "u1"))
    target = tmp_path / "p.png"
    target.write_text("old")
    with pytest.raises(ValueError, match="has no split"):
        preview(place, target, split="x")
    assert target.read_text() == "old"
    preview(place, target)
    with Image.open(target) as image:
        assert image.format == "PNG"
    assert sorted(os.listdir(tmp_path)) == ["file.hdf5", "p.png"]


def test_pixels_of_the_grid_are_those_of_the_images(place: str, tmp_path: Path) -> None:
    written(place, "x", numpy.full((3, 9, 9, 3), (200, 10, 60), "u1"))
    preview(place, tmp_path / "p.png")
    with Image.open(tmp_path / "p.png") as image:
        pixels = numpy.asarray(image).reshape(-1, 3)
    same = int((pixels == (200, 10, 60)).all(axis=1).sum())
    side = int((same / 3) ** 0.5)
    assert same == 3 * side * side and side % 9 == 0 and side > 200


def test_histograms_of_long_sources_read_a_part(place: str, monkeypatch) -> None:
    monkeypatch.setattr("fuel.inspection._figures._HISTOGRAM_ROWS", 80)
    section = shown(written(place, "x", numpy.arange(1000.0)))["x"]
    assert isinstance(section.figure, Histograms)
    assert section.note == "of 80 of 1,000 examples"
