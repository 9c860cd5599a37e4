"""`Tokens`: text as arrays of numbers, looked up in a vocabulary.

How a line is taken apart is in `fuel.utils._tokenize`; what makes rectangles of the arrays is
`fuel.transformers.Padding`.
"""

from __future__ import annotations

import os
import re
import types
from collections.abc import Callable, Mapping
from itertools import chain, repeat
from typing import Any

import numpy

from fuel.plan import Context
from fuel.transformers._base import SourcewiseTransformer
from fuel.transformers._checks import check_dtype, check_which, kind_below, labels_below
from fuel.transformers._functions import (
    check_function,
    function_name,
    takes_rng,
)
from fuel.transformers._stacking import object_array
from fuel.typing import JSON
from fuel.utils._lines import text_encoding
from fuel.utils._tokenize import Level, splitter, tokens_of
from fuel.utils._vocabulary_items import digest_of
from fuel.utils.vocabulary import USUAL, Usual, Vocabulary, lookup_of, marks_of

__all__ = ["Tokens"]


class Tokens(SourcewiseTransformer):
    """Turns text into arrays of the numbers of its tokens.

    Parameters
    ----------
    data_stream : AbstractDataStream
        A stream of text, as examples or batches: of str or bytes, or of sequences of tokens, which
        are looked up as they are.
    vocabulary : Vocabulary, mapping or path
        Maps tokens to numbers: a `fuel.utils.vocabulary.Vocabulary`, a dict, or a file for
        `Vocabulary.load`.
    level : {'word', 'character'} or callable, optional
        How text is taken apart: at white space; into characters, without the white space at its
        ends; or by a function from a str to tokens.
    unknown, begin, end : str or None, optional
        The token that stands for those not in the vocabulary, and those put before and behind each
        sequence; None for none. By default the marks of the vocabulary; in a dict ``<UNK>``,
        ``<S>`` and ``</S>``, where they are.
    dtype : str or numpy.dtype, optional
        Of the arrays; an integer type that holds all numbers.
    preprocess : callable, optional
        Called with each text before it is taken apart; returns a str.
    encoding : str, optional
        Of bytes.
    elementwise : bool, optional
        True declares that functions given as `level` and `preprocess` depend on their text alone,
        so that they may be called anywhere and in any order. Methods of `str` and of compiled
        regular expressions are known to.
    **kwargs
        `which_sources` (default: all), `axis_labels`, `name`.

    Attributes
    ----------
    vocabulary : mapping
        As given, or as read.
    level, unknown, begin, end, dtype, preprocess, encoding
        As given; marks as they are used.

    Raises
    ------
    ValueError
        If there is no such level; if a mark is not in the vocabulary; if a number does not fit
        into `dtype`; if a function draws, or is declared elementwise and holds a generator.
    TypeError
        If the vocabulary or a function is none, or `dtype` is no integer type.
    fuel.exceptions.StorageError
        If a vocabulary cannot be read.

    Notes
    -----
    An example becomes an array of shape ``(tokens,)``. A batch becomes what
    `fuel.transformers.Batch` makes of such examples: an array of shape ``(n, tokens)`` where all
    are of one length, else an object array of arrays; see `fuel.transformers.Padding`. The axis
    labels, where the stream has some, become ``(first label, 'token')`` or ``('token',)``.

    A token that is not in the vocabulary raises a `KeyError` if there is no unknown mark; the
    message names it, its source and its ordinal in the epoch.

    Functions that remember something between calls are resumed with what they remember, as those
    of `fuel.transformers.Mapping`.

    Examples
    --------
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialExampleScheme
    >>> from fuel.streams import DataStream
    >>> from fuel.utils.vocabulary import Vocabulary
    >>> dataset = IndexableDataset({'text': ['to be', 'or not to be']})
    >>> stream = DataStream(dataset, iteration_scheme=SequentialExampleScheme(2))
    >>> vocabulary = Vocabulary(['<S>', '</S>', '<UNK>', 'be', 'not', 'to'])
    >>> for text, in Tokens(stream, vocabulary):
    ...     print(text)
    [0 5 3 1]
    [0 2 4 5 3 1]

    """

    _asks_sources = True

    def __init__(
        self,
        data_stream: Any,
        vocabulary: Mapping[str, int] | str | os.PathLike[str],
        level: Level = "word",
        *,
        unknown: str | Usual | None = USUAL,
        begin: str | Usual | None = USUAL,
        end: str | Usual | None = USUAL,
        dtype: Any = "int64",
        preprocess: Callable[[str], str] | None = None,
        encoding: str = "utf-8",
        elementwise: bool | None = None,
        **kwargs: Any,
    ) -> None:
        examples = kind_below("Tokens", data_stream)
        which = kwargs.get("which_sources")
        if which is not None:
            kwargs["which_sources"] = which = check_which(
                "Tokens", "which_sources", which, data_stream
            )
        if getattr(data_stream, "axis_labels", None):
            kwargs.setdefault("axis_labels", _labels(data_stream, which))
        super().__init__(data_stream, examples, **kwargs)
        if isinstance(vocabulary, (str, os.PathLike)):
            vocabulary = Vocabulary.load(vocabulary)
        if not isinstance(vocabulary, Mapping):
            raise TypeError(
                "`vocabulary` of Tokens must map tokens to numbers, got "
                f"{vocabulary!r:.80}; pass a Vocabulary, a dict or the name of a file"
            )
        self.vocabulary = vocabulary
        self._split = splitter(level)
        self.level, self.preprocess, self.encoding = level, preprocess, encoding
        usual = marks_of(vocabulary)
        self.unknown = usual["unknown"] if isinstance(unknown, Usual) else unknown
        self.begin = usual["begin"] if isinstance(begin, Usual) else begin
        self.end = usual["end"] if isinstance(end, Usual) else end
        for name in ("unknown", "begin", "end"):
            mark = getattr(self, name)
            if mark is not None and not (isinstance(mark, str) and mark in vocabulary):
                raise ValueError(
                    f"`{name}` of Tokens must be in the vocabulary, got {mark!r:.80}; add it, or "
                    f"pass {name}=None"
                )
        self.dtype = _checked_dtype(dtype, vocabulary)
        self._users = [f for f in (level, preprocess) if callable(f) and not _is_pure(f)]
        if preprocess is not None and not callable(preprocess):
            raise TypeError(
                f"`preprocess` of Tokens must be a function from a str to a str, got "
                f"{preprocess!r:.80}; pass for example str.lower"
            )
        text_encoding(encoding)
        self._declared = elementwise
        self._check_functions(bool(elementwise))
        self._digest: str | None = None

    def _check_functions(self, elementwise: bool) -> None:
        for function in self._users:
            if takes_rng(function):
                raise ValueError(
                    f"{function_name(function)} takes `rng`, which Tokens does not hand out; call "
                    "it in a Mapping below, and leave the looking up to Tokens"
                )
            check_function("Tokens", function, None, draws=False, elementwise=elementwise)

    @property
    def elementwise(self) -> bool:
        """Whether each item is a pure function of one item below and its context."""
        return not self._users if self._declared is None else bool(self._declared)

    @elementwise.setter
    def elementwise(self, value: bool) -> None:
        self._check_functions(bool(value))
        self._declared = value

    def apply(self, data: Any, context: Context) -> Any:
        """Look up one item; see `Transformer.apply`."""
        try:
            return super().apply(data, context)
        except _UnknownToken as error:
            ordinal, _ = context.address(error.index)
            raise KeyError(
                _message(error.token, f" of example {ordinal} of epoch {context.epoch}", error)
            ) from None

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Look up one source of an example."""
        try:
            return self._numbers(source_example)
        except _UnknownToken as error:
            raise error.at(source_name, 0) from None

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Look up one source of a batch."""
        texts = source_batch
        if isinstance(texts, (str, bytes)) or not hasattr(texts, "__iter__"):
            raise TypeError(
                f"a batch must be a collection of texts, got {texts!r:.60} for source "
                f"{source_name!r}; say `produces_examples=True` for a stream of single texts"
            )
        arrays: list[Any] = []
        try:
            for text in texts:
                arrays.append(self._numbers(text))
        except _UnknownToken as error:
            raise error.at(source_name, len(arrays)) from None
        lengths = set(map(len, arrays))
        if len(lengths) > 1:
            return object_array(arrays)
        return numpy.array(arrays, self.dtype) if arrays else numpy.empty((0, 0), self.dtype)

    def _numbers(self, text: Any) -> Any:
        """Return the numbers of the tokens of one text, with the marks."""
        tokens = tokens_of(text, self._split, self.preprocess, self.encoding)
        if not isinstance(tokens, (list, str, tuple)):
            tokens = list(tokens)
        vocabulary = self.vocabulary
        get = lookup_of(vocabulary)
        count = len(tokens)
        numbers: Any
        if self.unknown is None:
            numbers = map(get, tokens)
        else:
            numbers = map(get, tokens, repeat(vocabulary[self.unknown]))
        if self.begin is not None:
            numbers = chain((vocabulary[self.begin],), numbers)
            count += 1
        if self.end is not None:
            numbers = chain(numbers, (vocabulary[self.end],))
            count += 1
        try:
            return numpy.fromiter(numbers, self.dtype, count)
        except TypeError:
            for token in tokens:
                if get(token) is None and self.unknown is None:
                    raise _UnknownToken(token) from None
            raise

    def _functions(self) -> list[Any]:
        return [] if self.elementwise else self._users

    def _why_not_elementwise(self) -> str:
        names = " and ".join(map(function_name, self._users)) or "it"
        return (
            f"runs in order, in this process: {names} may remember; say "
            "`Tokens(..., elementwise=True)` if the tokens depend on the text alone"
        )

    def _parameters(self) -> dict[str, Any]:
        level = self.level if isinstance(self.level, str) else function_name(self.level)
        parameters: dict[str, Any] = {"vocabulary": f"{len(self.vocabulary)} tokens"}
        if level != "word":
            parameters["level"] = level
        for name in ("unknown", "begin", "end"):
            if getattr(self, name) is not None:
                parameters[name] = getattr(self, name)
        if self.dtype != numpy.int64:
            parameters["dtype"] = self.dtype.name
        if self.preprocess is not None:
            parameters["preprocess"] = function_name(self.preprocess)
        if self.encoding != "utf-8":
            parameters["encoding"] = self.encoding
        return {**parameters, **super()._parameters()}

    def _fingerprint(self) -> dict[str, JSON]:
        if self._digest is None:
            self._digest = digest_of(self.vocabulary)
        return {**super()._fingerprint(), "vocabulary": self._digest}


