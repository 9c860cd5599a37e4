"""A picture of some examples of a file: images, curves, distributions, lines of text.

How a source is drawn is chosen by its axis labels and shapes; the drawing is in ``_drawing``.
"""

from __future__ import annotations

import io
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import StorageError
from fuel.inspection import _drawing

__all__ = ["preview"]

_MOST_DISTRIBUTIONS = 12
_ROWS_FOR_DISTRIBUTIONS = 2000
#: Vectors that are longer are curves.
_CURVE = 128


def preview(
    path: str,
    output: Any,
    *,
    split: str | None = None,
    count: int = 24,
    seed: int | None = None,
) -> None:
    """Draw some examples.

    Parameters
    ----------
    path : str
        The file.
    output : path or file
        Where the picture goes, as PNG.
    split : str, optional
        From which split; by default the first one in the file.
    count : int, optional
        How many examples, at most 400.
    seed : int, optional
        Take examples at random, chosen by this; by default the first ones.

    Raises
    ------
    fuel.exceptions.StorageError
        If the file cannot be read.
    ValueError
        If there is no such split, nothing to draw, or `count` is out of range.

    """
    if not 1 <= count <= 400:
        raise ValueError(f"`count` must be from 1 to 400, got {count}")
    dataset = _dataset(path, split)
    number = dataset.num_examples
    if not number:
        raise ValueError(f"there is nothing to draw: {path!r} has no examples in that split")
    chosen = _chosen(number, min(count, number), seed)
    data = dict(zip(dataset.sources, dataset.get_data(None, chosen), strict=True))
    many = dataset.get_data(None, _chosen(number, min(_ROWS_FOR_DISTRIBUTIONS, number), seed))
    wide = dict(zip(dataset.sources, many, strict=True))
    titles = _titles(dataset, data)
    panels = []
    for source in dataset.sources:
        panel = _panel(source, dataset.axis_labels.get(source), data[source], wide[source], titles)
        if panel is not None:
            panels.append((source, panel))
    dataset.close(None)
    if not panels:
        raise ValueError(f"there is nothing to draw in {path!r}: {list(dataset.sources)}")
    image = _drawing.stacked(panels)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    if hasattr(output, "write"):
        output.write(buffer.getvalue())
        return
    from fuel.converters._output import atomic_output

    with atomic_output(output) as part, open(part, "wb") as file:
        file.write(buffer.getvalue())


def _dataset(path: str, split: str | None) -> Any:
    from fuel.datasets import _splits
    from fuel.datasets._h5_handles import noticing_damage, open_hdf5
    from fuel.datasets.hdf5 import H5PYDataset

    with open_hdf5(path) as h5file, noticing_damage(path):
        rows = _splits.read_splits(h5file)
    names = list(dict.fromkeys(row.split for row in rows))
    if split is not None and split not in names:
        raise ValueError(f"{path!r} has no split {split!r}; it has {names or 'none'}")
    which = None if not names else (split or names[0],)
    return H5PYDataset(path, which)


def _chosen(number: int, count: int, seed: int | None) -> list[int]:
    if seed is None:
        return list(range(count))
    from fuel.kernels.permutation import Permutation

    return [int(index) for index in Permutation(seed, 0, number, "preview").block(0, count)]


def _titles(dataset: Any, data: dict[str, Any]) -> list[str]:
    """Return a label for each example: its whole numbers, by name where names are known."""
    names = _class_names(dataset)
    titles = [""] * len(next(iter(data.values())))
    for source, values in data.items():
        array = numpy.asarray(values) if not isinstance(values, list) else None
        if array is None or array.dtype.kind not in "iub" or array[0].size != 1:
            continue
        for place, value in enumerate(array.reshape(-1).tolist()):
            known = names.get(source, [])
            text = known[value] if 0 <= int(value) < len(known) else str(value)
            titles[place] = f"{titles[place]} {text}".strip()
    return titles


def _class_names(dataset: Any) -> dict[str, list[str]]:
    found = {}
    with dataset._reading() as h5file:
        for source in dataset.sources:
            names = h5file[source].attrs.get("class_names")
            if names is not None:
                found[source] = [
                    name.decode("utf8", "replace") if isinstance(name, bytes) else str(name)
                    for name in numpy.asarray(names).reshape(-1).tolist()
                ]
    return found


