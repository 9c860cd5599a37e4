"""SVHN, CelebA, Dogs vs. Cats and the sound of videos, from small HDF5 files to batches."""

from __future__ import annotations

import pickle

import numpy
import pytest

import fuel.datasets
from fuel.config_parser import config
from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.datasets import SVHN, CelebA, DogsVsCats, H5PYDataset
from fuel.datasets.youtube_audio import YouTubeAudio
from fuel.schemes import SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream


def write(path, shape, source="features", split="train"):
    sizes = [(3, 4 + number % 2, 5) for number in range(6)]
    if None not in shape:
        sizes = [shape] * 6
    with HDF5Writer(path, {source: SourceSpec(shape, "uint8")}) as writer:
        for number, size in enumerate(sizes):
            writer.add_example(split, **{source: numpy.full(size, 51 * number, "uint8")})


CASES = {
    "svhn_format_1.hdf5": (lambda **kw: SVHN(1, ("train",), **kw), (3, None, None), "features"),
    "svhn_format_2.hdf5": (lambda **kw: SVHN(2, ("train",), **kw), (3, 32, 32), "features"),
    "celeba_64.hdf5": (lambda **kw: CelebA("64", ("train",), **kw), (3, 64, 64), "features"),
    "celeba_aligned_cropped.hdf5": (
        lambda **kw: CelebA("aligned_cropped", ("train",), **kw),
        (3, 218, 178),
        "features",
    ),
    "dogs_vs_cats.hdf5": (
        lambda **kw: DogsVsCats(("train",), **kw),
        (3, None, None),
        "image_features",
    ),
    "a-b_c.hdf5": (lambda **kw: YouTubeAudio("a-b_c", **kw), (8, 1), "features"),
}


@pytest.fixture(params=list(CASES))
def case(request, tmp_path):
    make, shape, source = CASES[request.param]
    write(tmp_path / request.param, shape, source)
    with config.override(data_path=[str(tmp_path)], floatX="float32"):
        yield request.param, make, shape, source


def test_the_file_is_found_and_read_from_the_disk(case):
    filename, make, _, source = case
    dataset = make()
    assert isinstance(dataset, H5PYDataset)
    assert dataset.filename == filename
    assert not dataset.load_in_memory
    assert (dataset.num_examples, dataset.sources) == (6, (source,))


def test_arguments_reach_the_dataset(case):
    _, make, _, source = case
    dataset = make(load_in_memory=True, subset=slice(2, 5), sources=(source,))
    assert dataset.load_in_memory
    assert dataset.num_examples == 3
    (values,) = dataset.get_data(request=[0])
    assert values[0].max() == 102


def test_a_pickle_holds_no_data_and_finds_the_file_again(case):
    _, make, _, _ = case
    dataset = make()
    pickled = pickle.dumps(dataset)
    assert len(pickled) < 5000
    again = pickle.loads(pickled)
    for ours, theirs in zip(again.get_data(request=3), dataset.get_data(request=3), strict=True):
        numpy.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("scheme", [SequentialScheme(6, 4), SequentialExampleScheme(6)])
def test_the_default_stream_brings_pixels_to_one(case, scheme):
    filename, make, _, source = case
    stream = DataStream.default_stream(make(), iteration_scheme=scheme)
    values = []
    for data in stream.get_epoch_iterator(as_dict=True):
        values += [data[source]] if scheme.requests_examples else list(data[source])
    assert len(values) == 6
    for number, value in enumerate(values):
        expected = 51 * number if filename == "a-b_c.hdf5" else number / 5
        numpy.testing.assert_allclose(value, expected, rtol=1e-6)
        if filename == "a-b_c.hdf5":
            assert value.dtype == numpy.uint8
        elif filename != "dogs_vs_cats.hdf5":  # which are scaled, and not cast
            assert value.dtype == numpy.float32


@pytest.mark.parametrize(
    "make, download, convert",
    [
        (lambda: SVHN(2, ("train",)), "svhn 2", "svhn 2"),
        (lambda: CelebA("64", ("train",)), "celeba", "celeba 64"),
        (lambda: DogsVsCats(("train",)), "dogs_vs_cats", "dogs_vs_cats"),
        (lambda: YouTubeAudio("ab"), *["youtube_audio --youtube-id=ab"] * 2),
    ],
)
def test_a_missing_file_says_how_to_make_it(make, download, convert, tmp_path):
    with (
        config.override(data_path=[str(tmp_path)]),
        pytest.raises(IOError, match="not found in Fuel's data path") as caught,
    ):
        make()
    assert f"fuel-download {download} -d" in str(caught.value)
    assert f"fuel-convert {convert} -d" in str(caught.value)


def test_they_are_found_in_the_face():
    assert fuel.datasets.SVHN is SVHN
    assert fuel.datasets.CelebA is CelebA
    assert fuel.datasets.DogsVsCats is DogsVsCats
    assert fuel.datasets.youtube_audio.YouTubeAudio is YouTubeAudio
    assert "YouTubeAudio" not in fuel.datasets.__all__  # as ever: it is in its module only
