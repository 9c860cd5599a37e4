"""What people suffered from in the original must not come back: files, settings, commands.

Each test is one user's bad day, told in its docstring, from beginning to end with real files and
processes. The rooms' own tests go into the details; states, processes and streams are in the
first part.
"""

from __future__ import annotations

import gzip
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from fuel.bin import fuel_convert, fuel_download, fuel_info
from fuel.datasets import H5PYDataset, IndexableDataset, IterableDataset, TextFile
from fuel.schemes import ConstantScheme, SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Cache, Filter, FilterSources
from fuel.transformers.sequences import NGrams


def batches(length: int = 10, size: int = 4) -> DataStream:
    dataset = IndexableDataset({"x": numpy.arange(length), "y": numpy.arange(length) * 2})
    return DataStream(dataset, iteration_scheme=SequentialScheme(length, size))


@pytest.mark.parametrize("size", [1, 3, 4, 7, 10, 50])
def test_a_cache_delivers_every_example_once_whatever_the_sizes(size: int) -> None:
    """The last examples of an epoch were lost, and large requests got short answers."""
    cached = [x.tolist() for x, _ in Cache(batches(), ConstantScheme(size)).get_epoch_iterator()]
    assert list(chain.from_iterable(cached)) == list(range(10))
    assert all(len(batch) == size for batch in cached[:-1])


def test_small_promises_of_steps_hold() -> None:
    """Dicts that were tuples, tuples that were lists, and windows that began in the wrong place."""
    examples = DataStream(
        IndexableDataset({"x": numpy.arange(6)}), iteration_scheme=SequentialExampleScheme(6)
    )
    odd = Filter(examples, lambda data: data[0] % 2 == 1)
    assert list(odd.get_epoch_iterator(as_dict=True)) == [{"x": 1}, {"x": 3}, {"x": 5}]
    assert type(next(iter(FilterSources(batches(), ("y",))))) is tuple
    sentences = DataStream(IterableDataset({"words": [[1, 2, 3, 4], [5, 6, 7]]}))
    pairs = NGrams(2, sentences)
    left = pairs.get_epoch_iterator()
    assert [next(left), next(left)] == [([1, 2], 3), ([2, 3], 4)]
    assert list(pairs.get_epoch_iterator()) == [([1, 2], 3), ([2, 3], 4), ([5, 6], 7)]
    partial = Batch(examples, iteration_scheme=ConstantScheme(4)).get_epoch_iterator()
    assert [len(x) for (x,) in partial] == [4, 2]


@pytest.mark.parametrize("container", [numpy.arange(10), list(range(10)), range(10)])
def test_a_part_of_the_data_is_counted_from_its_beginning_once(container: Any) -> None:
    """`start=2` was applied when the data was cut and again when it was read."""
    dataset = IndexableDataset({"x": container}, start=2, stop=7)
    assert dataset.num_examples == 5
    assert [dataset.get_data(request=place)[0] for place in range(5)] == [2, 3, 4, 5, 6]
    assert [list(dataset.get_data(request=[4, 0])[0]), list(dataset.x)] == [[6, 2], [2, 3, 4, 5, 6]]
    assert pickle.loads(pickle.dumps(dataset)).get_data(request=0) == (2,)


def test_text_with_unknown_words_files_of_words_and_compression(tmp_path: Path) -> None:
    """Compressed text was all unknown words, and a dictionary could not be given as a file.

    Both were documented. A stream that was resumed had forgotten the encoding of its files.
    """
    (tmp_path / "words.txt").write_text("<S>\n</S>\nnaïve\nart\n", encoding="latin-1")
    with gzip.open(tmp_path / "text.txt.gz", "wb") as file:
        file.write("naïve art\nart naïve\nart art".encode("latin-1"))
    options: Any = {"unk_token": None, "encoding": "latin-1"}
    dataset = TextFile([tmp_path / "text.txt.gz"], tmp_path / "words.txt", **options)
    iterator = DataStream(dataset).get_epoch_iterator()
    assert next(iterator) == ([0, 2, 3, 1],)
    resumed = pickle.loads(pickle.dumps(iterator))
    assert list(resumed) == [([0, 3, 2, 1],), ([0, 3, 3, 1],)]
    with gzip.open(tmp_path / "text.txt.gz", "wb") as file:
        file.write(b"art\nunheard of\n")
    lines = DataStream(dataset).get_epoch_iterator()
    next(lines)
    with pytest.raises(KeyError, match="'unheard' is not in the dictionary.*`unk_token`"):
        next(lines)


