"""The memory that workers and consumer share: nothing is given twice, and nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

FORMS = pytest.mark.parametrize("kernels", ["", "reference"])


@FORMS
@pytest.mark.parametrize("seed", [1, 2])
def test_arrays_of_a_region_keep_their_contents_and_what_is_free_is_joined(
    fresh_python: Callable[..., str], kernels: str, seed: int
) -> None:
    printed = fresh_python(
        """if True:
        import random, sys
        import numpy
        from fuel.kernels import memory
        from fuel.transport.segments import Segment

        segment = Segment.create(32 << 20)
        memory.use_region(segment.memory, segment.fileno())
        first = numpy.frombuffer(segment.memory, numpy.uint8).ctypes.data
        random.seed(int(sys.argv[1]))
        alive, within = [], 0
        for step in range(4000):
            while alive and (random.random() < 0.45 or sum(a.nbytes for a, _ in alive) > 8 << 20):
                array, value = alive.pop(random.randrange(len(alive)))
                assert (array == value).all()
                del array
            # Small ones, then large ones, which only fit where small ones were joined.
            most = 2_000_000 if step // 500 % 2 else 9000
            array = memory.empty((random.randrange(1024, most),), "u1")
            value = random.randrange(256)
            array[:] = value
            within += 0 <= array.ctypes.data - first < 32 << 20
            alive.append((array, value))
        assert all((array == value).all() for array, value in alive)
        alive.clear()
        del array
        whole = memory.empty((30 << 20,), "u1")
        print(within > 3990, 0 <= whole.ctypes.data - first < 32 << 20)
        """,
        str(seed),
        FUEL_KERNELS=kernels,
    )
    assert printed.split() == ["True", "True"]


@FORMS
def test_a_region_takes_little_more_memory_than_is_in_use(
    fresh_python: Callable[..., str], kernels: str
) -> None:
    printed = fresh_python(
        """if True:
        import random
        from fuel.kernels import memory
        from fuel.transport.segments import Segment

        segment = Segment.create(1 << 30)
        memory.use_region(segment.memory, segment.fileno())
        random.seed(3)
        alive = []
        for _ in range(2000):  # of ever other sizes, four at a time
            alive.append(memory.empty((random.randrange(1 << 20, 4 << 20),), "u1"))
            del alive[:-4]
        print(memory.region_statistics()["reserved_bytes"] >> 20)
        """,
        FUEL_KERNELS=kernels,
    )
    assert int(printed) <= 64


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@FORMS
def test_a_process_forked_from_a_worker_leaves_its_region(
    fresh_python: Callable[..., str], kernels: str
) -> None:
    printed = fresh_python(
        """if True:
        import os
        import numpy
        from fuel.kernels import memory
        from fuel.transport.segments import Segment

        segment = Segment.create(8 << 20)
        memory.use_region(segment.memory, segment.fileno())
        first = numpy.frombuffer(segment.memory, numpy.uint8).ctypes.data
        kept, freed = memory.empty((5000,), "u1"), memory.empty((6000,), "u1")
        kept[:] = 1
        ready, go = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            del freed  # its place is the parent's to give away
            own = memory.empty((5000,), "u1")
            own[:] = 2
            if os.environ["FUEL_KERNELS"] != "reference":
                kept[:] = 3
            inside = 0 <= own.ctypes.data - first < 8 << 20
            os.write(ready[1], b"n" if inside else b"y")
            os.read(go[0], 1)
            os._exit(0 if (own == 2).all() else 1)
        assert os.read(ready[0], 1) == b"y"
        more = [memory.empty((size,), "u1") for size in (5000, 6000, 7000)]
        for number, array in enumerate(more):
            array[:] = 10 + number
        os.write(go[1], b".")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert (kept == 1).all()
        del freed
        more += [memory.empty((6000,), "u1") for _ in range(3)]
        assert len({array.ctypes.data for array in more}) == len(more)
        print(all((array == 10 + number).all() for number, array in enumerate(more[:3])))
        """,
        FUEL_KERNELS=kernels,
    )
    assert printed.strip() == "True"
