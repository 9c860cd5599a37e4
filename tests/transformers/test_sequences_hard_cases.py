"""Steps for sequences, text and time series where they are given what nobody should give them.

What they do in good order is in the tests of each. Here: errors that say what is wrong, data that
must not be changed in silence, and what comes out of it shares no memory with the data set.
"""

from __future__ import annotations

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.schemes import ConstantScheme, SequentialExampleScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Padding, Unpack
from fuel.transformers.image import MixUp, OneHot
from fuel.transformers.sequences import BucketByLength, NGrams, Pack, Segments, Window
from fuel.transformers.text import Tokens, Vocabulary
from fuel.transformers.timeseries import AddNoise, SlidingWindows, TimeMask

HUGE = 10**30
RAGGED = [[1, 2, 3], [], [4]]


def examples(data, **others):
    dataset = IndexableDataset({"x": data, **others})
    return DataStream(dataset, iteration_scheme=SequentialExampleScheme(len(data)))


def batches(data, size=2, **others):
    return Batch(examples(data, **others), ConstantScheme(size))


# -- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "make"),
    [
        ("length", lambda: Pack(examples(RAGGED), HUGE)),
        ("length", lambda: Segments(batches(numpy.ones((2, 3))), HUGE, pad=True)),
        ("length", lambda: SlidingWindows(examples(RAGGED), HUGE, partial="pad")),
        ("offset", lambda: Window(-HUGE, 1, 1, True, batches(RAGGED))),
        ("source_window", lambda: Window(0, HUGE, 1, True, examples(RAGGED))),
        ("ngram_order", lambda: NGrams(HUGE, batches(RAGGED))),
        ("multiple_of", lambda: Padding(batches(RAGGED), multiple_of=HUGE)),
        ("buckets", lambda: Padding(batches(RAGGED), buckets=(1, HUGE))),
        ("batch_size", lambda: BucketByLength(examples(RAGGED), HUGE)),
        ("max_tokens", lambda: BucketByLength(examples(RAGGED), max_tokens=HUGE)),
        ("num_classes", lambda: OneHot(examples([1]), HUGE)),
        ("max_width", lambda: TimeMask(examples(RAGGED), HUGE)),
    ],
)
def test_what_no_size_can_be_is_refused_at_once(argument, make):
    with pytest.raises(
        ValueError, match=f"`{argument}` of .* an integer of 64 bits, got one of 100"
    ):
        make()


def test_strengths_that_are_no_numbers_are_refused():
    waves = examples(numpy.ones((2, 3)))
    with pytest.raises(ValueError, match="`scale` of AddNoise must be finite and at least 0"):
        AddNoise(waves, 10**400)
    with pytest.raises(TypeError, match="`scale` of AddNoise must be a number or an array of them"):
        AddNoise(waves, [[1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="`alpha` of MixUp must be finite"):
        MixUp(batches(numpy.ones((2, 3)), targets=[0, 1]), alpha=10**400)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 2.0, -1, None, numpy.arange(2), "3"])
def test_a_length_that_is_none_is_told(wrong):
    with pytest.raises(
        ValueError, match="`length` of BucketByLength must return a number of tokens"
    ):
        list(BucketByLength(examples(RAGGED), 2, length=lambda example: wrong))


def test_sizes_of_other_types_are_told():
    with pytest.raises(
        TypeError, match=r"`batch_size` .* an integer, or a sequence .* example 32$"
    ):
        BucketByLength(examples(RAGGED), 2.0)
    with pytest.raises(TypeError, match=r"`boundaries` .* must be a sequence .*\(10, 20, 40\)"):
        BucketByLength(examples(RAGGED), 2, boundaries=3)
    with pytest.raises(ValueError, match="one number where there are no `boundaries`"):
        BucketByLength(examples(RAGGED), (2, 1))
    buckets = BucketByLength(examples(RAGGED), numpy.array([2, 1]), boundaries=numpy.array([1]))
    assert [len(batch) for (batch,) in buckets] == [1, 2]


# -- sequences ------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [numpy.arange(3), [None, None]])
def test_what_has_no_length_has_no_windows(data):
    for step in (NGrams(1, examples(data)), Window(0, 1, 1, True, examples(data))):
        with pytest.raises(
            ValueError, match="slides over sequences, but source 'x' has .*; choose"
        ):
            list(step)


