"""Streams: who asks, and when.

- `fuel.streams._base`: `AbstractDataStream`, what every stream is;
- `fuel.streams._dataset`: `DataStream`, a dataset in the order of a scheme;
- `fuel.streams._remote`: `ServerDataStream`, what a server in another process sends;
- `fuel.streams._mixture`: `MixtureStream`, several streams in proportion (`_proportions`);
- `fuel.streams._interleaved`: `InterleavedStream`, several streams in turn;
- `fuel.streams._shard`: `ShardedStream`, the part of one of several ranks (`_shard_pass`,
  `_filling`, `_rank`);
- `fuel.streams._over`, `_several`, `_again`: what streams over others have in common.

What is done to the data on its way is in `fuel.transformers`.
"""

from __future__ import annotations

from fuel.streams._base import AbstractDataStream
from fuel.streams._dataset import DataStream
from fuel.streams._interleaved import InterleavedStream
from fuel.streams._mixture import MixtureStream
from fuel.streams._remote import ServerDataStream
from fuel.streams._shard import ShardedStream

__all__ = [
    "AbstractDataStream",
    "DataStream",
    "InterleavedStream",
    "MixtureStream",
    "ServerDataStream",
    "ShardedStream",
]
