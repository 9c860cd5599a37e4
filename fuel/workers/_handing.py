"""Units on their way to a worker process: what is large goes through memory that both map.

A unit is small where it names places in an order. Where it holds the items themselves (of a stream
that is read in order), or many indices, their bytes are written into shared memory, and the message
says where. The worker copies them out before it begins, so that nothing that it keeps can change.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy

from fuel.exceptions import TransportError
from fuel.kernels._region import LEAST, Region
from fuel.plan._context import Context
from fuel.transport.segments import Segment
from fuel.utils._channel import dumps

__all__ = ["Outbox", "unpacked"]

#: The most that lies there at a time. It is only taken when it is used.
_MOST_BYTES = 1 << 30


class Outbox:
    """Memory into which units for a worker are written.

    Attributes
    ----------
    segment : Segment or None
        The memory; None where the system gave none, and everything goes through the pipe.

    """

    def __init__(self) -> None:
        self.segment: Segment | None = None
        try:
            self.segment = Segment.create(_MOST_BYTES, "what is handed to a worker")
        except TransportError:
            return
        file = -1
        try:
            file = self.segment.fileno()
        except OSError:  # Windows
            pass
        self._region = Region(self.segment.memory, file)

    def packed(self, value: Any) -> tuple[bytes, list[Any], list[Any]]:
        """Pickle an object, with its large parts in memory.

        Parameters
        ----------
        value : object
            A unit.

        Returns
        -------
        payload : bytes
            The pickle.
        places : list of tuple
            Offset and size of each part, for `unpacked`.
        blocks : list
            To be kept until the worker has read them.

        """
        places: list[Any] = []
        blocks: list[Any] = []

        def apart(buffer: pickle.PickleBuffer) -> bool:
            try:
                raw = buffer.raw()
            except BufferError:
                return True
            if raw.nbytes < LEAST or self.segment is None:
                return True
            block = self._region.take(raw.nbytes)
            if block is None:
                return True
            block[...] = numpy.frombuffer(raw, numpy.uint8)
            places.append((int(block.ctypes.data) - self._region.base, raw.nbytes))
            blocks.append(block)
            return False

        if _holds_items(value):
            # They may be of classes that the main module defines.
            payload = dumps(value, buffer_callback=apart)
        else:
            payload = pickle.dumps(value, protocol=5, buffer_callback=apart)
        return payload, places, blocks

    def close(self) -> None:
        """Give the memory up."""
        if self.segment is not None:
            self.segment.close()


def _holds_items(unit: Any) -> bool:
    asked = getattr(unit, "asked", None)
    if type(asked) is not list or not asked or type(asked[0]) is not tuple:
        return False
    return isinstance(asked[0][-1], Context)


def unpacked(memory: Any, payload: bytes, places: Sequence[tuple[int, int]]) -> Any:
    """Return what `Outbox.packed` was given.

    Parameters
    ----------
    memory : memoryview or None
        The memory, as this process maps it.
    payload : bytes
        The pickle.
    places : sequence of tuple
        Where the large parts lie.

    Returns
    -------
    object
        The same, over memory of its own.

    """
    buffers = [bytearray(memory[offset : offset + size]) for offset, size in places]
    return pickle.loads(payload, buffers=buffers)
