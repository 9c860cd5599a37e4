"""Downloads the sound of YouTube videos; what becomes of it is in `fuel.converters.youtube_audio`.

The site has no plain addresses of files. The program ``yt-dlp`` finds them; it is not part of this
package, and is run as a process of its own. Whoever downloads answers for having the right to.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable

from fuel.downloaders.base import ensure_directory_exists
from fuel.exceptions import StorageError

__all__ = ["PAFY_AVAILABLE", "download", "fill_subparser"]

#: Programs ask for this; the package of that name has stopped working, and is not used.
PAFY_AVAILABLE = False

_IDENTITY = re.compile(r"[A-Za-z0-9_-]+")


def download(directory: str, youtube_id: str, clear: bool = False) -> None:
    """Download the sound of a video as ``ID.m4a``, or delete it.

    Parameters
    ----------
    directory : str
        Where the file goes; made if it is not there.
    youtube_id : str
        The identity of the video: what comes after ``v=`` in its address.
    clear : bool, optional
        Delete the file instead, finished or not.

    Raises
    ------
    ValueError
        If this cannot be the identity of a video.
    StorageError
        If ``yt-dlp`` is not installed, or could not get the file; the message has its reason.

    """
    if not _IDENTITY.fullmatch(youtube_id):
        raise ValueError(
            f"`youtube_id` must consist of letters, digits, '-' and '_', got {youtube_id!r}; it is "
            f"what comes after v= in the address of the video"
        )
    path = os.path.join(os.path.abspath(directory), f"{youtube_id}.m4a")
    if clear:
        for name in (path, path + ".part", path + ".ytdl"):
            if os.path.isfile(name):
                os.remove(name)
        return
    command = _program()
    ensure_directory_exists(directory)
    print(f"Downloading {youtube_id}.m4a\n")
    finished = subprocess.run(
        [
            *command,
            "--no-playlist",
            "--format",
            "bestaudio[ext=m4a]",
            "--output",
            path.replace("%", "%%"),  # a percent sign begins a field there
            "--",
            f"https://www.youtube.com/watch?v={youtube_id}",
        ],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if finished.returncode:
        lines = finished.stderr.decode(errors="replace").strip().splitlines()
        raise StorageError(
            f"yt-dlp could not get the sound of {youtube_id} (exit code {finished.returncode}): "
            f"{lines[-1] if lines else 'it gave no reason'}. The site changes often: a newer "
            f"yt-dlp may help (`pip install --upgrade yt-dlp`)"
        )
    if not os.path.isfile(path) or not os.path.getsize(path):
        raise StorageError(
            f"yt-dlp ended without an error, but there is no {path}; run it by hand to see why: "
            f"{' '.join(command)} https://www.youtube.com/watch?v={youtube_id}"
        )


def _program() -> list[str]:
    """Return the command that starts yt-dlp."""
    found = shutil.which("yt-dlp")
    if found:
        return [found]
    if importlib.util.find_spec("yt_dlp") is not None:
        return [sys.executable, "-m", "yt_dlp"]
    raise StorageError(
        "the sound of YouTube videos can only be had with the program yt-dlp, which is not "
        "installed; `pip install yt-dlp`, or put an .m4a file of your own where the converter "
        "looks for it"
    )


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., None]:
    """Give the sub-command of ``fuel-download`` its option, the video.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `download`.

    """
    subparser.add_argument(
        "--youtube-id",
        required=True,
        help="the identity of the video: what comes after v= in its address (--youtube-id=ID)",
    )
    return download
