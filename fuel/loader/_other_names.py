"""Arguments by the names that they have elsewhere: what they are called here.

For people who come from another loader. The arguments of ours are in `fuel.loader._arguments`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["refuse_unknown"]

#: From a name elsewhere to what to write here.
_HERE = {
    "batch_sampler": "give a stream: a DataStream with an iteration scheme",
    "batchsize": "it is `batch_size` here",
    "collate_fn": "it is `collate` here; what is done there by default is collate=True",
    "drop_last": "drop_last=True is partial=False here",
    "drop_remainder": "drop_remainder=True is partial=False here",
    "generator": "the order and all draws follow from `seed`",
    "in_order": "it is `ordered` here",
    "kind": "num_workers=n is for processes, parallel=n for threads",
    "multiprocessing_context": "it is `start_method` here",
    "persistent_workers": "workers are always kept; fuel.close_workers() ends them",
    "pin_memory": "leave it out: batches are NumPy arrays",
    "prefetch_factor": "it is `prefetch` here, for all workers together",
    "rank": "put a ShardedStream below the loader, or above a stream of batches",
    "sampler": "give a view of the data (fuel.observations), or a DataStream with a scheme",
    "timeout": "it is `stall_timeout_s` here, after which the stacks of the workers are shown",
    "worker_init_fn": "leave it out: `transform` is handed an `rng`, and each process opens files",
    "workers": "num_workers=n is for processes, parallel=n for threads",
    "world_size": "put a ShardedStream below the loader, or above a stream of batches",
}


def refuse_unknown(unknown: Iterable[str], known: Iterable[str]) -> None:
    """Say what to write instead of arguments that there are not.

    Parameters
    ----------
    unknown : iterable of str
        Names that were given.
    known : iterable of str
        Those that there are.

    Raises
    ------
    TypeError
        If there is any unknown one.

    """
    known = list(known)
    told = []
    for name in unknown:
        advice = _HERE.get(name)
        if advice is None:
            near = difflib.get_close_matches(name, known, 1)
            advice = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
        told.append(f"DataLoader has no argument `{name}`: {advice}")
    if told:
        raise TypeError("; ".join(told))
