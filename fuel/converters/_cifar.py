"""Reading the batches of CIFAR-10 and CIFAR-100: pickles in a tar archive compressed with gzip.

The names of the files in the archive and the labels are in the converters `cifar10` and
`cifar100`. Pickles are read by `_restricted_pickle`, so nothing in the archive is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.converters import _restricted_pickle
from fuel.converters._archives import Member, members
from fuel.converters._raw import damaged
from fuel.converters.base import progress_bar
from fuel.converters.writer import HDF5Writer, SourceSpec

__all__ = ["FEATURES", "LABELS", "convert_batches"]

#: What the images look like.
FEATURES = SourceSpec((3, 32, 32), "uint8", ("batch", "channel", "height", "width"))
#: What labels look like.
LABELS = SourceSpec((1,), "uint8", ("batch", "index"))

# The largest batch, that for training of CIFAR-100, is about 155 MB.
_MAX_MEMBER_BYTES = 1 << 28
_MAX_TOTAL_BYTES = 1 << 30

_PIXELS = 3 * 32 * 32

#: An array for each source.
_Batch = dict[str, NDArray[numpy.uint8]]


def convert_batches(
    archive: str,
    output_path: str,
    folder: str,
    batches: Mapping[str, Sequence[str]],
    labels: Mapping[str, tuple[str, int]],
    advice: str,
) -> tuple[str, ...]:
    """Convert the archive of one of the two data sets.

    Parameters
    ----------
    archive : str
        Its path.
    output_path : str
        The HDF5 file.
    folder : str
        The directory in the archive.
    batches : dict of str to sequence of str
        For each split the files in ``folder``, in the order that the examples get.
    labels : dict of str to (str, int)
        For each source of labels its name in the files, and how many classes there are.
    advice : str
        What messages tell to do if the archive is damaged.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    StorageError
        If the archive is cut short, damaged, lacks a file, or holds what it should not.

    Notes
    -----
    The files are not in order in the archive; those that come early are kept as arrays, at most
    as much as the data set itself has (150 MB).

    """
    sources = dict(sorted({"features": FEATURES, **dict.fromkeys(labels, LABELS)}.items()))
    wanted = [(split, name) for split, names in batches.items() for name in names]
    with (
        HDF5Writer(output_path, sources, splits=batches, inputs=[archive]) as writer,
        progress_bar(folder, len(wanted)) as bar,
    ):
        found = _in_order(archive, folder, [name for _, name in wanted], labels, advice)
        for number, ((split, _), batch) in enumerate(zip(wanted, found, strict=True), 1):
            writer.add(split, **batch)
            bar.update(number)
    return (output_path,)


def _in_order(
    archive: str,
    folder: str,
    names: Sequence[str],
    labels: Mapping[str, tuple[str, int]],
    advice: str,
) -> Iterator[_Batch]:
    """Yield the batches in the order of their names; the archive is read to its end."""
    seen: set[str] = set()
    early: dict[str, _Batch] = {}
    expected = iter(names)
    following = next(expected, None)
    for member in members(
        archive, advice, max_member_bytes=_MAX_MEMBER_BYTES, max_total_bytes=_MAX_TOTAL_BYTES
    ):
        parent, _, name = member.name.rpartition("/")
        if parent != folder or name not in names:
            continue
        if name in seen:
            raise damaged(archive, f"it holds {member.name} twice", advice)
        seen.add(name)
        early[name] = _read(member, archive, labels, advice)
        while following in early:
            yield early.pop(following)  # type: ignore[arg-type]
            following = next(expected, None)
    missing = [f"{folder}/{name}" for name in names if name not in seen]
    if missing:
        raise damaged(archive, f"it lacks {', '.join(missing)}", advice)


def _read(
    member: Member, archive: str, labels: Mapping[str, tuple[str, int]], advice: str
) -> _Batch:
    where = f"{member.name} in {archive}"
    content = _restricted_pickle.load(
        member.file,  # type: ignore[arg-type]
        where,
        advice,
        max_read_bytes=member.size,
    )
    if not isinstance(content, dict):
        raise damaged(where, f"it should hold a dict, not a {type(content).__name__}", advice)
    # Written again by Python 3, keys may be bytes.
    content = {key.decode() if isinstance(key, bytes) else key: content[key] for key in content}
    lacking = [key for key in ("data", *(key for key, _ in labels.values())) if key not in content]
    if lacking:
        raise damaged(where, f"it lacks the entries {', '.join(lacking)}", advice)
    data = content["data"]
    if not (
        isinstance(data, numpy.ndarray) and data.dtype == "u1" and data.shape[1:] == (_PIXELS,)
    ):
        what = f"{data.dtype} {data.shape}" if isinstance(data, numpy.ndarray) else type(data)
        raise damaged(where, f"its data should be uint8 (n, {_PIXELS}), not {what}", advice)
    batch = {"features": data.reshape(-1, 3, 32, 32)}
    for source, (key, classes) in labels.items():
        batch[source] = _labels(content[key], key, classes, where, advice)
        if len(batch[source]) != len(data):
            raise damaged(
                where, f"it has {len(data)} images, but {len(batch[source])} {key}", advice
            )
    return batch


def _labels(values: Any, key: str, classes: int, where: str, advice: str) -> NDArray[numpy.uint8]:
    whole = isinstance(values, numpy.ndarray) and values.ndim == 1 and values.dtype.kind in "iu"
    if not whole and not (isinstance(values, list) and all(type(one) is int for one in values)):
        raise damaged(where, f"its {key} should be whole numbers", advice)
    wrong = [one for one in values if not 0 <= one < classes]
    if wrong:
        raise damaged(
            where,
            f"its {key} should be from 0 to {classes - 1}, but one is {wrong[0]}",
            advice,
        )
    return numpy.array(values, dtype="uint8")[:, None]
