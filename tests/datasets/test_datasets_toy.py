"""The points of the toy data sets are those of their formulas."""

import pickle

import numpy
import pytest

from fuel.config_parser import config
from fuel.datasets.toy import Spiral, SwissRoll


def test_a_spiral_is_its_formula():
    dataset = Spiral(num_examples=50, classes=3, cycles=2.0, seed=7)
    assert dataset.sources == ("features", "position", "label")
    features, position, label = dataset.get_data(request=slice(0, 50))
    assert (features.dtype, position.dtype, label.dtype.kind) == ("float32", "float64", "i")
    assert features.shape == (50, 2)
    assert ((position >= 0) & (position < 2)).all()
    assert set(label) == {0, 1, 2}
    radius = (2 * position + 1) / 3
    angle = 2 * numpy.pi * (position + label / 3)
    expected = numpy.stack([radius * numpy.sin(angle), radius * numpy.cos(angle)], axis=1)
    assert numpy.allclose(features, expected, atol=1e-6)
    rng = numpy.random.RandomState(7)
    assert numpy.array_equal(position, rng.uniform(0, 2.0, 50))
    assert numpy.array_equal(label, rng.randint(0, 3, 50))


def test_a_swiss_roll_is_its_formula():
    dataset = SwissRoll(num_examples=50, seed=7)
    assert dataset.sources == ("features", "position")
    features, position = dataset.get_data(request=slice(0, 50))
    assert (features.dtype, position.dtype) == ("float32", "float32")
    place, height = position.T.astype("float64")
    radius, angle = (1 + 2 * place) / 3, 1.5 * numpy.pi * (1 + 2 * place)
    expected = numpy.stack([radius * numpy.cos(angle), radius * numpy.sin(angle), height], axis=1)
    assert numpy.allclose(features, expected, atol=1e-5)
    assert ((height >= -1) & (height < 1)).all()
    rng = numpy.random.RandomState(7)
    assert numpy.allclose(place, rng.uniform(size=50))


@pytest.mark.parametrize("toy", [Spiral, SwissRoll])
def test_noise_is_added_to_the_same_points(toy):
    plain, noisy = toy(num_examples=2000, seed=3), toy(num_examples=2000, noise=0.1, seed=3)
    assert numpy.array_equal(plain.position, noisy.position)
    difference = noisy.features - plain.features
    assert 0.09 < difference.std() < 0.11
    assert abs(difference.mean()) < 0.01


@pytest.mark.parametrize("toy", [Spiral, SwissRoll])
def test_the_seed_decides_and_the_default_is_that_of_the_configuration(toy, monkeypatch):
    assert numpy.array_equal(toy(seed=3).features, toy(seed=3).features)
    assert not numpy.array_equal(toy(seed=3).features, toy(seed=4).features)
    monkeypatch.setattr(config, "default_seed", 4)
    assert numpy.array_equal(toy().features, toy(seed=4).features)


@pytest.mark.parametrize("toy", [Spiral, SwissRoll])
def test_they_are_indexable_datasets(toy):
    assert toy().num_examples == 1000
    dataset = toy(10, sources=("position",), start=2)
    assert dataset.num_examples == 8
    assert len(dataset.get_data(request=[1, 2])) == 1
    again = pickle.loads(pickle.dumps(dataset))
    assert numpy.array_equal(again.position, dataset.position)


@pytest.mark.parametrize("make", [Spiral, SwissRoll])
@pytest.mark.parametrize("number", [-1, 1.5, "3", None])
def test_a_number_of_points_that_is_none_is_refused_by_name(make, number):
    with pytest.raises(ValueError, match="`num_examples` must be an integer from 0 on, got"):
        make(num_examples=number)
    assert make(num_examples=numpy.int64(0)).num_examples == 0


def test_a_spiral_has_an_arm():
    with pytest.raises(ValueError, match="`classes` must be an integer from 1 on, got 0"):
        Spiral(classes=0)
