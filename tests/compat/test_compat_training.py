"""Training loops in the style of their time: pickled whole, in the middle of an epoch."""

from __future__ import annotations

import itertools
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy
import pytest

from fuel.config_parser import config
from fuel.datasets import IndexableDataset, TextFile
from fuel.schemes import ConstantScheme, ShuffledScheme, cross_validation
from fuel.streams import DataStream
from fuel.transformers import (
    Batch,
    Cast,
    Filter,
    Flatten,
    Mapping,
    Merge,
    Padding,
    ScaleAndShift,
    SortMapping,
    Unpack,
)


class AddOne:
    """A mapping written as a class, so that it pickles."""

    def __call__(self, data: Any) -> Any:
        return (data[0] + 1, *data[1:])


class MainLoop:
    """Holds its stream and the epoch iterator, as training frameworks did."""

    def __init__(self, data_stream: Any) -> None:
        self.data_stream = data_stream
        self.epoch_iterator: Any = None
        self.log: list[Any] = []
        self.epochs_done = 0

    def run(self, iterations: int) -> None:
        while iterations:
            if self.epoch_iterator is None:
                self.epoch_iterator = self.data_stream.get_epoch_iterator(as_dict=True)
            try:
                batch = next(self.epoch_iterator)
            except StopIteration:
                self.epoch_iterator = None
                self.epochs_done += 1
                continue
            assert batch["features"].dtype == "float32"
            self.log.append((self.epochs_done, batch["targets"].ravel().tolist()))
            iterations -= 1


def pixels() -> Any:
    rng = numpy.random.RandomState(3)
    data = [("features", rng.rand(20, 3, 4)), ("targets", numpy.arange(20)[:, None])]
    dataset = IndexableDataset(
        OrderedDict(data),
        axis_labels={"features": ("batch", "h", "w"), "targets": ("batch", "index")},
    )
    stream: Any = DataStream(dataset, iteration_scheme=ShuffledScheme(dataset.num_examples, 3))
    stream = Flatten(stream, which_sources=("features",))
    stream = ScaleAndShift(stream, 2.0, 1.0, which_sources=("features",))
    stream = Cast(stream, "float32", which_sources=("features",))
    return Mapping(stream, AddOne())


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("done", [0, 1, 6, 7, 8, 13])
def test_a_main_loop_pickled_anywhere_goes_on(done: int, protocol: int) -> None:
    whole, part = MainLoop(pixels()), MainLoop(pixels())
    whole.run(30)
    part.run(done)
    part = pickle.loads(pickle.dumps(part, protocol))
    part.run(30 - done)
    assert part.log == whole.log


def test_epochs_that_are_left_early_still_move_the_order_on() -> None:
    stream = pixels()
    rng = numpy.random.RandomState(config.default_seed)
    for number, epoch in enumerate(stream.iterate_epochs()):
        order = list(range(20))
        rng.shuffle(order)
        for _, targets in itertools.islice(epoch, 2):
            assert targets.ravel().tolist() == order[:3]
            order = order[3:]
        if number == 3:
            break


def test_a_stream_may_be_evaluated_while_it_is_trained_on() -> None:
    stream = pixels()
    seen = 0
    for _ in stream.get_epoch_iterator():
        seen += len(list(stream.get_epoch_iterator(as_dict=True)))
    assert seen == 49


def test_the_dataset_is_found_by_going_down_the_chain() -> None:
    stream = pixels()
    while hasattr(stream, "data_stream"):
        stream = stream.data_stream
    assert stream.dataset.num_examples == 20
    assert stream.iteration_scheme.batch_size == 3


def test_folds_are_trained_on_several_times() -> None:
    dataset = IndexableDataset({"x": numpy.arange(10)})
    rng = numpy.random.RandomState(5)
    for train, valid in cross_validation(ShuffledScheme, 10, 5, batch_size=4, rng=rng):
        for _ in range(2):
            both = []
            for scheme in (train, valid):
                stream = DataStream(dataset, iteration_scheme=scheme)
                both += [x for (batch,) in stream.get_epoch_iterator() for x in batch.tolist()]
            assert sorted(both) == list(range(10))


# -- machine translation -------------------------------------------------------------------------

