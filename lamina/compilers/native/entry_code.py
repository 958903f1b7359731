"""The native function behind a call: it compares the arguments with what a table says, and runs the program for them.

It is one function for all programs, so that it is compiled once; what is special to a program is in tables of words,
which `entry` writes. Python calls it as a builtin function, and it knows arrays by the fields of their objects, which
`entry` probes. Whatever the tables don't foresee, it gives `MISS` and has changed nothing.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from lamina.compilers.native import ir
from lamina.compilers.native.counting import repeat
from lamina.compilers.native.driver import SIGNATURE
from lamina.compilers.native.entry_format import API, NUMPY_API, SCRATCH, WIDTH, Case, Field, Kind, Read, Row
from lamina.compilers.native.scalar import Value, call_intrinsic
from lamina.compilers.native.types import BIT, BYTE, INDEX, POINTER, STATUS, STATUS_WORDS

NAME = "entry"
_DOUBLE = ir.DoubleType()
_NULL = POINTER(None)


def text() -> str:
    """The module of the function ``entry(tables, arguments, count)``, as LLVM reads it."""
    module = ir.Module()
    asked = {**API, **{name: (result, params) for name, (result, params, _) in NUMPY_API.items()}}
    for name, (result, params) in asked.items():
        module.declared(name, result, params)
    _is_form(module)
    _is_argument(module)
    _holds(module)
    _leaf(module)
    _case(module)
    _entry(module)
    return str(module)


class _Writer:
    """A function that is being written."""

    def __init__(self, module: ir.Module, name: str, result: Any, params: Sequence[Any], is_own: bool = True) -> None:
        self.module = module
        self.function = ir.Function(module, ir.FunctionType(result, params), name)
        self.function.attributes.add("nounwind")
        if is_own:
            self.function.linkage = "internal"
        self.result = result
        self.args = self.function.args
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))

    def at(self, base: Value, place: Any, element: Any = INDEX) -> Value:
        """The address of an element; places are of a table's words unless said otherwise."""
        return self.b.gep(base, [_index(place)], source_etype=element)

    def word(self, base: Value, place: Any) -> Value:
        return self.b.load(self.at(base, place), typ=INDEX)

    def address(self, base: Value, place: Any) -> Value:
        return self.b.load(self.at(base, place), typ=POINTER)

    def field(self, thing: Value, field: Field, kind: Any = POINTER) -> Value:
        return self.b.load(self.at(thing, field, BYTE), typ=kind)

    def call(self, name: str, *args: Value) -> Value:
        return self.b.call(self.module.globals[name], args)

    def array(self, kind: Value, row: Value, extents: Value, strides: Value, data: Value, flags: Value) -> Value:
        """A new array; a row begins with its dtype and how many axes it has."""
        dtype, axes = self.address(row, 0), self.b.trunc(self.word(row, 1), STATUS)
        self.call("Py_IncRef", dtype)  # the array has it
        return self.call("PyArray_NewFromDescr", kind, dtype, axes, extents, strides, data, flags, _NULL)

    def copy(self, target: Value, origin: Value, nbytes: Value) -> None:
        args = (target, origin, nbytes, BIT(0))
        call_intrinsic(self.b, "memcpy", args, ir.VoidType(), (POINTER, POINTER, INDEX))

    def is_equal(self, a: Value, b: Value) -> Value:
        return self.b.icmp_unsigned("==", a, b)

    def is_null(self, pointer: Value) -> Value:
        return self.is_equal(pointer, _NULL)

    def unless(self, condition: Value, result: Value) -> None:
        """Return the result where the condition is false."""
        with self.b.if_then(self.b.not_(condition), likely=False):
            self.b.ret(result)

    def rows(self, case: Value, of: Case, body: Callable[[Value, Value], None]) -> Value:
        """A loop over the rows of a case, ``body(place, row)``; how many they are."""
        count, first = self.word(case, of), self.address(case, of + 1)
        repeat(self.b, count, lambda place: body(place, self.at(first, self.b.mul(place, INDEX(WIDTH[of])))))
        return count

    def switch(self, kind: Value, ways: dict[IntEnum, Callable[[], None]]) -> None:
        """Go one of several ways, each of which may return; where none does, on from here."""
        b = self.b
        after = b.append_basic_block("after")
        switch = b.switch(kind, after)
        for value, way in ways.items():
            block = b.append_basic_block(value.name.lower())
            switch.add_case(INDEX(value), block)
            b.position_at_end(block)
            way()
            if not b.block.is_terminated:
                b.branch(after)
        b.position_at_end(after)


