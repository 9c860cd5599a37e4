"""The work behind `fuel.kernels.jpeg`: one batch of files, in parts that threads take.

In this module: `Batch`, which reads the headers, gives each file to the backend or to Pillow, and
tells errors which file they are about; and `BACKEND`, the backend that was chosen when this module
was imported. Not here: how one image is decoded (`_jpeg.pyx`, `_jpeg_backends`, `_jpeg_pillow`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from fuel.kernels import _jpeg_backends, _jpeg_pillow, _jpeg_reference, threads
from fuel.kernels.memory import empty

__all__ = ["BACKEND", "MODULE", "Batch"]

#: The backend, and the extension where that is it.
BACKEND, MODULE = _jpeg_backends.choose()


class Batch:
    """Files to decode, what their headers say, and what is wanted of them."""

    minimum: tuple[int, int] | None = None
    turn = False
    shape = (0, 0)
    channels = 3
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
        which = f"image {number} of the batch" if len(self.images) > 1 else "the image"
        return which + (f" of source {self.name!r}" if self.name else "")

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

    def whole(self, limit: int | None) -> list[NDArray[Any]]:
        """Decode the images, in threads."""
        count = len(self.images)
        turns = [self._turn(place) if self.turn else 1 for place in range(count)]
        plan = numpy.zeros((count, 10), numpy.int64)
        plan[:, :2] = self.found[:, :2]
        plan[:, 6] = 3 if self.color_mode == "RGB" else self.found[:, 2]
        plan[:, 7] = 1
        plan[:, 9] = 8
        if self.minimum is not None:
            for line, turn in zip(plan, turns, strict=True):
                line[9] = self._eighths(line[0], line[1], turn)
            plan[:, :2] = -(-plan[:, :2] * plan[:, 9:] // 8)
        plan[:, 4:6] = plan[:, 1::-1]
        arrays: list[Any] = [None] * count
        chosen = numpy.flatnonzero(self.fast)
        left: dict[int, Any] = dict.fromkeys(range(count))
        if BACKEND == "compiled" and len(chosen):
            for place in chosen.tolist():
                rows, columns, channels = plan[place, 4:7].tolist()
                arrays[place] = empty((channels, rows, columns), numpy.uint8)
            targets = [arrays[place].ctypes.data for place in chosen.tolist()]
            self._compiled(chosen, plan, numpy.array(targets, numpy.int64), left, limit)

        def rest(place: int, outcome: OSError | None) -> None:
            arrays[place] = self.told(place, self._rest, place, plan[place], outcome)

        threads.run(rest, sorted(left.items()), limit)
        return [
            array if turn == 1 else _jpeg_pillow.turned(array, turn)
            for array, turn in zip(arrays, turns, strict=True)
        ]

    def _compiled(
        self,
        chosen: NDArray[Any],
        plan: NDArray[Any],
        targets: NDArray[Any],
        left: dict[int, Any],
        limit: int | None,
    ) -> None:
        """Decode with our extension, and take out of `left` what it could decode."""
        images = tuple(self.images[place] for place in chosen.tolist())
        outcomes = _jpeg_backends.compiled(MODULE, images, plan[chosen], targets, limit)
        for place, outcome in zip(chosen.tolist(), outcomes, strict=True):
            if outcome is True:
                del left[place]
            elif outcome is not False:
                left[place] = outcome

    def _rest(self, place: int, line: NDArray[Any], outcome: OSError | None) -> NDArray[Any]:
        """Decode an image that our extension did not."""
        if outcome is not None:
            raise outcome
        if BACKEND == "simplejpeg" and self.fast[place]:
            # Where no smaller size will do, it would choose another than the full one.
            smallest = None if line[9] == 8 else (int(line[1]), int(line[0]))
            pixels = _jpeg_backends.simplejpeg(self.images[place], int(line[6]), smallest)
            if pixels is not None:
                planes = empty((pixels.shape[2], *pixels.shape[:2]), numpy.uint8)
                planes[...] = pixels.transpose(2, 0, 1)
                return planes
        turn = self.turn and not self.fast[place]
        return _jpeg_pillow.whole(self.images[place], self.color_mode, self.max_pixels, turn)

    def _turn(self, place: int) -> int:
        """Return how an image is to be turned that Pillow does not decode."""
        if not (self.fast[place] and self.found[place, 3]):
            return 1
        return int(self.told(place, _jpeg_pillow.orientation, self.images[place]))

    def _eighths(self, width: int, height: int, turn: int) -> int:
        rows, columns = self.minimum or (0, 0)
        if turn >= 5:
            rows, columns = columns, rows
        sizes = [(-(-height * eighths // 8), -(-width * eighths // 8)) for eighths in range(1, 9)]
        enough = [size for size in sizes if size[0] >= rows and size[1] >= columns]
        # The scale nearest to the image of several that make the same of a few pixels.
        return 8 - sizes[::-1].index(min(enough)) if enough else 8

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

    def windows(self, limit: int | None) -> None:
        """Decode the windows, in threads."""
        count = len(self.images)
        left: dict[int, Any] = dict.fromkeys(range(count))
        chosen = numpy.flatnonzero(self.fast)
        if BACKEND == "compiled" and len(chosen):
            plan = numpy.empty((count, 10), numpy.int64)
            plan[:, :2] = self.found[:, :2]
            plan[:, 2], plan[:, 3] = self.tops, self.lefts
            plan[:, 4:6] = self.shape
            plan[:, 6] = self.channels
            plan[:, 7], plan[:, 8], plan[:, 9] = self.layout == "CHW", self.flips, 8
            targets = self.out.ctypes.data + self.out.strides[0] * chosen
            self._compiled(chosen, plan, targets, left, limit)

        def rest(place: int, outcome: OSError | None) -> None:
            self.told(place, self._slow_window, place, outcome)

        threads.run(rest, sorted(left.items()), limit)

    def _window_of_whole(self, place: int) -> bool:
        """Cut the window out of what simplejpeg makes of the file; False if that is nothing."""
        pixels = _jpeg_backends.simplejpeg(self.images[place], self.channels, None)
        if pixels is None:
            return False
        (rows, columns), top, left = self.shape, int(self.tops[place]), int(self.lefts[place])
        pixels = pixels[top : top + rows, left : left + columns]
        if self.flips[place]:
            pixels = pixels[:, ::-1]
        self.out[place] = pixels.transpose(2, 0, 1) if self.layout == "CHW" else pixels
        return True

    def _slow_window(self, place: int, outcome: OSError | None) -> None:
        if outcome is not None:
            raise outcome
        if BACKEND == "simplejpeg" and self.fast[place] and self._window_of_whole(place):
            return
        data, (rows, columns) = self.images[place], self.shape
        top, left = int(self.tops[place]), int(self.lefts[place])
        image = _jpeg_pillow.loaded(data, self.max_pixels)
        if top > image.height - rows or left > image.width - columns:
            self._beyond(place, image.height, image.width)
        _jpeg_pillow.window(
            image,
            str(self.color_mode),
            (top, left, rows, columns),
            bool(self.flips[place]),
            self.out[place],
            self.layout,
        )
