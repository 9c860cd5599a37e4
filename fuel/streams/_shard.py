"""`ShardedStream`: what one of several ranks gets of a stream.

The pass: `_shard_pass`. Which rank this is: `_rank`. Not here: spreading the work of one rank over
processes (`fuel.transformers.Parallel`), and one stream for several processes that is run by a
server (`fuel.server`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fuel.plan import Cursor, PassedOn
from fuel.plan._chain import walk
from fuel.streams._over import (
    OverStreams,
    batch_size_of,
    count_below,
    hides_sizes,
    need_stream,
)
from fuel.streams._rank import rank_and_size
from fuel.streams._shard_pass import ShardCursor
from fuel.typing import JSON

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["ShardedStream"]

_REMAINDERS = ("drop", "pad", "wrap")


class ShardedStream(OverStreams):
    """The part of a stream that one of several ranks gets.

    In each step of the training, `world_size` items in a row go one to each rank, rank 0 first.
    All ranks get equally many, and together what one process alone would: a stream of batches of
    ``B`` examples is one of global batches of ``world_size * B``, cut into contiguous parts. What
    is another rank's is passed over, and not even read where the order allows it.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream, which is built in the same way on every rank: with the same seed and batch
        size. It stands above the step that makes batches.
    rank : int or 'auto'
        Which rank this is, from 0.
    world_size : int or 'auto'
        How many there are. ``'auto'`` looks both up in the environment, now: ``RANK`` and
        ``WORLD_SIZE``, else ``SLURM_PROCID`` and ``SLURM_NTASKS``, ``OMPI_COMM_WORLD_RANK`` and
        ``OMPI_COMM_WORLD_SIZE``, ``PMI_RANK`` and ``PMI_SIZE``; where none is set it is 0 of 1.
    remainder : {'drop', 'pad', 'wrap'}, optional
        What becomes of the last step, if there are too few examples for a full batch on every
        rank. ``'drop'`` (default): it is left out. ``'pad'``: every rank gets a full batch, which
        is filled with copies of the last example; another source tells which examples are none
        of these. ``'wrap'``: the batches are filled with the first examples of the epoch once
        more.
    mask_source : str, optional
        The name of the other source with ``'pad'``: a bool array of shape ``(batch,)``, or for a
        stream of examples a bool, which is False for copies. It comes last.
    name, axis_labels
        As for `AbstractDataStream`; the labels default to those below.

    Attributes
    ----------
    data_stream, rank, world_size, remainder, mask_source
        As given, or looked up.

    Raises
    ------
    TypeError
        If `data_stream` is no stream.
    ValueError
        If `rank` and `world_size` are not integers with ``0 <= rank < world_size``; if
        `remainder` is none of the three; if there is a source named `mask_source`; if there are
        several ranks and a step skips examples that fail (``Parallel(..., on_error='skip')``): a
        rank cannot know what others have skipped, and would go on with other examples.

    Notes
    -----
    A saved state is that of the stream below, behind a whole step, and the same on every rank:
    any of them restores all, also with another number of ranks and another batch size. What was
    not delivered comes then in the same global order, nothing twice and nothing left out (but for
    what the last step drops). `rank`, `world_size` and `remainder` are no part of it.

    A full batch has as many examples as others of the epoch; a step whose last batch has fewer is
    taken for incomplete only at the end of the epoch. With one rank, ``'drop'`` drops nothing:
    the stream is the one below. ``'pad'`` and ``'wrap'`` fill a short last batch even then.

    Steps that change the number of examples (`Filter`, ...) are to stand below, and are
    evaluated on every rank, for all of them. To learn of the last step, ``'pad'`` may evaluate
    its last batch on every rank; ``'wrap'`` evaluates the first batches of the epoch once more,
    and raises a ValueError then if steps or functions below remember something from one item to
    the next.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream, ShardedStream
    >>> def part(rank, remainder):
    ...     stream = DataStream(IndexableDataset({'x': numpy.arange(11)}),
    ...                         iteration_scheme=SequentialScheme(11, 2))
    ...     return ShardedStream(stream, rank=rank, world_size=2, remainder=remainder)
    >>> for rank in range(2):
    ...     print([x.tolist() for x, in part(rank, 'drop')])
    [[0, 1], [4, 5]]
    [[2, 3], [6, 7]]
    >>> for rank in range(2):
    ...     print(*((x.tolist(), mask.tolist()) for x, mask in list(part(rank, 'pad'))[2:]))
    ([8, 9], [True, True])
    ([10, 10], [True, False])
    >>> [x.tolist() for x, in part(1, 'wrap')]
    [[2, 3], [6, 7], [10, 0]]

    """

    #: It changes no values: saved states are those of the stream below.
    _transparent = True

    def __init__(
        self,
        data_stream: Any,
        *,
        rank: int | str,
        world_size: int | str,
        remainder: str = "drop",
        mask_source: str = "mask",
        name: str | None = None,
        axis_labels: Any = None,
    ) -> None:
        examples = need_stream("ShardedStream", data_stream)
        if remainder not in _REMAINDERS:
            raise ValueError(
                f"`remainder` of ShardedStream must be one of {_REMAINDERS}, got {remainder!r:.80}"
            )
        pads = remainder == "pad"
        if pads and mask_source in data_stream.sources:
            raise ValueError(
                f"the stream below has a source {mask_source!r} already; give the mask of "
                "ShardedStream another name with `mask_source`"
            )
        if axis_labels is None:
            labels = getattr(data_stream, "axis_labels", None)
            if labels is not None:
                axis_labels = dict(labels)
                if pads:
                    axis_labels[mask_source] = () if examples else ("batch",)
        super().__init__(axis_labels=axis_labels, name=name)
        self.data_stream = data_stream
        self.rank, self.world_size = rank_and_size(rank, world_size)
        self.remainder = remainder
        self.mask_source = mask_source
        self.produces_examples = examples
        self._refuse_skipping(walk(data_stream))

    @property
    def sources(self) -> Any:
        """Names of what an item holds, in order: those below, and the mask if there is one."""
        below = self.data_stream.sources
        return (*below, self.mask_source) if self.remainder == "pad" else below

    @property
    def child_epoch_iterator(self) -> Any:
        """The items of the stream below, in the epoch started last."""
        return self.child_epoch_iterators[0]

    def _refuse_skipping(self, steps: list[Any]) -> None:
        if self.world_size == 1:
            return
        for step in steps:
            if getattr(step, "_skips_examples", False):
                raise ValueError(
                    f"{type(step).__name__} skips examples that fail, which cannot be done with "
                    f"{self.world_size} ranks: none knows what the others have skipped, and they "
                    "would come to differ in what they count; use on_error='replace' or 'raise'"
                )

    # -- what it offers to the plan -------------------------------------------------------------

    def _make_cursor(self, start: Start) -> Cursor:
        whole_chain = walk(self) if start.draws is None else walk(start.draws.stream)
        self._refuse_skipping(whole_chain)
        if self.world_size == 1 and self.remainder == "drop":
            return PassedOn(start, self)
        return ShardCursor(start, self)

    def _num_items(self) -> int | None:
        below, ranks = count_below(self.data_stream), self.world_size
        if below is None:
            return None
        if self.remainder != "drop":
            return -(-below // ranks)
        if ranks == 1 or self.produces_examples:
            return below // ranks
        size = batch_size_of(self.data_stream)
        examples = count_below(self.data_stream, "_num_examples")
        if size is None or examples is None:
            return None
        # Whether or not a short batch follows those that are full.
        alike = below in (examples // size, -(-examples // size))
        return examples // size // ranks if alike else None

    def _num_examples(self) -> int | None:
        if self.produces_examples:
            return self._num_items()
        if self.world_size == 1 and self.remainder == "drop":
            return count_below(self.data_stream, "_num_examples")
        steps, size = self._num_items(), batch_size_of(self.data_stream)
        if steps is None or size is None or hides_sizes(self.data_stream):
            return None
        return steps * size

    def _why_not_elementwise(self) -> str:
        return (
            f"rank {self.rank} of {self.world_size}: passes over the items of the others; steps "
            "below that change the number of examples run for all of them"
        )

    def _fingerprint(self) -> dict[str, JSON]:
        return {}

    def _describe(self) -> str:
        below = getattr(self.data_stream, "_describe", None)
        name = type(self.data_stream).__name__ if below is None else below()
        return (
            f"{type(self).__name__}({name}, rank={self.rank}, world_size={self.world_size}, "
            f"remainder={self.remainder!r})"
        )
