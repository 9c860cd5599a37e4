"""What is told and drawn of a file is what is in it."""

from __future__ import annotations

import html.parser
import io
import json
import os

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fuel.bin.fuel_info import describe_file, main
from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.inspection import preview, statistics
from fuel.inspection._moments import Moments
from fuel.inspection._preview import figures
from fuel.inspection.storage import advice, storage_of


def jpeg(seed):
    buffer = io.BytesIO()
    Image.new("RGB", (20 + seed, 30), (seed * 9 % 256, 99, 50)).save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.fixture
def path(tmp_path):
    sources = {
        "image": SourceSpec((1, 9, 9), "u1", ("batch", "channel", "height", "width")),
        "photo": SourceSpec((None,), "u1"),
        "targets": SourceSpec((1,), "u1", ("batch", "index")),
        "wave": SourceSpec((300, 1), "f4", ("batch", "time", "channel")),
        "vector": SourceSpec((3,), "f8"),
        "text": SourceSpec((), "str"),
    }
    place = tmp_path / "file.hdf5"
    with HDF5Writer(place, sources, inputs=[__file__]) as writer:
        writer.describe("targets", {"class_names": ["cat", "dog"]})
        for number in range(12):
            writer.add_example(
                "train" if number < 9 else "test",
                image=numpy.full((1, 9, 9), number, "u1"),
                photo=jpeg(number),
                targets=[number % 2],
                wave=numpy.sin(numpy.arange(300, dtype="f4"))[:, None],
                vector=[number, numpy.nan, numpy.inf],
                text=f"<b>{number}</b>",
            )
    return str(place)


numbers = st.lists(
    st.floats(allow_nan=True, allow_infinity=True, width=32, min_value=None, max_value=None),
    max_size=30,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(numbers, max_size=5))
def test_moments_of_parts_are_those_of_all(parts):
    moments = Moments()
    for part in parts:
        moments.add(numpy.array(part, dtype="f4"))
    together = numpy.concatenate([numpy.array(part, "f4") for part in [[], *parts]])
    finite = together[numpy.isfinite(together)].astype("f8")
    found = moments.summary()
    assert found["count"] == len(finite)
    assert found["nan"] == numpy.isnan(together).sum()
    assert found["inf"] == numpy.isinf(together).sum()
    if len(finite):
        assert (found["min"], found["max"]) == (finite.min(), finite.max())
        scale = max(1.0, float(numpy.abs(finite).max()))
        assert abs(found["mean"] - finite.mean()) <= 1e-12 * scale
        assert abs(found["std"] - finite.std()) <= 1e-6 * scale
    else:
        assert found["min"] is found["mean"] is found["std"] is None


def test_large_means_cost_no_digits():
    moments = Moments()
    for part in numpy.array_split(1e9 + numpy.arange(1000) % 2, 7):
        moments.add(part)
    assert moments.summary()["std"] == pytest.approx(0.5, rel=1e-9)


def test_statistics_of_each_kind_of_source(path):
    found = statistics(path)
    assert found["targets"]["classes"] == {"train": {"0": 5, "1": 4}, "test": {"0": 1, "1": 2}}
    assert found["vector"]["values"]["nan"] == found["vector"]["values"]["inf"] == 12
    assert found["vector"]["values"]["max"] == 11
    assert found["text"]["lengths"] == {
        "count": 12, "min": 8, "max": 9, "mean": pytest.approx(98 / 12), "nan": 0, "inf": 0,
        "std": pytest.approx(numpy.std([8] * 10 + [9] * 2)),
    }  # fmt: skip
    assert found["photo"]["lengths"]["count"] == 12
    assert found["image"]["values"]["mean"] == pytest.approx(5.5)
    json.dumps(found, allow_nan=False)


