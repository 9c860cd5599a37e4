"""The laws of `TextFile` on large, compressed and damaged files, and with vocabularies."""

import bz2
import gzip
import json
import lzma
import os
import pickle
import subprocess
import sys

import pytest

from fuel.config_parser import config
from fuel.datasets import OneBillionWord, TextFile
from fuel.exceptions import StateMismatchError, StorageError
from fuel.streams import DataStream
from fuel.testing import DatasetContract, StreamContract, assert_resumes_everywhere
from fuel.utils.vocabulary import Vocabulary

PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
LINES = ["to bé\n", "\n", "or nót\r\n", "to\r", "bé or"]
NUMBERS = [[0, 3, 4, 1], [0, 1], [0, 5, 2, 1], [0, 3, 1], [0, 4, 5, 1]]
VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "to", "bé", "or"])


def text(folder, ending="", encoding="utf-8", **options):
    paths = []
    for name in ("first", "second"):
        paths.append(str(folder / f"{name}.txt{ending}"))
        with open(paths[-1], "wb") as file:
            file.write(PACKERS[ending]("".join(LINES).encode(encoding)))
    return TextFile(paths, VOCABULARY, encoding=encoding, **options)


def read(dataset, state):
    return [line for (line,) in iter(lambda: _next(dataset, state), None)]


def _next(dataset, state):
    try:
        return dataset.get_data(state)
    except StopIteration:
        return None


class TestCompressed(DatasetContract):
    indexable = False

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path):
        self.path = tmp_path

    def make_dataset(self):
        return text(self.path, ".xz")


class TestStream(StreamContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path):
        self.path = tmp_path
        text(tmp_path, ".bz2")

    def make_stream(self):
        files = [str(self.path / f"{name}.txt.bz2") for name in ("first", "second")]
        return DataStream(TextFile(files, VOCABULARY, encoding="utf-8"))


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16", "cp500", "utf-8-sig"])
def test_reading_resumes_at_every_line(tmp_path, ending, encoding):
    dataset = text(tmp_path, ending, encoding)
    assert read(dataset, dataset.open()) == NUMBERS * 2
    assert_resumes_everywhere(
        lambda: DataStream(TextFile(dataset.files, VOCABULARY, encoding=encoding)),
        new_process=False,
        epochs=1,
        start_epochs=(0,),
        max_state_bytes=512,
    )


def test_places_are_files_lines_and_bytes(tmp_path):
    for ending in PACKERS:
        dataset = text(tmp_path, ending)
        state, marks = dataset.open(), []
        for _ in range(7):
            marks.append(state.tell())
            dataset.get_data(state)
        dataset.close(state)
        assert marks[:6] == [[0, 0, 0], [0, 1, 7], [0, 2, 8], [0, 3, 17], [0, 4, 20], [0, 5, 26]]
        assert marks[6] == [1, 1, 7]


