"""A builtin function that is called with a program's arguments: tables for the native function of `entry_code`.

Arrays and other objects are known there by their addresses and the fields of their memory. The form of objects is
probed here; where it is another than expected, there is no such function.
"""

import ctypes
import functools
import math
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from lamina.compilers.direct import MISS, Choice, Form, Given, Leaf, Made, Part, Taken, Thing, View, leaves_in
from lamina.compilers.native import jit
from lamina.compilers.native.entry_code import NAME, text
from lamina.compilers.native.entry_format import API, NUMPY_API, SCRATCH, Case, Field, Kind, Read, Row
from lamina.compilers.native.fingerprint import Unforeseen, sources
from lamina.layout.limits import has_64_bits
from lamina.program.record import Block, Copy, Kernel, instructions_of
from lamina.roots import ALIGNED, WRITABLE
from lamina.threads import address_of_num_threads
from lamina.trace import value
from lamina.trace.guards import Guard
from lamina.trace.mixed import decoded

_LONG = 1 << 16  # additions, for which it is worth it to let other threads run meanwhile


class Native(NamedTuple):
    """What is known of a program that is one native function: its address, and which memories it is on."""

    function: int
    arena_bytes: int
    external: Sequence[int]  # the memories whose cells it takes
    params: Sequence[int]
    tensors: dict[int, np.ndarray]  # captured arrays, by memory
    outputs: Sequence[int]
    shapes: Sequence[tuple[int, ...]]  # of the outputs
    dtypes: Sequence[np.dtype]
    is_long: bool
    owner: object  # lives as long as the function


class Tables:
    """Tables of words for the calls of one form, and what has to live as long as they."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.case = 0

    def table(self, words: Sequence[int]) -> int:
        """The address of a new table."""
        array = np.array(words, np.int64)
        self.kept.append(array)
        return int(array.ctypes.data)

    def rows(self, rows: Sequence[Sequence[int]]) -> tuple[int, int]:
        """How many rows a new table has, and its address."""
        return len(rows), self.table([word for row in rows for word in row])

    def thing(self, thing: Any) -> int:
        """The address of an object, which is kept."""
        self.kept.append(thing)
        return id(thing)


class _Unforeseen(Exception):
    """What the tables have no words for."""


def case_of(form: Form, native: Native) -> Tables | None:
    """The tables for the calls of a form; `None` where these take more than tables can say, or there can be none."""
    if not _is_known():
        return None
    tables = Tables()
    try:
        _fill(tables, form, native)
    except _Unforeseen:
        return None
    return tables


def entry(cases: Sequence[Tables]) -> Callable[..., Any]:
    """A builtin function that tries the cases in order, and gives `MISS` where the arguments are of none."""
    words = np.array([len(cases), id(np.ndarray), id(MISS), *(case.case for case in cases)], np.int64)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(_method()), (words, *cases), None)  # type: ignore[no-any-return]


def may_be_long(block: Block) -> bool:
    """Whether a program may take so long that others should run meanwhile."""
    work = 0
    for each in instructions_of(block):
        if isinstance(each, Kernel):
            work += math.prod(each.space) * len(each.terms)
        elif not isinstance(each, Copy):  # which is of what a kernel fills
            return True
    return work >= _LONG


# The function


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )
    code: jit.Code


_FASTCALL = 0x0080


@functools.cache
def _method() -> _Method:
    """What Python knows of the native function, which lives as long as the process."""
    for name in API:
        llvm.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    for name, (_, _, place) in NUMPY_API.items():
        llvm.add_symbol(name, _numpy_api()[place])
    try:
        key = f"entry\n{sources()}"  # the text depends on nothing else
    except Unforeseen:
        key = text()
    code = jit.compiled(key, text, jit.THOROUGH)
    address = ctypes.cast(code.function(NAME), ctypes.c_void_p).value
    method = _Method(b"lamina_entry", address, _FASTCALL, None)
    method.code = code
    return method


def _numpy_api() -> Any:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    return ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))


@functools.cache
def _is_known() -> bool:
    """Whether objects and NumPy's functions are where they are looked for."""
    if sys.implementation.name != "cpython" or _numpy_api()[_ARRAY_TYPE] != id(np.ndarray):
        return False
    if not all(hasattr(ctypes.pythonapi, name) for name in API):
        return False
    if not all(_numpy_api()[place] for _, _, place in NUMPY_API.values()):
        return False
    probe = np.zeros((3, 5), ">i4", order="F")[1:, ::-2]
    probe.flags.writeable = False

    def at(place: int, kind: Any) -> Any:
        return kind.from_address(place).value

    def words(field: Field) -> tuple[int, ...]:
        where = at(id(probe) + field, ctypes.c_void_p)
        return tuple(at(where + 8 * axis, ctypes.c_int64) for axis in range(probe.ndim))

    return (
        all(at(id(each) + Field.TYPE, ctypes.c_void_p) == id(type(each)) for each in (probe, 1, 1.5))
        and at(id(probe) + Field.DATA, ctypes.c_void_p) == probe.__array_interface__["data"][0]
        and at(id(probe) + Field.AXES, ctypes.c_int) == probe.ndim
        and at(id(probe) + Field.DTYPE, ctypes.c_void_p) == id(probe.dtype)
        and at(id(probe) + Field.FLAGS, ctypes.c_int) == probe.flags.num
        and words(Field.EXTENTS) == probe.shape
        and words(Field.STRIDES) == probe.strides
    )


