"""Chains of arithmetic, compiled. The door, `fuel.kernels.arithmetic`, describes and checks."""

cimport cython
cimport numpy as cnp
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

cnp.import_array()

cdef extern from "_arithmetic_core.h":
    int fuel_best_level()
    int fuel_set_step(
        fuel_step* step, int kind, int source, int to, const char* values, int64_t run,
        int64_t count, int level
    )
    int fuel_set_fused(fuel_program* program, int form, int source, int way, int level)
    int apply_chain "fuel_apply_chain"(
        const fuel_program* program, const char* source, char* out, int64_t start, int64_t count
    ) noexcept nogil

#: The sets of instructions there are, from 0, which every processor has, to this one.
BEST_LEVEL = fuel_best_level()

_FORMS = ("multiply_add", "add_multiply", "add_divide", "split", "table")


@cython.final
cdef class Program:
    """A chain, ready to run on the rows of a source.

    What it is made of comes checked: see `fuel.kernels._arithmetic_forms`.
    """

    def __cinit__(
        self, cnp.dtype source not None, cnp.dtype result not None, tuple shape not None,
        list steps not None, tuple form, int level
    ):
        cdef fuel_program* program = &self.program
        cdef Py_ssize_t length, number
        cdef int kind, from_, to, way = 0, code
        self.input, self.dtype, self.shape = source, result, shape
        self.kept = []
        program.size = 1
        for length in shape:
            program.size *= length
        program.source_size, program.result_size = source.itemsize, result.itemsize
        program.steps = len(steps)
        self.form = "copy" if not steps else "chain"
        if steps:
            program.apply = apply_chain
            program.step = <fuel_step*>calloc(len(steps), sizeof(fuel_step))
            if program.step == NULL:
                raise MemoryError("no memory for the operations of a chain")
        for number, (kind, from_, to, values, run, count) in enumerate(steps):
            if not fuel_set_step(
                program.step + number, kind, from_, to, self.keep(values), run, count, level
            ):
                raise ValueError(f"there is no loop for the operation {kind}, {from_}, {to}")
        if form is not None:
            name, from_, way, run, count, operands = form
            program.run, program.count = run, count
            for number in range(4):
                program.operand[number] = self.keep(
                    operands[number] if number < len(operands) else operands[0]
                )
            program.operand_size = operands[0].itemsize
            code = _FORMS.index(name)
            if code == 4:
                program.operand_size *= 256
            if not fuel_set_fused(program, code, from_, way, level):
                raise ValueError(f"there is no loop for the form {name}, {from_}, {way}")
            self.form = name

    def __dealloc__(self):
        free(self.program.step)

    cdef const char* keep(self, cnp.ndarray values) noexcept:
        """Hold on to an array, and return where its first element is."""
        if values is None:
            return NULL
        self.kept.append(values)
        return cnp.PyArray_BYTES(values)
