"""Decoding: a window has the pixels of the whole image, and that has those of Pillow."""

from __future__ import annotations

import importlib.util
import io

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fuel.kernels import _jpeg_batch, _jpeg_reference, jpeg, threads

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


def picture(seed, height, width, mode="RGB"):
    """An image with edges, gradients and noise, in which no two windows are alike."""
    rng = numpy.random.default_rng(seed)
    coarse = rng.integers(0, 256, (height // 7 + 2, width // 7 + 2, 3), dtype=numpy.uint8)
    soft = numpy.asarray(Image.fromarray(coarse).resize((width, height), 3), numpy.int16)
    noisy = soft + rng.integers(-25, 26, (height, width, 3))
    return Image.fromarray(numpy.clip(noisy, 0, 255).astype(numpy.uint8)).convert(mode)


def saved(image, kind="JPEG", **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def pillow(data, mode="RGB"):
    image = Image.open(io.BytesIO(data))
    array = numpy.asarray(image if mode is None else image.convert(mode))
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)


def resampled(data, factors):
    """Claim other sampling factors of luma than the file was written with.

    The blocks of a picture do not change when a unit of two blocks side by side is called one of
    two blocks on top of each other. So come the kinds that Pillow does not write: 4:4:0 and 4:1:1.
    """
    frame = next(place for place in range(len(data)) if data[place : place + 2] == b"\xff\xc0")
    height = data[frame + 5] << 8 | data[frame + 6]
    width = data[frame + 7] << 8 | data[frame + 8]
    before = data[frame + 11]
    across, down = -(-width // (8 * (before >> 4))), -(-height // (8 * (before & 15)))
    across, down = across * down, 1
    for rows in (4, 3, 2):
        if across % rows == 0:
            across, down = across // rows, rows
            break
    width, height = across * 8 * (factors >> 4) - 3, down * 8 * (factors & 15) - 3
    changed = bytearray(data)
    changed[frame + 5 : frame + 9] = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    changed[frame + 11] = factors
    return bytes(changed)


sides = st.one_of(st.integers(1, 40), st.integers(1, 120))


@st.composite
def files(draw):
    """JPEG files of every sampling, size and kind that the backends take."""
    height, width = draw(sides), draw(sides)
    mode = draw(st.sampled_from(["RGB", "RGB", "RGB", "L"]))
    sampling = draw(st.sampled_from(["4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1", "1:4"]))
    other = {"4:4:0": ("4:2:2", 0x12), "4:1:1": ("4:2:0", 0x41), "1:4": ("4:2:0", 0x14)}
    other = {} if mode == "L" else other
    options = {"quality": draw(st.sampled_from([5, 60, 90, 98]))}
    options.update(draw(st.sampled_from([{}, {}, {"optimize": True}])))
    options.update(
        draw(st.sampled_from([{}, {}, {"restart_marker_rows": 1}, {"restart_marker_blocks": 3}]))
    )
    if sampling not in other and draw(st.booleans()):
        options["progressive"] = True
    written, factors = other.get(sampling, (sampling, None))
    if mode == "L":
        written = "4:4:4"
    data = saved(
        picture(draw(st.integers(0, 99)), height, width, mode), subsampling=written, **options
    )
    return data if factors is None else resampled(data, factors)


@pytest.mark.parametrize("backend_name", [name for name in BACKENDS if name != "pillow"])
@settings(max_examples=120, deadline=None)
@given(data=files(), draw=st.data())
def test_whole_images_and_windows_equal_pillow(backend_name, data, draw):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_jpeg_batch, "BACKEND", backend_name)
        patch.setattr(_jpeg_batch, "MODULE", _jpeg if backend_name == "compiled" else None)
        expected = pillow(data)
        (image,) = jpeg.decode_many([data])
        numpy.testing.assert_array_equal(image, expected)
        height, width = expected.shape[1:]
        assert jpeg.sizes([data]).tolist() == [[height, width]]
        for _ in range(6):
            rows, columns = draw.draw(st.integers(1, height)), draw.draw(st.integers(1, width))
            top = draw.draw(st.sampled_from([0, (height - rows) // 2, height - rows]))
            left = draw.draw(st.integers(0, width - columns))
            flip = draw.draw(st.booleans())
            layout = draw.draw(st.sampled_from(["CHW", "HWC"]))
            window = expected[:, top : top + rows, left : left + columns]
            window = window[:, :, ::-1] if flip else window
            window = window if layout == "CHW" else window.transpose(1, 2, 0)
            got = jpeg.decode_windows([data], ([top], [left]), (rows, columns), [flip], layout)
            numpy.testing.assert_array_equal(got[0], window)


def batch():
    """Files of several kinds and formats, all at least 30 x 34."""
    made = []
    for number in range(22):
        image = picture(number, 30 + number, 90 - number, ["RGB", "RGB", "L"][number % 3])
        kind = ["JPEG", "JPEG", "JPEG", "JPEG", "PNG", "BMP", "TIFF"][number % 7]
        if number == 9:
            made.append(saved(image.convert("CMYK")))
        elif number == 10:
            made.append(saved(image.convert("P"), "GIF"))
        else:
            made.append(saved(image, kind, **({"progressive": True} if number % 4 == 1 else {})))
    return made


@pytest.mark.parametrize("mode", ["RGB", "L", None, "RGBA", "CMYK", "P", "1"])
def test_many_images_of_many_kinds_come_in_order(backend, mode):
    files = batch()
    for got, data in zip(jpeg.decode_many(files, mode, threads=3), files, strict=True):
        expected = pillow(data, mode)
        assert got.dtype == expected.dtype and got.flags.c_contiguous and got.flags.writeable
        numpy.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("layout", ["CHW", "HWC"])
def test_windows_of_many_kinds_go_into_one_batch(backend, mode, layout):
    files = batch()
    sizes = jpeg.sizes(files)
    assert [tuple(size) for size in sizes] == [pillow(data).shape[1:] for data in files]
    rng = numpy.random.default_rng(3)
    tops, lefts = (rng.integers(0, sizes[:, axis] - side + 1) for axis, side in ((0, 30), (1, 34)))
    flips = rng.random(len(files)) < 0.5
    shape = (22, 3 if mode == "RGB" else 1, 30, 34)
    shape = shape if layout == "CHW" else (shape[0], 30, 34, shape[1])
    out = numpy.zeros(shape, numpy.uint8)
    got = jpeg.decode_windows(files, (tops, lefts), (30, 34), flips, layout, out, color_mode=mode)
    assert got is out
    for window, top, left, flip, image in zip(
        got, tops, lefts, flips, jpeg.decode_many(files, mode), strict=True
    ):
        expected = image[:, top : top + 30, left : left + 34]
        expected = expected[:, :, ::-1] if flip else expected
        numpy.testing.assert_array_equal(
            window, expected if layout == "CHW" else expected.transpose(1, 2, 0)
        )


def test_the_number_of_threads_changes_nothing(backend, monkeypatch):
    files = batch() * 3
    alone = jpeg.decode_many(files, threads=1)
    monkeypatch.setattr(threads, "_chosen", 4)
    for got, expected in zip(jpeg.decode_many(files, threads=4), alone, strict=True):
        numpy.testing.assert_array_equal(got, expected)


def test_no_images_are_no_arrays(backend):
    assert jpeg.decode_many([]) == []
    assert jpeg.sizes([]).shape == (0, 2)
    assert jpeg.decode_windows([], ([], []), (2, 3)).shape == (0, 3, 2, 3)


def test_arrays_do_not_share_memory(backend):
    data = saved(picture(0, 16, 16))
    one, two = jpeg.decode_many([data, data])
    one[...] = 0
    numpy.testing.assert_array_equal(two, pillow(data))


@pytest.mark.parametrize("code", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_exif_turns_images_only_when_asked(backend, code, kind):
    from PIL import ImageOps

    exif = Image.Exif()
    exif[0x0112] = code
    data = saved(picture(1, 21, 34), kind, exif=exif)
    numpy.testing.assert_array_equal(jpeg.decode_many([data])[0], pillow(data))
    (got,) = jpeg.decode_many([data], apply_orientation=True)
    turned = numpy.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB"))
    numpy.testing.assert_array_equal(got, turned.transpose(2, 0, 1))


@settings(max_examples=60, deadline=None)
@given(
    height=st.integers(1, 200), width=st.integers(1, 200), rows=st.integers(1, 220), columns=sides
)
def test_a_scaled_image_is_the_smallest_that_covers_the_minimum(height, width, rows, columns):
    if not jpeg.can_scale():
        assert jpeg.backend() == "pillow"
        return
    data = saved(picture(2, height, width))
    (image,) = jpeg.decode_many([data], minimum_shape=(rows, columns))
    possible = [(-(-height * part // 8), -(-width * part // 8)) for part in range(1, 9)]
    fitting = [size for size in possible if size[0] >= rows and size[1] >= columns]
    assert image.shape == (3, *(fitting or possible[-1:])[0])
    if image.shape[1:] == (height, width):
        numpy.testing.assert_array_equal(image, pillow(data))


def test_scaled_images_look_like_resized_ones(backend):
    if backend == "pillow":
        with pytest.raises(ValueError, match=r"needs a backend .*got 'pillow'; install fuel\[jpeg"):
            jpeg.decode_many([], minimum_shape=(1, 1))
        return
    soft = picture(2, 16, 24).resize((240, 160), 3)
    (image,) = jpeg.decode_many([saved(soft, quality=95)], minimum_shape=(60, 90))
    assert image.shape == (3, 60, 90)
    small = numpy.asarray(soft.resize((90, 60), Image.Resampling.BOX)).transpose(2, 0, 1)
    assert numpy.abs(image.astype(int) - small).mean() < 2
    png = saved(soft, "PNG")
    assert jpeg.decode_many([png], minimum_shape=(60, 90))[0].shape == (3, 160, 240)


def test_a_minimum_is_that_of_the_turned_image(backend):
    if backend == "pillow":
        return
    exif = Image.Exif()
    exif[0x0112] = 6
    data = saved(picture(1, 80, 160), exif=exif)
    (image,) = jpeg.decode_many([data], minimum_shape=(80, 40), apply_orientation=True)
    assert image.shape == (3, 80, 40)


@pytest.mark.skipif(_jpeg is None, reason="built without the headers of libjpeg-turbo")
@settings(max_examples=200, deadline=None)
@given(data=files(), change=st.integers(0, 255), place=st.integers(0, 700), cut=st.booleans())
def test_the_two_readers_of_headers_agree(data, change, place, cut):
    changed = bytearray(data)
    changed[place % len(data)] = change
    data = bytes(changed[: place % len(data)] if cut else changed)
    compiled, plain = numpy.zeros((2, 1, 4), numpy.int64)
    _jpeg.frames((data,), compiled)
    _jpeg_reference.frames((data,), plain)
    assert compiled.tolist() == plain.tolist()
