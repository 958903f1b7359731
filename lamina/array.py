"""Arrays: a dtype, a layout and a buffer; and their way in from NumPy and its peers and out again.

Nothing here computes with elements: operators and methods come from `lamina.operators`, which finds lamina's public
functions by name. What enters or leaves shares its memory wherever a layout can say where its elements are; where it
can't, `asarray` copies, or refuses if told not to.

An array is written as NumPy's are: ``x[key] = value`` and ``x += y`` change the memory that it shares. Memory that came
in read-only is never written and leaves read-only, and so does an array whose layout isn't distinct, since a write
would show in several places.
"""

import functools
import operator
import pickle
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, SupportsIndex

import numpy as np

from lamina import dlpack
from lamina import dtype as dtypes
from lamina.dtype import DType
from lamina.gathering import gathered, refuse_kinds
from lamina.layout import MAX_RANK, Layout
from lamina.operators import FUNCTIONS, Operators, untraced_write

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NUMPY_INPUTS = (np.ndarray, np.generic, int, float, complex, list, tuple)

# NumPy's "same_kind" casting lets a dtype into those of its own rank and above.
_CASTING_RANK = {"bool": 0, "unsigned": 1, "signed": 2, "float": 3, "complex": 4}


class Array(Operators):
    """An array: elements of a dtype, at the positions that a layout names, in a buffer.

    Args:
        buffer: any contiguous bytes-like object, kept and not copied. Position 0 of the layout is at its first byte.
        dtype: a dtype, or what stands for one.
        layout: a `lamina.layout.Layout`, whose span lies in the buffer.

    Raises ValueError for a span that leaves the buffer and for a buffer that isn't contiguous.

    Operators, indexing and methods are NumPy's, and so is what they write in place; but views of a packed dtype that
    they give are copies. ``np.asarray`` shares the array's memory (of packed dtypes, it gives ml_dtypes arrays of one
    element a byte), as do DLPack and, from Python 3.12 on, the buffer protocol; before that ``memoryview`` takes
    ``array.buffer``, as Python 3.11 lets no class of Python code be a buffer.

    >>> from lamina.layout import Layout
    >>> Array(bytes(range(6)), "uint8", Layout((2, 3), (-3, 1), offset=3))
    lamina.Array([[3, 4, 5],
                  [0, 1, 2]], shape=(2, 3), dtype=uint8)
    >>> Array(bytes([0x21, 0x0F]), "int4", Layout.contiguous((3,))).tolist()
    [1, 2, -1]
    """

    __slots__ = ("__weakref__", "_bytes", "_dtype", "_layout", "_values")

    # At least `_values`, or both `_layout` and `_bytes`, is there from the start; the others when first asked for.
    _dtype: DType
    _values: "NDArray[Any] | None"  # never for a packed dtype
    _layout: Layout | None
    _bytes: "NDArray[np.uint8] | None"

    def __init__(self, buffer: Any, dtype: object, layout: Layout) -> None:
        if not isinstance(layout, Layout):
            raise TypeError(f"Array: a lamina.layout.Layout was expected, but got {layout!r}")
        self._dtype = dtypes.from_numpy(dtype)
        self._layout = layout
        self._values = None
        try:
            self._bytes = np.frombuffer(buffer, np.uint8)
        except (TypeError, ValueError, BufferError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            message = f"Array: a contiguous bytes-like object was expected, but got {type(buffer).__name__}: {error}"
            raise kind(message) from error
        needed = self._dtype.nbytes(layout.span[1])
        if needed > self._bytes.size:
            raise ValueError(
                f"Array: the layout of {layout} reaches byte {needed} with elements of {self._dtype}, "
                f"but the buffer has {self._bytes.size} bytes"
            )

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes."""
        return self._values.shape if self._values is not None else self.layout.shape

    @property
    def layout(self) -> Layout:
        """Where in the buffer each element is. Strides count elements, not bytes."""
        if self._layout is None:
            assert self._values is not None
            self._layout = layout_of(self._values)
        return self._layout

    @property
    def buffer(self) -> memoryview:
        """The bytes that the layout's positions count in; of a NumPy array, those from its lowest to its highest."""
        return memoryview(_bytes(self))  # type: ignore[arg-type]  # typeshed has no buffers before 3.12

    @property
    def nbytes(self) -> int:
        """The bytes that the elements take, packed if the dtype is."""
        return self._dtype.nbytes(self.size)

    @property
    def itemsize(self) -> int:
        """The bytes of an element; TypeError for a packed dtype."""
        return self._dtype.itemsize

    @property
    def device(self) -> Literal["cpu"]:
        """Where the buffer is."""
        return "cpu"

    def to_device(self, device: str, /, *, stream: None = None) -> "Array":
        """The array itself; ValueError for any device but ``"cpu"``."""
        if device != "cpu" or stream is not None:
            raise ValueError(f'to_device: lamina arrays live on "cpu", with no streams; got {device!r}, {stream!r}')
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The ``lamina`` namespace, which follows the Python array API standard."""
        namespace: ModuleType = FUNCTIONS["__array_namespace__"](api_version)
        return namespace

    # Out: NumPy, the buffer protocol, DLPack

    def to_numpy(self) -> "NDArray[Any]":
        """A NumPy array of the same memory, read-only where it has to be; of a packed dtype, an unpacked copy.

        >>> asarray([1, 2, 3]).to_numpy()
        array([1, 2, 3])
        """
        return to_numpy(self).view()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> "NDArray[Any]":
        if copy is False and self._dtype.is_packed:
            raise ValueError(f"Unable to avoid copy: NumPy's {self._dtype} has one element a byte, lamina's is packed")
        return np.array(self.to_numpy(), dtype=dtype, copy=copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self._dtype.numpy.isbuiltin != 1:
            raise AttributeError(f"NumPy's array interface has no {self._dtype}; write np.asarray(x)")
        return to_numpy(self).__array_interface__

    def __buffer__(self, flags: int, /) -> memoryview:
        if self._dtype.numpy.isbuiltin != 1:
            raise BufferError(f"the buffer protocol has no {self._dtype}; the bytes are in array.buffer")
        return memoryview(to_numpy(self))  # type: ignore[arg-type]

    # What lamina has no function for, NumPy computes, and its results are NumPy's.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        written = inputs[:1] if method == "at" else kwargs.get("out", ())
        if any(isinstance(x, Array) for x in written):
            return _computed_into(written, ufunc, method, inputs, kwargs)
        result = super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        if result is not NotImplemented or not all(isinstance(x, (Array, *_NUMPY_INPUTS)) for x in inputs):
            return result
        return getattr(ufunc, method)(*(to_numpy(x) if isinstance(x, Array) else x for x in inputs), **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = super().__array_function__(func, types, args, kwargs)
        if result is not NotImplemented or not all(issubclass(t, Array | np.ndarray) for t in types):
            return result
        return func._implementation(*args, **kwargs)

    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of the same memory (of a copy, if asked for), as NumPy's.

        Raises BufferError for a packed dtype, another device, and a read-only array unless ``max_version`` is (1, 0)
        or above, since older capsules can't say that they are read-only.
        """
        if self._dtype.is_packed:
            raise BufferError(f"DLPack has no packed {self._dtype} that others read: export x.astype(lamina.int8)")
        asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        return dlpack.exported(to_numpy(self), asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        low, high = self.layout.span
        # Elements that lie scattered over a buffer, which isn't to be written along, are copied.
        data, layout = _spanned(copied(self) if high - low > self.layout.numel else self)
        read_only = not _bytes(self).flags.writeable
        if operator.index(protocol) < 5:
            return Array, (data.tobytes() if read_only else bytearray(data), self._dtype, layout)
        data.flags.writeable = not read_only
        return Array, (pickle.PickleBuffer(data), self._dtype, layout)  # type: ignore[arg-type]

    def __copy__(self) -> "Array":
        return copied(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Array":
        return copied(self)

    # Out: Python

    def item(self, *index: Any) -> Any:
        """An element as a Python number: that of an array of one element, or the one at an index, as NumPy's."""
        return _plain(self).item(*index)

    def tolist(self) -> Any:
        """The elements as Python numbers in nested lists; of a 0-d array, the number."""
        return _plain(self).tolist()

    def __bool__(self) -> bool:
        return bool(_plain(self))

    def __int__(self) -> int:
        return int(_plain(self))

    def __float__(self) -> float:
        return float(_plain(self))

    def __complex__(self) -> complex:
        return complex(_plain(self))

    def __index__(self) -> int:
        return operator.index(_plain(self))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    # In place

    def __setitem__(self, key: Any, value: Any) -> None:
        """Put values at what a key of NumPy's names, in the array's own memory.

        Keys and values may be arrays, and values are broadcast and converted as NumPy's assignment does it, though a
        float out of an integer dtype's range saturates as in `lamina.dtype.cast`.

        Raises ValueError for an array of read-only memory or of a layout that isn't distinct, and for values that
        don't broadcast; IndexError for a key outside the array; OverflowError for a Python number that the dtype
        doesn't hold.

        >>> x = asarray([1, 2, 3, 4])
        >>> x[1:3] = x[2:]
        >>> x[x == 4] = 0.9
        >>> x.tolist()
        [1, 3, 0, 0]
        """
        if isinstance(value, Operators) and not isinstance(value, Array):
            raise untraced_write(self)
        if isinstance(value, np.integer):
            value = int(value)  # NumPy has no place for one out of range either
        _expect_writable(self)
        _put(self, _index(key), to_numpy(asarray(value, self._dtype)))

    def __delitem__(self, key: Any) -> NoReturn:
        raise ValueError("cannot delete array elements")

    def _write(self, result: Any) -> "Array":
        if not isinstance(result, Array):
            raise untraced_write(self)
        if _CASTING_RANK[result.dtype.kind] > _CASTING_RANK[self._dtype.kind]:
            raise TypeError(
                f"Cannot cast the result from {result.dtype} to {self._dtype}, the dtype of the array that is written, "
                f"with casting rule 'same_kind'; write x = x + y, or x[...] = x + y to convert it all the same"
            )
        if result.shape != self.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {self.shape} doesn't match the result's {result.shape}: "
                "an array that is written keeps its shape"
            )
        _expect_writable(self)
        _put(self, ..., dtypes.cast(to_numpy(result), self._dtype))
        return self

    def __repr__(self) -> str:
        prefix = "lamina.Array("
        values = np.array2string(_plain(self), separator=", ", prefix=prefix)
        return f"{prefix}{values}, shape={self.shape}, dtype={self._dtype})"

    def __str__(self) -> str:
        return str(_plain(self))

    def __format__(self, spec: str) -> str:
        return format(_plain(self), spec)


def to_numpy(array: Array) -> "NDArray[Any]":
    """The NumPy array that an `Array` holds: shared with it, so neither its shape nor its flags may be changed.

    For lamina's own rooms; `Array.to_numpy` gives a view that is the caller's own. Of a packed dtype, an unpacked copy.
    """
    values = array._values
    if values is not None:
        return values
    layout, dtype, data = array.layout, array._dtype, _bytes(array)
    if dtype.is_packed:
        return _unpacked(array)[2].copy()
    size = dtype.itemsize
    values = np.ndarray(layout.shape, dtype.numpy, data, layout.offset * size, [s * size for s in layout.strides])
    if not layout.is_distinct:
        values.flags.writeable = False
    array._values = values
    return values


def from_numpy(values: "NDArray[Any]", copy: bool | None = None) -> Array:
    """The `Array` of a NumPy array's memory; of a copy where no layout says where the elements are.

    With ``copy=False`` that is a ValueError.

    For lamina's own rooms: it keeps the very object, which must not have its shape or flags changed afterwards.
    `asarray` takes everything, and protects itself from that.

    Raises as `asarray` does.
    """
    if type(values) is np.ndarray and values.flags.c_contiguous and values.size and values.ndim <= MAX_RANK:
        dtype = dtypes.BY_NUMPY.get(values.dtype)
        if dtype is not None and not dtype.is_packed:
            return _array(dtype, values)
    return _adopted(values, copy)


def asarray(obj: Any, /, dtype: object = None, *, copy: bool | None = None) -> Array:
    """The array of whatever holds numbers.

    Args:
        obj: an `Array` (returned as it is), a NumPy array or scalar, a Python number, lists and tuples of any of these,
            a buffer, a DLPack producer, or an object with ``__array__`` or ``__array_interface__``.
        dtype: the dtype of the result. Values convert as in `lamina.dtype.cast`; a Python number that it doesn't hold
            is an OverflowError, as in NumPy.
        copy: True for memory of the result's own; False for an error where that would be needed; by default a copy is
            made only of what is no memory of such numbers: Python numbers, another dtype or byte order, packed dtypes,
            byte strides that are no multiple of the element's width.

    Raises TypeError for dtypes that lamina has not (object, string, datetime, structured), ``np.matrix``, masked
    arrays and what holds no numbers; ValueError for more than 32 axes, and for a copy where ``copy`` is False.

    >>> a = np.arange(12.0).reshape(3, 4)
    >>> asarray(a[:, ::-1]).layout, np.shares_memory(a, asarray(a[:, ::-1]))
    (Layout((3, 4), (4, -1), offset=3), True)
    >>> asarray([[1, 2], [3, 4]], "float32")
    lamina.Array([[1., 2.],
                  [3., 4.]], shape=(2, 2), dtype=float32)
    """
    wanted = None if dtype is None else dtypes.from_numpy(dtype)
    if isinstance(obj, Array):
        if wanted is None or wanted is obj.dtype:
            return copied(obj) if copy else obj
        values = to_numpy(obj)
    elif isinstance(obj, np.ndarray):
        values = obj
    else:
        values = gathered(obj, wanted, copy)
        copy = None if copy else copy  # it was made
    refuse_kinds(values)
    if wanted is not None and dtypes.from_numpy(values.dtype) is not wanted:
        if copy is False:
            raise ValueError(f"Unable to avoid copy: the elements are {values.dtype} and are to become {wanted}")
        return from_numpy(dtypes.cast(values, wanted))
    return from_numpy(values.copy(order="K") if copy else values.view(), copy)


def from_dlpack(x: Any, /, *, device: Literal["cpu"] | None = None, copy: bool | None = None) -> Array:
    """The array of a DLPack producer's memory (or of a copy, if ``copy`` is True), read-only if the producer says so.

    Raises TypeError for what is no DLPack producer, BufferError for memory elsewhere than on the CPU (``"cpu"`` as
    ``device`` asks the producer to bring it there) and for dtypes that lamina has not, such as packed bools.

    >>> a = np.arange(3)
    >>> np.shares_memory(from_dlpack(a), a)
    True
    """
    return from_numpy(dlpack.imported(x, device, copy))


def copied(array: Array) -> Array:
    """An array of the same elements in writable memory of its own, no larger than they need."""
    values = to_numpy(array)
    return from_numpy(values if array.dtype.is_packed else values.copy(order="K"))


def _array(
    dtype: DType,
    values: "NDArray[Any] | None",
    layout: Layout | None = None,
    data: "NDArray[np.uint8] | None" = None,
) -> Array:
    array = Array.__new__(Array)
    array._dtype = dtype
    array._values = values
    array._layout = layout
    array._bytes = data
    return array


def _adopted(values: "NDArray[Any]", copy: bool | None) -> Array:
    """`from_numpy` for every NumPy array."""
    values = np.asarray(values)  # of a subclass, its ndarray
    dtype = dtypes.from_numpy(values.dtype)
    if values.ndim > MAX_RANK:
        raise ValueError(f"a lamina array has at most {MAX_RANK} axes, but the shape {values.shape} has {values.ndim}")
    reason = None
    if dtype.is_packed:
        reason = f"{dtype} is packed"
    elif not values.dtype.isnative:
        reason = "the bytes are swapped"
    elif values.size and any(s % dtype.itemsize for n, s in zip(values.shape, values.strides, strict=True) if n > 1):
        reason = f"the byte strides {values.strides} are no multiples of the {dtype.itemsize} bytes of an element"
    if reason is None:
        layout = layout_of(values)
        if values.flags.writeable and not layout.is_distinct:
            values = values.view()
            values.flags.writeable = False
        return _array(dtype, values, layout)
    if copy is False:
        raise ValueError(f"Unable to avoid copy: {reason}")
    if dtype.is_packed:
        return _array(dtype, None, Layout.contiguous(values.shape), dtypes.pack(values, dtype))
    return from_numpy(values.astype(dtype.numpy))


def layout_of(values: "NDArray[Any]") -> Layout:
    """The layout of a NumPy array, counted from the lowest address that it reaches.

    For lamina's own rooms: the strides are multiples of the element's width.

    >>> layout_of(np.arange(12.0).reshape(3, 4)[::-1, 1:])
    Layout((3, 3), (-4, 1), offset=8)
    """
    if values.flags.c_contiguous:
        return Layout.contiguous(values.shape)
    strides = [s // values.itemsize if n > 1 else 0 for n, s in zip(values.shape, values.strides, strict=True)]
    below = sum((n - 1) * s for n, s in zip(values.shape, strides, strict=True) if s < 0)
    return Layout(values.shape, strides, -below)


def stretched(values: "NDArray[Any]", count: int) -> "NDArray[Any]":
    """The elements of a NumPy array's memory, as many as asked for, from the lowest address that it reaches.

    For lamina's own rooms: the array has an element, and so many lie in its memory.

    >>> stretched(np.arange(12.0).reshape(3, 4)[::-1, 1:], 5)
    array([1., 2., 3., 4., 5.])
    """
    lowest = tuple(slice(n - 1, n) if s < 0 else slice(1) for n, s in zip(values.shape, values.strides, strict=True))
    # stretched from the element there, which keeps the memory's owner alive
    first = values[lowest].reshape(1) if lowest else values.reshape(1)
    return np.lib.stride_tricks.as_strided(first, (count,), (values.itemsize,))


def _bytes(array: Array) -> "NDArray[np.uint8]":
    if array._bytes is None:
        values = array._values
        assert values is not None
        low, high = array.layout.span
        if low == high:
            data = np.empty(0, np.uint8)
            data.flags.writeable = values.flags.writeable
        else:
            data = stretched(values, high).view(np.uint8)
        array._bytes = data
    return array._bytes


def _spanned(array: Array) -> "tuple[NDArray[np.uint8], Layout]":
    """The bytes of the layout's span, and the layout counted from the first of them."""
    layout, dtype = array.layout, array._dtype
    low, high = layout.span
    start = low * dtype.bits // 8
    offset = layout.offset - start * 8 // dtype.bits if layout.numel else 0
    return _bytes(array)[start : dtype.nbytes(high)], Layout(layout.shape, layout.strides, offset)


def _unpacked(array: Array) -> "tuple[NDArray[np.uint8], NDArray[Any], NDArray[Any]]":
    """Of a packed dtype: the bytes of the span, the elements that fill them, and those of the array among them."""
    (data, layout), dtype = _spanned(array), array._dtype
    cells = dtypes.unpack(data, dtype)
    return data, cells, np.ndarray(layout.shape, dtype.numpy, cells, layout.offset, layout.strides)


def _expect_writable(array: Array) -> None:
    """Raises ValueError, with the reason, for an array that can't be written."""
    if not array.layout.is_distinct:
        raise ValueError(
            f"assignment destination is read-only: the layout {array.layout} is not distinct, so several indices may "
            "share one element and a write would show in all of them; write to x.copy()"
        )
    if not (_bytes(array) if array._values is None else array._values).flags.writeable:
        raise ValueError(
            "assignment destination is read-only: the memory came into the array read-only; write to x.copy()"
        )


def _put(array: Array, key: Any, values: "NDArray[Any]") -> None:
    """Write values of the array's own dtype where a key of NumPy's says."""
    if array.dtype.is_packed:
        data, cells, elements = _unpacked(array)
        elements[key] = values
        data[:] = dtypes.pack(cells, array.dtype)
    else:
        memory = to_numpy(array)
        # NumPy reads values first that overlap what a slice names, but not those that overlap what an index array does.
        memory[key] = values.copy() if np.may_share_memory(memory, values) else values


def _computed_into(
    written: tuple[Any, ...], ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A ufunc whose results NumPy computes into the memory of the arrays among ``written``, which it returns."""
    memory = {}
    for x in (*written, *inputs, kwargs.get("where")):
        if isinstance(x, Array):
            memory[id(x)] = to_numpy(x)
        elif isinstance(x, Operators):
            raise untraced_write(written[0])
    for x in written:
        if isinstance(x, Array):
            _expect_writable(x)

    def plain(x: Any) -> Any:
        return tuple(map(plain, x)) if isinstance(x, tuple) else memory.get(id(x), x)

    result = getattr(ufunc, method)(*map(plain, inputs), **{name: plain(x) for name, x in kwargs.items()})
    for x in written:
        if isinstance(x, Array) and x.dtype.is_packed:
            _put(x, ..., memory[id(x)])
    if method == "at":
        return None
    results = result if isinstance(result, tuple) else (result,)
    own = tuple(out if isinstance(out, Array) else x for out, x in zip(written, results, strict=True))
    return own if isinstance(result, tuple) else own[0]


def _index(key: Any) -> Any:
    """A key with NumPy arrays in place of lamina's."""
    if isinstance(key, tuple | list):
        return type(key)(map(_index, key))
    if not isinstance(key, Array):
        return key
    return to_numpy(asarray(key, dtypes.int8) if key.dtype.is_packed else key)


def _plain(array: Array) -> "NDArray[Any]":
    """The elements in a dtype of NumPy's own, which knows how to print them and make Python numbers of them."""
    values = to_numpy(array)
    return values if array.dtype.numpy.isbuiltin == 1 else values.astype(_plain_dtype(array.dtype))


@functools.cache
def _plain_dtype(dtype: DType) -> "np.dtype[Any]":
    wider = dtypes.of_kind(dtype.kind)
    return next(d.numpy for d in wider if d.numpy.isbuiltin == 1 and dtypes.can_cast(dtype, d))
