"""The functions of NumPy that are one of lamina's, perhaps under another name or with other arguments.

A line of `_ROWS` is NumPy's name and lamina's; what follows is arguments: ``ddof=correction`` is called so there.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.api import datatypes, elementwise, joining, linalg, manipulation, products, searching
from lamina.numpy_protocol.table import means, row
from lamina.operators import FUNCTIONS
from lamina.trace.build import to_dtype, with_kind
from lamina.trace.reduction import array_of, flat
from lamina.trace.shapes import as_array
from lamina.trace.value import Kind, Value

_ROWS = """
    all              all
    amax             max
    amin             min
    angle            angle
    any              any
    argmax           argmax
    argmin           argmin
    argpartition     argpartition
    argsort          argsort
    around           round
    array_split      array_split
    astype           astype
    average          average
    broadcast_arrays broadcast_arrays
    broadcast_to     broadcast_to
    column_stack     column_stack
    count_nonzero    count_nonzero
    cumulative_prod  cumulative_prod
    cumulative_sum   cumulative_sum
    diff             diff
    dot              dot
    empty_like       empty_like
    expand_dims      expand_dims
    flip             flip
    full_like        full_like
    imag             imag
    inner            inner
    isclose          isclose
    isin             isin
    kron             kron
    linspace         linspace
    logspace         logspace
    matrix_transpose matrix_transpose
    max              max
    mean             mean
    median           median
    meshgrid         meshgrid
    min              min
    moveaxis         moveaxis
    nan_to_num       nan_to_num
    nanargmax        nanargmax
    nanargmin        nanargmin
    nanmax           nanmax
    nanmean          nanmean
    nanmedian        nanmedian
    nanmin           nanmin
    nanprod          nanprod
    nanstd           nanstd
    nansum           nansum
    nanvar           nanvar
    nonzero          nonzero
    ones_like        ones_like
    pad              pad
    partition        partition
    percentile       percentile
    permute_dims     permute_dims
    prod             prod
    ptp              ptp
    quantile         quantile
    ravel            ravel
    real             real
    repeat           repeat
    roll             roll
    rot90            rot90
    round            round
    searchsorted     searchsorted
    sinc             sinc
    sort             sort
    split            split
    squeeze          squeeze
    std              std               ddof=correction
    sum              sum
    swapaxes         swapaxes
    take             take
    take_along_axis  take_along_axis
    tensordot        tensordot
    tile             tile
    transpose        permute_dims
    tril             tril
    triu             triu
    unique_all       unique_all
    unique_counts    unique_counts
    unique_inverse   unique_inverse
    unique_values    unique_values
    unstack          unstack
    var              var               ddof=correction
    zeros_like       zeros_like

    lib.stride_tricks.sliding_window_view  sliding_window_view

    linalg.cholesky         cholesky
    linalg.cross            cross
    linalg.det              det
    linalg.diagonal         diagonal
    linalg.eigh             eigh
    linalg.eigvalsh         eigvalsh
    linalg.inv              inv
    linalg.matmul           matmul
    linalg.matrix_norm      matrix_norm
    linalg.matrix_power     matrix_power
    linalg.matrix_transpose matrix_transpose
    linalg.norm             norm
    linalg.outer            outer
    linalg.qr               qr
    linalg.slogdet          slogdet
    linalg.solve            solve
    linalg.svdvals          svdvals
    linalg.tensordot        tensordot
    linalg.trace            trace
    linalg.vecdot           vecdot
    linalg.vector_norm      vector_norm

    fft.fft                 fft
    fft.fft2                fft2
    fft.fftn                fftn
    fft.fftshift            fftshift
    fft.hfft                hfft
    fft.ifft                ifft
    fft.ifft2               ifft2
    fft.ifftn               ifftn
    fft.ifftshift           ifftshift
    fft.ihfft               ihfft
    fft.irfft               irfft
    fft.irfft2              irfft2
    fft.irfftn              irfftn
    fft.rfft                rfft
    fft.rfft2               rfft2
    fft.rfftn               rfftn
"""

for _line in _ROWS.splitlines():
    if _line.strip():
        _name, _key, *_arguments = _line.split()
        row(_name, _key, **dict(each.split("=") for each in _arguments))


# Results that are Python numbers


def _as_number(result: Value) -> Value:
    return with_kind(result, Kind.NUMBER)


@means("allclose")
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Value:
    """A Python bool."""
    return _as_number(FUNCTIONS["allclose"](a, b, rtol, atol, equal_nan))


@means("array_equal")
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Value:
    """A Python bool."""
    return _as_number(FUNCTIONS["array_equal"](a1, a2, equal_nan))


# Joining, with a dtype


def _in_dtype(arrays: Iterable[Any], dtype: Any, casting: Any) -> Sequence[Any]:
    if dtype is None:
        return tuple(arrays)
    wanted = dt.from_numpy(dtype)
    values = [array_of(each, "an array") for each in arrays]
    for value in values:
        if not np.can_cast(value.dtype.numpy, wanted.numpy, casting):
            raise TypeError(f"Cannot cast array data from {value.dtype} to {wanted} according to the rule {casting!r}")
    return [to_dtype(value, wanted) for value in values]


def _expect_no_out(out: Any) -> None:
    if out is not None:
        raise NotImplementedError("the argument out isn't there: lamina's functions return new arrays")


@means("concatenate", "concat")
def concatenate(
    arrays: Any, /, axis: Any = 0, out: None = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """Where `axis` is None, of the elements in C order."""
    _expect_no_out(out)
    return joining.concat(_in_dtype(arrays, dtype, casting), axis=axis)


@means("stack")
def stack(arrays: Any, axis: int = 0, out: None = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Along a new axis."""
    _expect_no_out(out)
    return joining.stack(_in_dtype(arrays, dtype, casting), axis=axis)


