"""The laws of `TextFile` and `OneBillionWord`."""

import gzip
import json
import multiprocessing
import pickle
import subprocess
import sys

import numpy
import pytest

from fuel.config_parser import config
from fuel.datasets import OneBillionWord, TextFile
from fuel.exceptions import StorageError
from fuel.streams import DataStream
from fuel.typing import Spec

# The timer that ends hanging tests is a thread; what forks here holds no lock of its.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")

WORDS = {"<S>": 0, "</S>": 1, "<UNK>": 2, "this": 3, "is": 4, "a": 5, "tést": 6}
LINES = ["this is a tést", "", "a this other", "is"]
NUMBERS = [[0, 3, 4, 5, 6, 1], [0, 1], [0, 5, 3, 2, 1], [0, 4, 1]]


@pytest.fixture(params=["utf-8", "utf-16", "utf-8 gz"])
def files(request, tmp_path):
    """Two files in some encoding, the same lines in each."""
    encoding, _, compressed = request.param.partition(" ")
    paths = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.txt"
        content = "\n".join(LINES).encode(encoding)
        if compressed:
            path = tmp_path / f"{name}.txt.gz"
            content = gzip.compress(content)
        path.write_bytes(content)
        paths.append(str(path))
    return paths, encoding


def read(dataset, state):
    lines = []
    while True:
        try:
            (line,) = dataset.get_data(state)
        except StopIteration:
            return lines
        lines.append(line)


def test_lines_become_lists_of_numbers(files):
    paths, encoding = files
    dataset = TextFile(paths, WORDS, encoding=encoding)
    assert dataset.sources == dataset.provides_sources == ("features",)
    assert dataset.example_iteration_scheme is None
    assert read(dataset, dataset.open()) == NUMBERS * 2


@pytest.mark.parametrize("done", range(9))
def test_reading_resumes_at_every_line(files, done):
    paths, encoding = files
    dataset = TextFile(paths, WORDS, encoding=encoding)
    state = dataset.open()
    for _ in range(done):
        dataset.get_data(state)
    pickled = pickle.dumps((dataset, state))
    mark = json.loads(json.dumps(state.tell()))
    assert read(dataset, state) == (NUMBERS * 2)[done:]
    again, resumed = pickle.loads(pickled)
    assert read(again, resumed) == (NUMBERS * 2)[done:]
    fresh = dataset.open()
    fresh.seek(mark)
    assert read(dataset, fresh) == (NUMBERS * 2)[done:]


def test_reading_resumes_in_a_new_process(files, tmp_path):
    paths, encoding = files
    stream = DataStream(TextFile(paths, WORDS, encoding=encoding))
    iterator = stream.get_epoch_iterator()
    for _ in range(3):
        next(iterator)
    (tmp_path / "it.pkl").write_bytes(pickle.dumps(iterator))
    program = (
        "import pickle, sys, pathlib; it = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "print([line for line, in it])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(tmp_path / "it.pkl")],
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout.strip() == str((NUMBERS * 2)[3:])
    stream.close()


def test_a_stream_starts_every_epoch_anew(files):
    paths, encoding = files
    stream = DataStream(TextFile(paths, WORDS, encoding=encoding))
    for _ in range(2):
        assert [line for (line,) in stream.get_epoch_iterator()] == NUMBERS * 2


def test_one_file_is_open_at_a_time_and_none_in_the_end(tmp_path, monkeypatch):
    import fuel.utils._lines as module

    opened = []

    def open_(*args, **kwargs):
        assert all(file.closed for file in opened)
        opened.append(real(*args, **kwargs))
        return opened[-1]

    real = module.open_bytes
    monkeypatch.setattr(module, "open_bytes", open_)
    paths = []
    for number in range(3):
        paths.append(tmp_path / f"{number}.txt")
        paths[-1].write_text("a\nis\n")
    dataset = TextFile(paths, WORDS)
    state = dataset.open()
    assert not opened
    assert len(read(dataset, state)) == 6
    assert len(opened) == 3
    assert all(file.closed for file in opened)
    state = dataset.reset(state)
    dataset.get_data(state)
    dataset.close(state)
    assert opened[-1].closed
    state = dataset.open()
    dataset.get_data(state)
    del state
    assert opened[-1].closed


