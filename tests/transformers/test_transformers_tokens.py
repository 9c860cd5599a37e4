"""The laws of `Tokens`: each token its number, in examples as in batches, and errors that help."""

import functools
import json
import os
import pickle
import re
import subprocess
import sys

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.exceptions import StateMismatchError, StorageError
from fuel.schemes import (
    ConstantScheme,
    PermutedExampleScheme,
    SequentialExampleScheme,
    SequentialScheme,
)
from fuel.streams import DataStream
from fuel.testing import StreamContract, assert_same_items
from fuel.transformers import Batch, Padding
from fuel.transformers.text import Tokens, Vocabulary

LINES = ["to be or not to be", "", "be é", "or to", "err be"]
VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "to", "be", "or", "not", "é"])
PLAIN = Vocabulary([*"abcdefgé ", "?"], unknown="?")


def examples(lines=LINES, **labels):
    dataset = IndexableDataset({"text": lines, "row": numpy.arange(len(lines))}, **labels)
    return DataStream(dataset, iteration_scheme=SequentialExampleScheme(len(lines)))


def batches(lines=LINES, size=2, **labels):
    dataset = IndexableDataset({"text": lines, "row": numpy.arange(len(lines))}, **labels)
    return DataStream(dataset, iteration_scheme=SequentialScheme(len(lines), size))


def tokens(stream, *args, **kwargs):
    return Tokens(stream, *args, which_sources=("text",), **kwargs)


class TestExamples(StreamContract):
    def make_stream(self):
        dataset = IndexableDataset({"text": LINES}, axis_labels={"text": ("batch",)})
        return Tokens(DataStream(dataset, iteration_scheme=PermutedExampleScheme(5)), VOCABULARY)


class TestBatches(StreamContract):
    new_process = False

    def make_stream(self):
        return Padding(tokens(batches(), VOCABULARY), mask_sources=("text",), mask_dtype="u1")


class Counting:
    """A function that remembers: it numbers what it is asked."""

    def __init__(self):
        self.calls = 0

    def __call__(self, line):
        self.calls += 1
        return [*line.split(), "abcdefg"[self.calls % 7]]


class TestAFunctionThatRemembers(StreamContract):
    independent = False
    start_epochs = (1,)

    def make_stream(self):
        return tokens(examples(["a b", "c", "d e f"]), PLAIN, Counting())


def test_examples_become_arrays():
    found = [item for item, _ in tokens(examples(), VOCABULARY)]
    assert [item.tolist() for item in found] == [
        [0, 3, 4, 5, 6, 3, 4, 1],
        [0, 1],
        [0, 4, 7, 1],
        [0, 5, 3, 1],
        [0, 2, 4, 1],
    ]
    assert {item.dtype for item in found} == {numpy.dtype("int64")}
    assert all(item.flags.owndata and item.flags.writeable for item in found)


words = st.text("abé \n", max_size=8)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(words, min_size=1, max_size=6),
    st.integers(1, 4),
    st.sampled_from(["word", "character"]),
    st.sampled_from([None, "a"]),
    st.sampled_from([None, "b"]),
    st.sampled_from(["int64", "uint8", "int16"]),
)
def test_batches_hold_what_examples_do(lines, size, level, begin, end, dtype):
    options = {"level": level, "begin": begin, "end": end, "dtype": dtype}
    one_by_one = list(tokens(examples(lines), PLAIN, **options))
    split = str.split if level == "word" else lambda line: list(line.strip())
    for (item, _), line in zip(one_by_one, lines, strict=True):
        marked = [*([begin] if begin else []), *split(line), *([end] if end else [])]
        assert item.tolist() == PLAIN.encode(marked)
        assert item.dtype == dtype
    together = tokens(batches(lines, size), PLAIN, **options)
    as_batch = Batch(tokens(examples(lines), PLAIN, **options), ConstantScheme(size))
    assert_same_items(list(together), list(as_batch))


@pytest.mark.parametrize(
    "form", ["list", "object array", "array", "bytes", "bytes array", "tokens", "arrays of tokens"]
)
def test_text_comes_in_many_forms(form):
    lines = ["to be", "or é to"]
    options = {}
    if form.startswith("bytes"):
        options["encoding"] = "latin-1"
        given = [line.encode("latin-1") for line in lines]
    elif "tokens" in form:
        given = [line.split() for line in lines]
    else:
        given = lines
    if form == "object array":
        array = numpy.empty(2, object)
        array[:] = given
        given = array
    elif form in ("array", "bytes array"):
        given = numpy.array(given)
    elif form == "arrays of tokens":
        given = [numpy.array(words) for words in given]
    step = tokens(batches(), VOCABULARY, **options)
    (found, _) = step.transform_batch((given, [0, 1]))
    assert [item.tolist() for item in found] == [[0, 3, 4, 1], [0, 5, 7, 3, 1]]
    assert found.dtype == object
    one = tokens(examples(), VOCABULARY, **options)
    assert one.transform_example((given[0], 0))[0].tolist() == [0, 3, 4, 1]