def _index(place: Any) -> Value:
    return INDEX(int(place)) if isinstance(place, int) else place


def _is_form(module: ir.Module) -> None:
    """``is_form(thing, form)``: whether a thing is an array of a form."""
    w = _Writer(module, "is_form", BIT, [POINTER, POINTER])
    thing, form = w.args
    no = BIT(0)
    w.unless(w.is_equal(w.field(thing, Field.TYPE), w.address(form, 0)), no)
    dtype, expected = w.field(thing, Field.DTYPE), w.address(form, 1)
    with w.b.if_then(w.b.not_(w.is_equal(dtype, expected)), likely=False):  # an array that was pickled has its own
        is_alike = w.call("PyArray_EquivTypes", dtype, expected)
        w.unless(w.b.icmp_unsigned("!=", is_alike, BYTE(0)), no)
    flags = w.b.zext(w.field(thing, Field.FLAGS, STATUS), INDEX)
    w.unless(w.is_equal(w.b.and_(flags, w.word(form, 2)), w.word(form, 3)), no)
    axes = w.b.zext(w.field(thing, Field.AXES, STATUS), INDEX)
    w.unless(w.is_equal(axes, w.word(form, 4)), no)
    extents, strides = w.field(thing, Field.EXTENTS), w.field(thing, Field.STRIDES)

    def compare(axis: Value) -> None:
        expected = w.at(form, w.b.add(w.b.mul(axis, INDEX(2)), INDEX(5)))
        w.unless(w.is_equal(w.word(extents, axis), w.word(expected, 0)), no)
        w.unless(w.is_equal(w.word(strides, axis), w.word(expected, 1)), no)

    repeat(w.b, axes, compare)
    w.b.ret(BIT(1))


def _is_argument(module: ir.Module) -> None:
    """``is_argument(row, place, arguments, pointers, scratch)``: whether one is as expected; its pointer is set."""
    w = _Writer(module, "is_argument", BIT, [POINTER, INDEX, POINTER, POINTER, POINTER])
    b = w.b
    row, place, arguments, pointers, scratch = w.args
    thing, pointer = w.address(arguments, place), w.at(pointers, place)
    kind, what = w.word(row, 0), w.address(row, 1)
    no, yes = BIT(0), BIT(1)
    overflow = b.alloca(STATUS)

    def array() -> None:
        w.unless(w.call("is_form", thing, what), no)
        b.store(w.at(w.field(thing, Field.DATA), w.word(row, 2), BYTE), pointer)
        b.ret(yes)

    def beside() -> None:
        w.unless(w.call("is_form", thing, what), no)
        memory = w.at(w.field(thing, Field.DATA), w.word(row, 2), BYTE)
        b.ret(w.is_equal(memory, w.address(pointers, w.word(row, 3))))

    def is_thing() -> None:
        b.ret(w.is_equal(thing, what))

    def is_same() -> None:
        b.ret(w.is_equal(thing, w.address(arguments, w.word(row, 1))))

    w.switch(kind, {Kind.ARRAY: array, Kind.BESIDE: beside, Kind.THING: is_thing, Kind.SAME: is_same})
    w.unless(w.is_equal(w.field(thing, Field.TYPE), what), no)
    b.store(scratch, pointer)

    def integer() -> Value:
        value = w.call("PyLong_AsLongLongAndOverflow", thing, overflow)
        w.unless(w.is_equal(b.load(overflow, typ=STATUS), STATUS(0)), no)
        return value

    def a_float() -> None:
        b.store(w.call("PyFloat_AsDouble", thing), scratch)

    def an_int() -> None:
        b.store(integer(), scratch)

    def a_bool() -> None:
        b.store(b.zext(w.is_equal(thing, w.address(row, 2)), BYTE), scratch)

    def scalar() -> None:
        w.call("PyArray_ScalarAsCtype", thing, scratch)

    def this_float() -> None:
        w.unless(w.is_equal(b.bitcast(w.call("PyFloat_AsDouble", thing), INDEX), w.word(row, 2)), no)

    def this_int() -> None:
        w.unless(w.is_equal(integer(), w.word(row, 2)), no)

    w.switch(
        kind,
        {
            Kind.FLOAT: a_float,
            Kind.INT: an_int,
            Kind.BOOL: a_bool,
            Kind.SCALAR: scalar,
            Kind.THIS_FLOAT: this_float,
            Kind.THIS_INT: this_int,
        },
    )
    b.ret(yes)


