"""What is in the tables by which native code knows a program's calls: the words of each row, and what the numbers mean.

===========  =========================================================================================================
a table      its words
===========  =========================================================================================================
`FORM`       of an array: its type, its dtype, which flags to look at, what they are, its axes; then the extent and the
             stride of each
`ARGUMENT`   what kind of thing it is; its type, the thing, its `FORM` or its place; the value, or by how many bytes its
             memory begins before the data; the place of another of that memory
`GUARD`      how it is read; of what; by which name; what it was; its `FORM` if it is an array, and where its data was
`APART`      two pointers whose memories may not overlap, and their bytes
`MADE`       of a result's memory: its dtype (0: it is scratch), its axes, the addresses of extents and strides
`VIEW`       of an array: the same, then by how many bytes it begins after the memory, its flags, and of what it is a
             view: whether that is made or an argument, and its place. Of one with a length: the same up to the strides,
             which pointer has the length, and the bytes of each step along the first axis
`CODED`      of a number: its dtype, which pointer has its code, and what is called with it and the code
`CHOICE`     the two rows
`CELL`       which pointer it has, or its own address where that is none of this call's
`COPIED`     which pointer's memory is which argument's at first, so that it may be written, and how many bytes
`GATHERED`   an argument that isn't as the program needs it, and which of what is made has its elements
`WRITTEN`    which pointer's memory becomes which argument's, and how many bytes
`BACK`       an argument with gaps, which pointer's memory its elements become, and where they are there, like `VIEW`
`LEAF`       of what the function returned: what kind of thing, of which pointer, and what it is
`CASE`       the rows of each kind, and the program: see there
===========  =========================================================================================================
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from lamina.compilers.native import ir
from lamina.compilers.native.types import BYTE, INDEX, POINTER, STATUS

SCRATCH = 16  # bytes of a number, and of a result that is a scalar


class Field(IntEnum):
    """Where the fields of objects are."""

    TYPE = 8
    DATA = 16  # of an array, this and those that follow
    AXES = 24
    EXTENTS = 32
    STRIDES = 40
    DTYPE = 56
    FLAGS = 64


class Kind(IntEnum):
    """What an argument has to be."""

    ARRAY = 0
    FLOAT = 1
    INT = 2
    BOOL = 3
    SCALAR = 4  # NumPy's
    THING = 5  # this very object
    THIS_FLOAT = 6
    THIS_INT = 7
    SAME = 8  # as an earlier argument
    BESIDE = 9  # an array in the memory of an earlier one


class Read(IntEnum):
    """How something from outside is read."""

    ITEM = 0  # of a dict
    CELL = 1
    DEFAULTS = 2
    KEYWORD_DEFAULTS = 3
    CALL = 4  # it is asked for True


class Row(IntEnum):
    """What something that is returned is."""

    ARRAY = 0
    SCALAR = 1  # NumPy's
    FLOAT = 2
    INT = 3
    BOOL = 4
    COMPLEX = 5
    ARGUMENT = 6
    THING = 7  # this very object
    SAME = 8  # as an earlier leaf
    VIEW = 9
    CUT = 10  # to a length that the run tells
    CODED = 11  # the number that a code says
    CHOICE = 12  # one of two, as a bool says


class Case(IntEnum):
    """The words of a case. Rows are two words: how many, and where."""

    ARGUMENTS = 0
    GUARDS = 2
    APART = 4
    MADE = 6
    CELLS = 8
    WRITTEN = 10
    LEAVES = 12
    FUNCTION = 14
    ARENA_BYTES = 15
    ARENA = 16
    IS_TAKEN = 17
    THREADS = 18
    IS_LONG = 19  # whether others may run meanwhile
    COPIED = 20
    BACK = 22
    GATHERED = 24
    BUILD = 26  # 0: the one leaf; 1: a tuple of them; else what is called with them


WIDTH = {
    Case.ARGUMENTS: 4,
    Case.GUARDS: 6,
    Case.APART: 4,
    Case.MADE: 4,
    Case.CELLS: 2,
    Case.COPIED: 3,
    Case.GATHERED: 2,
    Case.WRITTEN: 3,
    Case.BACK: 3,
    Case.LEAVES: 3,
}

_DOUBLE = ir.DoubleType()
# What Python and NumPy are asked for: what each gives, and what it takes.
API: dict[str, tuple[Any, Sequence[Any]]] = {
    "PyBool_FromLong": (POINTER, [INDEX]),
    "PyCell_Get": (POINTER, [POINTER]),
    "PyComplex_FromDoubles": (POINTER, [_DOUBLE, _DOUBLE]),
    "PyDict_GetItemWithError": (POINTER, [POINTER, POINTER]),
    "PyErr_Clear": (ir.VoidType(), []),
    "PyErr_NoMemory": (POINTER, []),
    "PyEval_RestoreThread": (ir.VoidType(), [POINTER]),
    "PyEval_SaveThread": (POINTER, []),
    "PyFloat_AsDouble": (_DOUBLE, [POINTER]),
    "PyFloat_FromDouble": (POINTER, [_DOUBLE]),
    "PyFunction_GetDefaults": (POINTER, [POINTER]),
    "PyFunction_GetKwDefaults": (POINTER, [POINTER]),
    "PyLong_AsLongLongAndOverflow": (INDEX, [POINTER, POINTER]),
    "PyLong_FromLongLong": (POINTER, [INDEX]),
    "PyMem_RawFree": (ir.VoidType(), [POINTER]),
    "PyMem_RawMalloc": (POINTER, [INDEX]),
    "PyObject_CallObject": (POINTER, [POINTER, POINTER]),
    "PyTuple_GetItem": (POINTER, [POINTER, INDEX]),
    "PyTuple_New": (POINTER, [INDEX]),
    "PyTuple_SetItem": (STATUS, [POINTER, INDEX, POINTER]),
    "Py_DecRef": (ir.VoidType(), [POINTER]),
    "Py_IncRef": (ir.VoidType(), [POINTER]),
}
# NumPy's have no names but places in a table.
NUMPY_API: dict[str, tuple[Any, Sequence[Any], int]] = {
    "PyArray_EquivTypes": (BYTE, [POINTER, POINTER], 182),
    "PyArray_NewFromDescr": (POINTER, [POINTER, POINTER, STATUS, POINTER, POINTER, POINTER, STATUS, POINTER], 94),
    "PyArray_Scalar": (POINTER, [POINTER, POINTER, POINTER], 60),
    "PyArray_ScalarAsCtype": (ir.VoidType(), [POINTER, POINTER], 62),
    "PyArray_CopyInto": (STATUS, [POINTER, POINTER], 50),
    "PyArray_SetBaseObject": (STATUS, [POINTER, POINTER], 282),
}