WITHOUT_SETTINGS = """
from fuel import config
from fuel.datasets import Digits
print(config.data_path)
try:
    Digits(("train",))
except OSError as error:
    print(error)
"""


def test_the_first_use_needs_no_configuration_and_a_missing_file_says_what_to_do(
    tmp_path: Path, fresh_python: Callable[..., str]
) -> None:
    """Everybody's first hour: a complaint that `data_path` was not set, and no word about how."""
    home = tmp_path / "home"
    home.mkdir()
    clean = {"HOME": str(home), "USERPROFILE": str(home), "XDG_DATA_HOME": str(home / "data")}
    clean |= {"FUEL_CONFIG": str(home / ".fuelrc"), "LOCALAPPDATA": str(home / "data")}
    path, message = fresh_python(WITHOUT_SETTINGS, **clean).splitlines()
    (directory,) = eval(path)
    assert Path(directory).name == "fuel" and str(home) in directory
    assert directory in message
    for advice in ("fuel-download digits", "fuel-convert digits", "FUEL_DATA_PATH", "data_path"):
        assert advice in message
    os.makedirs(directory)  # now do what it says
    fuel_download.main(["digits", "--bundled", "-d", directory])
    fuel_convert.main(["digits", "-d", directory, "-o", directory])
    assert len(fresh_python(WITHOUT_SETTINGS, **clean).splitlines()) == 1


def test_every_setting_says_where_it_comes_from_and_an_empty_file_is_fine(
    tmp_path: Path, fresh_python: Callable[..., str]
) -> None:
    """The value in the file was right, and something else was in force: a forgotten variable.

    An empty file made even `import fuel` fail.
    """
    file = tmp_path / "settings.yaml"
    file.write_text("", encoding="utf-8")
    show = "from fuel.bin import fuel_info; fuel_info.main(['--config', '--json'])"

    def settings(**variables: str) -> Any:
        printed = fresh_python(show, FUEL_CONFIG=str(file), **variables)
        return json.loads(printed)["settings"]

    assert {line["origin"] for line in settings().values()} == {"default"}
    file.write_text("floatX: float32\ndata_path: /from/file\n", encoding="utf-8")
    shown = settings(FUEL_DATA_PATH="/from/variable")
    assert shown["floatX"]["origin"] == f"file {file}"
    assert shown["data_path"]["value"] == ["/from/variable"]
    assert shown["data_path"]["origin"] == "environment variable FUEL_DATA_PATH"


@pytest.mark.parametrize("way", ["default", "variable", "text", "list", "assignment"])
def test_the_data_path_is_always_a_list_of_texts(
    tmp_path: Path, fresh_python: Callable[..., str], way: str
) -> None:
    """Programs joined a file name to it, until one release made a list of it, but not always."""
    file = tmp_path / "settings.yaml"
    lines = {"text": f"data_path: {tmp_path}", "list": f"data_path: [{json.dumps(str(tmp_path))}]"}
    file.write_text(lines.get(way, ""), encoding="utf-8")
    variables = {"FUEL_DATA_PATH": str(tmp_path)} if way == "variable" else {}
    code = "import sys; from fuel import config\n"
    if way == "assignment":
        code += "config.data_path = sys.argv[1]\n"
    code += "print(repr(config.data_path))"
    printed = fresh_python(code, str(tmp_path), FUEL_CONFIG=str(file), **variables)
    found = eval(printed)
    assert type(found) is list and {type(entry) for entry in found} == {str}
    assert way == "default" or found == [str(tmp_path)]


