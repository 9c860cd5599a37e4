"""`OneBillionWord`: the One Billion Word benchmark, a corpus of shuffled news sentences."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from fuel.datasets.text import TextFile
from fuel.utils._paths import find_in_data_path

__all__ = ["OneBillionWord"]

#: Name of each set: the partitions that it has, and where the file of one lies in the data path.
_SETS = {
    "training": (
        range(1, 100),
        "training-monolingual.tokenized.shuffled",
        "news.en-{:05d}-of-00100",
    ),
    "heldout": (
        range(50),
        "heldout-monolingual.tokenized.shuffled",
        "news.en.heldout-{:05d}-of-00050",
    ),
}


class OneBillionWord(TextFile):
    """The One Billion Word benchmark.

    The unpacked archive must lie in the data path, in a directory ``1-billion-word``;
    ``fuel-download one_billion_word -d DIRECTORY`` puts it there.

    Parameters
    ----------
    which_set : {'training', 'heldout'}
        Which part of the corpus.
    which_partitions : iterable of int
        Which of its files, in this order: 1 to 99 for training, 0 to 49 for heldout.
    dictionary : mapping or path
        Maps words to numbers: a dict, a `fuel.utils.vocabulary.Vocabulary`, or a file that has
        one; see `fuel.datasets.text.TextFile`.
    **kwargs
        See `fuel.datasets.text.TextFile`.

    Raises
    ------
    ValueError
        If there is no such set or partition.
    OSError
        If a file is not in the data path.

    Notes
    -----
    The corpus has no dictionary. To make one of its files, and to keep it::

        files = OneBillionWord.files_of("training", range(1, 100))
        Vocabulary.from_files(files, encoding="utf-8", min_count=3).save("words.txt")

    References
    ----------
    C. Chelba et al., One Billion Word Benchmark for Measuring Progress in Statistical Language
    Modeling, 2013, https://arxiv.org/abs/1312.3005

    """

    def __init__(
        self, which_set: str, which_partitions: Iterable[int], dictionary: Any, **kwargs: Any
    ) -> None:
        partitions = list(which_partitions)
        files = self.files_of(which_set, partitions)
        self.which_set, self.which_partitions = which_set, partitions
        super().__init__(files, dictionary, **kwargs)

    @staticmethod
    def files_of(which_set: str, which_partitions: Iterable[int]) -> list[str]:
        """Find files of the corpus, for example to make a vocabulary of them.

        Parameters
        ----------
        which_set, which_partitions
            As for the class.

        Returns
        -------
        list of str
            Their paths.

        Raises
        ------
        ValueError
            If there is no such set or partition.
        OSError
            If a file is not in the data path.

        """
        if which_set not in _SETS:
            raise ValueError(f"`which_set` must be 'training' or 'heldout', got {which_set!r}")
        legal, directory, filename = _SETS[which_set]
        partitions = list(which_partitions)
        if not all(partition in legal for partition in partitions):
            raise ValueError(
                f"`which_partitions` must be between {legal[0]} and {legal[-1]} for the set "
                f"{which_set!r}, got {partitions}"
            )
        return [
            find_in_data_path(os.path.join("1-billion-word", directory, filename.format(number)))
            for number in partitions
        ]
