"""Laws of attributes that are loaded again instead of pickled."""

from __future__ import annotations

import copy
import pickle

import numpy
import pytest

from fuel.utils import do_not_pickle_attributes, lazy_property_factory


@do_not_pickle_attributes("bulky_attr", "non_pickable")
class Lazy:
    def __init__(self):
        self.calls = 0
        self.small = 7

    def load(self):
        self.calls += 1
        self.bulky_attr = numpy.zeros(10**6)
        self.non_pickable = lambda x: x


@do_not_pickle_attributes("extra")
class LazyChild(Lazy):
    def load(self):
        super().load()
        self.extra = list(range(10**5))


@do_not_pickle_attributes("bulky")
class OwnState:
    def load(self):
        self.bulky = 1

    def __getstate__(self):
        return {"kept": "own"}


@do_not_pickle_attributes("bulky")
class InheritsState(OwnState):
    pass


@do_not_pickle_attributes("handle")
class HasGetattr:
    """Looks unknown names up in another attribute, as data sets do with their sources."""

    def __init__(self):
        self.table = {"x": 1}

    def load(self):
        self.handle = "loaded"

    def __getattr__(self, name):
        if name == "table":
            raise AttributeError(name)
        try:
            return self.table[name]
        except KeyError:
            raise AttributeError(name) from None


class Slotted:
    __slots__ = ("__dict__", "_lazy", "fixed")


@do_not_pickle_attributes("lazy")
class SlottedLazy(Slotted):
    def load(self):
        self.lazy = numpy.zeros(10**5)


def test_values_are_loaded_at_the_first_read_and_only_then():
    lazy = Lazy()
    assert lazy.calls == 0
    assert lazy.bulky_attr.shape == (10**6,) and lazy.non_pickable(3) == 3
    assert lazy.calls == 1
    lazy.bulky_attr = "assigned"
    assert lazy.bulky_attr == "assigned" == lazy._bulky_attr


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_hold_nothing_that_can_be_loaded(protocol):
    lazy = Lazy()
    lazy.load()
    dumped = pickle.dumps(lazy, protocol)
    assert len(dumped) < 1000
    back = pickle.loads(dumped)
    assert back.small == 7 and back.calls == 1
    assert back.bulky_attr.shape == (10**6,) and back.calls == 2


def test_pickling_changes_nothing_and_loads_nothing():
    lazy = Lazy()
    pickle.dumps(lazy)
    assert lazy.calls == 0
    lazy.load()
    loaded = lazy.bulky_attr
    pickle.dumps(lazy)
    assert lazy._bulky_attr is loaded


def test_copies_load_again():
    lazy = Lazy()
    lazy.load()
    for made in (copy.copy(lazy), copy.deepcopy(lazy)):
        assert "_bulky_attr" not in made.__dict__
        assert made.bulky_attr is not lazy.bulky_attr


def test_a_decorated_subclass_leaves_out_the_attributes_of_both():
    child = LazyChild()
    child.load()
    dumped = pickle.dumps(child)
    assert len(dumped) < 1000
    assert len(pickle.loads(dumped).extra) == 10**5


@pytest.mark.parametrize("cls", [OwnState, InheritsState])
def test_a_getstate_of_the_class_is_kept(cls):
    assert cls().__getstate__() == {"kept": "own"}


def test_a_class_without_load_is_refused():
    with pytest.raises(ValueError, match="must have a method `load`"):

        @do_not_pickle_attributes("x")
        class NoLoad:
            pass


def test_a_load_that_does_not_assign_is_named():
    @do_not_pickle_attributes("bulky")
    class Forgetful:
        def load(self):
            pass

    with pytest.raises(ValueError, match=r"bulky wasn't loaded: Forgetful\.load\(\)"):
        Forgetful().bulky


def test_an_iterator_cannot_be_left_out():
    lazy = Lazy()
    lazy.load()
    lazy.bulky_attr = iter([1, 2])
    with pytest.raises(ValueError, match=r"Lazy\.bulky_attr"):
        pickle.dumps(lazy)


def test_a_class_that_looks_names_up_elsewhere_is_unpickled():
    has = HasGetattr()
    assert has.handle == "loaded" and has.x == 1
    back = pickle.loads(pickle.dumps(has))
    assert "_handle" not in back.__dict__
    assert back.x == 1 and back.handle == "loaded"


@pytest.mark.skipif(
    not hasattr(object, "__getstate__"), reason="slots are pickled by default from Python 3.11 on"
)
def test_slots_are_kept_except_lazy_ones():
    slotted = SlottedLazy()
    slotted.fixed, slotted.plain = 1, 2
    slotted.load()
    dumped = pickle.dumps(slotted)
    assert len(dumped) < 1000
    back = pickle.loads(dumped)
    assert (back.fixed, back.plain, len(back.lazy)) == (1, 2, 10**5)


def test_the_two_functions_of_a_property():
    getter, setter = lazy_property_factory("value")

    class Bare:
        def load(self):
            setter(self, 5)

    bare = Bare()
    assert getter(bare) == 5
    setter(bare, 6)
    assert getter(bare) == 6 == bare._value