AS_ON_WINDOWS = """
import os, shutil, signal, sys, types
usage = shutil.disk_usage(".")
shutil.disk_usage = lambda path: usage  # Python has its own way for each system
import h5py, tqdm, platformdirs, requests, filelock, multiprocessing.util  # choose by platform
for name in "statvfs fork getuid chown mkfifo uname kill".split():
    if hasattr(os, name):
        delattr(os, name)
del signal.SIGKILL, signal.SIGALRM
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
windows = types.ModuleType("msvcrt")
windows.LK_NBLCK, windows.locking = 2, lambda descriptor, mode, size: None
sys.modules["msvcrt"] = windows
from fuel import config
from fuel.utils import disk
from fuel.bin import fuel_convert, fuel_download, fuel_info
config.local_data_path = "cache"
fuel_download.main(["iris", "--bundled"])
fuel_convert.main(["iris"])
from fuel.datasets import H5PYDataset
import numpy
with h5py.File("data.hdf5", "w") as file:
    file["x"] = numpy.arange(5)
dataset = H5PYDataset("data.hdf5")
handle = dataset.open()
print(dataset.get_data(handle, [4, 0])[0].tolist(), disk.disk_usage(".")[0] > 0)
dataset.close(handle)
fuel_info.main(["data.hdf5"])
"""


@pytest.mark.skipif(os.name == "nt", reason="takes away what Windows does not have")
def test_what_only_some_systems_have_is_not_needed(fresh_python: Callable[..., str]) -> None:
    """On Windows the package could not be imported, or stopped at the first system call."""
    printed = fresh_python(AS_ON_WINDOWS)
    assert "[4, 0] True" in printed
    assert "Metadata for data.hdf5" in printed


CONVERTERS = """
import os, sys
import h5py, numpy

def fill(subparser):
    return convert

def convert(directory, output_directory, output_filename="slow.hdf5"):
    path = os.path.join(output_directory, output_filename)
    with h5py.File(path, "w") as file:
        file["x"] = numpy.arange(1000)
        file.flush()
        print("half", flush=True)
        if os.path.exists(os.path.join(directory, "fail")):
            raise OSError("the second half of the input is broken")
        if os.path.exists(os.path.join(directory, "wait")):
            sys.stdin.readline()
        file["y"] = numpy.arange(1000)
    return (path,)

all_converters = (("slow", fill),)
"""


