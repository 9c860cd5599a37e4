"""The pool of threads: results in order, errors in order, nothing left behind."""

from __future__ import annotations

import contextvars
import gc
import os
import signal
import threading
import weakref

import pytest

from fuel.exceptions import ConfigurationError
from fuel.kernels import threads


@pytest.fixture(autouse=True)
def three_threads():
    """The limit does not depend on the machine."""
    threads.set_limit(3)
    yield
    threads.set_limit(None)


def test_results_come_in_the_order_of_the_jobs():
    assert threads.run(pow, [(number, 2) for number in range(500)]) == [
        number * number for number in range(500)
    ]
    assert threads.run(pow, []) == []


def test_jobs_run_side_by_side_up_to_the_limit():
    barrier = threading.Barrier(3)
    names = set()

    def meet():
        barrier.wait(timeout=30)
        names.add(threading.current_thread())

    threads.run(meet, [()] * 3)
    assert len(names) == 3 and threading.current_thread() in names


@pytest.mark.parametrize("number", [1, None])
def test_with_one_thread_everything_runs_in_the_calling_one(number):
    if number is None:
        threads.set_limit(1)
    found = threads.run(threading.current_thread, [()] * 10, number)
    assert set(found) == {threading.current_thread()}


def test_an_argument_does_not_raise_the_limit():
    threads.set_limit(1)
    assert set(threads.run(threading.get_ident, [()] * 10, 8)) == {threading.get_ident()}


def test_a_call_within_a_call_stays_in_its_thread():
    def outer():
        return {threading.get_ident()} == set(threads.run(threading.get_ident, [()] * 5))

    assert threads.run(outer, [()] * 6) == [True] * 6


def test_the_first_error_in_order_is_raised_and_the_others_are_waited_for():
    barrier = threading.Barrier(2)
    ended = []

    def job(number):
        if number in (0, 1):
            barrier.wait(timeout=30)
        try:
            raise ValueError(f"job {number}")
        finally:
            ended.append(number)

    with pytest.raises(ValueError, match="job 0"):
        threads.run(job, [(number,) for number in range(100)], 2)
    assert sorted(ended)[:2] == [0, 1] and len(ended) < 100


def test_nothing_goes_on_after_an_error_has_arrived():
    barrier, ended = threading.Barrier(2), []

    def job():
        barrier.wait(timeout=30)
        if threading.current_thread() is threading.main_thread():
            raise ValueError("quick")
        sum(range(4_000_000))
        ended.append("slow")

    with pytest.raises(ValueError, match="quick"):
        threads.run(job, [(), ()], 2)
    assert ended == ["slow"]


@pytest.mark.parametrize("fails", [False, True])
def test_what_jobs_hold_is_let_go(fails):
    class Thing:
        pass

    barrier = threading.Barrier(3)

    def job(_):
        barrier.wait(timeout=30)
        if fails:
            raise ValueError("no")

    thing = Thing()
    alive = weakref.ref(thing)
    try:
        threads.run(job, [(thing,)] * 3)
    except ValueError:
        assert fails
    del thing
    for _ in range(1000):  # a thread lets go a moment after the call is over
        gc.collect()
        if alive() is None:
            break
        threading.Event().wait(0.01)
    assert alive() is None


