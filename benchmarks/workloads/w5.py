"""Batches from a worker process: 256 images of 3x224x224 bytes (38.5 MB), and of 28x28 (0.2 MB).

A worker makes each batch with one copy of a template, into the memory of the transport where a
contender offers that, else into a fresh array. The consumer reads a byte of every page. Workers are
running before a pass begins. All have one worker; what would be done in it besides is not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from multiprocessing import get_context, shared_memory
from typing import Any

import numpy
from harness.registry import SEED, Goal, Work, Workload

__all__ = ["WORKLOAD"]

WORKLOAD = Workload("W5", "batches from one worker process", "examples")
LARGE, SMALL = "batches of 38.5 MB", "batches of 0.2 MB"
SHAPES = {LARGE: (256, 3, 224, 224), SMALL: (256, 28, 28)}
COUNTS = {LARGE: 40, SMALL: 3000}
SLOTS = 4
RING = "shared-memory ring, read in place"
OURS, OURS_WHOLE = "Fuel DataLoader, an array", "Fuel DataLoader, batches of an object"
TORCH, TORCH_ITEMS = "torch DataLoader, batches as tensors", "torch DataLoader, examples"
GRAIN = "Grain, mp_prefetch"
Pass = Callable[[], tuple[int, int]]

WORKLOAD.goals = [
    Goal(OURS, RING, 0.7, LARGE),
    Goal(OURS, TORCH, 6.0, LARGE),
    Goal(OURS, TORCH_ITEMS, 6.0, LARGE),
    Goal(OURS, GRAIN, 6.0, LARGE),
    Goal(OURS, TORCH, 8.0, SMALL),
    Goal(OURS, TORCH_ITEMS, 8.0, SMALL),
]


def template(case: str) -> Any:
    """Return the batch that is sent."""
    return numpy.random.default_rng(SEED).integers(0, 256, SHAPES[case], dtype=numpy.uint8)


def number_of(work: Work, case: str) -> int:
    """Return how many batches a pass has."""
    return 4 if work.quick else COUNTS[case]


def drain(batches: Iterable[Any], case: str) -> tuple[int, int]:
    """Take all batches and look at every page; count examples and bytes."""
    count = size = 0
    for batch in batches:
        assert batch.shape == SHAPES[case]
        int(batch.reshape(-1)[::4096].sum())
        count += len(batch)
        size += batch.nbytes
    return count, size


def both(name: str, kind: str, **options: Any) -> Callable[[Any], Any]:
    """Register a function of the work and the case for both sizes."""

    def register(build: Any) -> Any:
        for case in SHAPES:
            WORKLOAD.contender(name, kind, case=case, **options)(
                lambda work, case=case: build(work, case)
            )
        return build

    return register


@both("memory, copied to the same place again, no process", "hand")
def copy_again(work: Work, case: str) -> Pass:
    """What the copy alone takes."""
    source, number = template(case), number_of(work, case)
    out = numpy.zeros_like(source)

    def epoch() -> Iterator[Any]:
        for _ in range(number):
            numpy.copyto(out, source)
            yield out

    return lambda: drain(epoch(), case)


def _ring_worker(case: str, name: str, free: Any, full: Any, orders: Any) -> None:
    source, memory = template(case), shared_memory.SharedMemory(name)
    slots = _slots(source, memory)
    place = 0
    try:
        while (number := orders.recv()) is not None:
            for _ in range(number):
                free.acquire()
                numpy.copyto(slots[place], source)
                full.release()
                place = (place + 1) % SLOTS
    except (EOFError, OSError, KeyboardInterrupt):
        pass  # nobody wants more


def _slots(source: Any, memory: Any) -> list[Any]:
    return [
        numpy.ndarray(source.shape, source.dtype, memory.buf, place * source.nbytes)
        for place in range(SLOTS)
    ]


def _ring(work: Work, case: str, copy: bool) -> Pass:
    context, source, number = get_context("spawn"), template(case), number_of(work, case)
    memory = shared_memory.SharedMemory(create=True, size=SLOTS * source.nbytes)
    free, full = context.Semaphore(SLOTS), context.Semaphore(0)
    theirs, ours = context.Pipe(False)
    context.Process(
        target=_ring_worker, args=(case, memory.name, free, full, theirs), daemon=True
    ).start()
    slots = _slots(source, memory)
    place = [0]
    ours.send(1)  # it is running when this arrives
    full.acquire()
    memory.unlink()
    free.release()
    place[0] = 1

    def epoch() -> Iterator[Any]:
        ours.send(number)
        for _ in range(number):
            full.acquire()
            slot = slots[place[0]]
            place[0] = (place[0] + 1) % SLOTS
            yield slot.copy() if copy else slot
            free.release()

    # The arrays do not keep the memory: what is taken along does.
    return lambda memory=memory: drain(epoch(), case)  # type: ignore[misc]


@both(RING, "limit")
def ring(work: Work, case: str) -> Pass:
    """Four slots and two semaphores; the consumer must be done before the slot is used again."""
    return _ring(work, case, copy=False)


@both("shared-memory ring, copied out", "hand")
def ring_copied(work: Work, case: str) -> Pass:
    """The same where the consumer keeps what it gets."""
    return _ring(work, case, copy=True)


def _queue_worker(case: str, queue: Any, orders: Any) -> None:
    source = template(case)
    try:
        while (number := orders.recv()) is not None:
            for _ in range(number):
                queue.put(source.copy())
    except (EOFError, OSError, KeyboardInterrupt):
        pass


@both("multiprocessing.Queue", "hand")
def queue(work: Work, case: str) -> Pass:
    """Pickles through a pipe."""
    context, number = get_context("spawn"), number_of(work, case)
    waiting = context.Queue(SLOTS)
    theirs, ours = context.Pipe(False)
    context.Process(target=_queue_worker, args=(case, waiting, theirs), daemon=True).start()

    def epoch() -> Iterator[Any]:
        ours.send(number)
        for _ in range(number):
            yield waiting.get()

    return lambda: drain(epoch(), case)


@both(OURS, "fuel")
def fuel_array(work: Work, case: str) -> Pass:
    """256 examples, again and again: gathered into the memory that the consumer reads."""
    from fuel import DataLoader

    loader = DataLoader(
        template(case), batch_size=256, num_workers=1, num_epochs=number_of(work, case)
    )
    return lambda: drain(loader, case)


class Whole:
    """What a dataset of one's own looks like that has batches at once."""

    def __init__(self, case: str, length: int) -> None:
        self.case, self.length = case, length
        self.source: Any = None

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Any) -> Any:
        if self.source is None:
            self.source = template(self.case)
        return self.source[: len(indices)].copy()