@means("hstack")
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Along the second axis, or the only one."""
    return joining.hstack(_in_dtype(tup, dtype, casting))


@means("vstack")
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Along the first axis."""
    return joining.vstack(_in_dtype(tup, dtype, casting))


@means("dstack")
def dstack(tup: Any) -> Any:
    """Along the third axis."""
    return joining.dstack(tup)


def _several(name: str) -> None:
    @means(name)
    def at_least(*arys: Any) -> Any:
        results = tuple(FUNCTIONS[name](each) for each in arys)
        return results[0] if len(results) == 1 else results


_several("atleast_1d")
_several("atleast_2d")
_several("atleast_3d")


# Other arguments


@means("clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Bounds by either name."""
    return elementwise.clip(a, a_min if min is None else min, a_max if max is None else max, out)


@means("copy")
def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """An array, of a scalar too."""
    value = as_array(a)
    return datatypes.astype(value, value.dtype, order=order)


@means("cross")
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Axes of each operand's own, and of the result."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = (manipulation.moveaxis(as_array(each), own, -1) for each, own in ((a, axisa), (b, axisb)))
    return manipulation.moveaxis(products.cross(x, y), -1, axisc)


def _flat_without_axis(name: str, key: str) -> None:
    @means(name)
    def cumulative(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        _expect_no_out(out)
        x = as_array(a)
        return FUNCTIONS[key](flat(x) if axis is None else x, axis=0 if axis is None else axis, dtype=dtype)


_flat_without_axis("cumsum", "cumulative_sum")
_flat_without_axis("cumprod", "cumulative_prod")


@means("diagonal")
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Of any two axes."""
    return as_array(a).diagonal(offset, axis1, axis2)


@means("trace")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """Of any two axes."""
    _expect_no_out(out)
    return as_array(a).trace(offset, axis1, axis2, dtype=dtype)


@means("einsum")
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **options: Any) -> Any:
    """Planned always: one loop over all labels, which NumPy runs unless it is told to plan, isn't there."""
    _expect_no_out(out)
    order = options.pop("order", "K")
    result = linalg.einsum(*operands, optimize=optimize or True, **options)
    result = datatypes.astype(result, result.dtype, order=order, copy=False)
    # where NumPy plans, its last product of two operands is an array
    is_product = len(operands) > (2 if isinstance(operands[0], str) else 3)
    return with_kind(result, Kind.ARRAY) if optimize and is_product else result


@means("fix")
def fix(x: Any, out: Any = None) -> Any:
    """Towards zero."""
    _expect_no_out(out)
    return elementwise.trunc(x)


@means("outer")
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Of arrays of any rank, as vectors."""
    _expect_no_out(out)
    return products.outer(flat(as_array(a)), flat(as_array(b)))


@means("reshape")
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Any:
    """In C order or Fortran's."""
    return as_array(a).reshape(shape, order=order, copy=copy)


@means("where")
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """With one argument, `lamina.nonzero`."""
    if x is None and y is None:
        return searching.nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    return searching.where(condition, x, y)


@means("linalg.svd")
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """The singular values alone, or with their vectors."""
    _expect_general(hermitian)
    return linalg.svd(a, full_matrices=full_matrices) if compute_uv else linalg.svdvals(a)


@means("linalg.pinv")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    """By singular values above 1e-15 times the greatest, unless told otherwise."""
    _expect_general(hermitian)
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    return linalg.pinv(a, rtol=rcond if rcond is not None else 1e-15 if rtol is np._NoValue else rtol)


@means("linalg.matrix_rank")
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Of fewer than two axes: whether one element isn't 0."""
    _expect_general(hermitian)
    x = as_array(A)
    if tol is not None:
        raise NotImplementedError("the argument tol isn't there; write rtol, relative to the greatest singular value")
    if x.ndim < 2:
        return _as_number(to_dtype(FUNCTIONS["any"](x), dt.int64))
    return linalg.matrix_rank(x, rtol=rtol)


def _expect_general(hermitian: bool) -> None:
    if hermitian:
        raise NotImplementedError("the argument hermitian isn't there; lamina.linalg.eigh is for Hermitian matrices")


@means("linalg.multi_dot")
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    """In the order that `lamina.einsum` plans."""
    _expect_no_out(out)
    values = [as_array(each) for each in arrays]
    if len(values) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(values) == 2:
        return products.dot(*values)
    ranks = [value.ndim for value in values]
    if any(rank != 2 for rank in ranks[1:-1]) or any(rank not in (1, 2) for rank in (ranks[0], ranks[-1])):
        raise np.linalg.LinAlgError(
            f"the arrays must be matrices, the first and the last may be vectors; got ranks {ranks}"
        )
    letters = "abcdefghijklmnopqrstuvwxyz"[: len(values) + 1]
    terms = [letters[i : i + 2] for i in range(len(values))]
    terms[0], terms[-1] = terms[0][2 - ranks[0] :], terms[-1][: ranks[-1]]
    return linalg.einsum(f"{','.join(terms)}->{terms[0][:-1]}{terms[-1][1:]}", *values)
