"""Laws of users' subclasses of steps that draw: what they override is called, with right draws."""

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.schemes import ConstantScheme, SequentialExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import Batch
from fuel.transformers.image import RandomFixedSizeCrop, RandomHorizontalFlip


def images(scheme):
    pixels = numpy.arange(12 * 3 * 4 * 5).reshape(12, 3, 4, 5)
    return DataStream(IndexableDataset({"x": pixels}), iteration_scheme=scheme, seed=3)


class Negative(RandomHorizontalFlip):
    elementwise = True

    def transform_source_batch(self, source_batch, source_name):
        return -super().transform_source_batch(source_batch, source_name)

    def transform_source_example(self, source_example, source_name):
        return -super().transform_source_example(source_example, source_name)


class NegativeCrop(RandomFixedSizeCrop):
    def transform_source_batch(self, source_batch, source_name):
        return -super().transform_source_batch(source_batch, source_name)


@pytest.mark.parametrize("size", [1, 5, 12])
def test_an_override_is_called_and_its_base_draws_by_address(size):
    name = "RandomHorizontalFlip"  # draws are addressed by the name
    plain = RandomHorizontalFlip(images(SequentialScheme(12, size)), name=name)
    own = Negative(images(SequentialScheme(12, size)), name=name)
    examples = Batch(Negative(images(SequentialExampleScheme(12)), name=name), ConstantScheme(size))
    for (wanted,), (found,), (one,) in zip(plain, own, examples, strict=True):
        numpy.testing.assert_array_equal(found, -wanted)
        numpy.testing.assert_array_equal(one, -wanted)
    # ... and not as if every batch were the first.
    first, second = (next(iter(plain))[0], list(plain)[-1][0])
    assert size == 12 or first.shape != second.shape or (first != second).any()


def test_the_originals_too():
    plain = RandomFixedSizeCrop(images(SequentialScheme(12, 4)), (2, 2), name="crop")
    own = NegativeCrop(images(SequentialScheme(12, 4)), (2, 2), name="crop")
    for (wanted,), (found,) in zip(plain, own, strict=True):
        numpy.testing.assert_array_equal(found, -wanted)


def test_a_direct_call_draws_as_for_the_first_examples():
    stream = RandomHorizontalFlip(images(SequentialScheme(12, 12)))
    (batch,) = next(iter(stream))
    pixels = stream.data_stream.dataset.indexables[0]
    numpy.testing.assert_array_equal(stream.transform_source_batch(pixels, "x"), batch)
    numpy.testing.assert_array_equal(stream.transform_source_example(pixels[0], "x"), batch[0])
