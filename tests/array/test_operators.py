"""Operators, methods and properties: which function each calls, with what, and NumPy's results through it."""

import inspect
import operator

import numpy as np
import pytest

import lamina.dtype as ld
from lamina.array import Array, asarray, to_numpy
from lamina.errors import AxisError
from lamina.operators import FUNCTIONS, KEYS, Operators


def eager(function):
    """A function of lamina's namespace made of NumPy's: arrays in, an array out."""

    def call(*args, **kwargs):
        args = [to_numpy(x) if isinstance(x, Array) else x for x in args]
        kwargs = {n: to_numpy(x) if isinstance(x, Array) else x for n, x in kwargs.items()}
        with np.errstate(all="ignore"):
            result = function(*args, **kwargs)
        return tuple(map(asarray, result)) if isinstance(result, tuple) else asarray(result)

    return call


# The array API's functions, said with NumPy's of the same name and signature where it has one.
NAMESPACE = {
    name: eager(getattr(np, name.rpartition(".")[2]))
    for keys in KEYS.values()
    for name in keys
    if name not in ("getitem", "diagonal", "trace", "squeeze")
} | {
    "getitem": eager(operator.getitem),
    "diagonal": eager(np.linalg.diagonal),
    "trace": eager(np.linalg.trace),
    "squeeze": eager(lambda x, /, axis: np.squeeze(x, axis)),
    "argsort": eager(lambda x, /, *, axis: np.argsort(x, axis, stable=True)),
    "astype": eager(lambda x, dtype, **given: x.astype(ld.from_numpy(dtype).numpy, **given)),
}


@pytest.fixture
def namespace(monkeypatch):
    for name in list(FUNCTIONS):
        monkeypatch.delitem(FUNCTIONS, name)
    for name, function in NAMESPACE.items():
        monkeypatch.setitem(FUNCTIONS, name, function)


@pytest.fixture
def called(monkeypatch, namespace):
    """The functions called, in order."""
    names = []

    def spy(name, function):
        def call(*args, **kwargs):
            names.append(name)
            return function(*args, **kwargs)

        return call

    for name, function in list(FUNCTIONS.items()):
        monkeypatch.setitem(FUNCTIONS, name, spy(name, function))
    return names


def same(got, expected):
    if isinstance(expected, tuple):
        return isinstance(got, tuple) and all(same(g, e) for g, e in zip(got, expected, strict=True))
    expected = np.asarray(expected)
    return (
        type(got) is Array
        and got.dtype == expected.dtype
        and got.shape == expected.shape
        and np.array_equal(to_numpy(got), expected, equal_nan=expected.dtype.kind in "fc")
    )


BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
    *(operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.matmul, divmod),
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
]


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_binary_operators_are_numpys_on_both_sides(function, namespace):
    x = np.array([[5, 7, 2], [3, 1, 4], [6, 2, 1]])
    y = np.array([[1, 2, 3], [2, 3, 1], [1, 1, 2]])
    assert same(function(asarray(x), asarray(y)), function(x, y))
    assert same(function(asarray(x), y), function(x, y)) and same(function(x, asarray(y)), function(x, y))
    others = (
        [y[0], [1, 2, 3], (1, 2, 3)]
        if function is operator.matmul
        else [2, True, np.int64(3), y[0], [1, 2, 3], (1, 2, 3)]
    )
    if function not in (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.matmul):
        others += [2.5, np.float32(1.5)]
    for other in others:
        assert same(function(asarray(x), other), function(x, other)), other
        assert same(function(other, asarray(x)), function(other, x)), other


@pytest.mark.parametrize("function", [operator.neg, operator.pos, abs, operator.inv], ids=lambda f: f.__name__)
def test_unary_operators_are_numpys(function, namespace):
    x = np.array([[5, -7, 2], [-3, 1, 4]])
    assert same(function(asarray(x)), function(x))


IN_PLACE = [
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow),
    *(operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift, operator.imatmul),
]


def outcome(function, target, other):
    """What an operator in place leaves in a NumPy array, and the error that it raises."""
    try:
        with np.errstate(all="ignore"):
            assert function(target, other) is target
    except (TypeError, ValueError, OverflowError) as error:
        return next(kind for kind in (TypeError, ValueError, OverflowError) if isinstance(error, kind))
    return None


