"""The original manual's downloader, converter and dataset of another package, with the commands.

Written anew: a package `my_fuel` beside the tests' working directory, named by the two settings.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from fuel.bin import fuel_convert, fuel_download, fuel_info
from fuel.config_parser import config

DOWNLOADER = """
from fuel.downloaders.base import default_downloader


def fill_subparser(subparser):
    subparser.set_defaults(urls=["http://127.0.0.1:9/iris.data"], filenames=["iris.data"])
    return default_downloader
"""

# The manual's converter, but for a shuffle with a seed, a name that is not taken, and an encoding,
# without which NumPy 1 hands bytes to the function.
CONVERTER = """
import os

import h5py
import numpy

from fuel.converters.base import fill_hdf5_file


def convert_iris(directory, output_directory, output_filename='my_iris.hdf5'):
    output_path = os.path.join(output_directory, output_filename)
    h5file = h5py.File(output_path, mode='w')
    classes = {'Iris-setosa': 0, 'Iris-versicolor': 1, 'Iris-virginica': 2}
    data = numpy.loadtxt(
        os.path.join(directory, 'iris.data'),
        converters={4: lambda x: classes[x]},
        delimiter=',',
        encoding='utf8')
    numpy.random.RandomState(3).shuffle(data)
    features = data[:, :-1].astype('float32')
    targets = data[:, -1].astype('uint8').reshape((-1, 1))
    data = (('train', 'features', features[:100]),
            ('train', 'targets', targets[:100]),
            ('valid', 'features', features[100:120]),
            ('valid', 'targets', targets[100:120]),
            ('test', 'features', features[120:]))
    fill_hdf5_file(h5file, data)
    h5file['features'].dims[0].label = 'batch'
    h5file['features'].dims[1].label = 'feature'
    h5file['targets'].dims[0].label = 'batch'
    h5file['targets'].dims[1].label = 'index'

    h5file.flush()
    h5file.close()

    return (output_path,)


def fill_subparser(subparser):
    return convert_iris
"""

DATASET = """
from fuel.datasets import H5PYDataset
from fuel.utils import find_in_data_path


class MyIris(H5PYDataset):
    filename = 'my_iris.hdf5'

    def __init__(self, which_sets, **kwargs):
        kwargs.setdefault('load_in_memory', True)
        super(MyIris, self).__init__(
            file_or_path=find_in_data_path(self.filename),
            which_sets=which_sets, **kwargs)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """`my_fuel` can be imported and is named by the settings; we are in an empty folder."""
    root = tmp_path / "site"
    for name, module, text in (
        ("downloaders", "iris_downloader", DOWNLOADER),
        ("converters", "iris_converter", CONVERTER),
    ):
        folder = root / "my_fuel" / name
        folder.mkdir(parents=True)
        (folder / f"{module}.py").write_text(text)
        (folder / "__init__.py").write_text(
            f"from my_fuel.{name} import {module}\n\n"
            f"all_{name} = (('my_iris', {module}.fill_subparser),)\n"
        )
        monkeypatch.setenv(f"FUEL_EXTRA_{name.upper()}", f"my_fuel.{name}")
    (root / "my_fuel" / "__init__.py").write_text("")
    (root / "my_fuel" / "dataset.py").write_text(DATASET)
    monkeypatch.syspath_prepend(str(root))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    yield work
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_fuel"]:
        del sys.modules[name]


def bundled_iris(folder: Path) -> None:
    (folder / "iris.data").write_bytes((files("fuel") / "data" / "iris.data").read_bytes())


def call(main: object, *arguments: str) -> int:
    try:
        main(list(arguments))  # type: ignore[operator]
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_the_commands_offer_the_data_sets_of_other_packages(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (fuel_download, fuel_convert):
        assert call(command.main, "-h") == 0
        assert "my_iris" in capsys.readouterr().out
        assert call(command.main, "my_iris", "-h") == 0
        assert "--directory" in capsys.readouterr().out


def test_another_packages_data_set_from_raw_file_to_batch(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundled_iris(package)
    assert call(fuel_convert.main, "my_iris") == 0
    capsys.readouterr()
    assert call(fuel_info.main, "my_iris.hdf5") == 0
    told = capsys.readouterr().out
    pattern = (
        r"\n?Metadata for my_iris\.hdf5\n=+\n\n"
        r"The command used to generate this file is\n\n    fuel-convert my_iris\n\n"
        r"Relevant versions are\n\n    H5PYDataset     \S+\n    fuel\.converters \S+\n"
    )
    assert re.match(pattern, told), told

    # The raw file is not needed any more.
    assert call(fuel_download.main, "my_iris", "--clear") == 0
    assert not (package / "iris.data").exists()

    from my_fuel.dataset import MyIris  # type: ignore[import-not-found]

    with config.override(data_path=["."]):
        train_set = MyIris(("train",))
    assert str(train_set.axis_labels["features"]) == "('batch', 'feature')"
    assert str(train_set.axis_labels["targets"]) == "('batch', 'index')"
    handle = train_set.open()
    data = train_set.get_data(handle, slice(0, 10))
    assert str((data[0].shape, data[1].shape)) == "((10, 4), (10, 1))"
    train_set.close(handle)
    with config.override(data_path=["."]):
        assert MyIris(("valid",)).num_examples == 20
        assert MyIris(("test",)).sources == ("features",)


def test_a_failed_conversion_says_what_is_missing(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(fuel_convert.main, "my_iris") != 0
    told = capsys.readouterr()
    assert "Traceback" not in told.err + told.out
    assert "iris.data" in told.err
    # The converter opens its output before it looks for its input; nothing of it is left.
    assert list(package.iterdir()) == []
