"""Fuel at work on real data, on one page: ``bin/quickstart`` runs it, a tutorial explains it.

Handwritten digits are converted to HDF5, streamed from the file through a chain of transformers,
and used to train a small model. The training stops in the middle of an epoch and goes on in a new
process, which must see the very batches that an uninterrupted run sees.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy
from contact_sheet import contact_sheet
from softmax import SoftmaxRegression
from tqdm import tqdm

from fuel import config
from fuel.bin import fuel_convert, fuel_download, fuel_info
from fuel.datasets import Digits
from fuel.schemes import ConstantScheme, PermutedExampleScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.transformers import (
    AgnosticSourcewiseTransformer,
    Batch,
    Cast,
    Flatten,
    Mapping,
    ScaleAndShift,
)

SEED, EPOCHS, BATCH_SIZE, COSINES = 2024, 3, 50, 256
STOP_AFTER = 44  # batches; an epoch has 29, so this is in the middle of the second
FEATURES = {"which_sources": ("features",)}

# -- the pipeline ----------------------------------------------------------------------------------


def shift(example, rng):
    """Move an image by up to one pixel, every other time. `rng` belongs to this example alone."""
    image, target = example
    if rng.random() < 0.5:
        down, right = rng.integers(3, size=2)
        padded = numpy.pad(image, ((0, 0), (1, 1), (1, 1)))
        image = padded[:, down : down + image.shape[1], right : right + image.shape[2]]
    return image, target


class Cosines(AgnosticSourcewiseTransformer):
    """A step of our own: a vector becomes cosines along fixed, random directions."""

    elementwise = True  # what becomes of an example depends on that example alone

    def __init__(self, data_stream, **kwargs):
        super().__init__(data_stream, data_stream.produces_examples, **kwargs)
        rng = numpy.random.RandomState(SEED)
        self.directions = (0.6 * rng.standard_normal((64, COSINES))).astype("float32")
        self.offsets = rng.uniform(0, 2 * numpy.pi, COSINES).astype("float32")

    def transform_any_source(self, source_data, source_name):
        return numpy.cos(source_data @ self.directions + self.offsets)


def augmented():
    """Single examples, read from the file in a new order every epoch, and shifted."""
    dataset = Digits(("train",), load_in_memory=False)
    scheme = PermutedExampleScheme(dataset.num_examples, seed=SEED)
    return Mapping(DataStream(dataset, iteration_scheme=scheme, seed=SEED), shift)


def prepared(stream):
    """Numbers between 0 and 1, in a row."""
    stream = ScaleAndShift(stream, scale=1 / 16, shift=0, **FEATURES)
    stream = Cast(stream, "float32", **FEATURES)
    return Flatten(stream, **FEATURES)


def training_batches():
    stream = Batch(prepared(augmented()), iteration_scheme=ConstantScheme(BATCH_SIZE))
    return Cosines(stream, **FEATURES)


def test_batches():
    dataset = Digits(("test",))
    scheme = SequentialScheme(dataset.num_examples, batch_size=BATCH_SIZE)
    return Cosines(prepared(DataStream(dataset, iteration_scheme=scheme)), **FEATURES)


# -- the training ----------------------------------------------------------------------------------


def train(model, stream, epoch=1, batches=None, stop_after=None):
    """Train to the end, or for some batches; returns the epoch, its iterator and all digests."""
    seen = []
    while epoch <= EPOCHS:
        batches = batches or stream.get_epoch_iterator()
        done = batches.state_dict()["delivered"]  # not 0 where an epoch is gone on with
        bar = tqdm(batches, f"epoch {epoch}", len(stream), leave=False, disable=None, initial=done)
        for features, targets in bar:
            model.learn(features, targets[:, 0], rate=0.3)
            seen.append(hashlib.sha256(features.tobytes() + targets.tobytes()).hexdigest())
            if len(seen) == stop_after:
                return epoch, batches, seen
        print(f"  epoch {epoch}: {accuracy(model):.1%} of the test examples are right")
        epoch, batches = epoch + 1, None
    return epoch, batches, seen


def accuracy(model):
    counts = [(model.right(images, digits[:, 0]), len(digits)) for images, digits in test_batches()]
    right, all_of_them = numpy.sum(counts, axis=0)
    return right / all_of_them


def save(folder, model, epoch, batches):
    """A checkpoint: the numbers of the model, and the place in the stream as plain JSON."""
    numpy.savez(folder / "model.npz", weights=model.weights, bias=model.bias)
    state = {"epoch": epoch, "stream": batches.state_dict()}
    (folder / "checkpoint.json").write_text(json.dumps(state), encoding="utf-8")


def resume(folder):
    """What the new process does: load the checkpoint and train to the end."""
    model, stream = SoftmaxRegression(COSINES), training_batches()
    with numpy.load(folder / "model.npz") as saved:
        model.weights, model.bias = saved["weights"], saved["bias"]
    state = json.loads((folder / "checkpoint.json").read_text(encoding="utf-8"))
    stream.load_state_dict(state["stream"])
    _, _, seen = train(model, stream, state["epoch"])
    numpy.savez(folder / "resumed.npz", weights=model.weights, seen=seen)


def convert(folder):
    """Make the HDF5 file with the commands that come with the package, and look into it."""
    file = str(folder / Digits.filename)
    for command, arguments in (
        (fuel_download, ["digits", "--bundled", "-d", str(folder)]),
        (fuel_convert, ["digits", "-d", str(folder), "-o", str(folder)]),
        (fuel_info, [file]),
    ):
        print("\n$", command.__name__.split(".")[-1].replace("_", "-"), *arguments, flush=True)
        if command.main(arguments):
            raise SystemExit("quickstart: this command failed; it said why")


def main():
    parser = argparse.ArgumentParser(description="Fuel at work on real data.")
    parser.add_argument("--output", default="quickstart-output", help="folder for the results")
    parser.add_argument("--resume", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    folder = Path(arguments.output).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    config.data_path = str(folder)
    if arguments.resume:
        return resume(folder)

    convert(folder)

    print("\nThe pipeline, last step first:\n")
    print(training_batches().explain())
    picture, first = folder / "augmented.png", list(itertools.islice(augmented(), 60))
    images, digits = [image[0] for image, _ in first], [digit[0] for _, digit in first]
    title = "The first 60 examples: handwritten digits, every other one moved by up to one pixel"
    contact_sheet(picture, title, images, digits, columns=12, most_ink=16)
    print(f"\nThe first examples, shifted and with their labels, are in {picture}")

    print("\nTraining, up to the middle of an epoch:")
    model, stream, began = SoftmaxRegression(COSINES), training_batches(), time.perf_counter()
    epoch, batches, _ = train(model, stream, stop_after=STOP_AFTER)
    speed = model.examples / (time.perf_counter() - began)
    save(folder, model, epoch, batches)
    size = (folder / "checkpoint.json").stat().st_size
    print(f"  stopped after batch {STOP_AFTER}, in epoch {epoch}; the checkpoint is {size} bytes")

    print("A new process goes on from the checkpoint:", flush=True)
    subprocess.run([sys.executable, __file__, "--resume", "--output", str(folder)], check=True)
    resumed = numpy.load(folder / "resumed.npz")

    print("This process goes on as if nothing had happened:")
    _, _, seen = train(model, stream, epoch, batches)
    same_next, same_rest = seen[0] == resumed["seen"][0], seen == resumed["seen"].tolist()
    difference = numpy.abs(model.weights - resumed["weights"]).max()
    print(f"""
the next batch is the same: {"yes" if same_next else "NO"}
all later batches are the same: {"yes" if same_rest else "NO"}
largest difference between the trained weights: {difference:g}
examples per second, read, shifted and learnt from: {speed:,.0f}
test accuracy: {accuracy(model):.1%}""")
    return 0 if same_next and same_rest and difference < 1e-6 and accuracy(model) > 0.93 else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nstopped; the next run starts over")
