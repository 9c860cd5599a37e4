"""Files that come from elsewhere than from Pillow's own writer, and the odd ends of the formats."""

from __future__ import annotations

import base64
import importlib.util
import io

import numpy
import pytest
from PIL import Image, ImageOps

from fuel.kernels import _jpeg_batch, jpeg

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


def picture(seed, height=9, width=14, mode="RGB"):
    pixels = numpy.random.default_rng(seed).integers(0, 256, (height, width, 3), numpy.uint8)
    return Image.fromarray(pixels).convert(mode)


def saved(image, kind="JPEG", **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def planes(image):
    array = numpy.asarray(image)
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)


@pytest.mark.parametrize("kind", ["JPEG", "TIFF", "PNG", "WEBP", "MPO"])
@pytest.mark.parametrize("code", [1, 2, 3, 4, 5, 6, 7, 8])
def test_an_image_is_turned_once_whatever_its_format(backend, kind, code):
    """Pillow turns TIFF files by itself when it decodes them; they are not turned again."""
    exif = Image.Exif()
    exif[0x0112] = code
    data = saved(picture(code), kind, exif=exif)
    expected = planes(ImageOps.exif_transpose(Image.open(io.BytesIO(data))))
    (got,) = jpeg.decode_many([data], apply_orientation=True)
    numpy.testing.assert_array_equal(got, expected)
    assert got.shape == ((3, 9, 14) if code < 5 else (3, 14, 9))
    with Image.open(io.BytesIO(data)) as image:
        numpy.testing.assert_array_equal(jpeg.decode_many([data])[0], planes(image))


def test_formats_that_are_only_known_by_name_are_errors_of_theirs(backend):
    """Pillow knows GRIB files when it sees them, and cannot read them."""

    def windows(files):
        return jpeg.decode_windows(files, ([0], [0]), (1, 1))

    data = b"GRIB" + b"\0" * 3 + b"\1" + b"\0" * 50
    for decode in (jpeg.decode_many, windows):
        with pytest.raises(OSError, match="cannot find loader for this GRIB file"):
            decode([data])


#: RGB of 9 x 6 pixels in three scans: green has a quarter of the columns of red, blue the half.
UNEVEN = base64.b64decode(
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwANCQoLCggNCwoLDg4NDxMgFRMSEhMnHB4XIC4pMTAuKS0sMzpKPjM2RjcsLU"
    "BXQUZMTlJTUjI+WmFaUGBKUVJP/8AAEQgABgAJA1JCAEcRAEIhAP/EABQAAQAAAAAAAAAAAAAAAAAAAAX/xAAhEAAC"
    "AQMDBQAAAAAAAAAAAAABAwIABAYFFTFVgZGU0f/aAAgBUgAAPwBtGN6Lbui1VgDKPAY2bI9xIkHxRW/450aHqr+1/8"
    "QAFAABAAAAAAAAAAAAAAAAAAAABP/EABwQAAICAgMAAAAAAAAAAAAAAAEDAgQAERNBYf/aAAgBRwAAPwAlAzbTXNjW"
    "mR3s8kh2fc//xAAUAAEAAAAAAAAAAAAAAAAAAAAB/8QAHBABAQACAgMAAAAAAAAAAAAAAQIDEQAFIVFx/9oACAFCAA"
    "A/AHpbvMZi7rQiE0yed+vnP//Z"
)


def test_narrow_windows_of_unevenly_sampled_channels(backend):
    """Where a channel has one column left, libjpeg interpolates the others in another way."""
    expected = planes(Image.open(io.BytesIO(UNEVEN)))
    assert expected.shape == (3, 6, 9)
    for left in range(9):
        for columns in range(1, 10 - left):
            (got,) = jpeg.decode_windows([UNEVEN], ([0], [left]), (6, columns))
            numpy.testing.assert_array_equal(got, expected[:, :, left : left + columns])


@pytest.mark.parametrize("size", [(1, 7), (7, 2), (3, 3), (1, 1)])
def test_an_image_of_a_few_pixels_is_not_scaled_to_its_own_size(backend, size):
    """Seven eighths of seven pixels are seven pixels, but not these."""
    data = saved(picture(4, *size))
    if not jpeg.can_scale():
        with pytest.raises(ValueError, match="a backend that decodes JPEG files to a smaller size"):
            jpeg.decode_many([data], minimum_shape=size)
        return
    (got,) = jpeg.decode_many([data], minimum_shape=size)
    numpy.testing.assert_array_equal(got, jpeg.decode_many([data])[0])