class _UnknownToken(KeyError):
    """A token that has no number, on its way up to where its example is known."""

    source = ""
    index = 0

    def __init__(self, token: Any) -> None:
        super().__init__(_message(token, "", self))
        self.token = token

    def at(self, source: str, index: int) -> _UnknownToken:
        """Say where it is: in which source, and in which example of the batch."""
        self.source, self.index = source, index
        self.args = (_message(self.token, "", self),)
        return self


def _message(token: Any, example: str, error: _UnknownToken) -> str:
    source = f" (source {error.source!r}{example})" if error.source else ""
    return (
        f"token {token!r:.80}{source} is not in the vocabulary; add it, or name an `unknown` token "
        "that stands for it"
    )


def _is_pure(function: Any) -> bool:
    """Tell whether a function is known to depend on its argument alone."""
    if isinstance(function, types.MethodDescriptorType):
        return function.__objclass__ is str
    return isinstance(function, types.BuiltinMethodType) and isinstance(
        function.__self__, re.Pattern
    )


def _checked_dtype(dtype: Any, vocabulary: Mapping[str, int]) -> numpy.dtype[Any]:
    """Return an integer type that holds all numbers of a vocabulary."""
    check_dtype("Tokens", "dtype", dtype)
    found: numpy.dtype[Any] = numpy.dtype(dtype)
    if found.kind not in "iu":
        raise TypeError(
            f"`dtype` of Tokens must be an integer type, got {dtype!r:.80}; put a Cast above it "
            "for another one"
        )
    if isinstance(vocabulary, Vocabulary):
        least, most = 0, len(vocabulary) - 1
    else:
        for token, number in vocabulary.items():
            if not isinstance(token, str):
                raise TypeError(
                    f"`vocabulary` of Tokens must map tokens to numbers, got {token!r:.80} as a "
                    "token; tokens are strings"
                )
            if isinstance(number, bool) or not hasattr(number, "__index__"):
                raise TypeError(
                    "`vocabulary` of Tokens must map tokens to integers, got "
                    f"{number!r:.80} for {token!r:.80}; map tokens to numbers, not the other way"
                )
        least, most = min(vocabulary.values(), default=0), max(vocabulary.values(), default=0)
    bounds = numpy.iinfo(found)
    if least < bounds.min or most > bounds.max:
        raise ValueError(
            f"`dtype` of Tokens must hold the numbers {least} to {most}, got {found.name}, which "
            f"ends at {bounds.max}; use a larger one"
        )
    return found


def _labels(data_stream: Any, which: Any) -> Any:
    labels = labels_below(data_stream)
    for source, names in list(labels.items()):
        if which is not None and source not in which:
            continue
        if data_stream.produces_examples:
            labels[source] = ("token",)
        else:
            labels[source] = (names[0] if names else "batch", "token")
    return labels