def test_several_threads_may_call_at_once():
    found = {}

    def caller(number):
        found[number] = threads.run(pow, [(number, 2)] * 200)

    callers = [threading.Thread(target=caller, args=(number,)) for number in range(6)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    assert found == {number: [number**2] * 200 for number in range(6)}


def test_jobs_see_the_context_of_the_caller():
    barrier = threading.Barrier(3)
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(5)

    def job():
        barrier.wait(timeout=30)
        return variable.get()

    assert threads.run(job, [()] * 3) == [5] * 3


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to a thread here")
def test_ctrl_c_ends_the_call_when_what_began_is_done():
    barrier, ended = threading.Barrier(2), []
    main = threading.main_thread().ident

    def job(number):
        if number in (0, 1):
            barrier.wait(timeout=30)
        if threading.get_ident() != main:
            signal.pthread_kill(main, signal.SIGINT)
        else:
            threading.Event().wait(30)  # until the signal comes
        ended.append(number)

    # Programs that a shell runs in the background are started with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            threads.run(job, [(number,) for number in range(10)], 2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(ended) < 10
    assert threads.run(pow, [(2, 2)] * 8) == [4] * 8


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to a thread here")
def test_a_second_ctrl_c_does_not_wait_for_what_began(monkeypatch):
    barrier, asked, free, begin = threading.Barrier(2), [], threading.Event(), threads._pool.start
    main = threading.main_thread().ident

    def noted(calls, helpers):
        asked.append(calls)
        begin(calls, helpers)

    def job(number):
        barrier.wait(timeout=30)
        if threading.get_ident() == main:
            threading.Event().wait(30)  # until the first signal comes
        signal.pthread_kill(main, signal.SIGINT)
        while asked[0]._tickets or asked[0]._waiting or not asked[0]._failures:
            free.wait(0.001)  # until the caller has recorded the first
        while len(asked[0]._returned) + 1 < asked[0].helpers:
            free.wait(0.001)
        signal.pthread_kill(main, signal.SIGINT)
        free.wait(30)

    monkeypatch.setattr(threads._pool, "start", noted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            threads.run(job, [(0,), (1,)], 2)
        assert asked[0].helping == 1
    finally:
        signal.signal(signal.SIGINT, before)
        free.set()


def test_nobody_goes_on_where_the_caller_was_interrupted(monkeypatch):
    asked, begin = [], threads._pool.start

    def interrupted(calls, helpers):
        begin(calls, helpers)
        asked.append(calls)
        raise KeyboardInterrupt

    monkeypatch.setattr(threads._pool, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        threads.run(pow, [(2, 2)] * 1000, 3)
    (calls,) = asked
    assert not calls._waiting and not calls.helping


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that signal here")
def test_thousands_of_ctrl_c_at_any_moment_hold_nobody_up(fresh_python):
    printed = fresh_python(
        """if True:
        import signal, threading, time
        from fuel.kernels import threads

        armed = [0]  # how many more signals are to be raised

        def handler(number, frame):
            if armed[0]:
                armed[0] -= 1
                raise KeyboardInterrupt

        def attempt():
            try:
                threads.run(time.sleep, [(0,)] * 12, 4)
            except KeyboardInterrupt:
                return 1
            return 0

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
        interrupted = twice = 0
        while interrupted < 3000:
            try:
                armed[0] = 2
                interrupted += attempt()
                armed[0] = 0
            except KeyboardInterrupt:
                armed[0] = 0
                twice += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert threads.run(pow, [(2, 2)] * 500, 4) == [4] * 500
        assert threads._local.busy is None or threads._local.busy.over
        print(threading.active_count() <= 12 and twice > 0)
        """,
        FUEL_NUM_THREADS="4",
    )
    assert printed.strip() == "True"


def test_a_program_with_the_pool_ends(fresh_python):
    printed = fresh_python(
        "from fuel.kernels import threads; print(threads.run(pow, [(2, 2)] * 8, 4))",
        FUEL_NUM_THREADS="4",
    )
    assert printed.strip() == str([4] * 8)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_pool_is_made_again_after_a_fork(fresh_python):
    printed = fresh_python(
        """if True:
        import os, threading, warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        from fuel.kernels import threads
        threads.run(pow, [(2, 2)] * 8)
        child = os.fork()
        if not child:
            barrier = threading.Barrier(3)
            try:
                threads.run(barrier.wait, [(30,)] * 3)
            except BaseException:
                os._exit(1)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        FUEL_NUM_THREADS="3",
    )
    assert printed.strip() == "0"


def test_the_limit_is_the_processors_of_this_process_or_the_setting(monkeypatch):
    monkeypatch.delenv("FUEL_NUM_THREADS", raising=False)
    threads.set_limit(None)
    assert 1 <= threads.limit() <= (os.cpu_count() or 1)
    monkeypatch.setenv("FUEL_NUM_THREADS", " 7 ")
    threads.set_limit(None)
    assert threads.limit() == 7
    threads.set_limit(2)
    assert threads.limit() == 2


@pytest.mark.parametrize("text", ["0", "-1", "2.5", "many", "9" * 30])
def test_a_setting_that_is_no_positive_integer_is_refused(monkeypatch, text):
    monkeypatch.setenv("FUEL_NUM_THREADS", text)
    threads.set_limit(None)
    with pytest.raises(ConfigurationError, match="must be a positive integer, got .*; use 1 for"):
        threads.limit()


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="must be a positive integer, got 0; use 1"):
        threads.set_limit(0)
    with pytest.raises(ValueError, match="must be a positive integer, got -1; use 1"):
        threads.run(pow, [(1, 1)], -1)
    with pytest.raises(TypeError):
        threads.set_limit("2")