def _panel(
    source: str, labels: tuple[str, ...] | None, few: Any, many: Any, titles: list[str]
) -> Any:
    first = few[0]
    if isinstance(first, bytes | str):
        return _drawing.lines([_text(one) for one in few])
    first = numpy.asarray(first)
    if first.dtype.kind == "S":
        return _drawing.lines([_text(one) for one in numpy.asarray(few).reshape(-1)])
    if first.dtype.kind not in "biuf":
        return None
    if first.dtype == numpy.uint8 and first.ndim == 1 and _is_encoded(first):
        return _drawing.grid([_decoded(one) for one in few], titles)
    inner = tuple(labels[1:]) if labels and len(labels) == first.ndim + 1 else ()
    if "time" in inner and first.ndim <= 2:
        return _drawing.curves([_channels(numpy.asarray(one), inner) for one in few], titles)
    pixels = _as_image(first, inner)
    if pixels is not None:
        low, high = _range(many)
        return _drawing.grid(
            [_bytes(_as_image(numpy.asarray(one), inner), low, high) for one in few], titles
        )
    if first.ndim == 1 and first.size > _CURVE and isinstance(few, numpy.ndarray):
        return _drawing.curves([[one] for one in few], titles)
    if isinstance(many, numpy.ndarray) and many.dtype != object:
        if not many.size:
            return None
        table = many.reshape(len(many), -1)[:, :_MOST_DISTRIBUTIONS]
        names = [f"{source}[{k}]" if table.shape[1] > 1 else source for k in range(table.shape[1])]
        return _drawing.distributions(list(table.T), names)
    return _drawing.distributions(
        [numpy.array([numpy.asarray(one).size for one in many])], [f"size of {source}"]
    )


def _text(value: Any) -> str:
    return value.decode("utf8", "replace") if isinstance(value, bytes) else str(value)


def _is_encoded(values: NDArray[Any]) -> bool:
    start = values[:12].tobytes()
    return start[:3] == b"\xff\xd8\xff" or start[:8] == b"\x89PNG\r\n\x1a\n" or start[:3] == b"GIF"


def _decoded(values: Any) -> NDArray[Any]:
    from PIL import Image

    try:
        image = Image.open(io.BytesIO(numpy.asarray(values).tobytes()))
        image.draft("RGB", (256, 256))
        return numpy.asarray(image.convert("RGB"))
    except Exception as error:
        raise StorageError(f"an image in the file cannot be decoded: {error}") from error


def _channels(example: NDArray[Any], labels: tuple[str, ...]) -> list[NDArray[Any]]:
    if example.ndim == 1:
        return [example]
    if labels.index("time") == 0:
        example = example.T
    return list(example[:4])


def _as_image(example: NDArray[Any], labels: tuple[str, ...]) -> NDArray[Any] | None:
    """Return an example as height by width, or height by width by 3; None if it is no image."""
    if example.ndim == 2:
        named = labels[-2:] in (("height", "width"), ("row", "column"))
        plain = not labels and min(example.shape) >= 8
        return example if named or plain else None
    if example.ndim != 3:
        return None
    if labels == ("height", "width", "channel"):
        last = True
    elif labels == ("channel", "height", "width"):
        last = False
    elif example.shape[0] in (1, 3, 4):
        last = False
    elif example.shape[2] in (1, 3, 4):
        last = True
    else:
        return None
    image = example if last else numpy.moveaxis(example, 0, -1)
    channels = image.shape[2]
    return image[..., :3] if channels >= 3 else image[..., 0] if channels else None


def _range(values: Any) -> tuple[float, float]:
    """Return what is to be black and white."""
    parts = [numpy.asarray(one) for one in values[:64]]
    if parts[0].dtype == numpy.uint8:
        most = max(int(part.max(initial=0)) for part in parts)
        return 0.0, 255.0 if most > 32 else float(max(most, 1))
    finite = numpy.concatenate([part[numpy.isfinite(part)].reshape(-1) for part in parts])
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high if high > low else low + 1)


def _bytes(image: Any, low: float, high: float) -> NDArray[numpy.uint8]:
    scaled = (numpy.nan_to_num(numpy.asarray(image, dtype=numpy.float64)) - low) / (high - low)
    found: NDArray[numpy.uint8] = (scaled.clip(0, 1) * 255).astype(numpy.uint8)
    return found
