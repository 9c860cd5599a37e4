"""ILSVRC2010 and ILSVRC2012, from small HDF5 files to batches of pictures."""

from __future__ import annotations

import io
import pickle

import h5py
import numpy
import pytest
from PIL import Image

import fuel.datasets
from fuel.config_parser import config
from fuel.converters import ilsvrc2010, ilsvrc2012
from fuel.datasets.imagenet import ILSVRC2010, ILSVRC2012
from fuel.schemes import SequentialExampleScheme, ShuffledScheme
from fuel.streams import DataStream
from fuel.transformers.defaults import ToBytes
from fuel.transformers.image import ImagesFromBytes, RandomFixedSizeCrop


def jpeg(number):
    out = io.BytesIO()
    pixels = numpy.random.RandomState(number).randint(0, 256, (20 + number, 26 - number, 3))
    Image.fromarray(pixels.astype("uint8")).save(out, "JPEG")
    return out.getvalue()


@pytest.fixture(params=[(ilsvrc2010, ILSVRC2010), (ilsvrc2012, ILSVRC2012)])
def made(request, tmp_path):
    module, make = request.param
    with h5py.File(tmp_path / make.filename, "w") as file:
        module.prepare_hdf5_file(file, 6, 2, 2)
        for row in range(10):
            file["encoded_images"][row] = numpy.frombuffer(jpeg(row), "uint8")
            file["filenames"][row] = f"{row}.JPEG".encode()
            if row < len(file["targets"]):
                file["targets"][row] = 100 * row
    with config.override(data_path=[str(tmp_path)]):
        yield make


def test_what_is_in_them(made):
    dataset = made(("train",))
    assert (dataset.num_examples, dataset.load_in_memory) == (6, False)
    assert dataset.sources == ("encoded_images", "filenames", "targets")
    images, names, targets = dataset.get_data(request=[1, 4])
    assert [image.tobytes() for image in images] == [jpeg(1), jpeg(4)]
    assert names.tolist() == [[b"1.JPEG"], [b"4.JPEG"]]
    assert (targets.dtype, targets.tolist()) == (numpy.int16, [[100], [400]])
    assert ("targets" in made(("test",)).sources) == (made is ILSVRC2010)
    assert made(("valid",), load_in_memory=True).get_data(request=[0])[2].tolist() == [[600]]
    again = pickle.loads(pickle.dumps(dataset))
    assert again.get_data(request=[3])[0][0].tobytes() == jpeg(3)


def test_the_default_transformers_decode(made):
    which = {"which_sources": ("encoded_images",)}
    assert made.default_transformers == ((ToBytes, [], which), (ImagesFromBytes, [], which))
    stream = DataStream.default_stream(made(("test",)), iteration_scheme=SequentialExampleScheme(2))
    for number, example in enumerate(stream.get_epoch_iterator(as_dict=True), 8):
        expected = numpy.asarray(Image.open(io.BytesIO(jpeg(number)))).transpose(2, 0, 1)
        numpy.testing.assert_array_equal(example["encoded_images"], expected)


def test_shuffled_batches_of_windows(made):
    dataset = made(("train",))
    stream = DataStream.default_stream(dataset, iteration_scheme=ShuffledScheme(6, 4))
    stream = RandomFixedSizeCrop(stream, (12, 14), which_sources=("encoded_images",))
    seen = []
    for batch in stream.get_epoch_iterator(as_dict=True):
        for image, target in zip(batch["encoded_images"], batch["targets"][:, 0], strict=True):
            whole = numpy.asarray(Image.open(io.BytesIO(jpeg(target // 100)))).transpose(2, 0, 1)
            windows = numpy.lib.stride_tricks.sliding_window_view(whole, (3, 12, 14))
            assert (windows == image).all(axis=(-3, -2, -1)).any()
            seen.append(int(target))
    assert sorted(seen) == [0, 100, 200, 300, 400, 500]


@pytest.mark.parametrize("make", [ILSVRC2010, ILSVRC2012])
def test_a_missing_file_says_how_to_make_it(make, tmp_path):
    with config.override(data_path=[str(tmp_path)]):
        with pytest.raises(OSError, match="not found in Fuel's data path") as caught:
            make(("train",))
    name = make.filename.split(".")[0]
    assert f"fuel-download {name} -d" in str(caught.value)
    assert f"fuel-convert {name} -d" in str(caught.value)


def test_they_are_in_their_module_only_as_ever():
    assert fuel.datasets.imagenet.ILSVRC2012 is ILSVRC2012
    assert not {"ILSVRC2010", "ILSVRC2012"} & set(fuel.datasets.__all__)
