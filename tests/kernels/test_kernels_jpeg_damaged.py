"""Files that are damaged, odd, hostile or no images: each has one outcome, and none is a crash."""

from __future__ import annotations

import importlib.util
import io
import random
import sys
import warnings

import numpy
import pytest
from PIL import Image, UnidentifiedImageError

from fuel.exceptions import ConfigurationError
from fuel.kernels import _jpeg_backends, _jpeg_batch, _select, jpeg

try:
    from fuel.kernels import _jpeg
except ImportError:
    _jpeg = None

BACKENDS = ["pillow"]
BACKENDS += ["compiled"] if _jpeg is not None else []
BACKENDS += ["simplejpeg"] if importlib.util.find_spec("simplejpeg") else []


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    """Every backend that is there, one after the other."""
    monkeypatch.setattr(_jpeg_batch, "BACKEND", request.param)
    monkeypatch.setattr(_jpeg_batch, "MODULE", _jpeg if request.param == "compiled" else None)
    return request.param


def picture(seed, height=40, width=56, mode="RGB"):
    pixels = numpy.random.default_rng(seed).integers(0, 256, (height, width, 3), numpy.uint8)
    return Image.fromarray(pixels).resize((width, height)).convert(mode)


def saved(image, kind="JPEG", **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def told(error):
    """All that an exception says: on Python 3.10 a note is part of its message."""
    return "\n".join([str(error.value), *getattr(error.value, "__notes__", [])])


def whole(data, **options):
    return jpeg.decode_many([data], **options)[0]


def window(data, **options):
    return jpeg.decode_windows([data], ([0], [0]), (8, 8), **options)[0]


@pytest.mark.parametrize("decode", [whole, window])
@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"\xff\xd8", b"no image at all", b"\xff\xd8\xff\xd9", bytes(100)]
)
def test_what_is_no_image_is_called_so(backend, decode, data):
    with pytest.raises(UnidentifiedImageError) as error:
        decode(data)
    assert f"({len(data)} bytes, beginning with {data[:8]!r})" in told(error)


