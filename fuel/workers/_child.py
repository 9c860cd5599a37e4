"""The loop that runs inside a worker process.

It is told of the parts of chains (once), of orders (once an epoch), and of units; it answers each
unit with its outcomes. Not here: how the process is started and ended (`fuel.utils._process`), and
what the parent does (`fuel.workers._worker`).
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import time
from typing import TYPE_CHECKING, Any

from fuel.kernels import memory, threads
from fuel.plan._evaluation import Evaluator
from fuel.transport.segments import receive_segments
from fuel.utils._failure import pack_failure
from fuel.workers._blame import evaluated
from fuel.workers._global_draws import GlobalDraws
from fuel.workers._handing import unpacked
from fuel.workers._results import Leases, encode, pickled
from fuel.workers._sharing import loads_shared

if TYPE_CHECKING:
    from fuel.utils._channel import Channel

__all__ = ["run_worker"]


def run_worker(channel: Channel, name: str, shared: list[bool]) -> None:
    """Serve a parent until it closes the channel.

    Parameters
    ----------
    channel : Channel
        The way to the parent.
    name : str
        The worker in words, for notes to errors.
    shared : list of bool
        Which shared memory comes first: for results, for stacks, for what is handed over.

    """
    threads.set_limit(1)  # the workers are the parallelism
    origin = f"worker process {os.getpid()} ({name})"
    connection = channel._connection
    received = iter(receive_segments(connection, sum(shared), writable=True))
    region, stacks, handed = (next(received) if one else None for one in shared)
    if region is not None:
        memory.use_region(region.memory, _descriptor(region))
    if stacks is not None:
        _dump_stacks_into(stacks)
    inbox = None if handed is None else handed.memory
    watch = GlobalDraws(name)
    evaluators: dict[Any, Evaluator] = {}
    leases = Leases()
    while True:
        kind, *content = pickle.loads(channel.recv_bytes())
        if kind == "unit":
            token, key, payload, places, released = content
            leases.release(released)
            if key not in evaluators:
                continue  # the part could not be made, and the parent gives the unit out again
            unit = unpacked(inbox, payload, places)
            began = time.perf_counter()
            outcomes = evaluated(evaluators[key], unit, origin)
            drawn = watch.look(key)
            if drawn:
                channel.send(("draws", drawn))
            encoded = encode(outcomes, leases)
            del outcomes
            channel.send_bytes(pickled(token, time.perf_counter() - began, encoded, leases))
        elif kind == "order":
            key, payload, count = content
            segments = receive_segments(connection, count)
            if key in evaluators:  # it was refused otherwise
                evaluators[key].order = loads_shared(payload, segments)
            for segment in segments:
                segment.close()
        elif kind == "part":
            key, payload, count = content
            segments = receive_segments(connection, count)
            _answer_part(channel, evaluators, key, payload, segments)
        elif kind == "drop":
            evaluators.pop(content[0], None)
        elif kind == "release":
            leases.release(content[0])


def _answer_part(
    channel: Channel, evaluators: dict[Any, Evaluator], key: Any, payload: bytes, segments: Any
) -> None:
    try:
        shipment = loads_shared(payload, segments)
        evaluators[key] = Evaluator(shipment)
    except ModuleNotFoundError as error:
        # A module that the parent loaded from a place that is not on the search path.
        channel.send(("missing", key, error.name, pack_failure(error)))
    except BaseException as error:
        channel.send(("refused", key, pack_failure(error)))
    else:
        channel.send(("ready", key))
    finally:
        for segment in segments:
            segment.close()


def _descriptor(region: Any) -> int:
    try:
        number: int = region.fileno()
    except OSError:  # Windows
        return -1
    return number if sys.platform == "linux" else -1


def _dump_stacks_into(part: Any) -> None:
    """Write the stacks of all threads into shared memory when the parent asks for them."""
    import faulthandler
    import signal

    with contextlib.suppress(AttributeError, OSError, RuntimeError, ValueError):
        faulthandler.register(signal.SIGUSR1, file=part.fileno(), all_threads=True)