_NO, _YES, _RAISED = (STATUS(value) for value in (0, 1, 2))


def _holds(module: ir.Module) -> None:
    """``holds(row)``: whether what was read outside is what it was; or asking raised."""
    w = _Writer(module, "holds", STATUS, [POINTER])
    b = w.b
    (row,) = w.args
    owner, name, expected = w.address(row, 1), w.address(row, 2), w.address(row, 3)
    found = b.alloca(POINTER)
    b.store(_NULL, found)

    def item() -> None:
        value = w.call("PyDict_GetItemWithError", owner, name)
        b.store(value, found)
        with b.if_then(w.is_null(value), likely=False):
            w.call("PyErr_Clear")
            b.ret(_NO)

    def borrowed(value: Value) -> None:
        b.store(value, found)
        with b.if_then(b.not_(w.is_null(value))):
            w.call("Py_DecRef", value)  # its owner has it still

    def ask() -> None:
        value = w.call("PyObject_CallObject", owner, _NULL)
        with b.if_then(w.is_null(value), likely=False):
            b.ret(_RAISED)
        borrowed(value)

    w.switch(
        w.word(row, 0),
        {
            Read.ITEM: item,
            Read.CELL: lambda: borrowed(w.call("PyCell_Get", owner)),
            Read.DEFAULTS: lambda: b.store(w.call("PyFunction_GetDefaults", owner), found),
            Read.KEYWORD_DEFAULTS: lambda: b.store(w.call("PyFunction_GetKwDefaults", owner), found),
            Read.CALL: ask,
        },
    )
    value, form = b.load(found, typ=POINTER), w.address(row, 4)
    w.unless(w.is_equal(value, expected), _NO)
    with b.if_then(b.not_(w.is_null(form))):
        w.unless(w.call("is_form", value, form), _NO)
        w.unless(w.is_equal(w.field(value, Field.DATA), w.address(row, 5)), _NO)
    b.ret(_YES)