def test_an_empty_batch_and_a_scalar_array():
    assert tokens(batches(), VOCABULARY).transform_source_batch([], "text").shape == (0, 0)
    single = tokens(examples(), VOCABULARY).transform_source_example(numpy.array("to"), "text")
    assert single.tolist() == [0, 3, 1]


def test_marks_are_those_of_the_vocabulary_unless_named():
    def first(vocabulary, **marks):
        return next(iter(tokens(examples(["to x"]), vocabulary, **marks)))[0].tolist()

    assert first(VOCABULARY, begin=None) == [3, 2, 1]
    assert first(VOCABULARY, begin="or", end=None, unknown="not") == [5, 3, 6]
    assert first({"to": 300, "x": -7}) == [300, -7]
    assert first({"to": 3, "<UNK>": 9, "</S>": 1}) == [3, 9, 1]
    assert first(Vocabulary(["to", "[U]"], unknown="[U]")) == [0, 1]


def test_the_vocabulary_may_be_a_file(tmp_path):
    VOCABULARY.save(tmp_path / "words.txt")
    step = tokens(examples(), str(tmp_path / "words.txt"))
    assert step.vocabulary == VOCABULARY
    with pytest.raises(StorageError, match="nowhere"):
        tokens(examples(), tmp_path / "nowhere")


def test_functions_take_lines_apart_and_prepare_them():
    step = tokens(
        examples(["A,b"]), PLAIN, lambda line: iter(line.split(",")), preprocess=str.lower
    )
    assert next(iter(step))[0].tolist() == [0, 1]
    step = tokens(examples(["a1b"]), PLAIN, re.compile("[a-z]").findall)
    assert next(iter(step))[0].tolist() == [0, 1]


def split_on_commas(line):
    return line.split(",")


def test_a_users_function_runs_in_order_unless_it_is_declared_pure():
    assert tokens(examples(), PLAIN).elementwise
    assert tokens(examples(), PLAIN, str.splitlines, preprocess=str.lower).elementwise
    assert tokens(examples(), PLAIN, re.compile("a").findall).elementwise
    step = tokens(examples(), PLAIN, split_on_commas)
    assert not step.elementwise
    assert step._functions() == [split_on_commas]
    assert "split_on_commas may remember; say `Tokens(..., elementwise=True)`" in step.explain()
    step.elementwise = True
    assert step.elementwise and step._functions() == []
    assert tokens(examples(), PLAIN, split_on_commas, elementwise=True).elementwise
    assert not tokens(examples(), PLAIN, [].append).elementwise


def test_functions_that_draw_are_refused():
    generator = numpy.random.default_rng(0)

    def held(line, made=generator):
        return line.split()

    def drawing(line, rng):
        return line.split()

    with pytest.raises(ValueError, match="holds a generator"):
        tokens(examples(), PLAIN, held, elementwise=True)
    for options in ({"level": drawing}, {"preprocess": drawing}):
        with pytest.raises(ValueError, match="takes `rng`, which Tokens does not hand out"):
            tokens(examples(), PLAIN, **options)
    step = tokens(examples(), PLAIN, held)
    with pytest.raises(ValueError, match="holds a generator"):
        step.elementwise = True


def test_an_unknown_token_names_itself_and_its_example():
    known = Vocabulary(["to", "be", "or", "not", "é"])
    message = (
        r"token 'err' \(source 'text' of example 4 of epoch 1\) is not in the vocabulary; add "
        "it, or name an `unknown` token"
    )
    for stream, delivered in ((examples(), 4), (batches(size=3), 1)):
        step = tokens(stream, known)
        step.get_epoch_iterator()
        found = step.get_epoch_iterator()
        for _ in range(delivered):
            next(found)
        with pytest.raises(KeyError, match=message) as caught:
            next(found)
        assert type(caught.value) is KeyError
    with pytest.raises(KeyError, match=r"'err' \(source 'text'\) is not in the vocabulary"):
        tokens(batches(), known).transform_source_batch(["to", "err"], "text")


