"""While workers start, the consumer evaluates; once they run, they do."""

from __future__ import annotations

import time

import numpy

from fuel.datasets import IndexableDataset
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Cast, Parallel
from fuel.workers import _crew

TIMEOUT_S = 60.0


def test_a_consumer_that_is_quick_enough_for_all_hands_over_all_the_same(monkeypatch):
    helped = []
    real = _crew.Crew.may_help

    def watched(self, *arguments):
        answer = real(self, *arguments)
        helped.append(answer)
        return answer

    monkeypatch.setattr(_crew.Crew, "may_help", watched)
    data = numpy.arange(4000, dtype="uint8").reshape(1000, 4)
    stream = DataStream(IndexableDataset({"x": data}), iteration_scheme=SequentialScheme(1000, 5))
    expected = [batch.tobytes() for (batch,) in Cast(stream, "float32")]
    parallel = Parallel(Cast(stream, "float32"), workers=1, kind="process")
    deadline = time.monotonic() + TIMEOUT_S
    iterator = parallel.get_epoch_iterator()
    found = []
    while any(helped) or not helped:
        # Less than a millisecond of work in each round: workers take a hundred of them to start.
        assert time.monotonic() < deadline, "the workers were never heard of"
        helped.clear()
        for (batch,) in iterator:
            found.append(batch.tobytes())
        assert found == expected
        found, iterator = [], parallel.get_epoch_iterator()