_ARRAY_TYPE = 2  # its place in NumPy's table


# Tables


def _fill(tables: Tables, form: Form, native: Native) -> None:
    places = {native.params[each.param]: place for place, each in enumerate(form.arguments) if each.param is not None}
    made = _made_rows(tables, form, native)
    pointers = places | {memory: len(form.arguments) + k for k, memory in enumerate(made)}
    rows = _written_rows(tables, form, native, places, made)
    rows[Case.GATHERED] = _gathered_rows(tables, form, native, made)
    held = pointers | {memory: len(form.arguments) + k for k, memory in enumerate(made)}
    cells: list[tuple[int, ...]] = [
        (0, tables.thing(native.tensors[memory]) + Field.DATA) if memory in native.tensors else (held[memory], 0)
        for memory in native.external
    ]
    arena = np.empty(native.arena_bytes, np.uint8)
    words = [0] * (Case.BUILD + 1)
    rows |= {
        Case.ARGUMENTS: [_argument_row(tables, taken) for taken in form.arguments],
        Case.GUARDS: [_guard_row(tables, guard) for guard in form.guards],
        Case.APART: _apart_rows(form),
        Case.MADE: list(made.values()),
        Case.CELLS: cells,
        Case.LEAVES: _leaf_rows(tables, form, native, pointers),
    }
    for kind, content in rows.items():
        words[kind : kind + 2] = tables.rows(content)
    words[Case.FUNCTION] = native.function
    words[Case.ARENA_BYTES] = native.arena_bytes
    words[Case.ARENA] = tables.thing(arena) and arena.ctypes.data
    words[Case.THREADS] = address_of_num_threads()
    words[Case.IS_LONG] = native.is_long
    words[Case.BUILD] = tables.thing(form.build) if form.build not in _BUILDS else _BUILDS.index(form.build)
    tables.kept.append(native.owner)
    tables.case = tables.table(words)


_BUILDS = (None, tuple)


def _written_rows(
    tables: Tables, form: Form, native: Native, places: dict[int, int], made: dict[int, tuple[int, ...]]
) -> dict[Case, list[tuple[int, ...]]]:
    """What is copied before and after, for arguments that are written.

    The program may write an argument's memory itself where all of that is the argument's. What lies in the gaps of
    another may be somebody else's, so there it is given a copy, which is `made` too, and only the elements go back.
    """
    rows: dict[Case, list[tuple[int, ...]]] = {Case.COPIED: [], Case.WRITTEN: [], Case.BACK: []}
    for param, output, seen in form.written:
        target, origin = native.params[param], native.outputs[output]
        place, nbytes = places[target], form.arguments[places[target]].nbytes
        if origin in places and origin != target:
            raise _Unforeseen  # what another argument is becoming
        is_all = nbytes == form.arguments[place].like.nbytes
        if origin == target and not is_all:
            made[target] = _array_row(tables, np.dtype(np.uint8), (nbytes,), (1,))
            rows[Case.COPIED].append((len(form.arguments) + len(made) - 1, place, nbytes))
        if origin != target and is_all:
            rows[Case.WRITTEN].append((place, len(form.arguments) + list(made).index(origin), nbytes))
        if not is_all:
            slot = len(form.arguments) + list(made).index(origin)
            dtype = native.dtypes[output]
            rows[Case.BACK] += [(other, slot, _view(tables, dtype, view, 1, 0)) for other, view in seen]
    return rows


