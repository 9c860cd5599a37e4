"""The quick ways of stacking give what NumPy's own conversion of a list gives."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fuel.transformers._stacking import object_array, stack


def objects_one_by_one(items: Any) -> Any:
    array = numpy.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        array[index] = item
    return array


def stack_slowly(items: Any) -> Any:
    """Stack without any knowledge of the items."""
    try:
        array = numpy.asarray(items)
    except ValueError:
        return objects_one_by_one(items)
    if array.dtype.kind == "V" or not array.dtype.isnative:
        array = array.astype(numpy.promote_types(array.dtype, array.dtype), copy=False)
    if array.dtype.kind in "SU" and array.ndim == 1:
        zero: Any = b"\0" if array.dtype.kind == "S" else "\0"
        if any(isinstance(item, type(zero)) and item.endswith(zero) for item in items):
            return objects_one_by_one(items)
    return array


def outcome(function: Any, items: Any) -> Any:
    try:
        array = function(items)
    except Exception as error:
        return type(error)
    if array.dtype == object and array.ndim == 1:
        return ("objects", [id(item) if type(item) is not int else item for item in array])
    content = array.tolist() if array.dtype.hasobject else array.tobytes()
    return (array.dtype, array.shape, array.flags.c_contiguous, array.flags.writeable, content)


dtypes = st.one_of(hnp.scalar_dtypes(), st.just(numpy.dtype(object)), st.just(numpy.dtype("i4,f8")))
layouts = st.sampled_from(["as is", "fortran", "strided", "memmap", "read only"])


def laid(array: Any, layout: str) -> Any:
    if layout == "fortran":
        return numpy.asfortranarray(array)
    if layout == "strided" and array.ndim:
        return numpy.repeat(array, 2, axis=0)[::2]
    if layout == "memmap" and array.ndim:
        return array.view(numpy.memmap)
    if layout == "read only":
        array.flags.writeable = False
    return array


@st.composite
def batches(draw: Any) -> Any:
    """Return a list of arrays that may agree in type and shape."""
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
    one_dtype, one_shape = draw(dtypes), draw(shapes)
    alike = draw(st.sampled_from(["all", "type", "shape", "none"]))
    items: list[Any] = []
    for number in range(draw(st.integers(1, 5))):
        dtype = one_dtype if alike in ("all", "type") else draw(dtypes)
        shape = one_shape if alike in ("all", "shape") else draw(shapes)
        array = numpy.zeros(shape, dtype)
        if dtype.kind in "biufc" and array.size:
            array[...] = (numpy.arange(array.size).reshape(shape) + number) % 2
        items.append(laid(array, draw(layouts)))
    extra = draw(st.sampled_from([None, None, None, [1], 2, "text", None]))
    if extra is not None:
        items.insert(draw(st.integers(0, len(items))), extra)
    return items


@settings(max_examples=300)
@given(batches(), st.sampled_from([list, tuple]))
def test_stacking_is_numpys(items: Any, form: Any) -> None:
    items = form(items)
    assert outcome(stack, items) == outcome(stack_slowly, items)


@pytest.mark.parametrize("dtype", ["u1", "f4", "c16", "S3", "M8[D]", ">i4", "O"])
def test_large_examples_are_copied(dtype: str) -> None:
    items = [numpy.zeros((50, 60), dtype) for _ in range(40)]
    batch = stack(items)
    assert (batch.shape, batch.dtype) == ((40, 50, 60), numpy.dtype(dtype).newbyteorder("="))
    assert not any(numpy.shares_memory(batch, item) for item in items)


def test_objects_are_kept_as_they_are() -> None:
    class Odd(list[int]):
        pass

    items = [numpy.array(5), numpy.float32(3), [1], (2, 3), Odd([1]), numpy.arange(2), None, "a"]
    items += [numpy.zeros(2), numpy.zeros((), [("a", "i4")]), {"a": 1}, range(3)]
    for given_items in (items, tuple(items), items[::-1]):
        for quick, slow in zip(
            object_array(given_items), objects_one_by_one(given_items), strict=True
        ):
            assert type(quick) is type(slow)
            assert quick is slow or numpy.array_equal(quick, slow)
    assert object_array([]).shape == (0,)
