"""The laws of the files of vocabularies: what is written is read again, damage is told."""

import json
import os
import pickle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuel.exceptions import StorageError
from fuel.utils.vocabulary import Vocabulary

ODD = '\n\r\t\\"{[ \0\v\f\x1c\x85\u2028\ufeff\ud800\U0001f600n,u'
odd = st.text(st.sampled_from(ODD) | st.characters(exclude_categories=["Cs"]), max_size=5)
USUAL = ("<UNK>", "<S>", "</S>", "<PAD>")


@st.composite
def vocabularies(draw):
    words = draw(st.lists(odd | st.sampled_from(USUAL), unique=True, min_size=1, max_size=8))
    counts = draw(st.none() | st.lists(st.integers(0, 10**12), min_size=8, max_size=8))
    if counts is not None:
        counts = dict(zip(words, counts, strict=False))
    marks = {}
    for name in ("unknown", "begin", "end", "pad"):
        if draw(st.booleans()):
            marks[name] = draw(st.none() | st.sampled_from(words))
    return Vocabulary(words, counts=counts, **marks)


@pytest.mark.parametrize("name", ["v.txt", "v.json", "v.txt.gz", "v.json.bz2", "v", "v.tsv.xz"])
def test_what_is_saved_is_loaded(tmp_path, name):
    path = tmp_path / name

    @settings(max_examples=60 if name in ("v.txt", "v.json") else 5, deadline=None)
    @given(vocabularies())
    @example(Vocabulary([""]))
    @example(Vocabulary(["", "a"], counts={}))
    @example(Vocabulary(["a", ""]))
    @example(Vocabulary(['{"a": ', "\\n", "\n"]))
    @example(Vocabulary([" ", "{", '"a":', "b"]))
    @example(Vocabulary(["", "\U0001f600{", '{"a":']))
    @example(Vocabulary(["a\\nb\nc"]))
    @example(Vocabulary(["\u00e9\ufeff"], unknown="\u00e9\ufeff", end="\u00e9\ufeff"))
    @example(Vocabulary(["<S>", "</S>", "a"], begin=None, end="a"))
    def check(vocabulary):
        vocabulary.save(path)
        found = Vocabulary.load(path)
        assert found == vocabulary
        assert found.counts == vocabulary.counts
        assert found.marks == vocabulary.marks

    check()
    assert os.listdir(tmp_path) == [name]


def test_a_plain_file_is_one_token_a_line_for_any_program(tmp_path):
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "to", "\\be", "a\u2028b"])
    vocabulary.save(tmp_path / "v.txt")
    content = (tmp_path / "v.txt").read_bytes().decode()
    assert content == "<S>\n</S>\n<UNK>\nto\n\\be\na\\u2028b\t\tescaped\n"
    assert len(content.splitlines()) == len(vocabulary)
    counted = Vocabulary(["[U]", "to"], counts={"to": 3}, unknown="[U]")
    counted.save(tmp_path / "v.txt")
    assert (tmp_path / "v.txt").read_bytes() == b"[U]\t0\tunknown\nto\t3\n"


def test_halves_of_a_character_are_kept_or_refused(tmp_path):
    vocabulary = Vocabulary(["\ud83d\ude00", "\U0001f600", "\ude00\ud83d"])
    vocabulary.save(tmp_path / "v.txt")
    assert Vocabulary.load(tmp_path / "v.txt") == vocabulary
    with pytest.raises(ValueError, match="side by side.*save the vocabulary as text"):
        vocabulary.save(tmp_path / "v.json")
    assert os.listdir(tmp_path) == ["v.txt"]


def test_json_is_readable_by_others(tmp_path):
    Vocabulary(["<S>", "é\n"], counts={"<S>": 2}).save(tmp_path / "v.json")
    found = json.loads((tmp_path / "v.json").read_text("utf-8"))
    assert found["tokens"] == ["<S>", "é\n"] and found["counts"] == [2, 0]
    assert found["marks"]["begin"] == "<S>"


@pytest.mark.parametrize(
    ("content", "words", "counts"),
    [
        (b"the\nof\n", ["the", "of"], None),
        (b"the\r\nof", ["the", "of"], None),
        (b"the\rof\n\n\n", ["the", "of"], None),
        (b"the\t12\nof\t7\n", ["the", "of"], {"the": 12, "of": 7}),
        (b"\\nu\n\\\\\n\\u0041\n", ["\\nu", "\\\\", "\\u0041"], None),
        ("\ufeffé\n".encode(), ["é"], None),
        ("é\n中\n".encode("utf-16"), ["é", "中"], None),
        ("é\n".encode("utf-32"), ["é"], None),
        ("a\x85b\u2028c\n".encode(), ["a\x85b\u2028c"], None),
        (b"new york\n[UNK]\n{\n", ["new york", "[UNK]", "{"], None),
        (b'{\n"\n:\nx\n', ["{", '"', ":", "x"], None),
        (b"a\n\nb\n", ["a", "", "b"], None),
    ],
)
def test_lists_of_words_are_read_as_they_were_meant(tmp_path, content, words, counts):
    (tmp_path / "words.txt").write_bytes(content)
    found = Vocabulary.load(tmp_path / "words.txt")
    assert list(found.tokens) == words
    assert found.counts == counts