def test_a_chunk_of_texts_is_padded_with_empty_ones():
    words = batches(numpy.array([["a", "b", "c"]] * 2))
    chunks = [chunk.tolist() for chunk, _ in Segments(words, 2, pad=True)]
    assert chunks == [[["a", "b"]] * 2, [["c", ""]] * 2]
    with pytest.raises(ValueError, match="value=7 is no <U1 as source 'x' holds; leave"):
        list(Segments(words, 2, pad=True, value=7))


def test_several_labels_of_an_example_are_told():
    with pytest.raises(ValueError, match="one label an example, but source 'x' has sequences"):
        list(OneHot(batches([[1], [1, 2]]), 3))


# -- windows over recordings ----------------------------------------------------------------------


def test_lists_of_frames_are_arrays():
    frames = [[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]
    found = [window.tolist() for (window,) in SlidingWindows(examples(frames), 2, 2, partial="pad")]
    assert found == [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [0, 0, 0]]]
    found = [window.tolist() for (window,) in SlidingWindows(examples(frames), 2, axis=1)]
    assert found == [[[1, 2], [4, 5], [7, 8]], [[2, 3], [5, 6], [8, 9]]]
    arrays = [[numpy.array([1, 2]), numpy.array([3, 4])]]
    assert [window.tolist() for (window,) in SlidingWindows(examples(arrays), 1)] == [
        [[1, 2]],
        [[3, 4]],
    ]


def test_frames_of_several_lengths_are_refused():
    with pytest.raises(ValueError, match="source 'x' has .* whose parts differ in shape"):
        list(SlidingWindows(examples([[[1], [2, 3]]]), 1))


def test_an_axis_that_a_list_does_not_have_is_told():
    with pytest.raises(ValueError, match="needs axis 1 of the examples of source 'x'"):
        list(SlidingWindows(examples([[1, 2, 3]]), 2, axis=1))


@pytest.mark.parametrize("names", [(), ("y",), ["y", "z"]])
def test_windows_of_no_source_are_refused(names):
    with pytest.raises(ValueError, match="must name some of the sources .'x',., got .* no windows"):
        SlidingWindows(examples(RAGGED), 1, which_sources=names)


# -- tokens ---------------------------------------------------------------------------------------

VOCABULARY = Vocabulary(["<UNK>", "a", "b"])


@pytest.mark.parametrize("wrong", [None, 3, float("nan"), b"a", ["a"]])
def test_what_is_no_str_is_not_an_unknown_token(wrong):
    with pytest.raises(TypeError, match="tokens of a sequence must be strings, got .* among them"):
        list(Tokens(examples([["a", wrong]]), VOCABULARY))
    with pytest.raises(TypeError, match="`level` returns must be strings, got .* among them"):
        list(Tokens(examples(["a"]), VOCABULARY, lambda text: [text, wrong]))
    with pytest.raises(TypeError, match="must map tokens to numbers, got .* as a token"):
        Tokens(examples(["a"]), {"a": 0, 3 if isinstance(wrong, list) else wrong: 1})


@pytest.mark.parametrize("wrong", [None, 3])
def test_a_level_that_returns_no_tokens_is_told(wrong):
    with pytest.raises(TypeError, match="`level` must return tokens, got .*; return them"):
        list(Tokens(examples(["a"]), VOCABULARY, lambda text: wrong))


def test_a_level_may_yield():
    tokens = Tokens(examples(["a b c"]), VOCABULARY, lambda text: (word for word in text.split()))
    assert [numbers.tolist() for (numbers,) in tokens] == [[1, 2, 0]]


def test_arguments_of_tokens_are_checked_at_once():
    with pytest.raises(LookupError, match="`encoding` must be one that Python knows"):
        Tokens(examples([b"a"]), VOCABULARY, encoding="rot13")
    with pytest.raises(
        ValueError, match=r"`begin` of Tokens must be in the vocabulary, got \['a'\]"
    ):
        Tokens(examples(["a"]), VOCABULARY, begin=["a"])
    with pytest.raises(TypeError, match="`preprocess` of Tokens must be a function from a str"):
        Tokens(examples(["a"]), VOCABULARY, preprocess="lower")


# -- what is handed out belongs to who gets it ----------------------------------------------------