def _leaf(module: ir.Module) -> None:
    """``leaf(row, pointers, arguments, made, leaves, array_type)``: what is returned, owned; null where it raised."""
    w = _Writer(module, "leaf", POINTER, [POINTER] * 6)
    b = w.b
    row, pointers, arguments, made, leaves, array_type = w.args
    of, what = w.word(row, 1), w.address(row, 2)

    def one(pick: Callable[[], Value]) -> Callable[[], None]:
        def way() -> None:
            thing = pick()
            w.call("Py_IncRef", thing)
            b.ret(thing)

        return way

    def number(name: str, *kinds: Any) -> Callable[[], None]:
        def way() -> None:
            memory = w.address(pointers, of)
            values = [b.load(w.at(memory, place, kind), typ=kind, align=1) for place, kind in enumerate(kinds)]
            b.ret(w.call(name, *(b.zext(value, INDEX) if value.type == BYTE else value for value in values)))

        return way

    def view() -> None:
        data = w.at(w.address(pointers, of), w.word(what, 4), BYTE)
        flags = b.trunc(w.word(what, 5), STATUS)
        array = w.array(array_type, what, w.address(what, 2), w.address(what, 3), data, flags)
        with b.if_then(w.is_null(array), likely=False):
            b.ret(array)
        owners = b.select(b.icmp_unsigned("!=", w.word(what, 6), INDEX(0)), made, arguments)
        owner = w.address(owners, w.word(what, 7))
        w.call("Py_IncRef", owner)  # the view has it
        with b.if_then(b.icmp_unsigned("!=", w.call("PyArray_SetBaseObject", array, owner), STATUS(0)), likely=False):
            w.call("Py_DecRef", array)
            b.ret(_NULL)
        b.ret(array)

    def cut() -> None:
        axes = w.word(what, 1)
        extents = _rooms(b, INDEX, axes)
        repeat(w.b, axes, lambda axis: b.store(w.word(w.address(what, 2), axis), w.at(extents, axis)))
        length = w.word(w.address(pointers, w.word(what, 4)), 0)
        b.store(length, extents)
        array = w.array(array_type, what, extents, _NULL, _NULL, STATUS(0))
        with b.if_then(b.not_(w.is_null(array))):
            w.copy(w.field(array, Field.DATA), w.address(pointers, of), b.mul(length, w.word(what, 5)))
        b.ret(array)

    def coded() -> None:
        args = w.call("PyTuple_New", INDEX(2))
        with b.if_then(w.is_null(args), likely=False):
            b.ret(args)
        scalar = w.call("PyArray_Scalar", w.address(pointers, of), w.address(what, 0), _NULL)
        w.call("PyTuple_SetItem", args, INDEX(0), scalar)
        code = w.call("PyLong_FromLongLong", w.word(w.address(pointers, w.word(what, 1)), 0))
        w.call("PyTuple_SetItem", args, INDEX(1), code)
        is_there = b.not_(b.or_(w.is_null(scalar), w.is_null(code)))
        number = b.alloca(POINTER)
        b.store(_NULL, number)
        with b.if_then(is_there):
            b.store(w.call("PyObject_CallObject", w.address(what, 2), args), number)
        w.call("Py_DecRef", args)
        b.ret(b.load(number, typ=POINTER))

    def choice() -> None:
        is_first = b.icmp_unsigned("!=", b.load(w.address(pointers, of), typ=BYTE), BYTE(0))
        side = b.select(is_first, w.address(what, 0), w.address(what, 1))
        b.ret(b.call(w.function, [side, *w.args[1:]]))

    w.switch(
        w.word(row, 0),
        {
            Row.VIEW: view,
            Row.CUT: cut,
            Row.CODED: coded,
            Row.CHOICE: choice,
            Row.ARRAY: one(lambda: w.address(made, of)),
            Row.SCALAR: lambda: b.ret(w.call("PyArray_Scalar", w.address(pointers, of), what, _NULL)),
            Row.FLOAT: number("PyFloat_FromDouble", _DOUBLE),
            Row.INT: number("PyLong_FromLongLong", INDEX),
            Row.BOOL: number("PyBool_FromLong", BYTE),
            Row.COMPLEX: number("PyComplex_FromDoubles", _DOUBLE, _DOUBLE),
            Row.ARGUMENT: one(lambda: w.address(arguments, of)),
            Row.THING: one(lambda: what),
            Row.SAME: one(lambda: w.address(leaves, of)),
        },
    )
    b.unreachable()