STORED = {
    "plain": ({}, "contiguous", [], None),
    "tiles": ({"chunks": (8, 2, 2)}, "chunked", [], "every example lies in 64 pieces"),
    "small": ({"chunks": (8, 16, 16), "compression": "gzip", "shuffle": True}, "chunked",
              ["byte shuffle", "gzip"], None),
    "large": ({"chunks": (8192, 16, 16), "compression": "lzf"}, "chunked", ["lzf"],
              "2,097,152 bytes are decompressed, 8,192 times as many"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(STORED))
def test_how_a_source_is_stored_and_what_it_means(tmp_path, name):
    options, layout, filters, sentence = STORED[name]
    with h5py.File(tmp_path / "file.hdf5", "w") as h5file:
        data = numpy.zeros((8192, 16, 16), "u1")
        dataset = h5file.create_dataset("x", data=data, **options)
        found = storage_of(dataset)
        assert found["layout"] == layout
        assert [one["name"] for one in found["filters"]] == filters
        assert found["raw_bytes"] == data.nbytes
        assert (found["ratio"] > 10) == bool({"gzip", "lzf"} & set(filters))
        said = advice(dataset, found)
        assert said is None if sentence is None else sentence in said


def test_the_command_tells_how_to_rewrite_what_reads_slowly(tmp_path, capsys):
    place = str(tmp_path / "a file.hdf5")
    with h5py.File(place, "w") as h5file:
        h5file.create_dataset("x", (9000, 300), "f4", chunks=(9000, 300), compression="gzip")
    main([place])
    said = capsys.readouterr().out
    assert "source x: to read one example at random" in said
    assert f"`fuel-convert repack '{place}' '{place[:-5]}-fast.hdf5'`" in said


def test_the_command_shows_everything(path, capsys, tmp_path):
    main(
        [path, "--stats", "--preview", str(tmp_path / "p.png"), "--html", str(tmp_path / "p.html")]
    )
    said = capsys.readouterr().out
    assert "targets in train: cat: 5, dog: 4" in said
    assert "test_inspection.py" in said and "SHA-256" in said
    assert "The layout suits reading in any order." in said
    with Image.open(tmp_path / "p.png") as image:
        assert image.width == 1200 and image.height > 400
        assert len(numpy.unique(numpy.asarray(image.convert("L")))) > 5
    main([path, "--stats", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["sources"]["image"]["storage"]["layout"] == "contiguous"
    assert found["sources"]["photo"]["sizes"][0][0] == len(jpeg(0))
    assert found["statistics"]["image"]["values"]["max"] == 11
    assert found["provenance"]["inputs"][0]["name"] == "test_inspection.py"


class Names(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = set(), ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert all(name != "src" or value.startswith("data:") for name, value in attrs)

    def handle_data(self, data):
        self.text += data


def test_names_in_a_file_do_not_become_markup(tmp_path):
    place = str(tmp_path / "file.hdf5")
    evil = "<script>alert('x')<script>"
    with h5py.File(place, "w") as h5file:
        h5file[evil] = numpy.arange(5)
        h5file[evil].dims[0].label = "<img>"
        h5file.attrs["fuel_convert_command"] = evil
    main([place, "--stats", "--html", str(tmp_path / "p.html")])
    parser = Names()
    parser.feed((tmp_path / "p.html").read_text(encoding="utf-8"))
    assert "script" not in parser.tags and evil in parser.text and "<img>" in parser.text


def test_examples_are_chosen_by_split_count_and_seed(path, tmp_path):
    pictures = []
    for options in ({}, {"split": "test"}, {"count": 3}, {"seed": 1}, {"seed": 1}):
        buffer = io.BytesIO()
        preview(path, buffer, **options)
        pictures.append(buffer.getvalue())
    assert pictures[3] == pictures[4] and len(set(pictures)) == 4


@pytest.mark.parametrize(
    "options, message",
    [
        ({"split": "valid"}, "has no split 'valid'; it has"),
        ({"count": 0}, "`count` must be from 1 to 400, got 0"),
    ],
)
def test_what_cannot_be_drawn_is_told(path, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        preview(path, tmp_path / "p.png", **options)
    assert os.listdir(tmp_path) == ["file.hdf5"]


@pytest.mark.parametrize("shape", [(4, 0), (0, 3), (3,), (2, 5, 5, 2), (2, 30, 40), (2, 7, 9, 4)])
@pytest.mark.parametrize("dtype", ["u1", "f4", "?", "i8", ">f8", "S4", "c8"])
def test_any_source_can_be_looked_at(tmp_path, shape, dtype):
    place = str(tmp_path / "file.hdf5")
    with h5py.File(place, "w") as h5file:
        h5file["x"] = numpy.zeros(shape).astype(dtype)
    assert describe_file(place)["sources"]["x"]["shape"] == list(shape)
    json.dumps(statistics(place), allow_nan=False)
    try:
        preview(place, tmp_path / "p.png")
    except ValueError as error:
        assert "nothing to draw" in str(error)


def test_a_damaged_picture_is_told_in_its_place(tmp_path):
    place = str(tmp_path / "file.hdf5")
    with HDF5Writer(place, {"x": SourceSpec((None,), "u1")}) as writer:
        for content in (jpeg(3)[:60], jpeg(4), b"", b"GIF8" + bytes(50)):
            writer.add_example("train", x=content)
    _, (section,) = figures(place, None, None, None)
    assert [bool(image) for image in section.figure.images] == [False, True, False, False]
    assert section.figure.faults[0] == "it cannot be decoded"
