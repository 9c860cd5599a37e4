"""Laws of finding data files, of directories and disks, and of the small tools beside them."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys

import pytest

from fuel.config_parser import config
from fuel.exceptions import StorageError
from fuel.utils import buffer_, find_in_data_path, remember_cwd
from fuel.utils._compat import warn_deprecated
from fuel.utils.disk import check_enough_space, disk_usage, safe_mkdir


@pytest.fixture
def directories(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "both.hdf5").write_text(name)
    (tmp_path / "second" / "one.hdf5").write_text("second")
    with config.override(data_path=[str(tmp_path / "first"), str(tmp_path / "second")]):
        yield tmp_path


def test_the_first_directory_that_has_the_file_wins(directories):
    assert find_in_data_path("both.hdf5") == str(directories / "first" / "both.hdf5")
    assert find_in_data_path("one.hdf5") == str(directories / "second" / "one.hdf5")


def test_a_directory_is_not_a_file(directories):
    (directories / "first" / "one.hdf5").mkdir()
    assert find_in_data_path("one.hdf5") == str(directories / "second" / "one.hdf5")


def test_an_absolute_path_is_looked_for_as_it_is(directories):
    path = str(directories / "second" / "one.hdf5")
    assert find_in_data_path(path) == path


def test_home_and_variables_are_filled_in(directories, monkeypatch):
    monkeypatch.setenv("HOME", str(directories))
    monkeypatch.setenv("USERPROFILE", str(directories))
    monkeypatch.setenv("TESTED_DIRECTORY", "second")
    for path in ("~/second", str(directories / "$TESTED_DIRECTORY")):
        with config.override(data_path=path):
            assert os.path.samefile(
                find_in_data_path("one.hdf5"), directories / "second" / "one.hdf5"
            )


def test_a_missing_file_says_where_it_was_looked_for_and_how_to_make_it(directories):
    with pytest.raises(IOError, match=r"^mnist\.hdf5 not found in Fuel's data path") as caught:
        find_in_data_path("mnist.hdf5")
    message = str(caught.value)
    first = directories / "first"
    for words in (
        str(first),
        str(directories / "second"),
        "FUEL_DATA_PATH",
        "data_path",
        f"fuel-download mnist -d {first}",
        f"fuel-convert mnist -d {first} -o {first}",
        "from assignment",
    ):
        assert words in message
    assert isinstance(caught.value, StorageError) and isinstance(caught.value, FileNotFoundError)


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("svhn_format_2.hdf5", "fuel-download svhn 2 "),
        ("caltech101_silhouettes16.hdf5", "fuel-convert caltech101_silhouettes 16 "),
        ("celeba_64.hdf5", "fuel-convert celeba 64 "),
        ("dogs_vs_cats.hdf5", "fuel-convert dogs_vs_cats "),
    ],
)
def test_commands_for_files_with_other_names(directories, name, command):
    with pytest.raises(OSError) as caught:
        find_in_data_path(name)
    assert command in str(caught.value)


def test_no_command_is_offered_for_a_file_that_no_converter_makes(directories):
    with pytest.raises(OSError) as caught:
        find_in_data_path("notes.txt")
    assert "fuel-convert" not in str(caught.value)


def test_no_directory_at_all():
    with config.override(data_path=[]), pytest.raises(OSError, match="no directory"):
        find_in_data_path("mnist.hdf5")


def test_remember_cwd(tmp_path):
    before = os.getcwd()
    with pytest.raises(KeyError), remember_cwd():
        os.chdir(tmp_path)
        raise KeyError
    assert os.getcwd() == before


def test_buffer_is_a_view_of_memory():
    assert buffer_(b"abc")[1] == ord("b")


def test_a_deprecation_points_at_the_caller():
    def old_function():
        warn_deprecated("old_function", "use new_function", "2.0")

    with pytest.warns(FutureWarning, match=r"^old_function is deprecated.*2\.0; use") as caught:
        old_function()
    assert caught[0].filename == __file__


def test_disk_usage(tmp_path):
    total, used = disk_usage(str(tmp_path))
    assert total == shutil.disk_usage(tmp_path).total
    assert 0 < used <= total


def test_enough_space(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1000)
    assert check_enough_space(str(tmp_path), str(path), "copy", max_disk_usage=2.0)
    assert not check_enough_space(str(tmp_path), str(path), "copy", max_disk_usage=0.0)


@pytest.mark.parametrize("absolute", [True, False])
def test_safe_mkdir_makes_parents(tmp_path, monkeypatch, absolute):
    monkeypatch.chdir(tmp_path)
    folder = os.path.join("a", "b", "c", "")
    safe_mkdir(str(tmp_path / folder) if absolute else folder)
    safe_mkdir(folder)
    assert (tmp_path / "a" / "b" / "c").is_dir()
    safe_mkdir("")
    safe_mkdir(".")
    safe_mkdir(os.sep)


def test_safe_mkdir_refuses_to_replace_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError) as caught:
        safe_mkdir(str(tmp_path / "file"))
    assert caught.value.errno == errno.EEXIST
    with pytest.raises(OSError):
        safe_mkdir(str(tmp_path / "file" / "below"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits for groups")
def test_safe_mkdir_sets_permissions_of_what_it_makes_only(tmp_path):
    os.chmod(tmp_path, 0o755)
    before = os.umask(0o077)
    try:
        safe_mkdir(str(tmp_path / "a" / "b"), force_perm=0o775)
    finally:
        os.umask(before)
    for path, mode in ((tmp_path / "a" / "b", 0o775), (tmp_path / "a", 0o775), (tmp_path, 0o755)):
        assert stat.S_IMODE(path.stat().st_mode) == mode