def _case(module: ir.Module) -> None:
    """``case(case, arguments, count, array_type, miss)``: what the program returns, or null, or the miss."""
    w = _Writer(module, "case", POINTER, [POINTER, POINTER, INDEX, POINTER, POINTER])
    b = w.b
    case, arguments, count, array_type, miss = w.args
    w.unless(w.is_equal(count, w.word(case, Case.ARGUMENTS)), miss)
    made_count, leaf_count = w.word(case, Case.MADE), w.word(case, Case.LEAVES)
    all_pointers = b.add(count, made_count)
    pointers = _rooms(b, POINTER, all_pointers)  # of the arguments, then of what is made
    scratch = _rooms(b, ir.ArrayType(BYTE, SCRATCH), all_pointers)

    def scratch_of(place: Value) -> Value:
        return w.at(scratch, place, ir.ArrayType(BYTE, SCRATCH))

    def compare(place: Value, row: Value) -> None:
        w.unless(w.call("is_argument", row, place, arguments, pointers, scratch_of(place)), miss)

    def apart(_: Value, row: Value) -> None:
        (low, end), (other, other_end) = (
            (start, w.at(start, w.word(row, bytes_), BYTE))
            for start, bytes_ in ((w.address(pointers, w.word(row, place)), place + 2) for place in (0, 1))
        )
        is_before = b.icmp_unsigned("<=", end, other)
        w.unless(b.or_(is_before, b.icmp_unsigned("<=", other_end, low)), miss)

    def guard(_: Value, row: Value) -> None:
        status = w.call("holds", row)
        w.unless(b.icmp_unsigned("!=", status, _RAISED), _NULL)
        w.unless(w.is_equal(status, _YES), miss)

    w.rows(case, Case.ARGUMENTS, compare)
    w.rows(case, Case.APART, apart)
    w.rows(case, Case.GUARDS, guard)

    # From here on there is something to give back: what is made, and the leaves.
    owned_count = b.add(made_count, leaf_count)
    made = _rooms(b, POINTER, owned_count)
    leaves = w.at(made, made_count)
    repeat(w.b, owned_count, lambda place: b.store(_NULL, w.at(made, place)))
    end = b.append_basic_block("end")
    result = b.alloca(POINTER)
    b.store(_NULL, result)

    def end_if(condition: Value) -> None:
        with b.if_then(condition, likely=False):
            b.branch(end)

    def make(place: Value, row: Value) -> None:
        pointer = w.at(pointers, b.add(count, place))
        dtype = w.address(row, 0)
        with b.if_else(w.is_null(dtype)) as (scalar, array):
            with scalar:
                b.store(scratch_of(b.add(count, place)), pointer)
            with array:
                thing = w.array(array_type, row, w.address(row, 2), w.address(row, 3), _NULL, STATUS(0))
                b.store(thing, w.at(made, place))
                end_if(w.is_null(thing))
                b.store(w.field(thing, Field.DATA), pointer)

    def copy(_: Value, row: Value) -> None:
        target, origin = (w.address(pointers, w.word(row, place)) for place in (0, 1))
        w.copy(target, origin, w.word(row, 2))

    def gather(_: Value, row: Value) -> None:
        origin, target = w.address(arguments, w.word(row, 0)), w.address(made, w.word(row, 1))
        end_if(b.icmp_unsigned("!=", w.call("PyArray_CopyInto", target, origin), STATUS(0)))

    w.rows(case, Case.MADE, make)
    w.rows(case, Case.COPIED, copy)
    w.rows(case, Case.GATHERED, gather)
    cells = _rooms(b, POINTER, w.word(case, Case.CELLS))

    def fill(place: Value, row: Value) -> None:
        own = w.address(row, 1)
        b.store(b.select(w.is_null(own), w.at(pointers, w.word(row, 0)), own), w.at(cells, place))

    w.rows(case, Case.CELLS, fill)
    with b.if_then(b.icmp_unsigned("!=", w.word(case, Case.FUNCTION), INDEX(0))):  # else there is nothing to compute
        failed = _run(w, case, cells, end_if)
        b.store(miss, result)
        end_if(b.icmp_unsigned("!=", failed, STATUS(0)))
        b.store(_NULL, result)

    def put_back(_: Value, row: Value) -> None:
        view = w.address(row, 2)
        data = w.at(w.address(pointers, w.word(row, 1)), w.word(view, 4), BYTE)
        array = w.array(array_type, view, w.address(view, 2), w.address(view, 3), data, STATUS(0))
        end_if(w.is_null(array))
        failed = w.call("PyArray_CopyInto", w.address(arguments, w.word(row, 0)), array)
        w.call("Py_DecRef", array)
        end_if(b.icmp_unsigned("!=", failed, STATUS(0)))

    def give(place: Value, row: Value) -> None:
        leaf = w.call("leaf", row, pointers, arguments, made, leaves, array_type)
        b.store(leaf, w.at(leaves, place))
        end_if(w.is_null(leaf))

    w.rows(case, Case.WRITTEN, copy)
    w.rows(case, Case.BACK, put_back)
    w.rows(case, Case.LEAVES, give)
    build = w.word(case, Case.BUILD)
    with b.if_else(w.is_equal(build, INDEX(0))) as (single, several):
        with single:
            leaf = w.address(leaves, 0)
            w.call("Py_IncRef", leaf)
            b.store(leaf, result)
        with several:
            tuple_ = w.call("PyTuple_New", leaf_count)
            end_if(w.is_null(tuple_))

            def put(place: Value) -> None:
                leaf = w.address(leaves, place)
                w.call("Py_IncRef", leaf)
                w.call("PyTuple_SetItem", tuple_, place, leaf)

            repeat(w.b, leaf_count, put)
            b.store(tuple_, result)
            with b.if_then(b.icmp_unsigned("!=", build, INDEX(1))):
                built = w.call("PyObject_CallObject", b.inttoptr(build, POINTER), tuple_)
                w.call("Py_DecRef", tuple_)
                b.store(built, result)
    b.branch(end)
    b.position_at_end(end)

    def release(place: Value) -> None:
        thing = w.address(made, place)
        with b.if_then(b.not_(w.is_null(thing))):
            w.call("Py_DecRef", thing)

    repeat(w.b, owned_count, release)
    b.ret(b.load(result, typ=POINTER))


