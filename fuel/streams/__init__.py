"""Streams: who asks, and when.

- `fuel.streams._base`: `AbstractDataStream`, what every stream is;
- `fuel.streams._dataset`: `DataStream`, a dataset in the order of a scheme;
- `fuel.streams._remote`: `ServerDataStream`, what a server in another process sends.

What is done to the data on its way is in `fuel.transformers`.
"""

from __future__ import annotations

from fuel.streams._base import AbstractDataStream
from fuel.streams._dataset import DataStream
from fuel.streams._remote import ServerDataStream

__all__ = ["AbstractDataStream", "DataStream", "ServerDataStream"]
