"""A page needs nothing else, runs nothing, and can be read by eye and ear, in light and dark."""

from __future__ import annotations

import html.parser
from pathlib import Path

import h5py
import numpy
import pytest

from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.datasets.hdf5 import H5PYDataset
from fuel.inspection import html as write_page
from fuel.inspection import statistics

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>`<b>"
EMPTY = {"meta", "img", "link", "br"}


class Page(html.parser.HTMLParser):
    """Reads a page, and holds what every page must hold."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.alts: list[str] = []
        self._open: list[str] = []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in EMPTY:
            self._open.append(tag)
        told = dict(attrs)
        assert not any(name.startswith("on") or name == "href" for name in told)
        if tag == "img":
            assert told["src"].startswith("data:image/png;base64,")
            assert told["alt"]
            self.alts.append(told["alt"])
        if tag == "svg":
            assert told["role"] == "img" and told["aria-label"]
            self.alts.append(told["aria-label"])

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def page(tmp_path: Path):
    def read(place, **options):
        write_page(place, tmp_path / "page.html", **options)
        return Page(tmp_path / "page.html")

    return read


def test_nothing_of_a_hostile_file_becomes_markup(page, tmp_path: Path) -> None:
    place = tmp_path / "file.hdf5"
    with h5py.File(place, "w") as h5file:
        names = {}
        kind = h5py.enum_dtype({EVIL: 0, "b": 1}, "i1")
        for number, data in enumerate(
            (
                numpy.zeros((3, 9, 9)),
                numpy.zeros((3, 50)),
                numpy.zeros((3, 4)),
                numpy.array([EVIL.encode()] * 3),
                numpy.zeros(3, [(EVIL, "i4")]),
                numpy.zeros(3, kind),
            )
        ):
            name = EVIL.replace("/", "|") + str(number)
            names[name] = (0, 3, None, EVIL)
            h5file[name] = data
            h5file[name].dims[0].label = EVIL
        h5file[EVIL.replace("/", "|") + "1"].dims[1].label = "time"
        h5file.attrs["fuel_convert_command"] = EVIL
        h5file.attrs["fuel_provenance"] = (
            '{"created": "<script>", "inputs": [{"name": "<script>", "size": "<b>"}, 3], '
            '"versions": {"<script>": "<b>"}}'
        )
        h5file.attrs["split"] = H5PYDataset.create_split_array({EVIL: names})
    found = page(place, stats=True)
    assert not {"script", "b"} & set(found.tags)
    assert found.tags.count("img") == 3
    assert "<script>alert(1)" in found.text
    assert "default-src 'none'" in found.source


def test_a_page_tells_all(page, tmp_path: Path) -> None:
    place = tmp_path / "file.hdf5"
    sources = {
        "image": SourceSpec((9, 9), "u1", ("batch", "height", "width")),
        "wave": SourceSpec((None,), "f4", ("batch", "time")),
        "y": SourceSpec((), "u1"),
    }
    with HDF5Writer(place, sources, inputs=[__file__]) as writer:
        writer.describe("y", {"class_names": ["cat", "dog"]})
        for k in range(6):
            image = numpy.full((9, 9), 40 * k, "u1")
            writer.add_example("train", image=image, wave=numpy.arange(float(k)), y=k % 2)
    found = page(place, stats=True, count=2)
    for part in ("train", "contiguous", "Statistics", "Classes of y", "2 of 6 examples"):
        assert part in found.text
    assert "test_inspection_page.py" in found.text
    assert "image, row 3, dog" in found.alts
    assert any("curve of wave, row 3" in alt for alt in found.alts)
    assert "prefers-color-scheme: dark" in found.source
    assert page(place, stats=statistics(place), count=2).source == found.source
    assert "Statistics" not in page(place).text


def test_files_with_nothing_to_show_have_a_page(page, tmp_path: Path) -> None:
    place = tmp_path / "file.hdf5"
    with h5py.File(place, "w") as h5file:
        h5file.create_group("a")
    assert "The file has no sources." in page(place, stats=True).text
    with h5py.File(place, "w") as h5file:
        h5file["null"] = h5py.Empty("f4")
        h5file["none"] = numpy.zeros((0, 3))
        h5file["nan"] = numpy.full(3, numpy.nan)
    assert "nan" in page(place, stats=True).text


def test_advice_and_problems_stand_out(page, tmp_path: Path) -> None:
    place = tmp_path / "a file.hdf5"
    with h5py.File(place, "w") as h5file:
        h5file.create_dataset("x", (9000, 300), "f4", chunks=(9000, 300), compression="gzip")
        split = {"train": {"x": (0, 9001)}}
        h5file.attrs["split"] = H5PYDataset.create_split_array(split)
    found = page(place)
    assert "Problem: split train of source x covers rows 0 to 9001" in found.text
    assert "code" in found.tags and "fuel-convert repack" in found.text
    assert "cannot be read: split train has rows up to" in found.text or "h3" not in found.tags


def test_many_classes_are_folded_away(page, tmp_path: Path) -> None:
    place = tmp_path / "file.hdf5"
    with h5py.File(place, "w") as h5file:
        h5file["y"] = numpy.arange(300) % 100
    assert "details" in page(place, stats=True).tags
