"""Which of how many processes this one is, from the variables that launchers set.

In this room: `rank_and_size`. Not here: who gets which items (`_shard`).
"""

from __future__ import annotations

import operator
import os
from typing import Any

__all__ = ["rank_and_size"]

#: The variables of torchrun and its like, of Slurm, of Open MPI, and of MPICH and Intel MPI, in the
#: order in which they are asked: the innermost launcher comes first.
_PAIRS = (
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
)


def rank_and_size(rank: Any, world_size: Any) -> tuple[int, int]:
    """Return the rank and the number of ranks.

    Parameters
    ----------
    rank, world_size : int or 'auto'
        ``'auto'`` is looked up: in ``RANK`` and ``WORLD_SIZE``, ``SLURM_PROCID`` and
        ``SLURM_NTASKS``, ``OMPI_COMM_WORLD_RANK`` and ``OMPI_COMM_WORLD_SIZE``, ``PMI_RANK`` and
        ``PMI_SIZE``, whichever pair is set first; where none is, it is rank 0 of 1.

    Returns
    -------
    tuple of int
        Both.

    Raises
    ------
    ValueError
        If they are not integers with ``0 <= rank < world_size``, or a variable is not.

    """
    origin = ""
    for name, value in (("rank", rank), ("world_size", world_size)):
        if isinstance(value, str) and value != "auto":
            raise ValueError(f"`{name}` must be an integer or 'auto', got {value!r:.80}")
    if isinstance(rank, str) or isinstance(world_size, str):
        found, origin = _from_environment()
        rank = found[0] if isinstance(rank, str) else rank
        world_size = found[1] if isinstance(world_size, str) else world_size
    size = _integer("world_size", world_size, 1)
    number = _integer("rank", rank, 0)
    if number >= size:
        raise ValueError(
            f"`rank` must be less than `world_size`, got rank {number} of {size}{origin}; ranks "
            "are counted from 0"
        )
    return number, size


def _from_environment() -> tuple[tuple[int, int], str]:
    for pair in _PAIRS:
        if not any(name in os.environ for name in pair):
            continue
        values = []
        for name in pair:
            text = os.environ.get(name)
            try:
                values.append(int(text if text is not None else "none"))
            except ValueError:
                told = "is not set" if text is None else f"is {text!r:.80}, which is no integer"
                raise ValueError(
                    f"'auto' looks for the rank in {pair[0]} and {pair[1]}, but {name} {told}; set "
                    "both, or give `rank` and `world_size`"
                ) from None
        return (values[0], values[1]), f" (from {pair[0]} and {pair[1]})"
    return (0, 1), ""


def _integer(name: str, value: Any, least: int) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ValueError(
            f"`{name}` must be an integer from {least} on, or 'auto', got {value!r:.80}"
        )
    return number
