"""`Dataset`, the class that every dataset of the package derives from.

Here is what all datasets share: the names of their sources, state objects, the recipe of default
transformers. How data is fetched is in the subclasses; who fetches it, and when, is in
`fuel.streams`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fuel.typing import AxisLabels, Request, Sources, Spec

if TYPE_CHECKING:
    from fuel.streams import DataStream

__all__ = ["Dataset"]


class Dataset(ABC):
    """What can be read: one or more named sources of data, and how to fetch from them.

    A dataset holds no position. Where reading needs one (an open file, an iterator), `open`
    returns it as a *state*, which the caller hands back to `get_data`, `reset`, `next_epoch` and
    `close`; any number of readers can therefore share one dataset.

    Parameters
    ----------
    sources : sequence of str, optional
        The sources that the data should consist of, out of `provides_sources`. All by default.
    axis_labels : dict, optional
        Maps names of sources to tuples of axis names, or to None. Kept as given.

    Attributes
    ----------
    provides_sources : tuple of str
        The sources that the dataset is able to provide. A subclass sets it, on the class or on
        the instance, before it calls this constructor.
    axis_labels : dict or None
        Names of the axes of each source.
    default_transformers : tuple of (class, list, dict)
        The transformers that usually follow this dataset, each with its positional and keyword
        arguments after the stream. See `apply_default_transformers`.

    Raises
    ------
    ValueError
        If the class does not say what it provides, or `sources` is empty or names something
        that is not provided.

    Notes
    -----
    A subclass implements `get_data`, and overrides `open` and `close` if it needs a state.
    Methods of the built-in datasets may be called from several threads at once; a state belongs
    to one of them.

    Examples
    --------
    >>> from fuel.datasets import Dataset
    >>> class Squares(Dataset):
    ...     provides_sources = ('number', 'square')
    ...     def get_data(self, state=None, request=None):
    ...         return self.filter_sources(([i for i in request], [i * i for i in request]))
    >>> Squares().get_data(request=[2, 3])
    ([2, 3], [4, 9])
    >>> Squares(sources=('square',)).get_data(request=[2, 3])
    ([4, 9],)

    """

    provides_sources: Any = None
    default_transformers: Any = ()
    axis_labels: Any = None

    def __init__(
        self, sources: Sequence[str] | None = None, axis_labels: AxisLabels | None = None
    ) -> None:
        if not self.provides_sources:
            raise ValueError(
                f"{type(self).__name__} does not say which sources it provides; set "
                "`provides_sources` on the class, or on the instance before calling "
                "`Dataset.__init__`"
            )
        if sources is not None:
            # A string would be taken apart into letters.
            names = () if isinstance(sources, str) else tuple(sources)
            if not names or not all(name in self.provides_sources for name in names):
                raise ValueError(
                    f"{type(self).__name__} is unable to provide requested sources: got "
                    f"{sources!r}; choose one or more of {tuple(self.provides_sources)}, as a tuple"
                )
            self.sources = names
        self.axis_labels = axis_labels

    @property
    def sources(self) -> Any:
        """tuple of str: The sources that the data consists of, in order.

        All of `provides_sources` unless set. A subclass may also set it as a class attribute.
        """
        # Looked up without getattr: subclasses with __getattr__ come here while unpickling.
        chosen = self.__dict__.get("_sources")
        return self.provides_sources if chosen is None else chosen

    @sources.setter
    def sources(self, sources: Iterable[str]) -> None:
        if isinstance(sources, str):
            raise ValueError(
                f"`sources` must be a tuple of names, got {sources!r}; write ({sources!r},)"
            )
        self._sources: Sources = tuple(sources)

    @property
    def specs(self) -> dict[str, Spec]:
        """dict: Shape and type of one example of each source, known before reading.

        Maps every name in `sources` to a `fuel.typing.Spec`. A class that cannot tell gives
        ``Spec(None, None)``.
        """
        return {source: Spec(None, None) for source in self.sources or ()}

    def apply_default_transformers(self, stream: Any) -> Any:
        """Wrap a stream in the transformers that usually follow this dataset.

        Parameters
        ----------
        stream : AbstractDataStream
            A stream of data from this dataset.

        Returns
        -------
        AbstractDataStream
            The stream in the first of `default_transformers`, that in the second, and so on; the
            stream itself if there are none.

        """
        for cls, args, kwargs in self.default_transformers:
            stream = cls(stream, *args, **kwargs)
        return stream

    @property
    def example_iteration_scheme(self) -> Any:
        """IterationScheme: The order in which single examples are usually visited.

        Raises
        ------
        AttributeError
            If the dataset has none: set the attribute, or ``_example_iteration_scheme`` on the
            class.

        """
        scheme = self.__dict__.get("_example_iteration_scheme", self)
        if scheme is self:
            # A class attribute, which may be None on purpose.
            scheme = getattr(type(self), "_example_iteration_scheme", self)
        if scheme is self:
            raise AttributeError(
                f"{type(self).__name__} has no example iteration scheme; set its "
                "`example_iteration_scheme`, or pass a scheme to `DataStream`"
            )
        return scheme

    @example_iteration_scheme.setter
    def example_iteration_scheme(self, value: Any) -> None:
        self._example_iteration_scheme = value

    def get_example_stream(self) -> DataStream:
        """Return a stream of single examples, in the order of `example_iteration_scheme`.

        Returns
        -------
        DataStream
            A new stream over this dataset.

        """
        from fuel.streams import DataStream

        return DataStream(self, iteration_scheme=self.example_iteration_scheme)

    def open(self) -> Any:
        """Return a new state, at the beginning of the data.

        Returns
        -------
        object or None
            None where fetching needs no state.

        """
        return None

    def close(self, state: Any) -> None:  # noqa: B027 - most have nothing to release
        """Release what `open` acquired.

        Parameters
        ----------
        state : object or None
            What `open` returned.

        """

    def reset(self, state: Any) -> Any:
        """Return a state that is at the beginning again.

        Parameters
        ----------
        state : object or None
            The present state, which is closed.

        Returns
        -------
        object or None
            What `open` returns.

        """
        self.close(state)
        return self.open()

    def next_epoch(self, state: Any) -> Any:
        """Return the state with which the next epoch starts: by default, the beginning again.

        Parameters
        ----------
        state : object or None
            The state at the end of the last epoch.

        Returns
        -------
        object or None
            The state for the next one.

        """
        return self.reset(state)

    @abstractmethod
    def get_data(self, state: Any = None, request: Request = None) -> Any:
        """Fetch what a request names.

        Parameters
        ----------
        state : object, optional
            What `open` returned.
        request : int, list or slice, optional
            An index for one example, several indices for a batch. None where the state itself
            decides what comes next.

        Returns
        -------
        tuple
            One item per source, in the order of `sources`.

        Raises
        ------
        StopIteration
            If the state is at its end.
        fuel.exceptions.RequestError
            If the request names examples that are not there.

        """

    def filter_sources(self, data: Sequence[Any]) -> tuple[Any, ...]:
        """Keep the items of the sources that were chosen.

        Parameters
        ----------
        data : sequence
            One item per name in `provides_sources`, in that order.

        Returns
        -------
        tuple
            Those items whose name is in `sources`, still in the order of `provides_sources`.

        """
        return tuple(
            item
            for source, item in zip(self.provides_sources, data, strict=False)
            if source in self.sources
        )

    def __repr__(self) -> str:
        # A repr is read in debuggers and logs: whatever state the object is in, it must not raise.
        try:
            count = getattr(self, "num_examples", None)
            known = isinstance(count, int)
            sources = ", ".join(_describe(name, spec) for name, spec in self.specs.items())
        except Exception:
            known = False
            sources = ", ".join(map(str, self.__dict__.get("_sources") or ()))
        size = f"{count} examples" if known else "unknown number of examples"
        return f"<{type(self).__name__}: {size}; sources: {sources or 'unknown'}>"


def _describe(name: str, spec: Spec) -> str:
    """Write a source as it appears in the repr of a dataset: name, shape, type."""
    shape = "" if spec.shape is None else f" {spec.shape}".replace("None", "?")
    dtype = "" if spec.dtype is None else f" {spec.dtype}"
    return f"{name}{shape}{dtype}"
