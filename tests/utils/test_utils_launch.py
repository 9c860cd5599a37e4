"""Holding Ctrl-C back while a process is started."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from fuel.utils._launch import uninterrupted

needs_signals = pytest.mark.skipif(os.name == "nt", reason="these are signals of POSIX systems")


def interrupt_and_finish(finished):
    with uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)  # where Python handles what was signalled
        finished.append(True)


@needs_signals
@pytest.mark.parametrize("others", [0, 1])
def test_ctrl_c_waits_whichever_thread_the_system_hands_it_to(others):
    over = threading.Event()
    threads = [threading.Thread(target=over.wait) for _ in range(others)]
    for thread in threads:
        thread.start()
    finished = []
    handler = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupt_and_finish(finished)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert finished == [True]
    assert signal.getsignal(signal.SIGINT) is handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@needs_signals
def test_the_programs_own_handler_hears_of_it_afterwards():
    heard = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: heard.append(list(finished)))
    finished: list[bool] = []
    try:
        interrupt_and_finish(finished)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert heard == [[True]]


@needs_signals
def test_an_ignored_ctrl_c_stays_ignored():
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        interrupt_and_finish([])
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, handler)


def test_other_threads_may_start_processes_too():
    finished = []

    def work():
        with uninterrupted():
            finished.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert finished == [True]
