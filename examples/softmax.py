"""A softmax regression in plain NumPy: the smallest model that is worth training.

Only here so that the examples have something to feed; nothing in it knows where batches come from.
"""

from __future__ import annotations

import numpy


class SoftmaxRegression:
    """Linear scores, one for each class, turned into probabilities.

    Parameters
    ----------
    inputs : int
        Numbers in each example.
    classes : int, optional
        Classes to tell apart. Default 10, for digits.

    """

    def __init__(self, inputs: int, classes: int = 10) -> None:
        self.weights = numpy.zeros((inputs, classes), dtype="float32")
        self.bias = numpy.zeros(classes, dtype="float32")
        self.examples = 0  # learnt from so far

    def scores(self, features: numpy.ndarray) -> numpy.ndarray:
        """One score for each example (row) and class (column)."""
        return features @ self.weights + self.bias

    def learn(self, features: numpy.ndarray, labels: numpy.ndarray, rate: float) -> None:
        """One step of gradient descent on the cross entropy of a batch."""
        scores = self.scores(features)
        probabilities = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        # The gradient with respect to the scores is "what was said minus what was right".
        probabilities[numpy.arange(len(labels)), labels] -= 1
        step = rate / len(labels)
        self.weights -= step * (features.T @ probabilities)
        self.bias -= step * probabilities.sum(axis=0)
        self.examples += len(labels)

    def right(self, features: numpy.ndarray, labels: numpy.ndarray) -> int:
        """How many examples get their highest score in the right class."""
        return int((self.scores(features).argmax(axis=1) == labels).sum())
