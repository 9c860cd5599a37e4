"""Sound from .m4a files: a stand-in for ffmpeg that is a process, and the real one where it is."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import struct
import sys
import wave

import h5py
import numpy
import pytest

from fuel.config_parser import config
from fuel.converters import youtube_audio
from fuel.converters._wave import open_wave
from fuel.converters.base import MissingInputFiles
from fuel.datasets import H5PYDataset
from fuel.datasets.youtube_audio import YouTubeAudio
from fuel.exceptions import StorageError
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream

#: Writes what it is asked for: so many channels, at such a rate, in the format of WAVE. What is in
#: the input file says what it does; its arguments are left beside the input.
FFMPEG = """
import json, sys, wave
arguments = sys.argv[1:]
given = dict(zip(arguments, arguments[1:]))
path = given["-i"]
content = open(path, "rb").read()
with open(path + ".arguments", "w") as file:
    json.dump(arguments, file)
if content.startswith(b"damaged"):
    print("first line", file=sys.stderr)
    print("Invalid data found when processing input", file=sys.stderr)
    sys.exit(69)
channels, rate = int(given["-ac"]), int(given["-ar"])
if content.startswith(b"empty"):
    content = b""
if content.startswith(b"deaf"):
    sys.exit(0)
if content.startswith(b"wrong"):
    channels += 1
if content.startswith(b"noise"):
    open(arguments[-1], "wb").write(b"no sound at all" * 10)
    sys.exit(0)
with wave.open(arguments[-1], "wb") as file:
    file.setnchannels(channels)
    file.setsampwidth(2)
    file.setframerate(rate)
    file.writeframes(content * channels)
"""

ID = "-a_B3c4D5e6"
SOUND = numpy.arange(-500, 500, dtype="<i2")


@pytest.fixture
def ffmpeg(tmp_path, monkeypatch):
    """Put a program of that name on the PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    script = folder / "ffmpeg.py"
    script.write_text(FFMPEG)
    if os.name == "nt":
        (folder / "ffmpeg.bat").write_text(f'@"{sys.executable}" "{script}" %*\n')
    else:
        program = folder / "ffmpeg"
        program.write_text(f"#!{sys.executable}\n{FFMPEG}")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def raw(tmp_path):
    folder = tmp_path / "raw $(touch x); files"
    folder.mkdir()
    (folder / f"{ID}.m4a").write_bytes(SOUND.tobytes())
    return folder


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.mark.usefixtures("ffmpeg")
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_sound_becomes_one_long_example(raw, out, channels):
    paths = youtube_audio.convert_youtube_audio(str(raw), str(out), ID, channels, 8000)
    assert paths == (str(out / f"{ID}.hdf5"),)
    assert os.listdir(out) == [f"{ID}.hdf5"]
    with h5py.File(paths[0]) as file:
        features = file["features"]
        assert (features.shape, features.dtype) == ((1, 1000, channels), numpy.int16)
        expected = numpy.tile(SOUND, channels).reshape(1, 1000, channels)
        numpy.testing.assert_array_equal(features, expected)
        assert file.attrs["sample_rate"] == 8000
        assert H5PYDataset.get_axis_labels(file) == {"features": ("batch", "time", "feature")}
        assert H5PYDataset.get_all_splits(file) == ("train",)


@pytest.mark.usefixtures("ffmpeg")
def test_the_program_gets_a_list_of_arguments_and_no_shell(raw, out):
    youtube_audio.convert_youtube_audio(str(raw), str(out), ID, 2, 44100, "sound.hdf5")
    assert os.listdir(out) == ["sound.hdf5"]
    arguments = json.loads((raw / f"{ID}.m4a.arguments").read_text())
    given = dict(itertools.pairwise(arguments))
    assert given["-i"] == str(raw / f"{ID}.m4a")
    assert (given["-ac"], given["-ar"]) == ("2", "44100")
    assert given["-protocol_whitelist"] == "file"


@pytest.mark.usefixtures("ffmpeg")
def test_the_default_stream(raw, out):
    youtube_audio.convert_youtube_audio(str(raw), str(out), ID, 1, 16000)
    with config.override(data_path=[str(out)]):
        dataset = YouTubeAudio(ID)
        assert (dataset.num_examples, dataset.load_in_memory) == (1, False)
        stream = DataStream.default_stream(dataset, iteration_scheme=SequentialScheme(1, 1))
        ((features,),) = stream.get_epoch_iterator()
    numpy.testing.assert_array_equal(features, SOUND.reshape(1, -1, 1))