@pytest.mark.parametrize("decode", [whole, window])
@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_rows": 1}])
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_truncated_file_is_an_error_wherever_it_ends(backend, decode, kind, options):
    data = saved(picture(0), kind, **(options if kind == "JPEG" else {}))
    for size in (len(data) - 2, len(data) - 30, len(data) * 2 // 3, len(data) // 3):
        if kind == "PNG" and size > len(data) - 30:
            continue  # all pixels are there
        with pytest.raises(OSError) as error:
            decode(data[:size])
        assert "truncated" in told(error) or "cannot identify" in told(error)
        assert "replace the file, or leave the example out" in told(error)


def test_a_program_may_accept_truncated_files(backend, monkeypatch):
    from PIL import ImageFile

    data = saved(picture(0))[:-40]
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    expected = numpy.asarray(Image.open(io.BytesIO(data))).transpose(2, 0, 1)
    numpy.testing.assert_array_equal(whole(data), expected)
    numpy.testing.assert_array_equal(window(data), expected[:, :8, :8])


@pytest.mark.parametrize("decode", [whole, window])
def test_made_up_pixels_are_an_error_where_the_backend_tells(backend, decode):
    data = saved(picture(1, 8, 200), quality=95)
    start = data.index(b"\xff\xda") + 40
    data = data[:start] + data[start + 200 :]  # the blocks run out before the end
    if backend == "pillow":
        assert decode(data).ndim == 3  # it hands out what libjpeg made up
        return
    with pytest.raises(OSError, match="the JPEG file is corrupt: ") as error:
        decode(data)
    assert "the image (" in told(error)


def test_bytes_behind_the_end_harm_nothing(backend):
    data = saved(picture(2))
    numpy.testing.assert_array_equal(whole(data + b"\0" * 9 + data), whole(data))
    numpy.testing.assert_array_equal(window(data + b"\0" * 9 + data), window(data))


def test_one_file_leaves_nothing_behind_for_the_next(backend):
    """Without tables of its own a file is not decoded with those of the one before it."""
    data = saved(picture(3), quality=30)
    start = data.index(b"\xff\xdb")
    length = data[start + 2] << 8 | data[start + 3]
    bare = data[:start] + data[start + 2 + length :]
    with pytest.raises(OSError):
        jpeg.decode_many([data, bare])


def test_passes_without_end_are_refused(monkeypatch):
    if _jpeg is None:
        assert jpeg.backend() != "compiled"
        return
    monkeypatch.setattr(_jpeg_batch, "BACKEND", "compiled")  # whichever kernels are tested
    monkeypatch.setattr(_jpeg_batch, "MODULE", _jpeg)
    data = saved(picture(4, 16, 16), progressive=True)
    first = data.index(b"\xff\xda")
    second = data.index(b"\xff\xc4", first)  # the tables of the second scan
    bomb = data[:first] + data[first:second] * 600 + data[second:]
    with pytest.raises(OSError, match="more than 500 scans"):
        whole(bomb)


def test_absurd_sizes_are_refused_before_memory_is_taken(backend, monkeypatch):
    data = bytearray(saved(picture(5)))
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = b"\xff\xff\xff\xff"
    for decode in (whole, window):
        with pytest.raises(Image.DecompressionBombError):
            decode(bytes(data))


def test_the_limit_of_pixels_can_be_set(backend):
    files = [saved(picture(6), kind) for kind in ("JPEG", "PNG")]
    for data in files:
        assert whole(data, max_pixels=40 * 56).shape == (3, 40, 56)
        for decode in (whole, window):
            with pytest.raises(Image.DecompressionBombError, match="40 = 2240 pixels, more than"):
                decode(data, max_pixels=40 * 56 - 1)
        with pytest.raises(Image.DecompressionBombError):
            jpeg.sizes([data], max_pixels=9)


def test_pillows_own_limit_is_heeded(backend, monkeypatch):
    data = saved(picture(6))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2000)
    with pytest.warns(Image.DecompressionBombWarning):
        assert whole(data).shape == (3, 40, 56)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 900)
    with pytest.raises(Image.DecompressionBombError):
        whole(data)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert whole(data).shape == (3, 40, 56)


def test_the_error_says_which_image_of_which_source(backend):
    data = saved(picture(7))
    with pytest.raises(OSError) as error:
        jpeg.decode_many([data, data, data[:-50], b""], name="photo")
    assert "image 2 of the batch of source 'photo'" in told(error)
    with pytest.raises(OSError) as error:
        jpeg.decode_windows([data, b"", data[:-50]], ([0] * 3, [0] * 3), (4, 4))
    assert "image 1 of the batch (" in told(error)
    with pytest.raises(OSError) as error:
        jpeg.sizes([data, b"GIF89a"], name="photo")
    assert "image 1 of the batch of source 'photo'" in told(error)


@pytest.mark.parametrize("odd", [bytearray(b"x"), memoryview(b"x"), numpy.zeros(4, "u1"), "x", 3])
def test_anything_but_bytes_is_refused(backend, odd):
    message = f"image 1 of the batch must be bytes, got {type(odd).__name__}; convert it"
    for function in (jpeg.decode_many, jpeg.sizes):
        with pytest.raises(TypeError, match=message):
            function([b"", odd])


