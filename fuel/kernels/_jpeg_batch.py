"""The work behind `fuel.kernels.jpeg`: one batch of files, in parts that threads take.

In this module: `Batch`, which reads the headers, gives each file to the backend or to Pillow, and
tells errors which file they are about; and `BACKEND`, the backend that was chosen when this module
was imported. Not here: how one image is decoded (`_jpeg.pyx`, `_jpeg_backends`, `_jpeg_pillow`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from fuel.kernels import _jpeg_backends, _jpeg_pillow, _jpeg_reference, threads
from fuel.kernels.memory import empty

__all__ = ["BACKEND", "MODULE", "Batch"]

#: The backend, and the extension where that is it.
BACKEND, MODULE = _jpeg_backends.choose()

#: Jobs a thread: enough that a large image at the end does not leave the other threads idle.
_JOBS = 4
# Measured with two threads: below some 30 kB of files, handing out the work costs what it saves.
_WORTH_THREADS = 30_000


class Batch:
    """Files to decode, what their headers say, and what is wanted of them."""

    minimum: tuple[int, int] | None = None
    turn = False
    shape = (0, 0)
    out: NDArray[Any]
    layout: str
    tops: NDArray[Any]
    lefts: NDArray[Any]
    flips: NDArray[Any]

    def __init__(
        self, images: Sequence[bytes], color_mode: str | None, max_pixels: int | None, name: str
    ) -> None:
        self.images = tuple(images)
        self.color_mode, self.max_pixels, self.name = color_mode, max_pixels, name
        for number, data in enumerate(self.images):
            if not isinstance(data, bytes):
                raise TypeError(
                    f"{self._which(number)} must be bytes, got {type(data).__name__}; convert it, "
                    "for example with bytes(), or put ToBytes below"
                )
        # (width, height, components, whether there may be Exif), zeros for what Pillow takes.
        self.found = numpy.zeros((len(self.images), 4), numpy.int64)
        (_jpeg_reference if MODULE is None else MODULE).frames(self.images, self.found)
        pixels = self.found[:, 0] * self.found[:, 1]
        limit = _jpeg_pillow.pixel_limit() if max_pixels is None else max_pixels
        # Pillow warns of large images, or refuses them.
        self.usual = (pixels > 0) & (pixels <= limit)
        self.fast = self.usual & (BACKEND != "pillow")
        if color_mode == "L":
            self.fast &= self.found[:, 2] == 1  # of colours Pillow makes another grey than libjpeg
        elif color_mode not in (None, "RGB"):
            self.fast[:] = False

    def _which(self, number: int) -> str:
        return f"image {number} of the batch" + (f" of source {self.name!r}" if self.name else "")

    def told(self, number: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function for one image, and let its error say for which one."""
        try:
            return function(*arguments)
        except Exception as error:
            data = self.images[number]
            note = (
                f"{self._which(number)} ({len(data)} bytes, beginning with {data[:8]!r}) could "
                "not be decoded; replace the file, or leave the example out"
            )
            if hasattr(error, "add_note"):  # from Python 3.11 on
                error.add_note(note)
                raise
            try:
                again = type(error)(f"{error}; {note}")
            except Exception:  # an exception that is not made of a message
                raise error from None
            raise again from error

    def run(self, function: Callable[[int, int], Any], limit: int | None) -> list[Any]:
        """Call a function for parts of the batch, each given by its first and its last place."""
        count = len(self.images)
        parts = _JOBS * (threads.limit() if limit is None else limit)
        if parts == _JOBS or sum(map(len, self.images)) < _WORTH_THREADS:
            return [function(0, count)]
        edges = sorted({count * part // parts for part in range(parts + 1)})
        return threads.run(function, list(itertools.pairwise(edges)), limit)

    # -- whole images ---------------------------------------------------------------------------

    def whole(self, start: int, stop: int) -> list[NDArray[Any]]:
        """Decode the images from one place to another."""
        turns = {place: self._turn(place) for place in range(start, stop)} if self.turn else {}
        chosen = [place for place in range(start, stop) if self.fast[place]]
        plan = numpy.zeros((len(chosen), 10), numpy.int64)
        plan[:, :2] = self.found[chosen, :2]
        plan[:, 6] = 3 if self.color_mode == "RGB" else self.found[chosen, 2]
        plan[:, 7] = 1
        plan[:, 9] = 8
        if self.minimum is not None:
            for line, place in zip(plan, chosen, strict=True):
                line[9] = self._eighths(line[0], line[1], turns.get(place, 1))
            plan[:, :2] = -(-plan[:, :2] * plan[:, 9:] // 8)
        plan[:, 4:6] = plan[:, 1::-1]
        done = dict(zip(chosen, self._fast(chosen, plan), strict=True))
        arrays = []
        for place in range(start, stop):
            array = done.get(place)
            if array is None:
                array = self.told(place, self._slow, place)
            else:
                array = _jpeg_pillow.turned(array, turns.get(place, 1))
            arrays.append(array)
        return arrays

    def _fast(self, chosen: list[int], plan: NDArray[Any]) -> list[NDArray[Any] | None]:
        """Decode images with the backend; None where it is left to Pillow."""
        images = tuple(self.images[place] for place in chosen)
        arrays = [empty(shape, numpy.uint8) for shape in plan[:, [6, 1, 0]].tolist()]
        outcomes: list[Any]
        if BACKEND == "compiled":
            targets = numpy.array([array.ctypes.data for array in arrays], numpy.int64)
            outcomes = _jpeg_backends.compiled(MODULE, images, plan, targets)
        else:
            outcomes = []
            for data, line, array in zip(images, plan, arrays, strict=True):
                # Where no smaller size will do, it would choose another than the full one.
                smallest = None if line[9] == 8 else (int(line[1]), int(line[0]))
                pixels = _jpeg_backends.simplejpeg(data, int(line[6]), smallest)
                if isinstance(pixels, numpy.ndarray):
                    array[...] = pixels.transpose(2, 0, 1)
                    pixels = True
                outcomes.append(pixels)
        for place, outcome in zip(chosen, outcomes, strict=True):
            self._judge(place, outcome)
        return [array if outcome else None for array, outcome in zip(arrays, outcomes, strict=True)]

    def _judge(self, place: int, outcome: bool | OSError) -> None:
        if isinstance(outcome, OSError):
            self.told(place, _raise, outcome)

    def _slow(self, place: int) -> NDArray[Any]:
        return _jpeg_pillow.whole(
            self.images[place], self.color_mode, self.max_pixels, turn=self.turn
        )

    def _turn(self, place: int) -> int:
        """Return how an image is to be turned that Pillow does not decode."""
        if not (self.fast[place] and self.found[place, 3]):
            return 1
        return int(self.told(place, _jpeg_pillow.orientation, self.images[place]))

    def _eighths(self, width: int, height: int, turn: int) -> int:
        rows, columns = self.minimum or (0, 0)
        if turn >= 5:
            rows, columns = columns, rows
        for eighths in range(1, 8):
            if -(-height * eighths // 8) >= rows and -(-width * eighths // 8) >= columns:
                return eighths
        return 8

    # -- windows --------------------------------------------------------------------------------

    def window(
        self, places: tuple[ArrayLike, ArrayLike], window: tuple[int, int], flips: ArrayLike | None
    ) -> None:
        """Say which windows are wanted; those in files with a usual header are checked."""
        count = len(self.images)
        rows, columns = window
        self.shape = rows, columns
        self.tops, self.lefts = (numpy.asarray(place) for place in places)
        self.flips = numpy.zeros(count, bool) if flips is None else numpy.asarray(flips)
        for array, kinds in ((self.tops, "iu"), (self.lefts, "iu"), (self.flips, "b")):
            if array.shape != (count,) or (count and array.dtype.kind not in kinds):
                raise ValueError(
                    f"`places` must be two vectors of {count} integers and `flips` one of {count} "
                    f"booleans, got {array.dtype} of shape {array.shape}; give one for each image"
                )
        if rows < 1 or columns < 1:
            raise ValueError(f"`window` must be two positive integers, got {window}")
        bad = (self.tops < 0) | (self.lefts < 0)
        bad |= self.usual & (self.tops > self.found[:, 1] - rows)
        bad |= self.usual & (self.lefts > self.found[:, 0] - columns)
        for number in numpy.flatnonzero(bad).tolist():
            self._beyond(number, int(self.found[number, 1]), int(self.found[number, 0]))

    def _beyond(self, number: int, height: int, width: int) -> None:
        rows, columns = self.shape
        raise ValueError(
            f"{self._which(number)} has {height} x {width} pixels, got a window of {rows} x "
            f"{columns} at row {self.tops[number]}, column {self.lefts[number]}; choose one that "
            "lies inside the image"
        )

    def windows(self, start: int, stop: int) -> None:
        """Decode the windows from one place to another."""
        chosen = [place for place in range(start, stop) if self.fast[place]]
        left = set(range(start, stop)).difference(chosen)
        if BACKEND == "compiled":
            plan = numpy.empty((len(chosen), 10), numpy.int64)
            plan[:, :2] = self.found[chosen, :2]
            plan[:, 2], plan[:, 3] = self.tops[chosen], self.lefts[chosen]
            plan[:, 4:6] = self.shape
            plan[:, 6] = 3 if self.color_mode == "RGB" else 1
            plan[:, 7], plan[:, 8], plan[:, 9] = self.layout == "CHW", self.flips[chosen], 8
            targets = self.out.ctypes.data + self.out.strides[0] * numpy.array(chosen, numpy.int64)
            images = tuple(self.images[place] for place in chosen)
            outcomes = _jpeg_backends.compiled(MODULE, images, plan, targets)
            for place, outcome in zip(chosen, outcomes, strict=True):
                self._judge(place, outcome)
                if not outcome:
                    left.add(place)
        else:
            left.update(place for place in chosen if not self._window_of_whole(place))
        for place in sorted(left):
            self.told(place, self._slow_window, place)

    def _window_of_whole(self, place: int) -> bool:
        """Cut the window out of what simplejpeg makes of the file."""
        channels = 3 if self.color_mode == "RGB" else 1
        pixels = _jpeg_backends.simplejpeg(self.images[place], channels, None)
        if not isinstance(pixels, numpy.ndarray):
            self._judge(place, pixels)
            return False
        (rows, columns), top, left = self.shape, int(self.tops[place]), int(self.lefts[place])
        pixels = pixels[top : top + rows, left : left + columns]
        if self.flips[place]:
            pixels = pixels[:, ::-1]
        self.out[place] = pixels.transpose(2, 0, 1) if self.layout == "CHW" else pixels
        return True

    def _slow_window(self, place: int) -> None:
        data, (rows, columns) = self.images[place], self.shape
        top, left = int(self.tops[place]), int(self.lefts[place])
        if not self.usual[place]:
            height, width = _jpeg_pillow.size(data, self.max_pixels)
            if top > height - rows or left > width - columns:
                self._beyond(place, height, width)
        _jpeg_pillow.window(
            data,
            str(self.color_mode),
            (top, left, rows, columns),
            bool(self.flips[place]),
            self.max_pixels,
            self.out[place],
            self.layout,
        )


def _raise(error: OSError) -> None:
    raise error
