"""`ImagesFromBytes`: what it makes of files in streams of examples and of batches."""

from __future__ import annotations

import io
import itertools
import pickle

import numpy
import pytest
from PIL import Image, UnidentifiedImageError

from fuel.datasets import IndexableDataset
from fuel.kernels import _jpeg_batch, jpeg
from fuel.schemes import SequentialExampleScheme, SequentialScheme, ShuffledScheme
from fuel.streams import DataStream
from fuel.transformers._decoding import ImagesFromBytes
from fuel.transformers.defaults import ToBytes, rgb_images_from_encoded_bytes


def saved(image, kind="PNG", **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def picture(seed, height=9, width=12, channels=3, dtype="uint8"):
    rng = numpy.random.default_rng(seed)
    shape = (height, width) if channels == 1 else (height, width, channels)
    return Image.fromarray(rng.integers(0, numpy.iinfo(dtype).max, shape, dtype))


def examples(files, source="image", **sources):
    dataset = IndexableDataset({source: list(files), **sources})
    return DataStream(dataset, iteration_scheme=SequentialExampleScheme(len(files)))


def batches(files, size=3, source="image", **sources):
    dataset = IndexableDataset({source: list(files), **sources})
    return DataStream(dataset, iteration_scheme=SequentialScheme(len(files), size))


def decoded(data, **options):
    ((image,),) = list(ImagesFromBytes(examples([data]), **options))
    return image


KINDS = [saved(picture(n, 5 + n, 9 + n), kind) for n, kind in enumerate(["PNG", "JPEG", "BMP"])]


def test_an_example_is_one_array_with_its_channels_first():
    for data, (image,) in zip(KINDS, ImagesFromBytes(examples(KINDS)), strict=True):
        expected = numpy.asarray(Image.open(io.BytesIO(data)).convert("RGB")).transpose(2, 0, 1)
        assert image.dtype == numpy.uint8
        numpy.testing.assert_array_equal(image, expected)


def test_a_batch_is_a_list_of_what_examples_are():
    alone = [image for (image,) in ImagesFromBytes(examples(KINDS * 3))]
    together = [images for (images,) in ImagesFromBytes(batches(KINDS * 3, 4))]
    assert [type(images) for images in together] == [list] * 3
    assert [len(images) for images in together] == [4, 4, 1]
    for one, other in zip(alone, itertools.chain(*together), strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_the_labels_are_those_of_images():
    files = IndexableDataset(
        {"image": KINDS, "label": [0, 1, 2]},
        axis_labels={"image": ("batch", "bytes"), "label": ("batch",)},
    )
    stream = DataStream(files, iteration_scheme=SequentialScheme(3, 2))
    step = ImagesFromBytes(stream, which_sources=("image",))
    images = ("batch", "channel", "height", "width")
    assert step.axis_labels == {"image": images, "label": ("batch",)}
    assert stream.axis_labels["image"] == ("batch", "bytes")
    assert ImagesFromBytes(examples(KINDS)).axis_labels == {"image": images[1:]}
    step = ImagesFromBytes(batches(KINDS, label=[1, 2, 3]), which_sources=("image",))
    assert step.axis_labels == {"image": images, "label": None}


def test_other_sources_pass():
    step = ImagesFromBytes(batches(KINDS, label=[4, 5, 6]), which_sources=("image",))
    ((images, labels),) = list(step)
    assert len(images) == 3 and list(labels) == [4, 5, 6]


@pytest.mark.parametrize(
    ("image", "kind", "mode", "shape", "dtype"),
    [
        (picture(1), "PNG", "RGB", (3, 9, 12), "uint8"),
        (picture(1), "JPEG", "L", (1, 9, 12), "uint8"),
        (picture(1, channels=1), "PNG", "RGB", (3, 9, 12), "uint8"),
        (picture(1, channels=1), "JPEG", None, (1, 9, 12), "uint8"),
        (picture(1, channels=2), "PNG", "RGB", (3, 9, 12), "uint8"),
        (picture(1, channels=2), "PNG", None, (2, 9, 12), "uint8"),
        (picture(1, channels=4), "PNG", "RGB", (3, 9, 12), "uint8"),
        (picture(1, channels=4), "PNG", None, (4, 9, 12), "uint8"),
        (picture(1).convert("CMYK"), "JPEG", "RGB", (3, 9, 12), "uint8"),
        (picture(1).convert("CMYK"), "JPEG", None, (4, 9, 12), "uint8"),
        (picture(1).convert("P"), "PNG", "RGB", (3, 9, 12), "uint8"),
        (picture(1).convert("P"), "PNG", None, (1, 9, 12), "uint8"),
        (picture(1).convert("1"), "PNG", None, (1, 9, 12), "bool"),
        (picture(1, channels=1, dtype="uint16"), "PNG", None, (1, 9, 12), "uint16"),
        (picture(1, channels=1, dtype="uint16"), "PNG", "L", (1, 9, 12), "uint8"),
        (picture(1, channels=1).convert("F"), "TIFF", None, (1, 9, 12), "float32"),
        (picture(1, channels=1).convert("I"), "TIFF", None, (1, 9, 12), "int32"),
        (picture(1, 1, 1), "JPEG", "RGB", (3, 1, 1), "uint8"),
        (picture(1), "WEBP", "RGB", (3, 9, 12), "uint8"),
    ],
)
def test_every_kind_of_image_is_what_pillow_makes_of_it(image, kind, mode, shape, dtype):
    data = saved(image, kind)
    got = decoded(data, color_mode=mode)
    expected = Image.open(io.BytesIO(data))
    expected = numpy.asarray(expected if mode is None else expected.convert(mode))
    assert got.shape == shape and got.dtype == dtype
    numpy.testing.assert_array_equal(got, expected.reshape(*shape[1:], -1).transpose(2, 0, 1))


def test_sixteen_bits_become_eight_as_pillow_makes_them():
    data = saved(picture(1, channels=1, dtype="uint16"))
    expected = numpy.asarray(Image.open(io.BytesIO(data)).convert("RGB")).transpose(2, 0, 1)
    numpy.testing.assert_array_equal(decoded(data), expected)


def test_of_an_animation_the_first_frame_is_taken():
    frames = [picture(n).convert("P") for n in range(3)]
    data = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert Image.open(io.BytesIO(data)).n_frames == 3
    numpy.testing.assert_array_equal(decoded(data), decoded(saved(frames[0], "GIF")))


def test_an_image_is_turned_only_when_asked():
    exif = Image.Exif()
    exif[0x0112] = 6
    data = saved(picture(1), "JPEG", exif=exif)
    assert decoded(data).shape == (3, 9, 12)
    turned = decoded(data, apply_orientation=True)
    numpy.testing.assert_array_equal(turned, numpy.rot90(decoded(data), -1, (1, 2)))


@pytest.mark.parametrize("odd", [bytearray(b"x"), memoryview(b"x"), numpy.zeros(4, "uint8"), "x"])
def test_only_bytes_are_decoded(odd):
    step = ImagesFromBytes(examples(KINDS))
    with pytest.raises(TypeError, match="the image of source 'image' must be bytes, got"):
        step.transform_source_example(odd, "image")
    with pytest.raises(TypeError, match="image 1 of the batch of source 'image' must be bytes"):
        step.transform_source_batch([KINDS[0], odd], "image")


@pytest.mark.parametrize("data", [b"", b"nothing", KINDS[0][:40], KINDS[1][:-30]])
def test_a_bad_file_says_which_one_it_is(data):
    step = ImagesFromBytes(batches([KINDS[0], data, KINDS[1]]))
    with pytest.raises(OSError) as error:
        list(step)
    notes = getattr(error.value, "__notes__", [])
    text = "\n".join([str(error.value), *notes])
    assert f"image 1 of the batch of source 'image' ({len(data)} bytes" in text
    assert "replace the file, or leave the example out" in text
    assert isinstance(error.value, UnidentifiedImageError) or "truncated" in text


def test_a_huge_image_is_refused():
    with pytest.raises(Image.DecompressionBombError, match="raise it if the file is to be trusted"):
        decoded(KINDS[0], max_pixels=44)
    assert decoded(KINDS[0], max_pixels=45).shape == (3, 5, 9)


def test_bytes_in_arrays_are_decoded_by_the_recipe():
    arrays = numpy.empty(3, dtype=object)
    arrays[:] = [numpy.frombuffer(data, numpy.uint8) for data in KINDS]
    recipe = rgb_images_from_encoded_bytes(("image",))
    assert [step[0] for step in recipe] == [ToBytes, ImagesFromBytes]
    dataset = IndexableDataset({"image": arrays, "label": [1, 2, 3]})
    dataset.default_transformers = recipe
    stream = DataStream.default_stream(dataset, iteration_scheme=SequentialScheme(3, 3))
    ((images, _),) = list(stream)
    for image, data in zip(images, KINDS, strict=True):
        numpy.testing.assert_array_equal(image, decoded(data))


def test_scaled_decoding_is_asked_for_by_name_and_in_the_fingerprint():
    data = saved(picture(1, 64, 96), "JPEG")
    plain = ImagesFromBytes(examples([data]))
    assert plain._parameters() == {"color_mode": "RGB"}
    if not jpeg.can_scale():
        assert jpeg.backend() == "pillow"
        return
    fast = ImagesFromBytes(examples([data]), scale="fast", minimum_shape=(20, 40))
    assert fast._parameters() == {
        "color_mode": "RGB",
        "scale": "fast",
        "minimum_shape": (20, 40),
    }
    ((image,),) = list(fast)
    assert image.shape == (3, 32, 48)
    state = plain.state_dict()
    with pytest.raises(ValueError):
        fast.load_state_dict(state)


def test_scaled_decoding_is_refused_where_nobody_can(monkeypatch):
    monkeypatch.setattr(_jpeg_batch, "BACKEND", "pillow")
    with pytest.raises(ValueError, match="'compiled' or 'simplejpeg' for JPEG files, got 'pillow'"):
        ImagesFromBytes(examples(KINDS), scale="fast", minimum_shape=(8, 8))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"color_mode": "RGBX2"}, ValueError, "must be a mode of Pillow or None, got 'RGBX2'"),
        ({"color_mode": 3}, ValueError, "must be a mode of Pillow or None, got 3"),
        ({"scale": "slow"}, ValueError, "must be None or 'fast', got 'slow'"),
        ({"scale": "fast"}, ValueError, "must be given together, got 'fast' and None"),
        ({"minimum_shape": (1, 1)}, ValueError, "must be given together"),
        ({"scale": "fast", "minimum_shape": 5}, ValueError, r"must be \(height, width\), got 5"),
        ({"scale": "fast", "minimum_shape": (0, 5)}, ValueError, "must be positive"),
        ({"scale": "fast", "minimum_shape": (1.5, 5)}, TypeError, "must be an integer"),
        ({"max_pixels": 0}, ValueError, "must be positive, got 0"),
        ({"max_pixels": 1e6}, TypeError, "must be an integer"),
    ],
)
def test_bad_arguments_are_refused_when_the_step_is_made(options, error, message):
    with pytest.raises(error, match=message):
        ImagesFromBytes(examples(KINDS), **options)


def test_the_step_is_elementwise_pickles_and_resumes():
    dataset = IndexableDataset({"image": KINDS * 4})
    step = ImagesFromBytes(DataStream(dataset, iteration_scheme=ShuffledScheme(12, 5)))
    assert step.elementwise
    iterator = step.get_epoch_iterator()
    next(iterator)
    copy = pickle.loads(pickle.dumps(iterator))
    for (images,), (others,) in zip(iterator, copy, strict=True):
        for image, other in zip(images, others, strict=True):
            numpy.testing.assert_array_equal(image, other)