@both(OURS_WHOLE, "fuel")
def fuel_object(work: Work, case: str) -> Pass:
    """``__getitems__`` makes a fresh array, which is copied once more."""
    from fuel import DataLoader

    data = Whole(case, 256 * number_of(work, case))
    loader = DataLoader(data, batch_size=256, num_workers=1)
    return lambda: drain(loader, case)


@both(TORCH, "peer", lane="torch", needs=("torch",))
def torch_batches(work: Work, case: str) -> Pass:
    """A dataset of batches, which are moved to shared memory."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    number = number_of(work, case)

    class Batches(Dataset):  # type: ignore[misc]
        source = None

        def __len__(self) -> int:
            return number

        def __getitem__(self, index: int) -> Any:
            if self.source is None:
                self.source = template(case)
            return torch.from_numpy(self.source.copy())

    loader = DataLoader(Batches(), batch_size=None, num_workers=1, persistent_workers=True)
    return lambda: drain((batch.numpy() for batch in loader), case)


@both(TORCH_ITEMS, "peer", lane="torch", needs=("torch",))
def torch_examples(work: Work, case: str) -> Pass:
    """Collated into shared memory."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    number = number_of(work, case)

    class Examples(Dataset):  # type: ignore[misc]
        source = None

        def __len__(self) -> int:
            return number * 256

        def __getitem__(self, index: int) -> Any:
            if self.source is None:
                self.source = torch.from_numpy(template(case))
            return self.source[index % 256]

    loader = DataLoader(Examples(), batch_size=256, num_workers=1, persistent_workers=True)
    return lambda: drain((batch.numpy() for batch in loader), case)


class Make:
    """What Grain's workers do."""

    def __init__(self, case: str) -> None:
        self.case = case
        self.source: Any = None

    def __call__(self, index: Any) -> Any:
        if self.source is None:
            self.source = template(self.case)
        return self.source.copy()


@both(GRAIN, "peer", lane="torch", needs=("grain",))
def grain(work: Work, case: str) -> Pass:
    """One endless iterator, so that the worker is started once."""
    import grain

    number = number_of(work, case)
    dataset = grain.MapDataset.range(number).map(Make(case)).repeat()
    dataset = dataset.to_iter_dataset(grain.ReadOptions(num_threads=1, prefetch_buffer_size=2))
    options = grain.MultiprocessingOptions(num_workers=1, per_worker_buffer_size=2)
    batches = iter(dataset.mp_prefetch(options))
    return lambda: drain((next(batches) for _ in range(number)), case)
