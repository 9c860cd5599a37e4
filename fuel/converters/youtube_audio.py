"""Converts the sound of a YouTube video to HDF5; `fuel.downloaders.youtube_audio` gets it.

It is decoded by the program ``ffmpeg``, which is not part of this package and is run as a process
of its own. How its output is read is in ``_wave``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
from collections.abc import Callable

from fuel.converters._wave import open_wave
from fuel.converters.base import MissingInputFiles, progress_bar, staging_directory
from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.exceptions import StorageError

__all__ = ["convert_youtube_audio", "fill_subparser"]

_IDENTITY = re.compile(r"[A-Za-z0-9_-]+")


def convert_youtube_audio(
    directory: str,
    output_directory: str,
    youtube_id: str,
    channels: int,
    sample: int,
    output_filename: str | None = None,
) -> tuple[str, ...]:
    """Convert the sound of a video.

    The file has one source, ``features``, int16 of shape (1, time, channels) with the axes batch,
    time and feature, and one split, ``train``. The attribute ``sample_rate`` has `sample`.

    Parameters
    ----------
    directory : str
        Where ``ID.m4a`` is.
    output_directory : str
        Where the HDF5 file goes; it must exist.
    youtube_id : str
        The identity of the video: what comes after ``v=`` in its address.
    channels : int
        How many channels the sound is mixed to: 1 for mono, 2 for stereo.
    sample : int
        How many values a second and channel, in hertz.
    output_filename : str, optional
        The name of the HDF5 file, by default ``ID.hdf5``.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    ValueError
        If this cannot be the identity of a video, or a number is not positive.
    MissingInputFiles
        If ``ID.m4a`` is not there.
    StorageError
        If ``ffmpeg`` is not installed, or cannot decode the file; the message has its reason.

    """
    if not _IDENTITY.fullmatch(youtube_id):
        raise ValueError(
            f"`youtube_id` must consist of letters, digits, '-' and '_', got {youtube_id!r}; it is "
            f"what comes after v= in the address of the video"
        )
    for name, value in (("channels", channels), ("sample", sample)):
        if int(value) != value or value < 1:
            raise ValueError(f"`{name}` must be a whole number of 1 or more, got {value!r}")
    input_name = f"{youtube_id}.m4a"
    path = os.path.abspath(os.path.join(directory, input_name))
    if not os.path.isfile(path):
        raise MissingInputFiles("Required files missing", [input_name])
    output_path = os.path.join(output_directory, output_filename or f"{youtube_id}.hdf5")
    # The folder is named so that the next run removes it if this process is killed.
    with staging_directory(output_directory, f"{youtube_id}.sound") as folder:
        decoded = os.path.join(folder, f"{youtube_id}.wav")
        with progress_bar(input_name, None, prefix="Decoding"):
            _decode(path, decoded, int(channels), int(sample))
        _write(decoded, output_path, path, int(channels), int(sample))
        os.remove(decoded)  # what is left in the folder would become an output
    return (output_path,)


def _decode(path: str, decoded: str, channels: int, sample: int) -> None:
    program = shutil.which("ffmpeg")
    if program is None:
        raise StorageError(
            f"{path} cannot be decoded: the program ffmpeg was not found; install it (with the "
            f"package manager of the system, or from https://ffmpeg.org) so that it is on the PATH"
        )
    finished = subprocess.run(
        [
            program,
            *("-nostdin", "-y", "-v", "error"),
            # The file may name others, also remote ones; nothing but files is opened.
            *("-protocol_whitelist", "file"),
            *("-i", path, "-vn", "-ac", str(channels), "-ar", str(sample)),
            *("-acodec", "pcm_s16le", "-f", "wav", decoded),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if finished.returncode:
        lines = finished.stderr.decode(errors="replace").strip().splitlines()
        raise StorageError(
            f"ffmpeg could not decode {path} (exit code {finished.returncode}): "
            f"{lines[-1] if lines else 'it gave no reason'}; get the file again with "
            f"`fuel-download youtube_audio`"
        )


def _write(decoded: str, output_path: str, path: str, channels: int, sample: int) -> None:
    sound = open_wave(decoded)
    if sound.values.shape[1] != channels or sound.rate != sample:
        raise StorageError(
            f"ffmpeg was asked for {channels} channels of {sample} Hz of {path}, and gave "
            f"{sound.values.shape[1]} of {sound.rate} Hz; look whether the program of that name is "
            f"the right one"
        )
    if not len(sound.values):
        raise StorageError(
            f"there is no sound in {path}; get it again with `fuel-download youtube_audio`"
        )
    spec = SourceSpec(sound.values.shape, "int16", ("batch", "time", "feature"))
    with HDF5Writer(
        output_path,
        {"features": spec},
        sizes={"train": 1},
        inputs=(path,),
        attributes={"sample_rate": sample},
    ) as writer:
        writer.add("train", features=sound.values[None])
    del sound


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Give the sub-command of ``fuel-convert`` its options.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    Returns
    -------
    callable
        `convert_youtube_audio`.

    """
    subparser.add_argument(
        "--youtube-id",
        required=True,
        help="the identity of the video: what comes after v= in its address (--youtube-id=ID)",
    )
    subparser.add_argument(
        "--channels", type=int, default=1, help="number of channels (default: %(default)s)"
    )
    subparser.add_argument(
        "--sample", type=int, default=16000, help="values a second, in Hz (default: %(default)s)"
    )
    return convert_youtube_audio
