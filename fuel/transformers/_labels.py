"""Class numbers as vectors: `OneHot`, and what mixing needs of it.

Not here: the mixing of labels with those of other examples (`fuel.transformers._mixing`).
"""

from __future__ import annotations

from typing import Any

import numpy

from fuel.config_parser import config
from fuel.plan import Context
from fuel.transformers._base import SourcewiseTransformer
from fuel.transformers._checks import check_dtype, check_integer, kind_below, labels_below
from fuel.transformers._random import is_hooked, treated, treating
from fuel.transformers._stacking import as_batch, is_ragged

__all__ = ["OneHot", "check_label_type", "one_hot"]


def check_label_type(name: str, dtype: Any) -> numpy.dtype[Any]:
    """Return the type of vectors, ``'floatX'`` replaced.

    Parameters
    ----------
    name : str
        The transformer.
    dtype : str or numpy.dtype
        What it was given.

    Returns
    -------
    numpy.dtype
        The type.

    Raises
    ------
    TypeError
        If it is no type of numbers.

    """
    if isinstance(dtype, str) and dtype == "floatX":
        dtype = config.floatX
    check_dtype(name, "dtype", dtype)
    found: numpy.dtype[Any] = numpy.dtype(dtype)
    if found.kind not in "biufc":
        raise TypeError(
            f"`dtype` of {name} must be a type of numbers, got {dtype!r:.80}; use for example "
            "'float32'"
        )
    return found


def one_hot(
    name: str, labels: Any, num_classes: int, dtype: Any, source_name: str, context: Context
) -> Any:
    """Return the class numbers of a batch as vectors.

    Parameters
    ----------
    name : str
        The transformer, for messages.
    labels : numpy.ndarray, shape (n,) or (n, 1)
        The class numbers.
    num_classes : int
        The length of a vector.
    dtype : numpy.dtype
        The type of the vectors.
    source_name : str
        The source of the labels, for messages.
    context : Context
        That of the batch, for messages.

    Returns
    -------
    numpy.ndarray, shape (n, num_classes)
        1 in the column of the class, 0 elsewhere.

    Raises
    ------
    TypeError
        If the labels are no integers.
    ValueError
        If their shape is another, or one is out of range.

    """
    if is_ragged(labels):
        raise ValueError(
            f"{name} needs one label an example, but source {source_name!r} has sequences of "
            "several lengths; name the source of the labels in `which_sources`"
        )
    if labels.shape[1:] not in ((), (1,)):
        raise ValueError(
            f"{name} needs one label an example, but source {source_name!r} has the shape "
            f"{labels.shape[1:]} for each; name the source of the labels in `which_sources`"
        )
    if labels.dtype.kind not in "biu" and labels.size:
        raise TypeError(
            f"{name} needs class numbers, integers, but source {source_name!r} has the type "
            f"{labels.dtype}; put Cast below it, or name the labels in `which_sources`"
        )
    flat = labels.reshape(len(labels))
    # Compared as they are: a large number without a sign may not fit in an index. A bound that
    # the type itself cannot hold is no bound.
    beyond = flat >= num_classes if num_classes <= _largest(flat.dtype) else numpy.zeros(1, bool)
    wrong = numpy.flatnonzero((flat < 0) | beyond)
    if len(wrong):
        index = int(wrong[0])
        raise ValueError(
            f"label {int(flat[index])} of source {source_name!r}, ordinal "
            f"{context.address(index)[0]}, is out of range for {num_classes} classes (0 to "
            f"{num_classes - 1}); give {name} the right `num_classes`"
        )
    vectors = numpy.zeros((len(flat), num_classes), dtype=dtype)
    vectors[numpy.arange(len(flat)), flat.astype(numpy.intp)] = 1
    return vectors


def _largest(dtype: Any) -> int:
    """Return the largest number of an integer type."""
    return int(numpy.iinfo(dtype).max) if dtype.kind in "iu" else 1


class OneHot(SourcewiseTransformer):
    """Makes a vector of every class number: 1 in the place of the class, 0 elsewhere.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    num_classes : int
        The number of classes, which is the length of a vector.
    dtype : str or numpy.dtype, optional
        The type of the vectors; ``'floatX'`` (default) means ``config.floatX`` as it is now.
    **kwargs
        `which_sources` (default: all; name those that hold labels), `axis_labels`, `name`.

    Attributes
    ----------
    num_classes : int
        As given.
    dtype : numpy.dtype
        The type, ``'floatX'`` replaced.

    Raises
    ------
    TypeError
        If `num_classes` is no integer or `dtype` no type of numbers; while iterating, if labels
        are no integers.
    ValueError
        If there is no class; while iterating, if a label is negative or too large (label, source
        and ordinal are named), or an example has more than one.

    Notes
    -----
    Batches of shape ``(n,)`` or ``(n, 1)`` become ``(n, num_classes)``, examples (a number, or an
    array of one) ``(num_classes,)``. The axis labels become ``(first label, 'class')`` or
    ``('class',)``.

    Examples
    --------
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> labels = DataStream(IndexableDataset({'targets': [0, 2, 1]}),
    ...                     iteration_scheme=SequentialScheme(3, 3))
    >>> [targets.tolist() for targets, in OneHot(labels, num_classes=3, dtype='uint8')]
    [[[1, 0, 0], [0, 0, 1], [0, 1, 0]]]

    """

    _asks_sources = True
    elementwise = True

    def __init__(
        self, data_stream: Any, num_classes: int, dtype: Any = "floatX", **kwargs: Any
    ) -> None:
        self.num_classes = check_integer("OneHot", "num_classes", num_classes)
        if self.num_classes < 1:
            raise ValueError(
                f"`num_classes` of OneHot must be at least 1, got {num_classes}; count the classes"
            )
        self.dtype = check_label_type("OneHot", dtype)
        given = "axis_labels" in kwargs
        kwargs.setdefault("axis_labels", labels_below(data_stream))
        super().__init__(data_stream, kind_below("OneHot", data_stream), **kwargs)
        if self.axis_labels and not given:
            which = self.which_sources
            for source, names in list(self.axis_labels.items()):
                if names and (which is None or source in which):
                    batch = () if self.produces_examples else (names[0],)
                    self.axis_labels[source] = (*batch, "class")

    def apply(self, data: Any, context: Context) -> Any:
        """Transform one item; the context gives the ordinal of a label that is out of range."""
        if self.produces_examples != self.data_stream.produces_examples:
            return super().apply(data, context)  # which says what is wrong
        if is_hooked(self):
            with treating(self, context):
                return super().apply(data, context)
        method = self._example if self.produces_examples else self._batch
        return self._apply_sourcewise_transformation(
            data, lambda item, source: method(item, source, context)
        )

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Transform one label."""
        return self._example(source_example, source_name, treated(self) or Context(0))

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Transform the labels of a batch."""
        context = treated(self) or Context(0, 0, len(source_batch))
        return self._batch(source_batch, source_name, context)

    def _example(self, label: Any, source_name: str, context: Context) -> Any:
        return self._vectors(numpy.asarray(label)[None], source_name, context)[0]

    def _batch(self, labels: Any, source_name: str, context: Context) -> Any:
        return self._vectors(as_batch(labels), source_name, context)

    def _vectors(self, labels: Any, source_name: str, context: Context) -> Any:
        return one_hot("OneHot", labels, self.num_classes, self.dtype, source_name, context)

    def _parameters(self) -> dict[str, Any]:
        return {"num_classes": self.num_classes, "dtype": str(self.dtype), **super()._parameters()}
