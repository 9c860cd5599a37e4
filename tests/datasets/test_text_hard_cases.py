"""`TextFile` and vocabularies where things go wrong: interruptions, wrong types, odd files.

What they do in good order is in ``test_datasets_text.py`` and ``tests/utils``.
"""

from __future__ import annotations

import bz2
import gzip
import inspect
import lzma
import os
import sys

import numpy
import pytest

from fuel.datasets import TextFile
from fuel.exceptions import StateMismatchError, StorageError
from fuel.streams import DataStream
from fuel.utils._lines import Lines
from fuel.utils.vocabulary import Vocabulary

WORDS = {"<S>": 0, "</S>": 1, "<UNK>": 2, **{f"w{number}": number + 3 for number in range(50)}}
TEXT = "".join(f"w{number} w{number + 1}\n" for number in range(40))
PACK = {".txt": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def write(path, text=TEXT, encoding="utf-8"):
    path.write_bytes(PACK[path.suffix](text.encode(encoding)))
    return path


def interrupting(*calls):
    """Return a function of a line that is interrupted in some of its calls."""
    count = 0

    def preprocess(line):
        nonlocal count
        count += 1
        if count in calls:
            raise KeyboardInterrupt
        return line

    return preprocess


@pytest.mark.parametrize("ending", list(PACK))
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-7"])
def test_a_line_that_was_interrupted_comes_again(tmp_path, ending, encoding):
    path = write(tmp_path / f"a{ending}", encoding=encoding)

    def stream(preprocess=None):
        return DataStream(TextFile([path], WORDS, preprocess=preprocess, encoding=encoding))

    whole = list(stream())
    iterator = stream(interrupting(1, 8, 9, 43)).get_epoch_iterator()
    lines, interruptions = [], 0
    while True:
        try:
            lines.append(next(iterator))
        except KeyboardInterrupt:
            interruptions += 1
            other = stream()
            other.load_state_dict(iterator.state_dict())
            assert lines + list(other.get_epoch_iterator()) == whole
        except StopIteration:
            break
    assert lines == whole
    assert interruptions == 4


def test_reading_that_was_interrupted_is_gone_on_with(tmp_path):
    path = write(tmp_path / "a.gz", TEXT * 2000)
    dataset = TextFile([path], WORDS, encoding="utf-8")
    state = dataset.open()
    whole = [dataset.get_data(state) for _ in range(20_000)]
    dataset.close(state)
    state = dataset.open()
    lines = [dataset.get_data(state)]
    read = state._file.read1

    def interrupted(size):
        state._file.read1 = read
        raise KeyboardInterrupt

    state._file.read1 = interrupted
    while len(lines) < len(whole):
        try:
            lines.append(dataset.get_data(state))
        except KeyboardInterrupt:
            read = None
    dataset.close(state)
    assert read is None, "nothing was interrupted"
    assert lines == whole


# Where closing a file is what is interrupted, collecting garbage closes it, with a warning.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_no_place_of_an_interruption_loses_a_line(tmp_path, encoding):
    text = "w1\nw2\r\nw3"
    paths = [write(tmp_path / name, text, encoding) for name in ("a.txt", "b.gz")]
    dataset = TextFile(paths, WORDS, None, None, encoding=encoding)
    sources = {inspect.getsourcefile(TextFile), inspect.getsourcefile(Lines)}
    left = 0

    def trace(frame, event, argument):
        nonlocal left
        if frame.f_code.co_filename not in sources or frame.f_code.co_name in (
            "take_back",
            "close",
        ):
            return None
        left -= event in ("call", "line")
        if left == 0:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    for place in range(1, 2000):
        state, lines, interrupted, left = dataset.open(), [], False, place
        while len(lines) < 6:
            sys.settrace(trace)
            try:
                lines += dataset.get_data(state)
            except KeyboardInterrupt:
                interrupted = True
            finally:
                sys.settrace(before)
        mark = state.tell()
        dataset.close(state)
        assert (lines, place) == ([[4], [5], [6], [4], [5], [6]], place)
        assert mark[:2] == [1, 3]
        if not interrupted:
            break
    assert 50 < place < 1999


def test_a_state_from_more_files_is_refused(tmp_path):
    paths = [write(tmp_path / name) for name in ("a.txt", "b.txt")]
    stream = DataStream(TextFile(paths, WORDS, encoding="utf-8"))
    iterator = stream.get_epoch_iterator()
    for _ in range(45):
        next(iterator)
    fewer = DataStream(TextFile(paths[:1], WORDS, encoding="utf-8"))
    fewer.load_state_dict(iterator.state_dict())
    with pytest.raises(StateMismatchError, match="file number 2, but there are only 1"):
        list(fewer.get_epoch_iterator())


@pytest.mark.parametrize("encoding", ["rot13", "hex", "zlib", "", "no\0pe", "utf-9"])
def test_what_is_no_encoding_of_text_is_refused_at_once(tmp_path, encoding):
    path = write(tmp_path / "a.txt")
    with pytest.raises(LookupError, match="`encoding` must be one that Python knows, got"):
        TextFile([path], WORDS, encoding=encoding)
    if encoding:
        with pytest.raises(LookupError, match="`encoding` must be one that Python knows, got"):
            Vocabulary.from_files([path], encoding=encoding)


def test_an_encoding_that_is_no_name_is_refused(tmp_path):
    with pytest.raises(TypeError, match="`encoding` must be the name of one, got 3; use"):
        TextFile([write(tmp_path / "a.txt")], WORDS, encoding=3)


def test_a_file_without_its_byte_order_mark_is_named_each_time(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("w1\nw2\n".encode("utf-16-be"))
    dataset = TextFile([path], WORDS, encoding="utf-16")
    state = dataset.open()
    for _ in range(2):
        with pytest.raises(UnicodeError, match=r"BOM \(after line 0 of '.*a\.txt'; name the file"):
            dataset.get_data(state)
    dataset.close(state)


@pytest.mark.parametrize("wrong", [3, b"w1", None, ["w1"]])
def test_preprocess_must_return_a_str(tmp_path, wrong):
    dataset = TextFile([write(tmp_path / "a.txt")], WORDS, preprocess=lambda line: wrong)
    state = dataset.open()
    with pytest.raises(TypeError, match="`preprocess` must return the line .* a str, got"):
        dataset.get_data(state)
    dataset.close(state)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, WORDS), "`files` must be a list of paths, got None; name"),
        ((3, WORDS), "`files` must be a list of paths, got 3; name"),
        ((["a.txt", 3], WORDS), "`files` must be a list of paths, got 3 among them"),
        ((["a.txt"], None), "`dictionary` must map tokens to numbers, got None; pass"),
        ((["a.txt"], ["a"]), "`dictionary` must map tokens to numbers, got"),
    ],
)
def test_arguments_of_other_types_are_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        TextFile(*arguments)