def _run(w: _Writer, case: Value, cells: Value, end_if: Callable[[Value], None]) -> Value:
    """Call the program; whether it failed."""
    b = w.b
    status = b.alloca(ir.ArrayType(INDEX, STATUS_WORDS))
    arena = b.alloca(POINTER)
    b.store(w.address(case, Case.ARENA), arena)
    # the arena is for one call at a time, and while a long one runs there may be others
    is_taken = b.icmp_unsigned("!=", w.word(case, Case.IS_TAKEN), INDEX(0))
    with b.if_else(is_taken, likely=False) as (other, own):
        with other:
            memory = w.call("PyMem_RawMalloc", w.word(case, Case.ARENA_BYTES))
            b.store(memory, arena)
            with b.if_then(w.is_null(memory), likely=False):
                w.call("PyErr_NoMemory")
            end_if(w.is_null(memory))
        with own:
            b.store(w.word(case, Case.ARENA_BYTES), w.at(case, Case.IS_TAKEN))
    threads = w.word(w.address(case, Case.THREADS), 0)
    function = w.address(case, Case.FUNCTION)
    is_long = b.icmp_unsigned("!=", w.word(case, Case.IS_LONG), INDEX(0))
    state = b.alloca(POINTER)
    with b.if_then(is_long):
        b.store(w.call("PyEval_SaveThread"), state)
    failed = b.call(function, [cells, status, b.load(arena, typ=POINTER), threads], SIGNATURE)
    with b.if_then(is_long):
        w.call("PyEval_RestoreThread", b.load(state, typ=POINTER))
    with b.if_else(is_taken, likely=False) as (other, own):
        with other:
            w.call("PyMem_RawFree", b.load(arena, typ=POINTER))
        with own:
            b.store(INDEX(0), w.at(case, Case.IS_TAKEN))
    return failed


def _rooms(b: ir.IRBuilder, kind: Any, count: Value) -> Value:
    """Variables in a row."""
    return b.alloca(kind, count, align=SCRATCH)


def _entry(module: ir.Module) -> None:
    """``entry(tables, arguments, count)``, as Python calls it: the first case that the arguments are of.

    `tables` is a tuple whose first thing is an array: how many cases, the type of arrays, `MISS`, and the cases.
    """
    w = _Writer(module, NAME, POINTER, [POINTER, POINTER, INDEX], is_own=False)
    b = w.b
    tables, arguments, count = w.args
    words = w.field(w.call("PyTuple_GetItem", tables, INDEX(0)), Field.DATA)
    array_type, miss = w.address(words, 1), w.address(words, 2)

    def attempt(place: Value) -> None:
        case = w.address(words, b.add(place, INDEX(3)))
        result = w.call("case", case, arguments, count, array_type, miss)
        w.unless(w.is_equal(result, miss), result)

    repeat(w.b, w.word(words, 0), attempt)
    w.call("Py_IncRef", miss)
    b.ret(miss)