def test_the_fingerprint_tells_vocabularies_apart():
    def state(*args, **kwargs):
        iterator = tokens(examples(), *args, **kwargs).get_epoch_iterator()
        next(iterator)
        return json.loads(json.dumps(iterator.state_dict()))

    saved = state(VOCABULARY)
    for args, kwargs in [
        ((Vocabulary([*VOCABULARY.tokens[:-1], "err"]),), {}),
        ((Vocabulary(VOCABULARY.tokens[::-1]),), {}),
        ((VOCABULARY, "character"), {}),
        ((VOCABULARY,), {"begin": None}),
        ((VOCABULARY,), {"dtype": "int32"}),
        ((VOCABULARY,), {"preprocess": str.lower}),
    ]:
        with pytest.raises(StateMismatchError):
            tokens(examples(), *args, **kwargs).load_state_dict(saved)
    resumed = tokens(examples(), dict(VOCABULARY))
    resumed.load_state_dict(saved)
    assert next(iter(resumed))[0].tolist() == [0, 1]


def test_a_state_is_the_same_whatever_the_seed_of_hashes():
    program = (
        "import json\n"
        "from fuel.datasets import IndexableDataset\n"
        "from fuel.schemes import SequentialExampleScheme\n"
        "from fuel.streams import DataStream\n"
        "from fuel.transformers.text import Tokens, Vocabulary\n"
        "lines = [f'{n} {n % 3}' for n in range(9)]\n"
        "data = IndexableDataset({'text': lines})\n"
        "stream = DataStream(data, iteration_scheme=SequentialExampleScheme(9))\n"
        "stream = Tokens(stream, Vocabulary.from_stream(set(lines)))\n"
        "print([x.tolist() for x, in stream], json.dumps(stream.state_dict()))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1234")
    }
    assert len(found) == 1


def test_axis_labels():
    labels = {"axis_labels": {"text": ("document",), "row": ("document",)}}
    assert tokens(batches(**labels), VOCABULARY).axis_labels == {
        "text": ("document", "token"),
        "row": ("document",),
    }
    assert tokens(examples(**labels), VOCABULARY).axis_labels["text"] == ("token",)
    assert tokens(examples(), VOCABULARY).axis_labels is None


def test_it_pickles_and_shows_what_it_does():
    step = tokens(batches(), VOCABULARY, "character", dtype="int32", preprocess=str.lower)
    again = pickle.loads(pickle.dumps(step))
    assert_same_items(list(again), list(step))
    for part in ("8 tokens", "level='character'", "dtype='int32'", "lower", "unknown='<UNK>'"):
        assert part in repr(step)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((7,), {}, TypeError, "`vocabulary` of Tokens must map tokens to numbers, got 7"),
        (({"a": "b"},), {}, TypeError, "must map tokens to integers, got 'b' for 'a'"),
        ((PLAIN, "line"), {}, ValueError, "`level` must be 'word' or 'character', got 'line'"),
        ((PLAIN,), {"begin": "x"}, ValueError, "`begin` of Tokens must be in the vocabulary"),
        ((PLAIN,), {"dtype": "f4"}, TypeError, "must be an integer type, got 'f4'"),
        ((PLAIN,), {"dtype": "x"}, TypeError, "`dtype` of Tokens must be a data type"),
        (({"a": 300},), {"dtype": "u1"}, ValueError, "hold the numbers 300 to 300, got uint8"),
        (({"a": -1},), {"dtype": "u1"}, ValueError, "hold the numbers -1 to -1"),
        (
            (PLAIN,),
            {"preprocess": 7},
            TypeError,
            "`preprocess` of Tokens must be a function .*got 7",
        ),
    ],
)
def test_what_is_not_possible_is_refused_at_once(arguments, options, error, message):
    with pytest.raises(error, match=message):
        tokens(examples(), *arguments, **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (3, "must be a str, bytes or a sequence of tokens, got int 3"),
        ([3, 4], r"got list \[3, 4\]"),
        (None, "got NoneType None"),
        (numpy.zeros(2), "an array of float64"),
    ],
)
def test_what_is_no_text_is_refused(text, message):
    with pytest.raises(TypeError, match=message):
        tokens(examples(), VOCABULARY).transform_source_example(text, "text")


def test_a_batch_must_be_several_texts():
    for batch in ("to be", b"to be", 7):
        with pytest.raises(TypeError, match="a batch must be a collection of texts"):
            tokens(batches(), VOCABULARY).transform_source_batch(batch, "text")
    with pytest.raises(TypeError, match="must return tokens, got None"):
        list(tokens(examples(), VOCABULARY, functools.partial(print, end="")))
    with pytest.raises(TypeError, match="must return the line"):
        list(tokens(examples(), VOCABULARY, preprocess=functools.partial(print, end="")))