def _gathered_rows(
    tables: Tables, form: Form, native: Native, made: dict[int, tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """The arguments of which the program has copies, which are `made` too."""
    rows: list[tuple[int, ...]] = []
    for place, taken in enumerate(form.arguments):
        if taken.is_copied and taken.param is not None:
            copy = np.empty(taken.like.shape, taken.like.dtype.newbyteorder("="))
            rows.append((place, len(made)))
            made[native.params[taken.param]] = _array_row(tables, copy.dtype, copy.shape, copy.strides)
    return rows


def _form(tables: Tables, array: np.ndarray, flags: int) -> int:
    """The table of an array's form, by which also these of its flags have to be the same."""
    axes = [word for axis in zip(array.shape, array.strides, strict=True) for word in axis]
    words = [id(np.ndarray), tables.thing(array.dtype), flags, array.flags.num & flags, array.ndim, *axes]
    return tables.table(words)


def _argument_row(tables: Tables, taken: Taken) -> tuple[int, int, int, int]:
    like, kind = taken.like, type(taken.like)
    if taken.same_as is not None:
        return Kind.SAME, taken.same_as, 0, 0
    if kind is np.ndarray:
        which, place = (Kind.ARRAY, 0) if taken.beside is None else (Kind.BESIDE, taken.beside)
        return which, _form(tables, like, ALIGNED | WRITABLE), -taken.before, place
    if taken.param is not None and kind in _NUMBERS:
        return _NUMBERS[kind], id(kind), id(True), 0
    if taken.param is not None and kind in _SCALARS:
        return Kind.SCALAR, id(kind), 0, 0
    if taken.param is None and kind is float:
        return Kind.THIS_FLOAT, id(kind), struct.unpack("q", struct.pack("d", like))[0], 0
    if taken.param is None and kind is int and has_64_bits(like):
        return Kind.THIS_INT, id(kind), like, 0
    if taken.param is None and kind in _CONSTANTS:
        return Kind.THING, tables.thing(like), 0, 0
    raise _Unforeseen


_NUMBERS = {float: Kind.FLOAT, int: Kind.INT, bool: Kind.BOOL}
_SCALARS = frozenset(np.dtype(code).type for code in "?bhilqBHILQefdFD")
_CONSTANTS = (bool, str, bytes, type, type(None))  # what is the same for as long as it is this very object


def _guard_row(tables: Tables, guard: Guard) -> tuple[int, ...]:
    if guard.place is None:
        return Read.CALL, tables.thing(guard.holds), 0, id(True), 0, 0
    how, owner, name, was = guard.place
    form, data = 0, 0
    if type(was) is np.ndarray:
        form, data = _form(tables, was, WRITABLE), was.__array_interface__["data"][0]
    read = Read[how]
    is_absent = was is None and read in (Read.DEFAULTS, Read.KEYWORD_DEFAULTS)  # which Python says of no object
    return read, tables.thing(owner), tables.thing(name), 0 if is_absent else tables.thing(was), form, data


def _apart_rows(form: Form) -> list[tuple[int, ...]]:
    written = {each.param for each in form.written}
    arrays = [(place, each) for place, each in enumerate(form.arguments) if each.nbytes]
    return [
        (place, other_place, each.nbytes, other.nbytes)
        for k, (place, each) in enumerate(arrays)
        for other_place, other in arrays[k + 1 :]
        if {each.param, other.param} & written
    ]


def _arrays_of(form: Form, native: Native, memory: int) -> set[View]:
    """How the arrays that are returned lie in an output's memory."""
    leaves = [leaf for leaf in leaves_in(form) if isinstance(leaf, Made) and leaf.kind is value.Kind.ARRAY]
    return {leaf.view for leaf in leaves if native.outputs[leaf.output] == memory and leaf.length is None}


def _made_rows(tables: Tables, form: Form, native: Native) -> dict[int, tuple[int, ...]]:
    """By memory: that of arrays that are returned, of scratch, or of what goes elsewhere afterwards."""
    used = {native.outputs[leaf.output] for leaf in leaves_in(form) if isinstance(leaf, Made)}
    rows: dict[int, tuple[int, ...]] = {}
    for memory, shape, dtype in zip(native.outputs, native.shapes, native.dtypes, strict=True):
        if memory in native.tensors or (memory in native.params and memory in used):
            raise _Unforeseen  # it is not the result's own
        if memory in native.params:
            continue
        numel = math.prod(shape)
        views = _arrays_of(form, native, memory)
        if not views and numel * dtype.itemsize <= SCRATCH:
            rows[memory] = (0, 0, 0, 0)
        elif len(views) == 1 and _is_whole(view := min(views), numel, dtype.itemsize):
            rows[memory] = _array_row(tables, dtype, view.shape, view.strides)
        else:
            rows[memory] = _array_row(tables, dtype, (numel,), (dtype.itemsize,))
    return rows


def _array_row(tables: Tables, dtype: np.dtype, shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    return tables.thing(dtype), len(shape), tables.table(shape), tables.table(strides)


def _is_whole(view: View, numel: int, width: int) -> bool:
    """Whether an array is all of a memory of so many elements, in the order of some of its axes."""
    pairs = sorted((stride, extent) for stride, extent in zip(view.strides, view.shape, strict=True) if extent != 1)
    for stride, extent in pairs:
        if stride != width and numel:
            return False
        width *= extent
    return view.offset == 0 and view.is_writable and math.prod(view.shape) == numel


def _leaf_rows(tables: Tables, form: Form, native: Native, pointers: dict[int, int]) -> list[tuple[int, ...]]:
    first: dict[int, int] = {}
    return [
        _leaf_row(tables, leaf, form, native, pointers)
        if first.setdefault(id(leaf), place) == place
        else (Row.SAME, first[id(leaf)], 0)
        for place, leaf in enumerate(form.leaves)
    ]


def _leaf_row(tables: Tables, leaf: Leaf, form: Form, native: Native, pointers: dict[int, int]) -> tuple[int, int, int]:
    match leaf:
        case Choice(output, then, otherwise):
            sides = [tables.table(_leaf_row(tables, side, form, native, pointers)) for side in (then, otherwise)]
            return Row.CHOICE, _pointer(native, pointers, output), tables.table(sides)
        case Given(place):
            return Row.ARGUMENT, place, 0
        case Thing(thing):
            return Row.THING, 0, tables.thing(thing)
        case Part(place, dtype, view):
            return Row.VIEW, place, _view(tables, dtype, view, 0, place)
        case Made():
            return _made_leaf(tables, leaf, form, native, pointers)


def _pointer(native: Native, pointers: dict[int, int], output: int) -> int:
    """The place of an output's pointer."""
    return pointers[native.outputs[output]]


def _made_leaf(
    tables: Tables, leaf: Made, form: Form, native: Native, pointers: dict[int, int]
) -> tuple[int, int, int]:
    pointer, view = _pointer(native, pointers, leaf.output), leaf.view
    made = pointer - len(form.arguments)
    views = _arrays_of(form, native, native.outputs[leaf.output])
    is_whole = _is_whole(view, math.prod(native.shapes[leaf.output]), leaf.dtype.itemsize)
    if leaf.length is not None:
        if views or not is_whole:
            raise _Unforeseen
        head = _array_row(tables, leaf.dtype, view.shape, view.strides)
        return Row.CUT, pointer, tables.table([*head, _pointer(native, pointers, leaf.length), view.strides[0]])
    if leaf.kind is value.Kind.ARRAY:
        if len(views) == 1 and is_whole:
            return Row.ARRAY, made, 0
        return Row.VIEW, pointer, _view(tables, leaf.dtype, view, 1, made)
    if leaf.code is not None:
        code = _pointer(native, pointers, leaf.code)
        return Row.CODED, pointer, tables.table([tables.thing(leaf.dtype), code, tables.thing(decoded)])
    if leaf.kind is value.Kind.SCALAR:
        return Row.SCALAR, pointer, tables.thing(leaf.dtype)
    if leaf.dtype in _AS_NUMBER:
        return _AS_NUMBER[leaf.dtype], pointer, 0
    raise _Unforeseen


def _view(tables: Tables, dtype: np.dtype, view: View, is_made: int, place: int) -> int:
    head = _array_row(tables, dtype, view.shape, view.strides)
    return tables.table([*head, view.offset, WRITABLE * view.is_writable, is_made, place])


_AS_NUMBER = {
    np.dtype(name): row
    for name, row in (
        ("float64", Row.FLOAT),
        ("int64", Row.INT),
        ("bool", Row.BOOL),
        ("complex128", Row.COMPLEX),
    )
}
