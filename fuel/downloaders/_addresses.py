"""Where a file can be had: its address, its mirrors, or what the user gives in place of them.

Fetching it from there is in `base`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from fuel.downloaders._settings import Settings
from fuel.manifests import DataFile, file_at

__all__ = ["AddressError", "Wanted", "addresses_given", "parse_address", "wanted_file"]


class AddressError(ValueError):
    """It is not clear what an address that the user gave is for."""


@dataclass(frozen=True)
class Wanted:
    """A file to be downloaded.

    Attributes
    ----------
    name : str
        What it is called here.
    addresses : tuple of str
        Where it can be had, in the order in which they are tried.
    accepted : frozenset of str
        The SHA-256 that it may have; empty if unknown.
    size : int or None
        The number of bytes that it has; None if unknown, or if there are variants.
    likely_size : int or None
        The same, where it is only to be expected.

    """

    name: str
    addresses: tuple[str, ...]
    accepted: frozenset[str] = frozenset()
    size: int | None = None
    likely_size: int | None = None


def wanted_file(
    name: str, address: str | None, given: Sequence[str], known: DataFile | None
) -> Wanted:
    """Put together what is known of a file.

    Parameters
    ----------
    name : str
        What it is called here.
    address : str or None
        Its address.
    given : sequence of str
        Addresses to use in place of it and of its mirrors.
    known : DataFile or None
        What the package knows of the file, if the address does not tell.

    Returns
    -------
    Wanted
        The file.

    """
    known = file_at(address) or known
    if known is None:
        return Wanted(name, tuple(given) or ((address,) if address else ()))
    addresses = tuple(given) or tuple(filter(None, (address, *known.mirrors)))
    # A file with variants, or one that is judged by its form, may have another size.
    sized = known.table is None and not known.also
    return Wanted(
        name,
        tuple(dict.fromkeys(addresses)),
        frozenset({known.sha256, *known.also}) if known.sha256 else frozenset(),
        known.size if sized else None,
        known.size,
    )


def parse_address(text: str) -> tuple[str | None, str]:
    """Take ``NAME=URL`` or ``URL`` apart.

    Parameters
    ----------
    text : str
        What the user gave.

    Returns
    -------
    tuple
        The name, None if there is none, and the address.

    Raises
    ------
    ValueError
        If there is no address in it.

    Examples
    --------
    >>> parse_address("x.gz=https://example.org/x.gz?a=b")
    ('x.gz', 'https://example.org/x.gz?a=b')
    >>> parse_address("https://example.org/x?name=y")
    (None, 'https://example.org/x?name=y')

    """
    name, separator, url = text.partition("=")
    if not separator or "://" in name:
        name, url = "", text
    if not url.lower().startswith(("http://", "https://")):
        raise ValueError(
            f"{text!r} is no address; give one that begins with https:// or http://, or "
            f"NAME=ADDRESS for one of several files"
        )
    return name or None, url


def addresses_given(settings: Settings, names: Sequence[str]) -> dict[str, list[str]]:
    """Tell which files the user's addresses are for.

    Parameters
    ----------
    settings : Settings
        It has the addresses.
    names : sequence of str
        The names of the files.

    Returns
    -------
    dict
        Name → addresses.

    Raises
    ------
    AddressError
        If an address could be for any of them, or for none.

    """
    settings.noticed.add("addresses")
    found: dict[str, list[str]] = {}
    for name, url in settings.addresses:
        last = unquote(os.path.basename(urlsplit(url).path))
        if name is not None and name not in names:
            raise AddressError(
                f"--url: there is no file {name!r} in this data set; its files are "
                f"{', '.join(names)}"
            )
        if name is None and urlsplit(url).path.endswith("/"):
            for each in names:  # a directory that holds them all
                found.setdefault(each, []).append(url + each)
            continue
        if name is None and last in names:
            name = last
        elif name is None and len(names) == 1:
            name = names[0]
        elif name is None:
            raise AddressError(
                f"--url: which of the files is at {url}? Give NAME=ADDRESS; the files are "
                f"{', '.join(names)}"
            )
        found.setdefault(name, []).append(url)
    return found
