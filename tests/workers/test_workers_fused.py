"""In workers, a source and its steps are done in the one pass that a serial epoch has."""

from __future__ import annotations

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.plan import _fusion
from fuel.schemes import ConstantScheme, SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Cast, Parallel, ScaleAndShift


def chain(examples):
    data = numpy.arange(96, dtype="uint8").reshape(12, 8)
    scheme = SequentialExampleScheme(12) if examples else SequentialScheme(12, 4)
    stream = DataStream(IndexableDataset({"x": data}), iteration_scheme=scheme)
    stream = ScaleAndShift(Cast(stream, "float32"), 0.5, 1.0)
    return Batch(stream, ConstantScheme(4)) if examples else stream


@pytest.mark.parametrize(("examples", "method"), [(True, "block"), (False, "item")])
def test_units_are_evaluated_by_kernels(monkeypatch, examples, method):
    calls = []
    real = getattr(_fusion.Fused, method)

    def watched(self, *args):
        calls.append(args)
        return real(self, *args)

    monkeypatch.setattr(_fusion.Fused, method, watched)
    serial = [batch.tobytes() for (batch,) in chain(examples)]
    done = len(calls)
    assert done == 4  # the end is asked for too
    parallel = [batch.tobytes() for (batch,) in Parallel(chain(examples), workers=1, kind="thread")]
    assert parallel == serial
    assert len(calls) - done == 3