def test_a_plain_file_is_entered_at_its_place(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_bytes(b"".join(b"%d\n" % number for number in range(40_000)))
    dataset = TextFile([path], {str(n): n for n in range(40_000)}, None, None, None)
    iterator = DataStream(dataset).get_epoch_iterator()
    for _ in range(30_000):
        next(iterator)
    state = json.loads(json.dumps(iterator.state_dict()))
    iterator.data_stream.close()
    resumed = DataStream(dataset).get_epoch_iterator()
    resumed.load_state_dict(state)
    seen = []
    real = type(dataset.open())._read
    monkeypatch.setattr(
        type(dataset.open()), "_read", lambda self, n: (seen.append(n), real(self, n))[1]
    )
    assert next(resumed) == ([30_000],)
    assert len(seen) == 1
    resumed.data_stream.close()


MEASURED = """
import sys, tracemalloc
from fuel.datasets import TextFile
dataset = TextFile([sys.argv[1]], {"<UNK>": 0}, None, None, encoding=sys.argv[3])
state = dataset.open()
dataset.get_data(state)
mark = [0, int(sys.argv[2]), int(sys.argv[4])]
dataset.reset(state)
tracemalloc.start()
state = dataset.open()
count = 0
while True:
    try:
        dataset.get_data(state)
    except StopIteration:
        break
    count += 1
state = dataset.open()
state.seek(mark)
print(count, len(dataset.get_data(state)[0]), tracemalloc.get_traced_memory()[1])
"""


@pytest.mark.parametrize("ending", PACKERS)
def test_memory_is_that_of_a_block(tmp_path, ending):
    """Twelve megabytes of text, read whole and entered near the end, in a process of its own."""
    line = b"x" * 1990 + b" two three\n"  # few words, for counting allocations is slow
    count = 12_000_000 // len(line)
    path = tmp_path / f"large.txt{ending}"
    # xz needs the memory that its maker chose: here 256 KiB.
    options = {"": {}, ".xz": {"preset": 0}}.get(ending, {"compresslevel": 1})
    path.write_bytes(PACKERS[ending](line * count, **options))
    place = count - 10
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", MEASURED, str(path), str(place), "utf-8"]
        + [str(place * len(line))],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines, tokens, peak = map(int, done.stdout.split())
    assert (lines, tokens) == (count, 3)
    assert peak < 1_500_000


def test_a_line_longer_than_a_block_is_one_line(tmp_path):
    path = tmp_path / "long.txt"
    path.write_bytes(b"to " * 500_000 + b"\nto\n")
    dataset = TextFile([path], VOCABULARY, None, None)
    assert [len(line) for line in read(dataset, dataset.open())] == [500_000, 1]


def test_an_unknown_token_names_its_file_and_line_and_is_passed(tmp_path):
    dataset = text(tmp_path, ".gz", unk_token=None)
    iterator = DataStream(dataset).get_epoch_iterator()
    next(iterator)
    next(iterator)
    place = r"'nót' is not in the dictionary \(line 3 of .*first\.txt\.gz.*; add it, or name"
    for _ in range(2):
        before = iterator.state_dict()
        with pytest.raises(KeyError, match=place):
            next(iterator)
        # What was delivered is what counts: a dictionary that is mended loses no line.
        assert iterator.state_dict() == before
        mended = DataStream(text(tmp_path, ".gz")).get_epoch_iterator()
        mended.load_state_dict(before)
        assert list(mended) == [(line,) for line in (NUMBERS * 2)[2:]]
        iterator.load_state_dict(before)
    with pytest.raises(KeyError):
        next(iterator)
    assert next(iterator) == (NUMBERS[3],)
    assert iterator.state_dict()["position"] != before["position"]


def test_a_preparation_that_fails_loses_no_line(tmp_path):
    def careful(line):
        if "nót" in line:
            raise ArithmeticError("no")
        return line

    dataset = text(tmp_path, preprocess=careful)
    state = dataset.open()
    dataset.get_data(state), dataset.get_data(state)
    mark = state.tell()
    with pytest.raises(ArithmeticError):
        dataset.get_data(state)
    assert state.tell() == mark == [0, 2, 8]
    assert dataset.get_data(state) == (NUMBERS[3],)
    assert state.tell() == [0, 4, 20]


def test_a_file_that_changed_is_refused_with_what_to_do(tmp_path):
    dataset = text(tmp_path)
    iterator = DataStream(dataset).get_epoch_iterator()
    for _ in range(3):
        next(iterator)
    state, pickled = iterator.state_dict(), pickle.dumps(iterator)
    iterator.data_stream.close()
    for content in (b"to\n", b"to be or not to be\n" * 9):
        with open(dataset.files[0], "wb") as file:
            file.write(content)
        resumed = DataStream(dataset).get_epoch_iterator()
        resumed.load_state_dict(state)
        for again in (resumed, pickle.loads(pickled)):
            with pytest.raises(StateMismatchError, match=r"first\.txt.*restore the file"):
                next(again)


def test_a_dictionary_file_has_its_own_encoding(tmp_path):
    VOCABULARY.save(tmp_path / "utf8.txt")
    (tmp_path / "latin.txt").write_text("\n".join(VOCABULARY), "latin-1")
    (tmp_path / "utf16.txt").write_text("\n".join(VOCABULARY), "utf-16-le")
    for name, encoding in [
        ("utf8.txt", "latin-1"),
        ("utf8.txt", None),
        ("latin.txt", "latin-1"),
        ("utf16.txt", "utf-16-le"),
    ]:
        assert TextFile([], tmp_path / name, encoding=encoding).dictionary == VOCABULARY
    with pytest.raises(StorageError, match=r"the dictionary '.*latin\.txt' cannot be read: .*line"):
        TextFile([], tmp_path / "latin.txt", encoding="utf-8")


def test_an_unknown_encoding_is_told_at_once():
    with pytest.raises(LookupError, match="`encoding` must be one that Python knows, got 'utf-9'"):
        TextFile([], VOCABULARY, encoding="utf-9")


def test_a_method_that_looks_up_is_still_asked(tmp_path):
    class Lengths(TextFile):
        def _get_from_dictionary(self, symbol):
            return len(symbol)

    dataset = Lengths(text(tmp_path).files, VOCABULARY, encoding="utf-8")
    assert read(dataset, dataset.open())[0] == [0, 2, 2, 1]
    assert TextFile([], VOCABULARY)._get_from_dictionary("or") == 5
    assert TextFile([], VOCABULARY)._get_from_dictionary("oar") == 2


def test_a_subclass_may_open_something_else(tmp_path):
    class Fixed(TextFile):
        def open(self):
            return iter(["to", "oar"])

    dataset = Fixed([], VOCABULARY, unk_token=None)
    state = dataset.open()
    assert dataset.get_data(state) == ([0, 3, 1],)
    with pytest.raises(KeyError, match="'oar' is not in the dictionary; add it"):
        dataset.get_data(state)


def test_the_billion_words_take_and_make_vocabularies(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "data_path", [str(tmp_path)])
    folder = tmp_path / "1-billion-word" / "heldout-monolingual.tokenized.shuffled"
    folder.mkdir(parents=True)
    for number in (1, 2):
        (folder / f"news.en.heldout-0000{number}-of-00050").write_text(f"the {number} the\n")
    files = OneBillionWord.files_of("heldout", [1, 2])
    assert [os.path.basename(path)[16:21] for path in files] == ["00001", "00002"]
    vocabulary = Vocabulary.from_files(files, encoding="utf-8")
    vocabulary.save(tmp_path / "words.txt")
    for dictionary in (vocabulary, tmp_path / "words.txt", str(tmp_path / "words.txt")):
        dataset = OneBillionWord("heldout", [2], dictionary)
        assert read(dataset, dataset.open()) == [[0, 3, 5, 3, 1]]
        assert dataset.dictionary == vocabulary
    with pytest.raises(ValueError, match="`which_set` must be"):
        OneBillionWord.files_of("test", [1])