WORDS = "abcdefgh"
VOCABULARY = {"<S>": 0, "</S>": 1, "<UNK>": 2, **{w: i + 3 for i, w in enumerate(WORDS[:6])}}


def _target_length(pair: Any) -> int:
    return len(pair[1])


class TooLong:
    """A predicate of a sentence pair."""

    def __init__(self, longest: int) -> None:
        self.longest = longest

    def __call__(self, pair: Any) -> bool:
        return all(len(sentence) <= self.longest for sentence in pair)


def _out_of_vocabulary(pair: Any) -> Any:
    return tuple([word if word < 7 else 2 for word in sentence] for sentence in pair)


class PaddingWithEnd(Padding):
    """Pads with the index of the end of a sentence, not with zeros."""

    def __init__(self, data_stream: Any, end: Any, **kwargs: Any) -> None:
        kwargs["data_stream"] = data_stream
        self.end = end
        super().__init__(**kwargs)

    @property
    def sources(self) -> Any:
        names: list[str] = []
        for source in self.data_stream.sources:
            names += [source, source + "_mask"] if source in self.mask_sources else [source]
        return tuple(names)

    def transform_batch(self, batch: Any) -> Any:
        result = []
        for source, end, sentences in zip(self.data_stream.sources, self.end, batch, strict=True):
            assert source in self.mask_sources
            shape = len(sentences), max(map(len, sentences))
            padded = numpy.full(shape, end, "int64")
            mask = numpy.zeros(shape, self.mask_dtype)
            for row, sentence in enumerate(sentences):
                padded[row, : len(sentence)] = sentence
                mask[row, : len(sentence)] = 1
            result += [padded, mask]
        return tuple(result)


@pytest.fixture
def corpus(tmp_path: Path) -> list[str]:
    rng = numpy.random.RandomState(1)
    paths = [str(tmp_path / name) for name in ("source.txt", "target.txt")]
    for path in paths:
        lines = [" ".join(rng.choice(list(WORDS), rng.randint(1, 9))) for _ in range(40)]
        Path(path).write_text("\n".join(lines) + "\n")
    return paths


def translation(corpus: list[str], padding: Any, **kwargs: Any) -> Any:
    texts = [TextFile([path], VOCABULARY, bos_token=None) for path in corpus]
    stream: Any = Merge([text.get_example_stream() for text in texts], ("source", "target"))
    stream = Filter(stream, predicate=TooLong(8))
    stream = Mapping(stream, _out_of_vocabulary)
    stream = Batch(stream, iteration_scheme=ConstantScheme(4 * 3))
    stream = Mapping(stream, SortMapping(_target_length))
    stream = Unpack(stream)
    stream = Batch(stream, iteration_scheme=ConstantScheme(4))
    return padding(stream, **kwargs)


def test_sentence_pairs_are_sorted_and_padded_in_portions(corpus: list[str]) -> None:
    batches = list(translation(corpus, Padding).get_epoch_iterator(as_dict=True))
    lengths = [batch["target_mask"].sum(axis=1).tolist() for batch in batches]
    for portion in (lengths[0:3], lengths[3:6]):
        portion_lengths = [length for batch in portion for length in batch]
        assert portion_lengths == sorted(portion_lengths)
    for batch in batches:
        assert list(batch) == ["source", "source_mask", "target", "target_mask"]
        assert batch["source"].shape == batch["source_mask"].shape
        assert not batch["source"][batch["source_mask"] == 0].any()
        assert batch["source"].max() < 7


def test_such_a_chain_is_pickled_behind_every_batch(corpus: list[str]) -> None:
    def build() -> Any:
        return translation(corpus, PaddingWithEnd, end=[1, 1], mask_dtype="float32")

    def plain(batches: Any) -> Any:
        return [[array.tolist() for array in batch] for batch in batches]

    whole = plain(build().get_epoch_iterator())
    assert len(whole) > 5
    for done in range(len(whole) + 1):
        stream = build()
        iterator = stream.get_epoch_iterator()
        for _ in range(done):
            next(iterator)
        stream, iterator = pickle.loads(pickle.dumps((stream, iterator)))
        assert plain(iterator) == whole[done:]
        assert plain(stream.get_epoch_iterator()) == whole