@pytest.mark.parametrize("function", IN_PLACE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float32", "float64", "complex64"])
def test_operators_in_place_write_as_numpys_do(function, dtype, namespace):
    """The same elements, the same errors, the same memory: of arrays and numbers of every kind, and through views."""
    base = np.array([[3, 1, 2], [2, 5, 1], [1, 4, 6]]).astype(dtype)
    others = [
        *(np.array([[1, 2, 3], [2, 3, 1], [1, 1, 2]], each) for each in ("bool", "int8", "uint8", "int64", "f4", "f8")),
        *(np.array([[1, 2], [3, 4]]), np.array([2, 1, 3], "int8"), np.ones((2, 3, 3), dtype), np.eye(3)[:1]),
        *(2, 300, -1, True, 1.5, 1j, np.float64(1.5), np.array(2, dtype), [1, 2, 3], ((1,), (2,), (3,))),
    ]
    for other in others:
        for view in (np.s_[:], np.s_[::-1], np.s_[:, 1], np.s_[1, 1, ...]):
            expected, memory = base.copy(), base.copy()
            array = asarray(memory[view])
            given = asarray(other) if isinstance(other, np.ndarray) else other
            error, expected_error = outcome(function, array, given), outcome(function, expected[view], other)
            if (
                getattr(other, "dtype", None) == dtype and function is not operator.itruediv
            ):  # else both the dtype and the shape may be wrong
                assert error == expected_error, (other, view)
            assert (error is None) == (expected_error is None), (other, view)
            np.testing.assert_array_equal(memory, expected)
            assert np.shares_memory(to_numpy(array), memory) and array.shape == base[view].shape


def test_operators_in_place_read_the_right_side_first(namespace):
    for view in (np.s_[::-1], np.s_[[3, 1, 2, 0]], np.s_[:1]):
        memory = np.arange(4.0)
        array = asarray(memory)
        array += asarray(memory[view])
        np.testing.assert_array_equal(memory, np.arange(4.0) + np.arange(4.0)[view])
    memory = np.arange(9.0).reshape(3, 3)
    matrix = asarray(memory)
    matrix @= matrix.T
    np.testing.assert_array_equal(memory, np.arange(9.0).reshape(3, 3) @ np.arange(9.0).reshape(3, 3).T)


def test_operators_in_place_convert_without_a_warning(namespace):
    """As every conversion of lamina: an overflow of a narrower float is an infinity, and a wider integer wraps."""
    half, byte, packed = asarray([1.0, 2.0], "float16"), asarray([100, 1], "int8"), asarray([7, -8], "int4")
    half *= np.array([1e9, 0.5])
    byte += np.array([100, 1])
    packed += asarray([1, 1], "int8")
    assert half.tolist() == [np.inf, 1] and byte.tolist() == [-56, 2] and packed.tolist() == [-8, -7]
    assert (half.dtype, byte.dtype, packed.dtype) == (ld.float16, ld.int8, ld.int4)


def test_operators_in_place_say_what_is_wrong(namespace):
    x = kept = asarray([1, 2])
    with pytest.raises(TypeError, match=r"Cannot cast the result from float64 to int64.*'same_kind'; write x = x \+ y"):
        x += 1.5
    with pytest.raises(ValueError, match=r"non-broadcastable output operand with shape \(2,\).*\(3, 2\)"):
        x += np.ones((3, 2), int)
    for other in ("a", None, object()):
        with pytest.raises(TypeError, match="unsupported operand"):
            x += other
    assert x is kept and x.tolist() == [1, 2]


def test_operators_of_numpys_arrays_in_place_take_arrays(namespace):
    z = kept = np.array([1.0, 2.0])
    z += asarray([1, 2])
    assert z is kept and z.tolist() == [2, 4]


@pytest.mark.parametrize(
    "function", [f for f in BINARY if f not in (operator.eq, operator.ne)], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("other", ["a", None, {}, {1}, object()], ids=lambda x: type(x).__name__)
def test_other_operands_are_pythons_type_error(function, other, namespace):
    for pair in ((asarray([1, 2]), other), (other, asarray([1, 2]))):
        if function is operator.mod and pair[0] == "a":
            continue  # str has its own %
        with pytest.raises(TypeError):
            function(*pair)
    assert (asarray([1, 2]) == other) is False and (asarray([1, 2]) != other) is True


def test_an_operand_that_knows_better_answers():
    class Other:
        def __radd__(self, x):
            return "mine"

        def __lt__(self, x):
            return "less"

    assert asarray([1]) + Other() == "mine" and (asarray([1]) > Other()) == "less"


def test_indexing_and_membership(namespace):
    x = np.arange(12).reshape(3, 4)
    for key in (1, (slice(None), 2), ..., (None, slice(1, 3)), -1):
        assert same(asarray(x)[key], x[key])
    assert 5 in asarray(x) and 50 not in asarray(x)
    assert [row.tolist() for row in asarray(x)] == x.tolist()


X = np.arange(24.0).reshape(2, 3, 4) % 7 - 2

# (method, arguments, keywords): NumPy's method of the same name is the oracle.
CALLS = [
    *((name, args, kwargs) for name in ("sum", "prod", "max", "min", "mean", "var", "std") for args, kwargs in [
        ((), {}), ((1,), {}), ((), {"axis": (0, 2)}), ((), {"axis": -1, "keepdims": True}), ((None,), {"out": None}),
    ]),
    *((name, (), {"dtype": np.float32}) for name in ("sum", "prod", "mean", "var", "std")),
    *((name, (0, np.float32), {}) for name in ("sum", "prod", "mean", "var", "std", "cumsum", "cumprod")),
    *((name, (), {"axis": 1, "where": X > 0, "initial": 1}) for name in ("sum", "prod", "max", "min")),
    *((name, (1, None, None, 1), {}) for name in ("var", "std")),
    *((name, (), {"ddof": 2}) for name in ("var", "std")),
    *((name, args, kwargs) for name in ("any", "all") for args, kwargs in [
        ((), {}), ((0,), {}), ((), {"axis": 2, "keepdims": True}),
    ]),
    *((name, args, kwargs) for name in ("argmax", "argmin") for args, kwargs in [
        ((), {}), ((1,), {}), ((), {"axis": 0, "keepdims": True}),
    ]),
    *((name, args, {}) for name in ("cumsum", "cumprod") for args in [(), (1,), (-1,)]),
    *(("reshape", args, {}) for args in [(6, 4), ((6, 4),), ([4, -1],), (-1,), (np.int64(24),), ((24,),)]),
    ("reshape", (4, 6), {"order": "F"}), ("reshape", (-1, 2), {"order": "F"}), ("reshape", (4, 6), {"copy": True}),
    *(("transpose", args, {}) for args in [(), (None,), (2, 0, 1), ((1, 0, 2),), ([-1, 0, 1],)]),
    *((name, args, {}) for name in ("ravel", "flatten") for args in [(), ("C",), ("F",)]),
    ("swapaxes", (0, 2), {}), ("swapaxes", (-1, 1), {}), ("copy", (), {}), ("copy", ("F",), {}),
    ("astype", (np.int8,), {}), ("astype", (), {"dtype": "f4"}), ("astype", (np.float64,), {"copy": False}),
    ("clip", (0, 2), {}), ("clip", (), {"min": 1}), ("clip", (None, 3), {}), ("clip", (), {"max": X.mean(axis=0)}),
    ("round", (), {}), ("round", (1,), {}), ("round", (), {"decimals": -1}),
    ("dot", (np.ones(4),), {}), ("dot", (2.0,), {}), ("dot", (), {"b": np.ones((2, 4, 3))}),
    ("take", ([1, 5],), {}), ("take", ([0, 2], 1), {}), ("take", (np.array([[30]]),), {"mode": "wrap"}),
    ("repeat", (2,), {}), ("repeat", ([1, 0, 2], 1), {}), ("repeat", (3,), {"axis": -1}),
    ("argsort", (), {"kind": "stable"}), ("argsort", (0, "stable"), {}), ("argsort", (None,), {"stable": True}),
    ("conj", (), {}), ("conjugate", (), {}), ("nonzero", (), {}),
    ("diagonal", (), {}), ("diagonal", (1,), {}), ("diagonal", (0, 1, 2), {}),
    ("diagonal", (-1,), {"axis1": 2, "axis2": 0}),
    ("trace", (), {}), ("trace", (1, 2, 1), {}), ("trace", (), {"dtype": np.float32}),
]  # fmt: skip


@pytest.mark.parametrize("case", CALLS, ids=lambda c: f"{c[0]}-{c[1]}-{list(c[2])}")
def test_methods_are_numpys(case, called):
    name, args, kwargs = case
    expected = getattr(X, name)(*args, **kwargs)
    assert same(getattr(asarray(X), name)(*args, **kwargs), expected)
    assert called and set(called) <= set(KEYS[name])


@pytest.mark.parametrize("x", [X, np.array([[1 + 2j, 3]]), np.zeros((2, 0)), np.array(3.0)], ids=lambda x: f"{x.shape}")
def test_properties_are_numpys(x, called):
    for name in ("T", "real", "imag", *(["mT"] if x.ndim > 1 else [])):
        called.clear()
        assert same(getattr(asarray(x), name), getattr(x, name))
        assert set(called) == set(KEYS[name])
    assert asarray(x).ndim == x.ndim and asarray(x).size == x.size


def test_searchsorted_and_squeeze(namespace):
    x = np.array([1, 3, 5])
    assert same(asarray(x).searchsorted([0, 3, 9]), x.searchsorted([0, 3, 9]))
    assert same(asarray(x).searchsorted(3, "right"), np.asarray(x.searchsorted(3, "right")))
    assert same(asarray(x).searchsorted(v=3, sorter=[0, 1, 2]), np.asarray(x.searchsorted(3, sorter=[0, 1, 2])))
    y = np.zeros((1, 2, 1))
    for axis in (None, 0, (0, 2), -1):
        assert same(asarray(y).squeeze(axis), y.squeeze(axis))
    with pytest.raises(ValueError):
        asarray(y).squeeze(1)


def test_defaults_are_not_handed_on(monkeypatch):
    given = []
    for name in ("sum", "var", "max", "astype", "clip", "cumulative_sum", "repeat"):
        monkeypatch.setitem(FUNCTIONS, name, lambda *args, **kwargs: given.append((args[1:], kwargs)))
    x = asarray([1, 2])
    x.sum(axis=None, dtype=None, out=None, keepdims=False)
    x.var(ddof=1)
    x.max(0)
    x.astype("f4", copy=True)
    x.clip(0)
    x.cumsum(0)
    x.repeat(repeats=2, axis=None)
    no, one = (), {"axis": 0}
    assert given == [
        (no, {}),
        (no, {"correction": 1}),
        (no, one),
        (("f4",), {}),
        (no, {"min": 0}),
        (no, one),
        ((2,), {}),
    ]


def test_what_is_given_wrongly_is_refused(namespace):
    x = asarray(X)
    for call in (
        lambda: x.sum(0, 1, 2, 3, 4, 5, 6),
        lambda: x.sum(axes=1),
        lambda: x.astype(),
        lambda: x.repeat(),
        lambda: x.swapaxes(1.5, 0),
    ):
        with pytest.raises(TypeError):
            call()
    for call in (lambda: x.swapaxes(0, 3), lambda: x.swapaxes(-4, 0), lambda: x.diagonal(0, 0, 5)):
        with pytest.raises(AxisError, match="out of bounds"):
            call()
    with pytest.raises(ValueError, match="can't be the same"):
        x.diagonal(0, 1, -2)
    with pytest.raises(ValueError, match="'A'"):
        x.reshape(-1, order="A")
    with pytest.raises(ValueError, match="fields"):
        x.argsort(order="name")


def test_methods_have_numpys_signatures():
    """Every argument that NumPy documents, in NumPy's order, in the methods made from one table."""
    documented = {
        "sum": "axis dtype out keepdims initial where",
        "max": "axis out keepdims initial where",
        "mean": "axis dtype out keepdims where",
        "std": "axis dtype out ddof keepdims where",
        "any": "axis out keepdims where",
        "argmax": "axis out keepdims",
        "cumsum": "axis dtype out",
        "astype": "dtype order casting subok copy",
        "clip": "min max out",
        "round": "decimals out",
        "take": "indices axis out mode",
        "repeat": "repeats axis",
        "argsort": "axis kind order stable",
        "searchsorted": "v side sorter",
    }
    for name, expected in documented.items():
        method = getattr(Operators, name)
        assert list(inspect.signature(method).parameters)[1:] == expected.split(), name
        assert method.__name__ == name and method.__qualname__ == f"Operators.{name}" and method.__doc__


def test_keys_name_what_is_called(called):
    x = np.array([[1, 2], [3, 4]])
    for name, keys in KEYS.items():
        called.clear()
        member = getattr(Operators, name)
        if isinstance(member, property):
            getattr(asarray(x), name)
        elif name in ("__getitem__", "__contains__", "take", "repeat", "searchsorted", "dot"):
            getattr(asarray(x if name != "searchsorted" else x[0]), name)(1)
        elif name == "astype":
            asarray(x).astype("f4")
        elif name == "swapaxes":
            asarray(x).swapaxes(0, 1)
        elif name == "reshape":
            asarray(x).reshape(-1)
        elif len(inspect.signature(member).parameters) == 2 and name.startswith("__"):
            getattr(asarray(x), name)(x) if name != "__itruediv__" else asarray(x / 1).__itruediv__(x)
        else:
            getattr(asarray(x), name)()
        assert called and set(called) <= set(keys), name


def test_ufuncs_of_operators_call_the_functions(called):
    x, y = np.array([4, 5]), np.array([2, 3])
    for ufunc in (np.add, np.power, np.left_shift, np.bitwise_xor, np.less_equal, np.remainder):
        assert same(ufunc(x, asarray(y)), ufunc(x, y)) and same(ufunc(asarray(x), y), ufunc(x, y))
    assert same(np.divmod(x, asarray(y)), np.divmod(x, y))
    assert called[:4] == ["add", "add", "pow", "pow"] and called[-2:] == ["floor_divide", "remainder"]


def test_the_hooks_get_what_numpy_asks(monkeypatch):
    asked = []
    monkeypatch.setitem(FUNCTIONS, "array_ufunc", lambda *args: asked.append(args) or "ufunc")
    monkeypatch.setitem(FUNCTIONS, "array_function", lambda *args: asked.append(args) or "function")
    x = asarray([1, 2])
    assert np.sin(x) == "ufunc" and np.add.reduce(x, axis=0) == "ufunc" and np.concatenate([x, x]) == "function"
    assert asked[0][:2] == (np.sin, "__call__") and asked[0][2][0] is x and asked[0][3] == {}
    assert asked[1][:2] == (np.add, "reduce") and asked[1][3] == {"axis": 0}
    assert asked[2][0] is np.concatenate and asked[2][2][0][1] is x


def test_a_stranger_is_left_to_itself(monkeypatch):
    """Neither protocol computes with operands that only their own class understands."""
    for hook in ("array_ufunc", "array_function"):
        monkeypatch.delitem(FUNCTIONS, hook, raising=False)

    class Stranger:
        __array_ufunc__ = None

    with pytest.raises(TypeError):
        np.sin(Stranger())
    assert asarray([1]).__array_ufunc__(np.hypot, "__call__", asarray([1]), "a") is NotImplemented
    assert asarray([1]).__array_function__(np.sum, (Array, Stranger), (), {}) is NotImplemented
    assert asarray([3.0]).__array_ufunc__(np.hypot, "__call__", asarray([3.0]), 4).tolist() == [5]


def test_dtypes_of_reflected_numbers_are_weak(namespace):
    x = asarray([1, 2], "int8")
    assert (
        (3 + x).dtype is ld.int8
        and (np.int64(3) + x).dtype is ld.int64
        and (2.0 * asarray([1], "f4")).dtype is ld.float32
    )


def test_flatten_and_copy_are_copies(namespace):
    x = asarray(X)
    assert np.shares_memory(x.ravel(), to_numpy(x))
    assert not np.shares_memory(x.flatten(), to_numpy(x)) and not np.shares_memory(x.copy(), to_numpy(x))