@pytest.mark.usefixtures("ffmpeg")
@pytest.mark.parametrize(
    "content, message",
    [
        (b"damaged", r"could not decode .*\.m4a \(exit code 69\): Invalid data found when"),
        (b"empty", r"there is no sound in .*\.m4a"),
        (b"deaf", "was to be written by ffmpeg, but is empty or not there"),
        (b"wrong", "asked for 1 channels of 16000 Hz of .* and gave 2 of 16000 Hz"),
        (b"noise", "should be a WAVE file of 16 bits, but begins with"),
    ],
)
def test_what_the_program_does_not_do_is_told_and_an_older_file_stays(raw, out, content, message):
    (raw / f"{ID}.m4a").write_bytes(content)
    (out / f"{ID}.hdf5").write_bytes(b"older")
    with pytest.raises(StorageError, match=message):
        youtube_audio.convert_youtube_audio(str(raw), str(out), ID, 1, 16000)
    assert os.listdir(out) == [f"{ID}.hdf5"]
    assert (out / f"{ID}.hdf5").read_bytes() == b"older"


def test_a_missing_program_is_told_with_what_to_do(raw, out, monkeypatch):
    monkeypatch.setenv("PATH", str(out))
    with pytest.raises(StorageError, match="ffmpeg was not found; install it"):
        youtube_audio.convert_youtube_audio(str(raw), str(out), ID, 1, 16000)
    assert os.listdir(out) == []


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingInputFiles) as caught:
        youtube_audio.convert_youtube_audio(str(tmp_path), str(tmp_path), ID, 1, 16000)
    assert caught.value.filenames == [f"{ID}.m4a"]


@pytest.mark.parametrize("wrong", ["", "../x", "a b", "a/b", "a;b"])
def test_what_cannot_be_an_identity_is_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match="`youtube_id` must consist of letters"):
        youtube_audio.convert_youtube_audio(str(tmp_path), str(tmp_path), wrong, 1, 16000)


@pytest.mark.parametrize("channels, sample, name", [(0, 1, "channels"), (1, -5, "sample")])
def test_numbers_have_to_be_positive(tmp_path, channels, sample, name):
    with pytest.raises(ValueError, match=f"`{name}` must be a whole number of 1 or more"):
        youtube_audio.convert_youtube_audio(str(tmp_path), str(tmp_path), ID, channels, sample)


def test_the_command_has_the_options_of_the_original():
    parser = argparse.ArgumentParser()
    assert youtube_audio.fill_subparser(parser) is youtube_audio.convert_youtube_audio
    assert vars(parser.parse_args([f"--youtube-id={ID}"])) == {
        "youtube_id": ID,
        "channels": 1,
        "sample": 16000,
    }
    with pytest.raises(SystemExit):
        parser.parse_args([])


def riff(*chunks):
    body = b"".join(
        name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
        for name, data in chunks
    )
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


def form(kind=1, channels=2, bits=16):
    return struct.pack("<HHIIHH", kind, channels, 100, 100 * channels * 2, channels * 2, bits)


def test_samples_are_found_behind_other_chunks_and_in_the_extended_form(tmp_path):
    path = tmp_path / "x.wav"
    data = numpy.arange(6, dtype="<i2").tobytes()
    path.write_bytes(
        riff((b"LIST", b"odd"), (b"fmt ", form(0xFFFE) + bytes(24)), (b"data", data + b"\1"))
    )
    sound = open_wave(str(path))
    assert (sound.values.tolist(), sound.rate) == ([[0, 1], [2, 3], [4, 5]], 100)
    # A program that writes to a pipe does not know the size of the data yet.
    content = riff((b"fmt ", form()), (b"data", data))
    path.write_bytes(content.replace(struct.pack("<I", 12), b"\xff\xff\xff\xff"))
    assert open_wave(str(path)).values.shape == (3, 2)


@pytest.mark.parametrize(
    "content, fact",
    [
        (b"<html>", "begins with"),
        (riff((b"fmt ", form(bits=8)), (b"data", b"12")), "of kind 1 with 8 bits"),
        (riff((b"fmt ", form(kind=3)), (b"data", b"12")), "of kind 3"),
        (riff((b"fmt ", form(channels=0)), (b"data", b"12")), "samples of kind"),
        (riff((b"fmt ", form())), "has no samples"),
        (riff((b"data", b"12")), "has no samples"),
    ],
)
def test_what_is_no_such_file_is_told(tmp_path, content, fact):
    (tmp_path / "x.wav").write_bytes(content)
    with pytest.raises(StorageError, match=f"should be a WAVE file of 16 bits, but .*{fact}"):
        open_wave(str(tmp_path / "x.wav"))


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="the program ffmpeg is not installed")
def test_the_real_program_decodes(raw, out):
    with wave.open(str(raw / f"{ID}.m4a"), "wb") as file:  # it looks at the content, not the name
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(SOUND.tobytes())
    (path,) = youtube_audio.convert_youtube_audio(str(raw), str(out), ID, 1, 16000)
    with h5py.File(path) as file:
        numpy.testing.assert_array_equal(file["features"][0, :, 0], SOUND)