def test_bad_places_and_outputs_are_refused(backend):
    for data in (saved(picture(8)), saved(picture(8), "PNG")):
        for place in ([33], [0]), ([-1], [0]), ([0], [49]), ([0], [-1]), ([2**62], [0]):
            with pytest.raises(ValueError, match="lies inside the image"):
                jpeg.decode_windows([data], place, (8, 8))
        for places in ([0, 0], [0]), ([0.0], [0]), ([[0]], [0]):
            with pytest.raises(ValueError, match="give one for each image"):
                jpeg.decode_windows([data], places, (8, 8))
        with pytest.raises(ValueError, match="give one for each image"):
            jpeg.decode_windows([data], ([0], [0]), (8, 8), flips=[1])
        with pytest.raises(ValueError, match="two positive integers"):
            jpeg.decode_windows([data], ([0], [0]), (0, 8))
        for out in (numpy.zeros((1, 8, 8, 3), "u1"), numpy.zeros((1, 3, 8, 8), "i1")):
            with pytest.raises(ValueError, match="leave it out for a new one"):
                jpeg.decode_windows([data], ([0], [0]), (8, 8), out=out)
        fixed = numpy.zeros((1, 3, 8, 8), "u1")
        fixed.flags.writeable = False
        with pytest.raises(ValueError, match="must be writable"):
            jpeg.decode_windows([data], ([0], [0]), (8, 8), out=fixed)
        for options in ({"layout": "HW"}, {"color_mode": "P"}):
            with pytest.raises(ValueError, match="decode whole images for others"):
                jpeg.decode_windows([data], ([0], [0]), (8, 8), **options)


def test_mutated_files_give_pillows_pixels_or_an_error(backend):
    """Where Pillow has pixels, so have the others, and the same, or they say that it is corrupt."""
    chance = random.Random(1)
    options = [{}, {"progressive": True}, {"restart_marker_rows": 1}, {"subsampling": 0}]
    files = [saved(picture(9, 24, 40), quality=60, **kind) for kind in options]
    outcomes = set()
    for _ in range(400):
        data = bytearray(chance.choice(files))
        for _ in range(chance.choice([1, 1, 2, 9])):
            data[chance.randrange(len(data))] = chance.choice([0, 255, chance.randrange(256)])
        data = bytes(data[: chance.choice([len(data), chance.randrange(len(data))])])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                image = Image.open(io.BytesIO(data))
                if image.width * image.height > 1 << 20:
                    continue
                expected = numpy.asarray(image.convert("RGB")).transpose(2, 0, 1)
            except Exception as error:
                expected = type(error)
            try:
                got = whole(data, max_pixels=1 << 20)
            except Exception as error:
                assert type(error) is expected or "is corrupt" in str(error)
                outcomes.add("refused")
                continue
            numpy.testing.assert_array_equal(got, expected)
            outcomes.add("decoded")
            if min(got.shape[1:]) >= 8:
                numpy.testing.assert_array_equal(window(data), got[:, :8, :8])
    assert outcomes == {"refused", "decoded"}


def choose(monkeypatch, **variables):
    monkeypatch.setattr(_select, "_active", {})
    for name in ("FUEL_JPEG", "FUEL_KERNELS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return _jpeg_backends.choose()[0], _select.active()


def test_the_setting_chooses_and_the_first_that_is_there_is_the_default(monkeypatch):
    preferred = [name for name in _jpeg_backends.NAMES if name in BACKENDS]
    assert choose(monkeypatch)[0] == preferred[0]
    assert choose(monkeypatch, FUEL_JPEG=" Pillow ") == ("pillow", {"jpeg": "pillow"})
    assert choose(monkeypatch, FUEL_KERNELS="reference")[0] != "compiled"
    monkeypatch.setitem(sys.modules, "fuel.kernels._jpeg", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "simplejpeg")
    assert choose(monkeypatch)[0] == "simplejpeg"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert choose(monkeypatch)[0] == "pillow"


def test_a_wrong_setting_says_what_to_do(monkeypatch):
    with pytest.raises(ConfigurationError, match="must be 'compiled', 'simplejpeg' or 'pillow', g"):
        choose(monkeypatch, FUEL_JPEG="turbo")
    monkeypatch.setitem(sys.modules, "fuel.kernels._jpeg", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match="apt install .*dnf install .*brew .*vcpkg"):
        choose(monkeypatch, FUEL_JPEG="compiled")
    with pytest.raises(ConfigurationError, match=r"no package 'simplejpeg'; install fuel\[jpeg"):
        choose(monkeypatch, FUEL_JPEG="simplejpeg")
