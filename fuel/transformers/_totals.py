"""How many batches come out when a scheme asks for so many examples at a time."""

from __future__ import annotations

from typing import Any

from fuel.schemes import ConstantScheme
from fuel.schemes._base import num_requests

__all__ = ["batch_totals"]


def batch_totals(
    scheme: Any, there: int | None, strictness: int = 0
) -> tuple[int | None, int | None]:
    """Return the numbers of batches and of examples in an epoch.

    Parameters
    ----------
    scheme : BatchSizeScheme
        What asks for examples.
    there : int or None
        The number of examples that there are, None if it is unknown.
    strictness : {0, 1, 2}, optional
        What happens to a short last batch; see `fuel.transformers.Batch`.

    Returns
    -------
    batches, examples : int or None
        None where they are not known, or the epoch ends with an error.

    """
    if there is None or type(scheme) is not ConstantScheme:
        return None, None
    size = int(scheme.batch_size)
    requests = num_requests(scheme)
    asked = None if requests is None else requests * size
    if scheme.num_examples is not None:
        asked = int(scheme.num_examples)
    if asked is not None and asked <= there:
        return requests, asked
    full, rest = divmod(there, size)
    if rest and strictness == 2:
        return None, None
    if rest and strictness == 0:
        return full + 1, there
    return full, full * size