@pytest.mark.parametrize("how", ["fail", "wait"])
def test_a_conversion_that_does_not_end_leaves_the_older_file_and_nothing_else(
    tmp_path: Path, how: str
) -> None:
    """A conversion failed at night; in the morning half a file opened without complaint."""
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / "slow_converters.py").write_text(CONVERTERS, encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    (out / "slow.hdf5").write_bytes(b"the older file")
    (tmp_path / how).touch()
    path = os.pathsep.join([str(tmp_path / "plugin"), *filter(None, sys.path)])
    more = {"PYTHONPATH": path, "FUEL_EXTRA_CONVERTERS": "slow_converters"}
    command = [sys.executable, "-B", "-m", "fuel.bin.fuel_convert", "slow"]
    command += ["-d", str(tmp_path), "-o", str(out)]

    def start() -> Any:
        return subprocess.Popen(
            command,
            env={**os.environ, **more},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    with start() as process:
        assert process.stdout.readline() == "half\n"
        if how == "wait":
            process.kill()
        _, errors = process.communicate(timeout=60)
    if how == "fail":
        assert process.returncode == 1
        assert errors == "fuel-convert: error: the second half of the input is broken\n"
        assert os.listdir(out) == ["slow.hdf5"]
    assert (out / "slow.hdf5").read_bytes() == b"the older file"
    (tmp_path / how).unlink()
    with start() as process:
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert os.listdir(out) == ["slow.hdf5"]  # what the killed one left is gone too
    assert H5PYDataset(out / "slow.hdf5").sources == ("x", "y")


READ_ALL = """
import logging, sys
logging.basicConfig(level="INFO", stream=sys.stdout, format="%(message)s")
from fuel.datasets import H5PYDataset
dataset = H5PYDataset(sys.argv[1])
handle = dataset.open()
print("sum", int(dataset.get_data(handle, slice(0, dataset.num_examples))[0].sum()))
dataset.close(handle)
"""


def test_the_local_cache_is_right_for_many_processes_and_equal_names(
    tmp_path: Path, fresh_python: Callable[..., str]
) -> None:
    """Two jobs copied over each other; two files of one name were taken for the same.

    And a copy that had been cut short was read ever after.
    """
    files = []
    for number, folder in enumerate(("one", "two"), 1):
        (tmp_path / folder).mkdir()
        files.append(tmp_path / folder / "data.hdf5")
        with h5py.File(files[-1], "w") as file:
            file["x"] = numpy.full(100_000, number)
    cache = tmp_path / "cache"
    environment = {**os.environ, "FUEL_LOCAL_DATA_PATH": str(cache)}
    program = [sys.executable, "-c", READ_ALL]
    options: Any = {"env": environment, "stdout": subprocess.PIPE, "text": True}
    jobs = [subprocess.Popen([*program, str(files[n % 2])], **options) for n in range(4)]
    sums = [job.communicate(timeout=90)[0].splitlines()[-1] for job in jobs]
    assert sums == ["sum 100000", "sum 200000"] * 2
    copies = sorted(path for path in cache.rglob("data.hdf5") if path.is_file())
    assert len(copies) == 2
    for copy in copies:
        copy.write_bytes(copy.read_bytes()[:1000])
    for number, file in enumerate(files, 1):
        printed = fresh_python(READ_ALL, str(file), FUEL_LOCAL_DATA_PATH=str(cache))
        assert f"sum {number}00000" in printed
    assert all(copy.stat().st_size == files[0].stat().st_size for copy in copies)


@pytest.mark.parametrize("command", [fuel_convert, fuel_download, fuel_info])
def test_a_command_without_arguments_says_how_it_is_used(
    command: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever tried the commands to see what they do was shown a traceback."""
    with pytest.raises(SystemExit) as ended:
        command.main([])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("usage: fuel-") and "error: name a" in said and "Traceback" not in said


def test_commands_take_their_arguments_and_a_file_can_be_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Called from a program, a command looked at the program's own arguments instead.

    And nothing told what splits and sources a file holds, or whether it is whole.
    """
    monkeypatch.setattr(sys, "argv", ["program", "mnist", "--verbose"])
    fuel_download.main(["digits", "--bundled", "-d", str(tmp_path)])
    fuel_convert.main(["digits", "-d", str(tmp_path), "-o", str(tmp_path)])
    capsys.readouterr()
    fuel_info.main([str(tmp_path / "digits.hdf5")])
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "train 1442 examples rows 0 to 1442 features, targets" in lines
    assert "targets uint8 1797 x 1 batch, index" in lines
    whole = (tmp_path / "digits.hdf5").read_bytes()
    (tmp_path / "digits.hdf5").write_bytes(whole[:-100])
    with pytest.raises(SystemExit):
        fuel_info.main([str(tmp_path / "digits.hdf5")])
    assert "is cut short" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_an_interrupted_command_ends_with_a_line(tmp_path: Path) -> None:
    """Ctrl-C printed a page of Python."""
    (tmp_path / "slow_converters.py").write_text(CONVERTERS, encoding="utf-8")
    (tmp_path / "wait").touch()
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    with subprocess.Popen(
        [sys.executable, "-B", "-m", "fuel.bin.fuel_convert", "slow", "-d", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path, "FUEL_EXTRA_CONVERTERS": "slow_converters"},
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.strip()) == (130, "fuel-convert: interrupted")
    assert sorted(os.listdir(tmp_path)) == ["slow_converters.py", "wait"]
