"""Views over any container of observations: subsets, maps, splits, folds, batches, windows.

A *container* is a number of observations that can be asked for by number: an array or a memory map
(observations along the first axis), an HDF5 dataset, a list, a Fuel dataset, anything with ``len``
and ``[]``; and a tuple, a named tuple or a dict of containers of one length, an observation of
which has the same structure. Everything here is lazy: what is stored are indices and functions, and
data moves when an observation or a batch is fetched.

==============  =============================================================================
``_access``     `numobs`, `getobs`: how many, and which
``_obsview``    `obsview`, `ObsView`, `filterobs`, `groupobs`
``_drawing``    `shuffleobs`, `randobs`, and the generators of all that draw
``_mapping``    `mapobs`
``_joining``    `joinobs`
``_splitting``  `splitobs`
``_folds``      `kfolds`, `leavepout`, `timeseries_kfolds`
``_balancing``  `oversample`, `undersample`
``_batches``    `BatchView`
``_windows``    `slidingwindow`
``_stacking``   `batch`, `unbatch`, `batchseq`
``_view``       the base of all views
``_indices``    indices inside of views, and how they compose
``_storing``    results into arrays that are there already
``_classes``    labels as numbers of classes
==============  =============================================================================

Not here: what walks over batches, shuffles anew each epoch, and uses workers (the loader); what is
done to streams (`fuel.transformers`).
"""

from __future__ import annotations

from fuel.observations._access import getobs, numobs
from fuel.observations._balancing import oversample, undersample
from fuel.observations._batches import BatchView
from fuel.observations._drawing import randobs, shuffleobs
from fuel.observations._folds import kfolds, leavepout, timeseries_kfolds
from fuel.observations._joining import joinobs
from fuel.observations._mapping import mapobs
from fuel.observations._obsview import ObsView, filterobs, groupobs, obsview
from fuel.observations._splitting import splitobs
from fuel.observations._stacking import batch, batchseq, unbatch
from fuel.observations._windows import slidingwindow

__all__ = [
    "BatchView",
    "ObsView",
    "batch",
    "batchseq",
    "filterobs",
    "getobs",
    "groupobs",
    "joinobs",
    "kfolds",
    "leavepout",
    "mapobs",
    "numobs",
    "obsview",
    "oversample",
    "randobs",
    "shuffleobs",
    "slidingwindow",
    "splitobs",
    "timeseries_kfolds",
    "unbatch",
    "undersample",
]
