"""Which decoder of JPEG files is used: our extension, the package simplejpeg, or Pillow.

In this module: `choose`, which reads the environment variable ``FUEL_JPEG``, and the way of each
of the two fast decoders (`compiled`, `simplejpeg`) over some images of a batch. Both leave to
Pillow what they cannot take, or what fails, so that it is Pillow that says what is wrong.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import ConfigurationError
from fuel.kernels import _jpeg_pillow, _select, threads

__all__ = ["CORRUPT", "NAMES", "choose", "compiled", "simplejpeg"]

_SETTING = "FUEL_JPEG"
#: In the order of preference.
NAMES = ("compiled", "simplejpeg", "pillow")
_log = logging.getLogger(__name__)

#: How messages about damaged files begin.
CORRUPT = "the JPEG file is corrupt"

# Measured with two threads: below some 30 kB of files, handing out the work costs what it saves.
_WORTH_THREADS = 30_000

_DONE, _DAMAGED, _SCANS = 0, 3, 4  # of the codes in `_jpeg.h`

_HEADERS = (
    "install the headers of libjpeg-turbo 2.1 or newer and build the package again (Debian, "
    "Ubuntu: apt install libjpeg-turbo8-dev or libjpeg62-turbo-dev; Fedora: dnf install "
    "libjpeg-turbo-devel; macOS: brew install jpeg-turbo; Windows: vcpkg install libjpeg-turbo)"
)


def choose() -> tuple[str, Any]:
    """Return the name of the backend to use, and its module where there is one to import.

    Returns
    -------
    name : str
        One of `NAMES`.
    module : module or None
        ``fuel.kernels._jpeg`` for ``"compiled"``.

    Raises
    ------
    ConfigurationError
        If ``FUEL_JPEG`` names no backend, or one that is missing.

    """
    wanted = os.environ.get(_SETTING, "").strip().lower()
    if wanted not in ("", *NAMES):
        raise ConfigurationError(
            f"{_SETTING} must be 'compiled', 'simplejpeg' or 'pillow', got {wanted!r}; unset it "
            "to use the fastest there is"
        )
    name, module = _find(wanted)
    _select._active["jpeg"] = name
    return name, module


def _find(wanted: str) -> tuple[str, Any]:
    plain = os.environ.get("FUEL_KERNELS", "").strip().lower() == "reference"
    if wanted == "compiled" or not (wanted or plain):
        try:
            return "compiled", importlib.import_module("fuel.kernels._jpeg")
        except ImportError as err:
            if wanted:
                raise ConfigurationError(
                    f"{_SETTING}=compiled, but the extension that decodes JPEG files cannot be "
                    f"imported ({err}); {_HEADERS}, or unset {_SETTING}"
                ) from err
            _log.info("the extension that decodes JPEG files is missing (%s); %s", err, _HEADERS)
    if wanted in ("", "simplejpeg"):
        if importlib.util.find_spec("simplejpeg") is not None:
            return "simplejpeg", None
        if wanted:
            raise ConfigurationError(
                f"{_SETTING}=simplejpeg, but there is no package 'simplejpeg'; install "
                f"fuel[jpeg], or unset {_SETTING}"
            )
    return "pillow", None


def compiled(
    module: Any,
    images: tuple[bytes, ...],
    plan: NDArray[Any],
    targets: NDArray[Any],
    limit: int | None,
) -> list[bool | OSError]:
    """Decode images with our extension, in threads, without the interpreter's lock.

    Parameters
    ----------
    module : module
        ``fuel.kernels._jpeg``.
    images : tuple of bytes
        The files.
    plan : numpy.ndarray, shape (n, 10), dtype int64
        A line an image, as ``fuel_jpeg_place`` in ``_jpeg.h``.
    targets : numpy.ndarray, shape (n,), dtype int64
        The addresses to write to.
    limit : int or None
        How many threads to use; None for the limit of `fuel.kernels.threads`.

    Returns
    -------
    list
        For each image True if it was decoded, False if it is left to Pillow, an error if it is
        corrupt.

    """
    count = len(images)
    codes = numpy.zeros(count, numpy.intc)
    texts = numpy.zeros((count, module.TEXT), numpy.int8)
    # The threads take image after image by themselves: a job an image would wait for the
    # interpreter's lock before each, and jobs of several end at different times.
    job = (images, plan, targets, codes, texts, numpy.zeros(1, numpy.int64))
    threads.run(module.decode, [job] * _worth(images, limit), limit)
    if not codes.any():
        return [True] * count
    return [
        _outcome(code, text.tobytes().partition(b"\0")[0].decode("latin-1"))
        for code, text in zip(codes.tolist(), texts, strict=True)
    ]


def _worth(images: tuple[bytes, ...], limit: int | None) -> int:
    """Return how many threads some images are worth."""
    if sum(map(len, images)) < _WORTH_THREADS:
        return 1
    return min(len(images), threads.limit() if limit is None else limit)


def _outcome(code: int, text: str) -> bool | OSError:
    if code == _SCANS:
        return OSError(f"{CORRUPT}: it has more than 500 scans, as no encoder writes")
    if code == _DAMAGED and not _jpeg_pillow.forgives():
        return OSError(f"{CORRUPT}: {text.removeprefix('Corrupt JPEG data: ')}")
    return code == _DONE


def simplejpeg(data: bytes, channels: int, minimum: tuple[int, int] | None) -> NDArray[Any] | None:
    """Decode one image with simplejpeg.

    Parameters
    ----------
    data : bytes
        The file.
    channels : int
        1 or 3.
    minimum : tuple of int or None
        (height, width) that a scaled image must cover; None for the full size.

    Returns
    -------
    numpy.ndarray or None
        The image (height, width, channels); None if it is left to Pillow.

    Raises
    ------
    OSError
        If it is corrupt.

    """
    decoder = importlib.import_module("simplejpeg")
    scale = {}
    if minimum is not None:
        scale = {"min_height": minimum[0], "min_width": minimum[1], "min_factor": 1}
    try:
        pixels: NDArray[Any] = decoder.decode_jpeg(
            data, "RGB" if channels == 3 else "GRAY", **scale
        )
    except ValueError as err:
        # It raises where libjpeg warns, of harmless things and of an early end as well.
        text = str(err)
        made_up = ("bad Huffman", "premature end of data segment", "instead of RST")
        if any(part in text for part in made_up) and not _jpeg_pillow.forgives():
            raise OSError(f"{CORRUPT}: {text.removeprefix('Corrupt JPEG data: ')}") from err
        return None
    return pixels.reshape(pixels.shape[0], pixels.shape[1], channels)
