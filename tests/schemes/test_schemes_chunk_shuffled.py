"""Orders for chunked data: every example once, each chunk in one window, seekable anywhere."""

from __future__ import annotations

import pickle

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import H5PYDataset
from fuel.schemes import ChunkShuffledExampleScheme, ChunkShuffledScheme
from fuel.schemes._chunk_order import ChunkLayout, ChunkOrder

layouts = st.builds(
    lambda count, rows, first: ChunkLayout(count, rows, first),
    st.integers(0, 90),
    st.integers(1, 9),
    st.integers(0, 8),
) | st.builds(
    lambda numbers, rows: ChunkLayout(len(numbers), rows, 0, numpy.array(numbers, dtype="i8")),
    st.lists(st.integers(0, 60), min_size=1, max_size=70),
    st.integers(1, 9),
)


def chunk_of(layout, examples):
    if layout.numbers is not None:
        return layout.numbers[examples] // layout.rows
    return (examples + layout.first) // layout.rows


@settings(max_examples=200, deadline=None)
@given(layouts, st.integers(1, 5), st.integers(0, 3), st.data())
def test_every_example_comes_once_wherever_one_begins(layout, window, epoch, data):
    order = ChunkOrder(3, epoch, layout, window)
    whole = order.block(0, layout.count)
    assert sorted(whole.tolist()) == list(range(layout.count))
    start = data.draw(st.integers(0, layout.count))
    size = data.draw(st.integers(0, layout.count - start))
    again = pickle.loads(pickle.dumps(order))
    assert again.block(start, size).tolist() == whole[start : start + size].tolist()


@settings(max_examples=100, deadline=None)
@given(layouts, st.integers(1, 5))
def test_a_chunk_is_left_for_good_and_few_are_open_at_once(layout, window):
    order = ChunkOrder(3, 0, layout, window).block(0, layout.count)
    chunks = chunk_of(layout, order).tolist()
    last = {chunk: place for place, chunk in enumerate(chunks)}
    opened, most = set(), 0
    for place, chunk in enumerate(chunks):
        opened.add(chunk)
        most = max(most, len(opened))
        if last[chunk] == place:
            opened.discard(chunk)
    # Incomplete chunks at both ends are guests of one window.
    assert most <= window + 2


def test_epochs_and_seeds_differ_and_repeat():
    scheme = ChunkShuffledScheme(500, 50, window=3, chunk_rows=20, seed=1)
    first, second = list(scheme.get_request_iterator()), list(scheme.get_request_iterator())
    assert first != second
    again = ChunkShuffledScheme(500, 50, window=3, chunk_rows=20, seed=1)
    assert [list(again.get_request_iterator()) for _ in range(2)] == [first, second]
    other = ChunkShuffledScheme(500, 50, window=3, chunk_rows=20, seed=2)
    assert list(other.get_request_iterator()) != first


def test_examples_come_in_the_order_of_batches():
    batches = ChunkShuffledScheme(77, 10, window=2, chunk_rows=5, seed=4)
    examples = ChunkShuffledExampleScheme(77, window=2, chunk_rows=5, seed=4)
    flat = [index for request in batches.get_request_iterator() for index in request]
    assert list(examples.get_request_iterator()) == flat


def test_a_thousand_million_examples_cost_nothing():
    requests = ChunkShuffledScheme(10**9, 256, chunk_rows=128, seed=1).get_request_iterator()
    requests.seek(900_000_000)
    assert len(set(next(requests))) == 256


def test_windows_mix_their_chunks_evenly():
    # Each place of a window is as likely to hold an example of each of its chunks: chi-square over
    # 16 chunks and 8 eighths of a window, 105 degrees of freedom; 170 is exceeded once in 10,000.
    counts = numpy.zeros((8, 16))
    for epoch in range(64):
        order = ChunkOrder(5, epoch, ChunkLayout(1024, 64), 16).block(0, 1024)
        for eighth in range(8):
            part = order[eighth * 128 : (eighth + 1) * 128]
            counts[eighth] += numpy.bincount(part // 64, minlength=16)
    expected = 64 * 1024 / 128
    assert ((counts - expected) ** 2 / expected).sum() < 170


@pytest.mark.parametrize(
    "subset, which_sets, rows",
    [
        (None, ("train",), range(3, 43)),
        (slice(5, 30), ("train",), range(8, 33)),
        ([7, 30, 31, 2], ("train",), [5, 10, 33, 34]),
        (None, ("train", "test"), range(3, 50)),
    ],
)
def test_a_dataset_knows_its_chunks(tmp_path, subset, which_sets, rows):
    path = tmp_path / "file.hdf5"
    with h5py.File(path, "w") as h5file:
        h5file.create_dataset("x", data=numpy.arange(50), chunks=(7,), compression="gzip")
        h5file.create_dataset("label", data=numpy.arange(50), dtype="u1")
        h5file.attrs["split"] = H5PYDataset.create_split_array(
            {
                "train": {"x": (3, 43), "label": (3, 43)},
                "test": {"x": (43, 50), "label": (43, 50)},
            }
        )
    dataset = H5PYDataset(path, which_sets, subset=subset)
    layout = dataset.example_chunks()
    rows = numpy.array(rows)
    assert (layout.count, layout.rows) == (len(rows), 7)
    assert len(set((chunk_of(layout, numpy.arange(len(rows))) - rows // 7).tolist())) == 1
    scheme = ChunkShuffledScheme(dataset, 4, window=2, seed=1)
    found = [dataset.get_data(None, request)[0] for request in scheme.get_request_iterator()]
    assert sorted(numpy.concatenate(found).tolist()) == rows.tolist()


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"dataset": 10, "window": 0, "chunk_rows": 2}, ValueError, "`window` must be a positive"),
        ({"dataset": 10}, ValueError, "`chunk_rows` must be given"),
        ({"dataset": 10, "chunk_rows": True}, ValueError, "`chunk_rows` must be a positive"),
        ({"dataset": "ten", "chunk_rows": 2}, TypeError, "a dataset or a number"),
        ({"dataset": -1, "chunk_rows": 2}, ValueError, "a number of examples"),
    ],
)
def test_what_makes_no_order_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        ChunkShuffledScheme(batch_size=4, **arguments)
