"""Every place where a user's object may remember something is looked into, or refused by name."""

from __future__ import annotations

import collections
import functools
import json
import random
import types

import numpy
import pytest

from fuel.exceptions import StateError, StateMismatchError
from fuel.state.hidden import Memory

COUNT = 0
WORDS: list[str] = []
RNG = numpy.random.RandomState(1)


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Slotted:
    __slots__ = ("__hidden", "n", "unset")

    def __init__(self):
        self.n = self.__hidden = 0

    def step(self):
        self.n += 1
        self.__hidden += 10
        return self.n, self.__hidden


class OnTheClass:
    rng = numpy.random.RandomState(4)
    number = 0
    words: list[int] = []

    def step(self):
        OnTheClass.number += 1
        self.words.append(OnTheClass.number)
        return self.rng.randint(1000)

    @classmethod
    def of_class(cls):
        return cls.rng.randint(1000)

    @staticmethod
    def of_none():
        return OnTheClass.rng.randint(1000)


class DefaultOfMethod:
    def step(self, seen=[]):  # noqa: B006
        seen.append(1)
        return len(seen), helper()


def helper():
    return int(RNG.randint(1000))


def assigns_global():
    global COUNT
    COUNT += 1
    WORDS.append("x")
    return helper()


def keeps_attribute():
    keeps_attribute.n = getattr(keeps_attribute, "n", 0) + 1
    return keeps_attribute.n


def keyword_default(*, rng=numpy.random.RandomState(3)):  # noqa: B008
    return rng.randint(1000)


def global_numpy():
    return [numpy.random.rand() for _ in range(2)], random.random()


def nested():
    thing = Thing(one=[Thing(n=0)], two={"a": Slotted()})
    deep = Thing(a=Thing(b=Thing(c=Thing(d=Thing(n=0)))))

    def step():
        thing.one[0].n += 1
        deep.a.b.c.d.n += 1
        return thing.one[0].n, thing.two["a"].step(), deep.a.b.c.d.n

    return step


def aliases():
    box, array = [], numpy.zeros(3)
    thing = Thing(box=box, push=box.append, again=box, array=array, view=array[:2])

    def step():
        thing.push(len(thing.box))
        thing.array += 1
        return list(thing.again), thing.view.tolist()

    return step


def odd_values():
    thing = Thing(
        bounded=collections.deque(maxlen=2),
        counts=collections.defaultdict(int),
        raw=b"",
        bytes=bytearray(),
        complex=1j,
        spectrum=numpy.zeros(2, complex),
        big=numpy.zeros(2, ">i4"),
        flag=True,
    )

    def step():
        thing.bounded.append(len(thing.raw))
        thing.counts["n"] += 1
        thing.raw += b"\xff"
        thing.bytes.append(1)
        thing.complex *= 2
        thing.spectrum += 1j
        thing.big += 1
        thing.flag = 1 if thing.flag is True else True
        return repr(thing.__dict__)

    return step


def drawing(make):
    rng = make()
    held = types.SimpleNamespace(draw=rng.random, items=[rng])
    partial = functools.partial(lambda one, two: one.random() + two.random(), rng, two=make())
    return lambda: (held.draw(), held.items[0].random(), partial())


MAKERS = {
    "slots": lambda: Slotted().step,
    "class attributes": lambda: OnTheClass().step,
    "class method": lambda: OnTheClass.of_class,
    "static method": lambda: OnTheClass.of_none,
    "defaults of methods": lambda: DefaultOfMethod().step,
    "globals": lambda: assigns_global,
    "attributes of functions": lambda: keeps_attribute,
    "keyword defaults": lambda: keyword_default,
    "global generators": lambda: global_numpy,
    "objects in containers": nested,
    "aliases": aliases,
    "odd values": odd_values,
    "RandomState": lambda: drawing(lambda: numpy.random.RandomState(3)),
    "Generator": lambda: drawing(lambda: numpy.random.default_rng(3)),
    "Random": lambda: drawing(lambda: random.Random(3)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_remembered_in_any_place_comes_back(name):
    step = MAKERS[name]()
    memory = Memory(step)
    for _ in range(3):
        step()
    saved = json.loads(json.dumps(memory.changes(step)))
    expected = [step() for _ in range(3)]
    memory.apply(step, saved)
    assert [step() for _ in range(3)] == expected
    memory.apply(step, saved)
    memory.apply(step, saved)
    assert [step() for _ in range(3)] == expected


@pytest.mark.parametrize("make", [lambda: OnTheClass().step, lambda: assigns_global])
def test_what_others_share_is_left_alone_but_for_generators(make):
    step = make()
    memory = Memory(step)
    step()
    saved = memory.changes(step)
    before = (COUNT, list(WORDS), OnTheClass.number, list(OnTheClass.words))
    memory.apply(step, saved)
    assert (COUNT, WORDS, OnTheClass.number, OnTheClass.words) == before
    assert all("rng" in path or "RNG" in path for path in saved)


class MyList(list):
    pass


@pytest.mark.parametrize(
    ("value", "change"),
    [
        (MyList(), lambda thing: thing.it.append(1)),
        (numpy.ma.zeros(3), lambda thing: thing.it.__setitem__(0, 4)),
        (numpy.array([None, 0]), lambda thing: thing.it.__setitem__(0, 4)),
        (numpy.zeros(2, numpy.longdouble), lambda thing: thing.it.__setitem__(0, 4)),
        (numpy.zeros(2, [("f", "i4")]), lambda thing: thing.it["f"].__setitem__(0, 4)),
        (numpy.random.PCG64(1), lambda thing: thing.it.random_raw()),
        ([Thing(n=0)], lambda thing: thing.it.append(Thing(n=1))),
        ({"a": [MyList()]}, lambda thing: thing.it["a"][0].append(1)),
    ],
)
def test_what_cannot_be_written_is_noticed_and_cannot_be_gone_back_from(value, change):
    thing = Thing(it=value)
    memory = Memory(thing)
    before = memory.changes(thing)
    change(thing)
    with pytest.raises(StateError, match=r"Thing keeps 'it.*state_dict"):
        memory.changes(thing)
    with pytest.raises(StateMismatchError, match="pipeline built anew"):
        memory.apply(thing, before)


def test_an_iterated_text_file_is_refused_by_name(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a\nb\n")
    with open(path) as lines:
        thing = Thing(lines=lines)
        memory = Memory(thing)
        next(lines)
        with pytest.raises(StateError, match="'lines'"):
            memory.changes(thing)


def test_one_list_inside_two_containers_is_refused_by_name():
    inner = [0]
    thing = Thing(one=inner, two={"k": inner})
    memory = Memory(thing)
    inner.append(1)
    with pytest.raises(StateError, match="in both"):
        memory.changes(thing)


def test_what_was_replaced_is_replaced_and_not_written_over():
    mine = [1, 2]
    thing, other = Thing(last=None), Thing(last=mine)
    memory = Memory(thing)
    thing.last = [3, 4]
    Memory(other).apply(other, memory.changes(thing))
    assert (other.last, mine) == ([3, 4], [1, 2])


def test_a_generator_made_without_a_seed_is_described_before_it_draws():
    thing = Thing(rng=numpy.random.default_rng())
    changes = Memory(thing).changes(thing, generators=True)
    other = Thing(rng=numpy.random.default_rng())
    Memory(other).apply(other, changes)
    assert other.rng.random() == thing.rng.random()
