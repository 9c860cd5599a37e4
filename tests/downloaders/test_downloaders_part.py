"""The growing file of a download: locks that are held, and file systems that have none."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from fuel.downloaders import _part
from fuel.downloaders._part import PartFile
from fuel.exceptions import StorageError


def test_a_file_that_another_download_writes_is_left_to_it(tmp_path: Path) -> None:
    target = str(tmp_path / "raw.bin")
    first = PartFile(target)
    with pytest.raises(StorageError, match="is being written by another process"):
        PartFile(target)
    first.write(b"whole")
    first.commit()
    assert (tmp_path / "raw.bin").read_bytes() == b"whole"


@pytest.mark.parametrize("reason", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_can_be_downloaded_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    def refuse(*arguments: Any) -> None:
        raise OSError(reason, "no locks here")

    monkeypatch.setattr(_part, "_lock", refuse)
    part = PartFile(str(tmp_path / "raw.bin"))
    part.write(b"whole")
    part.commit()
    assert (tmp_path / "raw.bin").read_bytes() == b"whole"


def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    # A directory stands for a device or a pipe, which root could replace.
    with pytest.raises(StorageError, match="that is no file; give the name of a file"):
        PartFile(str(tmp_path))
    assert not list(tmp_path.parent.glob(f"{tmp_path.name}.part"))