def test_a_preprocess_that_is_no_function_is_refused():
    with pytest.raises(
        TypeError, match="`preprocess` must be a function from a line to a str, got"
    ):
        TextFile(["a.txt"], WORDS, preprocess="lower")


def test_a_mark_that_cannot_be_looked_up_is_refused():
    with pytest.raises(ValueError, match=r"`bos_token` must be in the dictionary, got \['<S>'\]"):
        TextFile(["a.txt"], WORDS, bos_token=["<S>"])


# -- vocabularies ---------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a file system with named pipes")
@pytest.mark.parametrize("kind", ["text", "json"])
def test_what_is_no_file_is_not_replaced_by_one(tmp_path, kind):
    # As root that would take away a device such as /dev/null from everybody.
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(StorageError, match="that is no file; give the name of a file"):
        Vocabulary(["a"]).save(path, kind)
    with pytest.raises(StorageError, match="is no file"):
        Vocabulary(["a"]).save(tmp_path, kind)
    assert path.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize("wrong", [None, 3, float("nan"), b"w1", ["w1"]])
def test_what_is_no_str_is_refused_and_not_unknown(wrong):
    vocabulary = Vocabulary(["<UNK>", "w1"])
    with pytest.raises(TypeError, match="must be strings, got .* among them; decode bytes"):
        vocabulary.encode(["w1", wrong])
    with pytest.raises(TypeError, match="must be strings, got .* among them; decode bytes"):
        Vocabulary.from_stream([["w1", wrong]])
    with pytest.raises(TypeError, match="what a function given as `level` returns must be strings"):
        Vocabulary.from_stream(["w1"], lambda line: [line, wrong])


def test_texts_of_numpy_are_tokens():
    vocabulary = Vocabulary(["<UNK>", "w1"])
    assert vocabulary.encode(numpy.array(["w1", "w2"])) == [1, 0]
    assert vocabulary.encode(token for token in ("w1", "w2")) == [1, 0]
    assert vocabulary.encode("w1") == [0, 0]


@pytest.mark.parametrize("ids", ["01", 1, None, numpy.array(1), [1.0], [None], numpy.eye(2), ["1"]])
def test_what_are_no_numbers_of_tokens_is_refused(ids):
    with pytest.raises(
        TypeError, match="the numbers of tokens .*; decode one sequence of integers"
    ):
        Vocabulary(["a", "b"]).decode(ids)


@pytest.mark.parametrize("tokens", [None, 3])
def test_a_vocabulary_of_nothing_is_refused(tokens):
    with pytest.raises(TypeError, match="a vocabulary is made of tokens, got"):
        Vocabulary(tokens)


def test_marks_that_are_no_tokens_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"`unknown` must be one of the tokens, got \['a'\]"):
        Vocabulary(["a"], unknown=["a"])
    with pytest.raises(TypeError, match="tokens of a vocabulary must be strings, got 0"):
        Vocabulary.from_stream(["a"], begin=0)
    path = tmp_path / "v.json"
    path.write_text('{"tokens": ["a"], "marks": {"unknown": ["a"]}}')
    with pytest.raises(StorageError, match="`unknown` must be one of the tokens"):
        Vocabulary.load(path)


def test_a_count_that_python_does_not_read_is_told(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("a\t" + "9" * 5000 + "\n")
    with pytest.raises(StorageError, match="second column of line 1 must be a count"):
        Vocabulary.load(path)


def test_a_vocabulary_in_no_encoding_is_refused(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("a\n")
    for encoding in ("rot13", "utf-9"):
        with pytest.raises(LookupError, match="`encoding` must be one that Python knows"):
            Vocabulary.load(path, encoding=encoding)
        with pytest.raises(LookupError, match="`encoding` must be one that Python knows"):
            Vocabulary.from_stream([b"a"], encoding=encoding)
