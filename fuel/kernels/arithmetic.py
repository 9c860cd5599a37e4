"""Chains of arithmetic on the elements of a row: what they are, and in NumPy what they mean.

In this module: `Arithmetic`, a chain of products, sums, quotients and casts that `gather` and
`crop` do while they move the elements. Not here: the moving (`fuel.kernels.gather`,
`fuel.kernels.crop`), and which steps of a stream make up a chain (`fuel.plan`).

The result is that of NumPy, step by step, bit for bit: the same types on the way, the same
roundings, the same warnings. Where NumPy would warn about a batch, and where C does not say what
comes out (a NaN that becomes an integer), NumPy does that batch itself.

The environment variable ``FUEL_KERNELS_SIMD``, read when this module is imported, is for tests and
for the hunt after errors: with ``baseline`` only instructions are used that every processor of the
architecture has. Results are the same either way.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import DTypeLike, NDArray

from fuel.exceptions import ConfigurationError
from fuel.kernels._arithmetic_forms import program_of
from fuel.kernels._arithmetic_steps import apply, code_of, kept, learn
from fuel.kernels._select import select

__all__ = ["Arithmetic"]

_SETTING = "FUEL_KERNELS_SIMD"

_kernel = select("arithmetic")


def _configured() -> int:
    """Read the setting: the set of instructions that chains are compiled for."""
    wanted = os.environ.get(_SETTING, "").strip().lower()
    if wanted not in ("", "baseline"):
        raise ConfigurationError(
            f"{_SETTING} must be 'baseline', got {wanted!r}; unset it to use what this processor "
            "can do"
        )
    return 0 if wanted else int(_kernel.BEST_LEVEL)


_level = _configured()


class Arithmetic:
    """A chain of arithmetic, made by `Arithmetic.of`.

    Attributes
    ----------
    input : numpy.dtype
        Type of the elements that it takes.
    dtype : numpy.dtype
        Type of the elements that it gives.
    shape : tuple of int
        Shape of one row, before and after.
    steps : tuple of (str, operand)
        As given; arrays are copies.

    Notes
    -----
    Never changes, so that threads may share it. It pickles as what it was made of.

    Examples
    --------
    >>> import numpy
    >>> from fuel.kernels.arithmetic import Arithmetic
    >>> steps = [("multiply", 1 / 255), ("cast", "float32")]
    >>> chain = Arithmetic.of(numpy.uint8, (28, 28), steps)
    >>> chain.input, chain.dtype, chain.shape
    (dtype('uint8'), dtype('float32'), (28, 28))
    >>> chain.reference(numpy.full((1, 28, 28), 255, numpy.uint8)).max()
    np.float32(1.0)

    """

    __slots__ = ("_program", "dtype", "input", "shape", "steps")

    input: numpy.dtype[Any]
    dtype: numpy.dtype[Any]
    shape: tuple[int, ...]
    steps: tuple[tuple[str, Any], ...]
    _program: Any

    @classmethod
    def of(
        cls, dtype: DTypeLike, shape: Sequence[int], steps: Sequence[tuple[str, Any]]
    ) -> Arithmetic | None:
        """Make a chain of steps, where that is possible.

        Parameters
        ----------
        dtype : data-type
            Type of the elements of a source.
        shape : sequence of int
            Shape of one row of it, as the chain sees it.
        steps : sequence of (str, operand)
            ``("multiply", operand)``, ``("add", operand)``, ``("divide", operand)`` or ``("cast",
            dtype)``, in this order. An operand is what stands beside a batch of rows in ``batch *
            operand``: a number of Python or of NumPy, an array, or a list. It is read now.

        Returns
        -------
        Arithmetic or None
            None where the steps are to be done one by one in NumPy: where one changes the shape of
            a row or differs from row to row, where NumPy would refuse it, and for types other than
            truth values, integers and floats of 16 to 64 bits. Without steps there is a chain
            for every type but those that hold Python objects.

        Raises
        ------
        TypeError
            If `dtype` is no type.
        ValueError
            If there is no such step.

        """
        given = numpy.dtype(dtype)
        extents = tuple(int(length) for length in shape)
        if given.hasobject or not given.itemsize:
            return None
        checked = []
        for kind, operand in steps:
            if kind == "cast":
                operand = numpy.dtype(operand)
            elif kind in ("multiply", "add", "divide"):
                operand = kept(operand)
            else:
                raise ValueError(
                    "the steps of a chain are 'multiply', 'add', 'divide' and 'cast', got "
                    f"{kind!r}; do other steps in NumPy"
                )
            if operand is None:
                return None
            checked.append((kind, operand))
        native = given if not checked else given.newbyteorder("=")
        operations = learn(native, extents, checked) if checked else []
        if operations is None:
            return None
        chain = cls.__new__(cls)
        chain.input, chain.shape, chain.steps = given, extents, tuple(checked)
        chain.dtype = operations[-1].after if operations else native
        chain._program = None
        if _kernel.Program is not None and (not checked or code_of(given) is not None):
            chain._program = program_of(_kernel, given, chain.dtype, extents, operations, _level)
        return chain

    def reference(self, batch: NDArray[Any]) -> NDArray[Any]:
        """Do the steps one by one in NumPy.

        Parameters
        ----------
        batch : numpy.ndarray, shape (n, ...)
            Rows, of the type that the chain takes.

        Returns
        -------
        numpy.ndarray, shape (n, ...)
            Of the type that the chain gives; `batch` itself where nothing is to be done.

        """
        value = batch
        for kind, operand in self.steps:
            value = apply(value, kind, operand)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return Arithmetic.of, (self.input, self.shape, self.steps)

    def __repr__(self) -> str:
        names = ", ".join(kind for kind, _ in self.steps) or "copy"
        return f"<Arithmetic of {self.shape} {self.input} to {self.dtype}: {names}>"