def test_a_closed_state_goes_on_where_it_was(tmp_path):
    (tmp_path / "a.txt").write_text("a\nis\nthis\n")
    dataset = TextFile(tmp_path / "a.txt", WORDS)
    state = dataset.open()
    dataset.get_data(state)
    dataset.close(state)
    assert dataset.get_data(state) == ([0, 4, 1],)
    dataset.close(state)


def test_characters(tmp_path):
    (tmp_path / "a.txt").write_text("  ab c\n\n")
    characters = {"a": 0, "b": 1, " ": 2, "?": 3, "^": 4}
    dataset = TextFile(
        [tmp_path / "a.txt"], characters, bos_token="^", eos_token=None, unk_token="?",
        level="character",
    )  # fmt: skip
    assert read(dataset, dataset.open()) == [[4, 0, 1, 2, 3], [4]]


def test_special_tokens_can_be_left_out_and_lines_prepared(tmp_path):
    (tmp_path / "a.txt").write_text("THIS IS\n")
    dataset = TextFile([tmp_path / "a.txt"], WORDS, None, None, preprocess=str.lower)
    assert read(dataset, dataset.open()) == [[3, 4]]


def test_an_unknown_token_without_a_substitute_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_text("this other\n")
    dataset = TextFile([tmp_path / "a.txt"], WORDS, unk_token=None)
    state = dataset.open()
    with pytest.raises(KeyError, match="'other' is not in the dictionary"):
        dataset.get_data(state)
    dataset.close(state)


@pytest.mark.parametrize("token", ["bos_token", "eos_token", "unk_token"])
def test_special_tokens_must_be_in_the_dictionary(token):
    with pytest.raises(ValueError, match=f"`{token}` must be in the dictionary, got 'x'"):
        TextFile([], WORDS, **{token: "x"})


def test_the_level_must_be_known():
    with pytest.raises(ValueError, match="`level` must be 'word' or 'character', got 'line'"):
        TextFile([], WORDS, level="line")


def test_a_request_or_a_missing_state_is_refused(tmp_path):
    dataset = TextFile([], WORDS)
    with pytest.raises(ValueError, match="line by line"):
        dataset.get_data(dataset.open(), request=[0])
    with pytest.raises(ValueError, match="needs a state"):
        dataset.get_data()


@pytest.mark.parametrize("form", ["json", "json without its suffix", "lines", "gz"])
def test_a_dictionary_may_be_a_path(tmp_path, form):
    in_order = sorted(WORDS, key=WORDS.get)
    path = tmp_path / ("words.json" if form == "json" else "words.txt")
    if form.startswith("json"):
        path.write_text(json.dumps(WORDS), "utf-8")
    elif form == "lines":
        path.write_text("\n".join(in_order) + "\n", "utf-8")
    else:
        path = tmp_path / "words.txt.gz"
        path.write_bytes(gzip.compress("\n".join(in_order).encode()))
    for name in (path, str(path)):
        assert TextFile([], name, encoding="utf-8").dictionary == WORDS


@pytest.mark.parametrize("content", ['{"a": ', '["a"]', '{"a": "b"}', None])
def test_a_dictionary_that_cannot_be_read_is_refused(tmp_path, content):
    path = tmp_path / "words.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(StorageError, match=r"the dictionary '.*words\.json'"):
        TextFile([], path)


def test_a_missing_file_is_named(tmp_path):
    (tmp_path / "a.txt").write_text("a\n")
    dataset = TextFile([tmp_path / "a.txt", tmp_path / "b.txt"], WORDS)
    state = dataset.open()
    dataset.get_data(state)
    with pytest.raises(FileNotFoundError, match=r"b\.txt' cannot be read after line 0"):
        dataset.get_data(state)


def test_a_truncated_file_is_named(tmp_path):
    content = gzip.compress(numpy.random.RandomState(1).bytes(10_000).hex().encode() + b"\n")
    (tmp_path / "a.txt.gz").write_bytes(content[:-100])
    dataset = TextFile([tmp_path / "a.txt.gz"], WORDS)
    state = dataset.open()
    with pytest.raises(StorageError, match=r"a\.txt\.gz' cannot be read"):
        dataset.get_data(state)
    dataset.close(state)


