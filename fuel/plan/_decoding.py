"""Encoded images and the windows cut from them, as one kernel call.

In this room: `DecodeKernel`, which stands where a `fuel.plan._kernels.Kernel` would stand if the
table held pixels: only the window of an image is decoded, straight into the batch. Not here: the
decoder (`fuel.kernels.jpeg`).
"""

from __future__ import annotations

import copy
from typing import Any

import numpy

from fuel.plan._context import Context
from fuel.plan._operations import CropTo, Decode, Flip, Operation

__all__ = ["DecodeKernel"]


class DecodeKernel:
    """Files taken from a table, of which windows are decoded.

    Parameters
    ----------
    column : int
        Which of the tables.
    decode : Decode
        What images they become.

    Attributes
    ----------
    column : int
        As given.
    dtype : numpy.dtype
        The type of pixels.

    """

    touched = True
    calculates = True
    dtype: Any = numpy.dtype(numpy.uint8)
    #: The shape of an example: not known before the files are looked at.
    result: Any = None

    def __init__(self, column: int, decode: Decode) -> None:
        self.column = column
        self.decode = decode
        self.crop: CropTo | None = None
        self.flips: list[Flip] = []

    @property
    def complete(self) -> bool:
        """Whether images of one size come out, and not whole ones."""
        return self.crop is not None

    def extended(self, operations: tuple[Operation, ...]) -> DecodeKernel | None:
        """Return a kernel that goes on with what a step does; None where it cannot."""
        if not operations:
            return self
        longer = copy.copy(self)
        longer.flips = list(self.flips)
        for operation in operations:
            if isinstance(operation, CropTo) and longer.crop is None and not longer.flips:
                if operation.layout != "CHW":
                    return None
                longer.crop = operation
            elif (
                isinstance(operation, Flip)
                and longer.crop is not None
                and (operation.axis, operation.layout) == ("width", "CHW")
            ):
                longer.flips.append(operation)
            else:
                return None
        return longer

    def fits(self, table: Any) -> bool:
        """Tell whether a table still is what the kernel was made for: it may hold any files."""
        return True

    def __call__(self, table: Any, files: Any, context: Context) -> Any:
        """Do the work.

        Parameters
        ----------
        table : object
            Of no meaning here.
        files : list of bytes, length n
            The files.
        context : Context
            That of a batch of these examples.

        Returns
        -------
        numpy.ndarray, shape (n, channel, height, width), dtype uint8
            The windows.

        """
        from fuel.kernels import jpeg

        assert self.crop is not None
        limit, name = self.decode.max_pixels, self.decode.name
        found = jpeg.sizes(files, max_pixels=limit, name=name)
        places = self.crop.place(context, found[:, 0], found[:, 1])
        mirrored = None
        for flip in self.flips:
            chosen = flip.choose(context, len(files))
            mirrored = chosen if mirrored is None else mirrored ^ chosen
        return jpeg.decode_windows(
            files,
            places,
            self.crop.window,
            mirrored,
            color_mode=self.decode.color_mode,
            max_pixels=limit,
            name=name,
        )