def test_other_encodings_and_formats_are_named(tmp_path):
    path = tmp_path / "words.json"
    path.write_bytes('{"é"\n'.encode("latin-1"))
    assert Vocabulary.load(path, "text", "latin-1").tokens == ('{"é"',)
    Vocabulary(["a"]).save(path, format="text")
    assert path.read_bytes() == b"a\n"
    for call in (Vocabulary(["a"]).save, Vocabulary.load):
        with pytest.raises(ValueError, match="`format` must be 'text' or 'json', got 'csv'"):
            call(path, format="csv")


class Trap:
    """Anything that unpickled it would be noticed."""

    def __reduce__(self):
        return (os.abort, ())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.txt", b"", "it is empty; write one token a line"),
        ("v.txt", b"a\nb\na\n", "line 3 holds 'a', as line 1 does; leave out one"),
        ("v.txt", b"a\nb\tNN\n", "second column of line 2 must be a count, got 'NN'; keep"),
        ("v.txt", b"a\t-1\n", "second column of line 1 must be a count, got '-1'"),
        ("v.txt", b"a\t1\tx\n", "third column of line 1 must name a mark.*got 'x'"),
        ("v.txt", b"a\t1\tend\nb\t1\tend\n", "third column of line 2 .*got 'end'"),
        ("v.txt", b"a\\q\t\tescaped\n", r"line 1 is said to be escaped, but '\\\\q' means nothing"),
        ("v.txt", b"a\\\t\tescaped\n", "means nothing; write"),
        ("v.txt", b"a\n\xe9\n", "line 2 is not in the encoding utf-8 .*name its `encoding`"),
        ("v.txt", "ab".encode("utf-16-le"), "zero bytes in it, so it is no UTF-8"),
        ("v.txt", pickle.dumps(Trap()), "looks like a pickle, which runs code"),
        ("v.txt", b'{"a": 0, "b"', "not valid JSON: .*say format='text'"),
        ("v.json", b'{"a": 0, "a": 1}', "'a' stands there twice"),
        ("v.json", b'{"a": 0, "b": 2}', "close the holes"),
        ("v.json", b'{"a": 0, "b": 0}', "out of place"),
        ("v.json", b'{"a": true}', "one JSON object that maps tokens to ints"),
        ("v.json", b'["a"]', "one JSON object that maps tokens to ints"),
        ("v.json", b"[" * 100_000, "not valid JSON"),
        ("v.json", b'{"tokens": ["a", "a"]}', "each token must occur once"),
        ("v.json", b'{"tokens": [1]}', "`tokens` must be strings, got 1"),
        ("v.json", b'{"tokens": ["a"], "counts": [1, 2]}', "`counts` must be a list of 1"),
        ("v.json", b'{"tokens": ["a"], "counts": ["1"]}', "`counts` must be integers"),
        ("v.json", b'{"tokens": ["a"], "marks": {"end": "b"}}', "`end` must be one of the tokens"),
        ("v.json", b'{"tokens": ["a"], "marks": {"stop": "a"}}', "`marks` must map some of"),
        ("v.gz", b"no gzip", "v.gz' cannot be read: .*get or compress it again"),
        ("v.xz", b"no xz", "v.xz' cannot be read"),
    ],
)
def test_damaged_files_are_told(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StorageError, match=message) as caught:
        Vocabulary.load(tmp_path / name)
    assert name in str(caught.value)


def test_a_missing_file_and_a_missing_directory_are_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere' cannot be read: .*check"):
        Vocabulary.load(tmp_path / "nowhere")
    with pytest.raises(StorageError, match="cannot be written to .*check that the directory"):
        Vocabulary(["a"]).save(tmp_path / "no" / "v.txt")


def test_a_failure_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "v.txt"
    Vocabulary(["a"]).save(path)

    def full(file):
        raise OSError("no room")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match="no room"):
        Vocabulary(["b"]).save(path)
    assert path.read_bytes() == b"a\n"
    assert os.listdir(tmp_path) == ["v.txt"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_bytes(b"a\n")
    try:
        os.symlink(tmp_path / "real.txt", tmp_path / "link.txt")
    except (OSError, NotImplementedError):
        pytest.skip("this system or user cannot make symbolic links")
    Vocabulary(["b"]).save(tmp_path / "link.txt")
    assert (tmp_path / "real.txt").read_bytes() == b"b\n"
    assert os.path.islink(tmp_path / "link.txt")
