"""What each built-in data set consists of: one table, plain data.

Data set name → its raw files (name, address, size, SHA-256) and the HDF5 file made from them.
Downloaders and converters both read this table, so neither needs the other. Fetching is in
`fuel.downloaders`, converting in `fuel.converters`; the files marked as packaged are in
`fuel/data`, with a README on where they come from.

The entries are in private modules by origin (``_uci``), their classes in ``_base``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fuel.manifests._base import DataFile, Manifest, Table
from fuel.manifests._celeba import CELEBA
from fuel.manifests._dogs_vs_cats import DOGS_VS_CATS
from fuel.manifests._idx import IDX
from fuel.manifests._imagenet import IMAGENET
from fuel.manifests._one_billion_word import ONE_BILLION_WORD
from fuel.manifests._svhn import SVHN
from fuel.manifests._uci import UCI
from fuel.manifests._universities import UNIVERSITIES

__all__ = ["MANIFESTS", "DataFile", "Manifest", "Table", "file_at"]

#: Every built-in data set, by name.
MANIFESTS: Mapping[str, Manifest] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            *UCI,
            *IDX,
            *UNIVERSITIES,
            *SVHN,
            *CELEBA,
            *DOGS_VS_CATS,
            *IMAGENET,
            *ONE_BILLION_WORD,
        )
    }
)


def file_at(url: str | None) -> DataFile | None:
    """Return the raw file with a public address.

    Parameters
    ----------
    url : str or None
        An address.

    Returns
    -------
    DataFile or None
        The file, or None if no built-in data set has it.

    Examples
    --------
    >>> file_at(MANIFESTS["iris"].files[0].url).name
    'iris.data'
    >>> file_at("https://example.org/iris.data") is None
    True

    """
    for manifest in MANIFESTS.values():
        for file in manifest.files:
            if url is not None and file.url == url:
                return file
    return None
