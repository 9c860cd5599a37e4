"""Whole programs: a server in a child process, and a converters package of one's own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

SERVER = """
import pickle
import sys
from multiprocessing import Process

import numpy

from fuel.datasets import IndexableDataset
from fuel.schemes import SequentialScheme
from fuel.server import start_server
from fuel.streams import DataStream, ServerDataStream
from fuel.transformers import Mapping


def get_stream():
    dataset = IndexableDataset({'x': numpy.arange(12).reshape(6, 2)})
    return DataStream(dataset, iteration_scheme=SequentialScheme(6, 4))


def serve(port):
    start_server(get_stream(), port=port, hwm=3)


class Plus(ServerDataStream):
    def get_data(self, request=None):
        return tuple(array + 1 for array in super(Plus, self).get_data(request))


if __name__ == '__main__':
    port = int(sys.argv[1])
    for cls, more in ((ServerDataStream, 0), (Plus, 1)):
        process = Process(target=serve, args=(port,))
        process.start()
        try:
            stream = cls(('x',), produces_examples=False, port=port, hwm=3)
            doubled = Mapping(stream, lambda data: (data[0] * 2,))
            for _ in range(2):
                epoch = [x.tolist() for x, in doubled.get_epoch_iterator()]
                whole = numpy.arange(12).reshape(6, 2) + more
                assert epoch == [(whole[:4] * 2).tolist(), (whole[4:] * 2).tolist()], epoch
            assert set(next(stream.get_epoch_iterator(as_dict=True))) == {'x'}
            copy = pickle.loads(pickle.dumps(stream))
            copy = pickle.loads(pickle.dumps(copy))
            assert copy.sources == ('x',) and not copy.produces_examples
            try:
                stream.get_data([1])
            except ValueError:
                print('refused')
            stream.close()
        finally:
            process.terminate()
            process.join()
"""


def test_a_stream_is_served_to_another_process(
    tmp_path: Path, checkout: Path, fresh_python: Callable[..., str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "program.py").write_text(SERVER)
    done = subprocess.run(
        [sys.executable, "program.py", str(port)],
        cwd=tmp_path,
        env=dict(os.environ, PYTHONPATH=str(checkout)),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["refused", "refused"]


DOWNLOADER = """
import os

def download(directory, clear=False, **kwargs):
    path = os.path.join(directory, 'mine.data')
    if clear:
        os.remove(path)
    else:
        with open(path, 'w') as f:
            f.write('1,2,0\\n3,4,1\\n5,6,0\\n')

def fill_subparser(subparser):
    subparser.add_argument('--foo', type=int, default=3)
    return download
"""
CONVERTER = """
import os

import h5py
import numpy

from fuel.converters.base import check_exists, fill_hdf5_file, progress_bar


@check_exists(required_files=['mine.data'])
def convert_mine(directory, output_directory, output_filename='mine.hdf5', scale=1):
    output_path = os.path.join(output_directory, output_filename)
    h5file = h5py.File(output_path, mode='w')
    data = numpy.loadtxt(os.path.join(directory, 'mine.data'), delimiter=',')
    features = data[:, :-1].astype('float32') * scale
    targets = data[:, -1:].astype('uint8')
    data = (('train', 'features', features[:2]),
            ('train', 'targets', targets[:2]),
            ('test', 'features', features[2:], 'without targets'))
    fill_hdf5_file(h5file, data)
    h5file['features'].dims[0].label = 'batch'
    h5file['features'].dims[1].label = 'feature'
    with progress_bar('mine', 3) as bar:
        for i in range(3):
            bar.update(i + 1)
    h5file.flush()
    h5file.close()
    return (output_path,)

def fill_subparser(subparser):
    subparser.add_argument('--scale', type=float, default=1)
    return convert_mine
"""


@pytest.fixture
def command(tmp_path: Path, checkout: Path) -> Callable[..., Any]:
    """Run a command of the package with an extra package of downloaders and converters."""
    for room, what, code in (
        ("downloaders", "all_downloaders", DOWNLOADER),
        ("converters", "all_converters", CONVERTER),
    ):
        package = tmp_path / "packages" / "my_fuel" / room
        package.mkdir(parents=True)
        (package.parent / "__init__.py").touch()
        (package / "mine.py").write_text(code)
        (package / "__init__.py").write_text(
            f"from my_fuel.{room} import mine\n{what} = (('mine', mine.fill_subparser),)\n"
        )

    def run(name: str, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, str(checkout / "bin" / name), *arguments],
            cwd=tmp_path,
            env=dict(
                os.environ,
                PYTHONPATH=os.pathsep.join([str(checkout), str(tmp_path / "packages")]),
                FUEL_EXTRA_DOWNLOADERS="my_fuel.downloaders",
                FUEL_EXTRA_CONVERTERS="my_fuel.converters",
            ),
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_an_extra_package_downloads_converts_and_is_told_about(
    command: Callable[..., str], tmp_path: Path
) -> None:
    assert "--foo" in command("fuel-download", "mine", "-h")
    missing = command("fuel-convert", "mine", code=2)
    assert "The following required files were not found:" in missing
    assert "   * mine.data" in missing
    assert "Did you forget to run fuel-download?" in missing
    command("fuel-download", "mine")
    (tmp_path / "out").mkdir()
    command("fuel-convert", "mine", "-o", "out", "-r", "other", "--scale", "2")
    told = command("fuel-info", "out/other.hdf5").splitlines()
    assert told[:3] == ["", "Metadata for other.hdf5", "=" * len("Metadata for other.hdf5")]
    assert "    fuel-convert mine -o out -r other --scale 2" in told
    assert "    H5PYDataset     0.3" in told
    assert "    fuel.converters 0.2" in told
    with h5py.File(tmp_path / "out" / "other.hdf5", "r") as file:
        assert file.attrs["h5py_interface_version"] == b"0.3"
        assert file.attrs["fuel_convert_version"] == b"0.2"
        assert file["features"][0].tolist() == [2.0, 4.0]
        rows = file.attrs["split"]
        assert rows.dtype.names == (
            *("split", "source", "start", "stop", "indices", "available", "comment"),
        )
        told_of = {(row["split"], row["source"]): row for row in rows}
        assert not told_of[b"test", b"targets"]["available"]
        assert told_of[b"test", b"features"]["comment"] == b"without targets"
        assert numpy.all(told_of[b"train", b"features"]["stop"] == 2)
    command("fuel-download", "mine", "--clear")
    assert not (tmp_path / "mine.data").exists()
    command("fuel-convert", "nothing", code=2)
