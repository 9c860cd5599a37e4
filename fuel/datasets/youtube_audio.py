"""Sound of YouTube videos; the HDF5 files are made by `fuel.converters.youtube_audio`."""

from __future__ import annotations

from typing import Any

from fuel.datasets.hdf5 import H5PYDataset
from fuel.utils._paths import find_in_data_path

__all__ = ["YouTubeAudio"]


class YouTubeAudio(H5PYDataset):
    """The sound of one YouTube video, as one long example.

    Source: ``features``, int16 of shape (1, time, channels) with the axes batch, time and feature:
    the sound pressure, as often a second as `fuel.converters.youtube_audio` was asked for (the
    attribute ``sample_rate`` of the file, in hertz). There is one split, ``train``.

    Parameters
    ----------
    youtube_id : str
        The identity of the video: what comes after ``v=`` in its address.
    **kwargs
        See `fuel.datasets.hdf5.H5PYDataset`; ``load_in_memory`` is False by default, and
        ``which_sets`` is ``("train",)``.

    Raises
    ------
    OSError
        If ``ID.hdf5`` is not in the data path; ``fuel-download youtube_audio --youtube-id=ID`` and
        ``fuel-convert youtube_audio --youtube-id=ID`` make it.

    """

    def __init__(self, youtube_id: str, **kwargs: Any) -> None:
        kwargs.setdefault("which_sets", ("train",))
        self.filename = f"{youtube_id}.hdf5"
        made_as = f"youtube_audio --youtube-id={youtube_id}"
        path = find_in_data_path(self.filename, made_as=made_as)
        super().__init__(file_or_path=path, **kwargs)
