"""Files in a directory that may not be entered are not taken for files that are not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import h5py
import pytest

import fuel.converters  # here, for who runs as nobody may not be let into the library either
from fuel._config_file import read_configuration_file
from fuel.bin import fuel_convert, fuel_info
from fuel.datasets import H5PYDataset
from fuel.exceptions import ConfigurationError, StorageError


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    """A directory with files in it, closed to this process."""
    directory = tmp_path / "locked"
    directory.mkdir()
    (directory / "settings").write_text("floatX: float32\n", encoding="utf-8")
    (directory / "optdigits.tes").touch()
    h5py.File(directory / "data.hdf5", "w").close()
    directory.chmod(0)
    superuser = hasattr(os, "geteuid") and os.geteuid() == 0
    if superuser:  # to whom nothing is closed
        for parent in (tmp_path, *tmp_path.parents):
            if not parent.stat().st_mode & 0o001:
                parent.chmod(0o711)
        tmp_path.chmod(0o777)
        os.seteuid(65534)
    try:
        if os.path.exists(directory / "settings"):
            pytest.skip("this system closes no directory")
        yield directory
    finally:
        if superuser:
            os.seteuid(0)
        directory.chmod(0o700)


def test_settings(locked: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: .*Permission denied"):
        read_configuration_file(str(locked / "settings"))


def test_hdf5_files(locked: Path) -> None:
    with pytest.raises(StorageError, match="a directory on the way to it may not be entered") as e:
        H5PYDataset(locked / "data.hdf5")
    assert not isinstance(e.value, FileNotFoundError)


def test_commands(locked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        fuel_info.main([str(locked / "data.hdf5")])
    assert "data.hdf5: Permission denied" in capsys.readouterr().err
    assert fuel.converters.all_converters
    with pytest.raises(SystemExit):
        fuel_convert.main(["digits", "-d", str(locked), "-o", str(tmp_path)])
    assert "which may not be entered" in capsys.readouterr().err
