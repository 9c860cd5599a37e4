"""The laws of `Vocabulary`: what it holds, how it is counted, that it cannot be changed."""

import collections
import copy
import gzip
import json
import os
import pickle
import subprocess
import sys

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.exceptions import StorageError
from fuel.schemes import SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.utils.vocabulary import Vocabulary

LINES = ["to be or not to be", "", "to do is to be"]
COUNTED = ("<S>", "</S>", "<UNK>", "to", "be", "do", "is", "not", "or")

tokens = st.lists(st.text(max_size=6), unique=True, max_size=12)


@given(tokens)
def test_it_is_a_mapping_both_ways(words):
    vocabulary = Vocabulary(words)
    assert dict(vocabulary) == {word: number for number, word in enumerate(words)}
    assert vocabulary == dict(vocabulary)
    assert list(vocabulary) == list(vocabulary.tokens) == words
    assert len(vocabulary) == len(words)
    assert vocabulary.encode(words) == list(range(len(words)))
    assert vocabulary.decode(vocabulary.encode(words)) == words
    assert Vocabulary(dict(vocabulary)) == Vocabulary(vocabulary) == vocabulary
    assert pickle.loads(pickle.dumps(vocabulary)) == copy.deepcopy(vocabulary) == vocabulary


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "c", "é", "<S>", "<UNK>"]))),
    st.integers(1, 3),
    st.none() | st.integers(4, 8),
)
def test_counts_are_those_of_a_counter(sequences, min_count, max_size):
    counter = collections.Counter(token for sequence in sequences for token in sequence)
    found = Vocabulary.from_stream(sequences, min_count=min_count, max_size=max_size, pad="<PAD>")
    marks = ("<PAD>", "<S>", "</S>", "<UNK>")
    ranked = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    kept = [word for word, count in ranked if count >= min_count and word not in marks]
    kept = kept[: None if max_size is None else max_size - 4]
    assert found.tokens == (*marks, *kept)
    assert [found.counts[word] for word in kept] == [counter[word] for word in kept]
    assert sum(found.counts.values()) == sum(counter.values())
    assert found.pad_id == 0 and found.begin_id == 1 and found.end_id == 2
    assert found.encode(["nowhere"]) == [found.unknown_id] == [3]


def batches(lines, size):
    dataset = IndexableDataset({"text": lines, "number": numpy.arange(len(lines))})
    scheme = SequentialScheme(len(lines), size) if size else SequentialExampleScheme(len(lines))
    return DataStream(dataset, iteration_scheme=scheme)


@pytest.mark.parametrize("form", ["lines", "bytes", "tokens", "examples", "batches", "arrays"])
def test_it_is_built_of_anything_that_holds_text(form):
    options = {}
    stream = LINES
    if form == "bytes":
        stream = [line.encode("utf-16") for line in LINES]
        options["encoding"] = "utf-16"
    elif form == "tokens":
        stream = [line.split() for line in LINES]
    elif form != "lines":
        lines = numpy.array(LINES) if form == "arrays" else LINES
        stream = batches(lines, 0 if form == "examples" else 2)
        options["source"] = "text"
    found = Vocabulary.from_stream(stream, **options)
    assert found.tokens == COUNTED
    assert found.counts["to"] == 4 and found.counts["<S>"] == 0
    assert all(type(token) is str for token in found.tokens)


def test_levels_and_preparation():
    marks = {"unknown": None, "begin": None, "end": None}
    assert Vocabulary.from_stream([" ba b\n"], "character", **marks).tokens == ("b", " ", "a")
    commas = Vocabulary.from_stream(["A,b,a"], lambda line: line.split(","), **marks)
    assert commas.tokens == ("A", "a", "b")
    lowered = Vocabulary.from_stream(["A,b,a"], "character", preprocess=str.lower, **marks)
    assert lowered.counts == {",": 2, "a": 2, "b": 1}


def test_it_is_built_of_files(tmp_path):
    (tmp_path / "a.txt").write_text("to be\n", "latin-1")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress("tö be\n".encode("latin-1")))
    paths = [tmp_path / "a.txt", tmp_path / "b.txt.gz"]
    found = Vocabulary.from_files(paths, encoding="latin-1", max_size=5)
    assert found.tokens == ("<S>", "</S>", "<UNK>", "be", "to")
    assert found.counts["<UNK>"] == 1
    assert Vocabulary.from_files(str(paths[0])).counts["be"] == 1
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Vocabulary.from_files(tmp_path / "nowhere")


def test_order_and_digest_do_not_depend_on_the_seed_of_hashes(tmp_path):
    program = (
        "from fuel.utils.vocabulary import Vocabulary\n"
        "v = Vocabulary.from_stream([f'{n % 7} {n} é{n % 5}' for n in range(50)], min_count=2)\n"
        "print(ascii(v.tokens), v.digest)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4321")
    }
    assert len(found) == 1
    # So neither on the machine: these are written down.
    vocabulary = Vocabulary(["<S>", "é", "\ud800"])
    assert vocabulary.digest == "0c03658ff79559a35a4e98d610d91e3a"


def test_digests_tell_tokens_and_orders_apart():
    lists = [["a", "b"], ["b", "a"], ["ab"], ["a b"], ["a", "b", ""], []]
    assert len({Vocabulary(words).digest for words in lists}) == len(lists)


