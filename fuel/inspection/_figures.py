"""What is shown of a source: images, signals, distributions or lines of text.

A figure holds what is to be seen, not how it is drawn: ``_drawing`` makes pixels of it, ``_page``
HTML. Which figure a source becomes is decided by the labels of its axes, its shape, its type and
the first of its examples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.inspection import _images
from fuel.inspection._choice import READING, Examples, chosen_positions, spread_positions
from fuel.inspection._opening import in_one_line
from fuel.inspection._statistics import class_names
from fuel.inspection._words import clean, number

__all__ = ["Bars", "Histograms", "Lines", "Pictures", "Section", "Wave", "Waves", "sections"]

#: So many examples are shown unless somebody asks for another number.
IMAGES = 24
_SHOWN = {"wave": 8, "text": 12}
#: Longer texts are no labels.
_MOST_LABEL_LETTERS = 24
_COLUMNS = 900
_MOST_BINS = 30
#: Whole numbers in so many values have a bar each.
_MOST_BARS = 40
_MOST_HISTOGRAMS = 12
_HISTOGRAM_BYTES = 16 * 2**20
_HISTOGRAM_ROWS = 200_000
_MOST_LETTERS = 600
#: The axes of signals; whole numbers of this size at most are sound rather than words.
_TIME, _SOUND_BYTES = "time", 2


@dataclass
class Pictures:
    """Images: each one, or why there is none, and what it is called."""

    images: list[Any]
    captions: list[str]
    rows: list[int]
    faults: list[str]


@dataclass
class Wave:
    """A signal: of each channel the smallest and largest value in so many equal parts of it."""

    low: list[NDArray[Any]]
    high: list[NDArray[Any]]
    length: int
    least: float
    most: float


@dataclass
class Waves:
    """Signals, and what they are called."""

    waves: list[Wave]
    captions: list[str]
    rows: list[int]


@dataclass
class Bars:
    """How often values occur: names of the bars, or the ends of the range that they divide."""

    title: str
    counts: list[int]
    names: list[str] | None
    low: float
    high: float


@dataclass
class Histograms:
    """Distributions."""

    bars: list[Bars]


@dataclass
class Lines:
    """Texts."""

    texts: list[str]
    captions: list[str]
    rows: list[int]


@dataclass
class Section:
    """A source and its figure; without one, the note says why."""

    source: str
    note: str
    figure: Pictures | Waves | Histograms | Lines | None
    #: How much it tells: what is seen or heard comes first.
    rank: int = field(default=9)


def sections(examples: Examples, count: int | None, seed: int | None) -> list[Section]:
    """Make the figures of all sources.

    Parameters
    ----------
    examples : Examples
        What there is to choose from.
    count : int or None
        How many examples of each source are shown; None for what fits on a page.
    seed : int or None
        See `fuel.inspection._choice.chosen_positions`.

    Returns
    -------
    list of Section
        Images, signals, texts, distributions, then what cannot be shown.

    """
    found = []
    for name in examples.sources:
        total = examples.number(name)
        if not total:
            found.append(Section(clean(name), "no examples", None))
            continue
        try:
            found.append(_section(examples, name, total, count, seed))
        except READING as error:
            told = f"cannot be read: {in_one_line(error)}"
            found.append(Section(clean(name), told, None))
    return sorted(found, key=lambda section: section.rank)


def _section(
    examples: Examples, name: str, total: int, count: int | None, seed: int | None
) -> Section:
    dataset = examples.sources[name]
    labels = _labels(dataset)
    first = examples.read(name, chosen_positions(total, count or IMAGES, seed)[:1])[0]
    kind, axes = _kind(first, labels, dataset.dtype)
    places = chosen_positions(total, count or _SHOWN.get(kind or "", IMAGES), seed)
    title = clean(name)
    if kind is None:
        return Section(title, "not of a kind that can be drawn", None)
    if kind == "histogram":
        bars = _histograms(examples, name)
        seen = len(_wide_places(examples, name))
        note = "" if seen >= total else f"of {seen:,} of {total:,} examples"
        return Section(title, note, Histograms(bars), 4)
    rows = examples.rows(name, places)
    captions = _captions(examples, name, places)
    if kind == "encoded":
        return Section(title, "", _decoded(examples, name, places, captions, rows), 0)
    if kind == "image":
        if axes is None:
            raise ValueError("an image has axes")
        planes = []
        for place in places:
            (value,) = examples.read(name, [place])
            planes.append(None if 0 in numpy.shape(value) else _images.reduced(value, axes))
        low, high = _images.range_of([plane for plane in planes if plane is not None])
        images = [None if p is None else _images.as_picture(p, low, high) for p in planes]
        faults = ["" if plane is not None else "empty" for plane in planes]
        notes = [f"black {number(low)}, white {number(high)}"]
        channels = 1 if axes[2] is None else numpy.shape(first)[axes[2]]
        if channels not in (1, 3, 4):
            notes.append(f"the first of {channels} channels")
        others = [k for k in range(numpy.ndim(first)) if k not in axes]
        if others:
            notes.append(f"the middle of axis {', '.join(labels[k] or str(k) for k in others)}")
        return Section(title, "; ".join(notes), Pictures(images, captions, rows, faults), 1)
    values = examples.read(name, places)
    if kind == "wave":
        waves = [_wave(numpy.asarray(value), labels) for value in values]
        return Section(title, "", Waves(waves, captions, rows), 2)
    return Section(title, "", Lines([_as_text(value) for value in values], captions, rows), 3)


def _labels(dataset: Any) -> tuple[str, ...]:
    """Return the labels of the axes of an example."""
    from fuel.datasets._h5_layout import labels_of, shapes_of

    labels = labels_of(dataset)[1:]
    told = shapes_of(dataset, "shape_labels") if dataset.dtype.hasobject else None
    if told is not None and told.shape:
        labels += [v.decode("utf8", "replace") if isinstance(v, bytes) else str(v) for v in told[:]]
    return tuple(label.lower() for label in labels)


def _kind(
    first: Any, labels: tuple[str, ...], dtype: Any
) -> tuple[str | None, tuple[int, int, int | None] | None]:
    """Decide what a source becomes."""
    if _images.is_encoded(first):
        return "encoded", None
    if isinstance(first, bytes | str) or dtype.kind == "S":
        return "text", None
    value = numpy.asarray(first)
    if dtype.names is not None:
        return "text", None
    if value.dtype.kind not in "biufc":
        return None, None
    labels = (labels + ("",) * value.ndim)[: value.ndim]
    ragged = bool(dtype.hasobject)
    channels = value.shape[labels.index("channel")] if "channel" in labels else 1
    if _TIME in labels and (value.ndim == 1 or (value.ndim == 2 and "channel" in labels)):
        words = value.dtype.kind in "iu" and value.dtype.itemsize > _SOUND_BYTES
        if not words and channels:
            return "wave", None
    axes = _images.plane_of(value.shape, labels)
    if axes is not None:
        return "image", axes
    if ragged and value.ndim == 1:
        return ("text" if value.dtype.kind in "iub" else "wave"), None
    return "histogram", None


def _decoded(
    examples: Examples, name: str, places: list[int], captions: list[str], rows: list[int]
) -> Pictures:
    images: list[Any] = []
    faults = []
    for place in places:
        try:
            (value,) = examples.read(name, [place])
            images.append(_images.decode(value)[0])
            faults.append("")
        except ValueError as error:
            images.append(None)
            faults.append(in_one_line(error))
    return Pictures(images, captions, rows, faults)


def _captions(examples: Examples, name: str, places: list[int]) -> list[str]:
    """Say what other sources say of examples: whole numbers, by name if there are names, words."""
    lines: list[list[str]] = [[] for _ in places]
    total = examples.number(name)
    told = []
    for other, dataset in examples.sources.items():
        single = math.prod(dataset.shape[1:]) == 1
        if other == name or not single or examples.number(other) != total:
            continue
        if dataset.dtype.kind not in "iubfS" and not _is_text(dataset):
            continue
        names = class_names(dataset)
        try:
            values = examples.read(other, places)
        except READING:
            continue  # told where the source itself is shown
        if any(_images.is_encoded(value) for value in values):
            continue
        texts = [_label(value, names) for value in values]
        if dataset.dtype.kind in "iubf" or max(map(len, texts)) <= _MOST_LABEL_LETTERS:
            told.append((clean(other), texts))
    for title, texts in told:
        for line, text in zip(lines, texts, strict=True):
            line.append(text if len(told) == 1 else f"{title}: {text}")
    return ["\n".join(line) for line in lines]


def _is_text(dataset: Any) -> bool:
    import h5py

    return h5py.check_string_dtype(dataset.dtype) is not None


def _label(value: Any, names: dict[int, str]) -> str:
    if isinstance(value, numpy.ndarray):
        value = value.reshape(-1)[0]
    if isinstance(value, bytes | str):
        return _as_text(value)[:60]
    if isinstance(value, numpy.floating):
        return number(float(value))
    value = value.item() if isinstance(value, numpy.generic) else value
    return names.get(int(value), str(value))


def _wave(value: NDArray[Any], labels: tuple[str, ...]) -> Wave:
    if value.dtype.kind == "c":
        value = numpy.abs(value)
    signal = value.astype(numpy.float64)
    if signal.ndim == 2 and labels[:1] == (_TIME,):
        signal = signal.T
    channels = signal.reshape(1, -1) if signal.ndim == 1 else signal[:2]
    length = channels.shape[1]
    parts = min(length, _COLUMNS)
    low, high = [], []
    for channel in channels:
        channel = numpy.nan_to_num(channel, nan=0.0, posinf=0.0, neginf=0.0)
        if parts:
            starts = numpy.arange(parts) * length // parts
            low.append(numpy.minimum.reduceat(channel, starts))
            high.append(numpy.maximum.reduceat(channel, starts))
    least = min((float(part.min()) for part in low), default=0.0)
    most = max((float(part.max()) for part in high), default=0.0)
    return Wave(low, high, length, least, most)


def _as_text(value: Any) -> str:
    if isinstance(value, numpy.ndarray) and value.dtype.names is None:
        if value.dtype.kind == "S":
            return "  ".join(_as_text(one) for one in value.reshape(-1)[:100].tolist())
        shown = " ".join(map(str, value.reshape(-1)[:200].tolist()))
        return shown[:_MOST_LETTERS] or "(empty)"
    if isinstance(value, numpy.void | numpy.ndarray) and value.dtype.names is not None:
        if value.ndim:
            return f"({' x '.join(map(str, value.shape))} compounds)"
        pairs = (f"{clean(name)} = {_part(value[name])}" for name in value.dtype.names)
        return ", ".join(pairs)[:_MOST_LETTERS]
    if isinstance(value, bytes):
        value = value[: 4 * _MOST_LETTERS].decode("utf8", "replace")
    text = str(value)[:_MOST_LETTERS]
    return clean(text) if text else "(empty)"


def _part(value: Any) -> str:
    if isinstance(value, bytes):
        return _as_text(value)
    if isinstance(value, numpy.generic):
        value = value.item()
    return number(value) if isinstance(value, float) else clean(str(value))


def _wide_places(examples: Examples, name: str) -> list[int]:
    rows = min(_HISTOGRAM_ROWS, max(1, _HISTOGRAM_BYTES // examples.row_bytes(name)))
    return spread_positions(examples.number(name), rows)


def _histograms(examples: Examples, name: str) -> list[Bars]:
    values = examples.read(name, _wide_places(examples, name))
    flat = [numpy.asarray(value).reshape(-1) for value in values]
    widths = {len(one) for one in flat}
    names = class_names(examples.sources[name])
    if len(widths) == 1 and 1 <= min(widths) <= _MOST_HISTOGRAMS:
        table = numpy.stack(flat)
        width = table.shape[1]
        titles = [clean(name)] if width == 1 else [f"{clean(name)}[{k}]" for k in range(width)]
        return [_bars(table[:, k], titles[k], names) for k in range(width)]
    title = f"all {min(widths):,} values" if len(widths) == 1 else "all values"
    return [_bars(numpy.concatenate(flat), title, names)]


def _bars(values: NDArray[Any], title: str, names: dict[int, str]) -> Bars:
    if values.dtype.kind == "c":
        values, title = numpy.abs(values), f"{title}, magnitude"
    if values.dtype.kind in "iub":
        classes, counts = numpy.unique(values, return_counts=True)
        if 0 < len(classes) <= _MOST_BARS:
            numbers = [int(value) for value in classes]
            # Numbers between that do not occur keep their place, where there are few.
            if not names and numbers[-1] - numbers[0] < _MOST_BARS:
                known = dict(zip(numbers, counts.tolist(), strict=True))
                numbers = list(range(numbers[0], numbers[-1] + 1))
                counts = numpy.array([known.get(value, 0) for value in numbers])
            told = [names.get(value, str(value)) for value in numbers]
            return Bars(title, counts.tolist(), told, float(numbers[0]), float(numbers[-1]))
    exact = values.astype(numpy.float64)
    exact = exact[numpy.isfinite(exact)]
    if not exact.size:
        return Bars(f"{title}: no finite values", [], None, 0.0, 0.0)
    low, high = float(exact.min()), float(exact.max())
    span = high - low
    # As many as the cube root of the count, twice (the rule of Rice University's textbook).
    bins = min(_MOST_BINS, max(5, math.ceil(2 * exact.size ** (1 / 3))))
    if not math.isfinite(span) or low + span / bins == low or high - span / bins == high:
        return Bars(title, [int(exact.size)], [number(low)], low, high)
    counts, _ = numpy.histogram(exact, bins, (low, high))
    return Bars(title, counts.tolist(), None, low, high)