def test_a_wrong_encoding_is_named_with_the_line(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\n" * 5000 + "é\n".encode("latin-1"))
    dataset = TextFile([tmp_path / "a.txt"], WORDS, encoding="utf-8")
    state = dataset.open()
    with pytest.raises(UnicodeDecodeError, match=r"a\.txt'; name the file's `encoding`"):
        read(dataset, state)
    dataset.close(state)


def test_specs_say_lists_of_ints():
    assert TextFile([], WORDS).specs == {"features": Spec((None,), numpy.dtype("int64"))}


def read_rest(dataset, state, connection):
    connection.send(read(dataset, state))
    connection.close()


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_child_goes_on_from_the_same_line(tmp_path, method):
    lines = [f"{number}\n" for number in range(20_000)]
    (tmp_path / "a.txt").write_text("".join(lines))
    numbers = {str(number): number for number in range(20_000)}
    dataset = TextFile([tmp_path / "a.txt"], numbers, None, None, None)
    state = dataset.open()
    for _ in range(7000):
        dataset.get_data(state)
    context = multiprocessing.get_context(method)
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=read_rest, args=(dataset, state, there))
    child.start()
    there.close()
    rest = [[number] for number in range(7000, 20_000)]
    assert read(dataset, state) == rest
    assert here.recv() == rest
    child.join(60)
    assert child.exitcode == 0
    here.close()


def test_one_billion_words_are_found_in_the_data_path(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "data_path", [str(tmp_path)])
    folder = tmp_path / "1-billion-word"
    training = folder / "training-monolingual.tokenized.shuffled"
    heldout = folder / "heldout-monolingual.tokenized.shuffled"
    for directory in (training, heldout):
        directory.mkdir(parents=True)
    (training / "news.en-00003-of-00100").write_text("this\n")
    (training / "news.en-00099-of-00100").write_text("is\n")
    (heldout / "news.en.heldout-00000-of-00050").write_text("a\n")
    dataset = OneBillionWord("training", [99, 3], WORDS)
    assert read(dataset, dataset.open()) == [[0, 4, 1], [0, 3, 1]]
    dataset = OneBillionWord("heldout", [0], WORDS, bos_token=None)
    assert read(dataset, dataset.open()) == [[5, 1]]
    with pytest.raises(OSError, match="00004"):
        OneBillionWord("training", [4], WORDS)


@pytest.mark.parametrize(
    ("which_set", "partitions"),
    [("test", [1]), ("training", [0]), ("training", [100]), ("heldout", [50])],
)
def test_one_billion_words_has_so_many_parts(which_set, partitions):
    with pytest.raises(ValueError, match=r"`which_(set|partitions)` must be"):
        OneBillionWord(which_set, partitions, WORDS)


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path):
    path = tmp_path / "marked.txt"
    path.write_bytes(b"\xef\xbb\xbfone two\n\xef\xbb\xbfone\n")
    words = {"one": 1, "two": 2, "\ufeffone": 3}
    options = {"bos_token": None, "eos_token": None, "unk_token": None, "encoding": "utf-8"}
    iterator = DataStream(TextFile([path, path], words, **options)).get_epoch_iterator()
    assert list(iterator) == [([1, 2],), ([3],), ([1, 2],), ([3],)]


def test_a_damaged_compressed_file_is_told(tmp_path):
    content = bytearray(gzip.compress(b"one two\n" * 1000))
    content[12:16] = b"\xff\xff\xff\xff"
    (tmp_path / "text.gz").write_bytes(content)
    options = {"bos_token": None, "eos_token": None, "unk_token": None}
    stream = DataStream(TextFile([tmp_path / "text.gz"], {"one": 1, "two": 2}, **options))
    with pytest.raises(StorageError, match=r"text\.gz' cannot be read after line"):
        list(stream.get_epoch_iterator())
    with pytest.raises(StorageError, match="the dictionary .* cannot be read"):
        TextFile([], tmp_path / "text.gz", **options)


def test_a_preprocessing_that_forgets_to_return_is_told(tmp_path):
    (tmp_path / "text.txt").write_text("one\n", encoding="utf-8")
    options = {"bos_token": None, "eos_token": None, "unk_token": None}
    dataset = TextFile([tmp_path / "text.txt"], {"one": 1}, preprocess=print, **options)
    with pytest.raises(TypeError, match="`preprocess` must return the line"):
        next(dataset.open()) and dataset.get_data(dataset.open())