def test_marks_are_the_usual_ones_where_they_are_or_those_given():
    usual = Vocabulary(["a", "</S>", "<UNK>"])
    assert dict(usual.marks) == {"unknown": "<UNK>", "begin": None, "end": "</S>", "pad": None}
    other = Vocabulary(["a", "[CLS]", "</S>"], begin="[CLS]", end=None)
    assert (other.begin, other.begin_id, other.end, other.end_id) == ("[CLS]", 1, None, None)
    assert other != Vocabulary(["a", "[CLS]", "</S>"], begin="[CLS]")
    assert "begin='[CLS]'" in repr(other) and "3 tokens" in repr(other)
    for name in ("unknown", "begin", "end", "pad"):
        with pytest.raises(ValueError, match=f"`{name}` must be one of the tokens, got 'x'"):
            Vocabulary(["a"], **{name: "x"})


def test_it_cannot_be_changed():
    vocabulary = Vocabulary(["a"], counts={"a": 3})
    with pytest.raises(TypeError):
        vocabulary["b"] = 1
    with pytest.raises(TypeError):
        vocabulary.counts["a"] = 4
    with pytest.raises(TypeError):
        vocabulary.marks["unknown"] = "a"
    with pytest.raises(AttributeError):
        vocabulary.unknown = "a"
    with pytest.raises(TypeError, match="unhashable"):
        hash(vocabulary)
    assert Vocabulary(["a"]).counts is None


def test_what_is_not_there():
    vocabulary = Vocabulary(["a", "b"])
    with pytest.raises(KeyError, match="'c' is not in the vocabulary.*name an `unknown` token"):
        vocabulary.encode(["a", "c"])
    assert vocabulary.get("c") is None and vocabulary.get("c", 7) == 7 and "c" not in vocabulary
    for number in (2, -1):
        with pytest.raises(IndexError, match=f"are 0 to 1, got {number}"):
            vocabulary.decode([0, number])
    assert vocabulary.decode(numpy.array([1, 0])) == ["b", "a"]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (["a", "b", "a"], ValueError, "once in a vocabulary, got 'a'"),
        ({"a": 0, "b": 2}, ValueError, "got none with 1; close the holes"),
        ({"a": 0, "b": 0}, ValueError, "got 0 for 'b' out of place"),
        ({"a": -1}, ValueError, "got -1 for 'a' out of place"),
        ({"a": "0"}, TypeError, "must be integers, got '0' for 'a'"),
        ({0: "a"}, TypeError, "must be integers, got 'a' for 0"),
        ([b"a"], TypeError, "must be strings, got b'a'; decode"),
        ("words", TypeError, "made of tokens, got the str 'words'"),
    ],
)
def test_what_is_no_vocabulary_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        Vocabulary(given)


@pytest.mark.parametrize(
    ("counts", "message"),
    [({"b": 1}, "got one of 'b'"), ({"a": -1}, "got -1 for 'a'"), ({"a": 0.5}, "got 0.5 for 'a'")],
)
def test_counts_that_are_none_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary(["a"], counts=counts)


@pytest.mark.parametrize(
    ("stream", "options", "error", "message"),
    [
        ("words.txt", {}, TypeError, "got 'words.txt'; to read a file of that name"),
        (7, {}, TypeError, "got 7; wrap a dataset"),
        ([7], {}, TypeError, "must be a str, bytes or a sequence of tokens, got int 7"),
        ([[7]], {}, TypeError, "sequence of tokens"),
        ([numpy.zeros(3)], {}, TypeError, "an array of float64 of shape"),
        (["a"], {"level": "line"}, ValueError, "`level` must be 'word' or 'character', got 'line'"),
        (["a"], {"level": print}, TypeError, "must return tokens, got None"),
        (["a"], {"level": lambda line: [1]}, TypeError, "must be strings, got 1"),
        (["a"], {"preprocess": print}, TypeError, "`preprocess` must return the line"),
        (["a"], {"min_count": 0}, ValueError, "`min_count` must be an integer from 1 on, got 0"),
        (["a"], {"max_size": 2}, ValueError, "room for the 3 marks, got 2"),
        (["a"], {"max_size": 2.5}, ValueError, "`max_size` must be an integer"),
        (["a"], {"source": "text"}, ValueError, "for an iterable of lines; leave it out"),
        ([b"\xff"], {}, UnicodeDecodeError, "name the `encoding` of the text"),
        (batches(LINES, 2), {}, ValueError, r"one of the stream's sources \('text', 'number'\)"),
        (batches(LINES, 2), {"source": "x"}, ValueError, "got 'x'"),
    ],
)
def test_what_cannot_be_counted_is_refused(stream, options, error, message):
    with pytest.raises(error, match=message):
        Vocabulary.from_stream(stream, **options)


def test_importing_it_loads_nothing_heavy():
    program = (
        "import sys, fuel.utils.vocabulary\n"
        "print([m for m in ('h5py', 'lzma', 'bz2', 'scipy', 'zmq', 'PIL') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_dictionary_of_json_can_be_used_too(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"b": 1, "a": 0}))
    assert Vocabulary.load(tmp_path / "a.json").tokens == ("a", "b")
    (tmp_path / "b.json").write_text(json.dumps({"b": 2, "a": 0}))
    with pytest.raises(StorageError, match=r"b\.json' cannot be used: .*close the holes"):
        Vocabulary.load(tmp_path / "b.json")