def inside(item):
    """Yield all arrays and lists in an item."""
    if isinstance(item, (numpy.ndarray, list, tuple)):
        if not isinstance(item, tuple):
            yield item
        if not isinstance(item, numpy.ndarray) or item.dtype == object:
            for part in item:
                yield from inside(part)


def scribble(item):
    for part in list(inside(item)):
        if isinstance(part, list):
            part[:] = ["scribbled"] * len(part)
        else:
            part[...] = None if part.dtype == object else 77


def objects(*items):
    return numpy.fromiter(items, object, len(items))


KINDS = {
    "arrays": lambda: [numpy.arange(i + 2) for i in range(6)],
    "equal arrays": lambda: [numpy.arange(3) for _ in range(6)],
    "lists": lambda: [list(range(i + 2)) for i in range(6)],
    "lists of lists": lambda: [[[1, 2], [3, 4]] * (i + 1) for i in range(6)],
    "lists of arrays": lambda: [[numpy.arange(2), numpy.arange(2)] * (i + 1) for i in range(6)],
    "arrays of arrays": lambda: [objects(*[numpy.arange(3)] * (i + 2)) for i in range(6)],
    "arrays of lists": lambda: [objects(*[[1, 2]] * (i + 2)) for i in range(6)],
    "an array of arrays": lambda: objects(*[numpy.arange(i + 2) for i in range(6)]),
    "an array of lists": lambda: objects(*[list(range(i + 2)) for i in range(6)]),
}
STEPS = {
    "examples": lambda stream: stream,
    "Batch": lambda stream: Batch(stream, ConstantScheme(3)),
    "Unpack": lambda stream: Unpack(Batch(stream, ConstantScheme(3))),
    "Padding": lambda stream: Padding(Batch(stream, ConstantScheme(3))),
    "Padding nothing": lambda stream: Padding(Batch(stream, ConstantScheme(3)), mask_sources=()),
    "BucketByLength": lambda stream: BucketByLength(stream, 2, boundaries=(3,)),
    "pools": lambda stream: BucketByLength(stream, 2, pool=2),
    "Pack": lambda stream: Pack(stream, 30),
    "Pack parts": lambda stream: Pack(stream, 2, too_long="split"),
    "Pack end to end": lambda stream: Pack(stream, 3, how="concatenate"),
    "Segments": lambda stream: Segments(Padding(Batch(stream, ConstantScheme(3))), 2),
    "Window": lambda stream: Window(0, 2, 2, True, stream),
    "windows of batches": lambda stream: Window(0, 2, 2, True, Batch(stream, ConstantScheme(3))),
    "SlidingWindows": lambda stream: SlidingWindows(stream, 2),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", STEPS)
def test_nothing_handed_out_is_anybody_elses(name, kind):
    untouched = KINDS[kind]()
    data = KINDS[kind]()

    def step():
        scheme = SequentialExampleScheme([0, 3, 3, 5, 1, 2])
        return STEPS[name](DataStream(IndexableDataset({"x": data}), iteration_scheme=scheme))

    expected = [repr(item) for item in step()]
    found = []
    stream = step()
    iterator = stream.get_epoch_iterator()
    for item in iterator:
        found.append(repr(item))
        scribble(item)
    assert found == expected
    assert repr(data) == repr(untouched)
    if hasattr(stream, "data_stream"):
        iterator = stream.get_epoch_iterator()
        scribble(next(stream.child_epoch_iterator))
        scribble(next(iterator))
        assert repr(data) == repr(untouched)


def test_what_goes_with_every_window_is_copied():
    labels = [numpy.array([1, 2]), numpy.array([3, 4])]
    sounds = examples([numpy.arange(4), numpy.arange(3)], y=labels)
    found = []
    for _, label in SlidingWindows(sounds, 2, which_sources=("x",)):
        found.append(label.tolist())
        label[:] = 77
    assert found == [[1, 2]] * 3 + [[3, 4]] * 2


def test_what_goes_with_every_chunk_is_copied():
    labels = [numpy.array([1]), numpy.array([3, 4])]
    padded = Padding(batches([[1, 2, 3], [4]], y=labels), mask_sources=("x",))
    found = []
    for _, _, label, _ in Segments(padded, 1, which_sources=("x", "x_mask")):
        found.append([one.tolist() for one in label])
        scribble(label)
    assert found == [[[1], [3, 4]]] * 3
