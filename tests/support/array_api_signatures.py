"""The functions of the Python array API standard 2024.12: their signatures, by chapter, in Python's own notation.

Linear algebra functions that stand in both namespaces are in both chapters. The optional ``fft`` part is not here.
"""

import inspect
from collections.abc import Iterator

CHAPTERS = {
    "creation": """
        arange(start, /, stop=None, step=1, *, dtype=None, device=None)
        asarray(obj, /, *, dtype=None, device=None, copy=None)
        empty(shape, *, dtype=None, device=None)
        empty_like(x, /, *, dtype=None, device=None)
        eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
        from_dlpack(x, /, *, device=None, copy=None)
        full(shape, fill_value, *, dtype=None, device=None)
        full_like(x, /, fill_value, *, dtype=None, device=None)
        linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
        meshgrid(*arrays, indexing="xy")
        ones(shape, *, dtype=None, device=None)
        ones_like(x, /, *, dtype=None, device=None)
        tril(x, /, *, k=0)
        triu(x, /, *, k=0)
        zeros(shape, *, dtype=None, device=None)
        zeros_like(x, /, *, dtype=None, device=None)
    """,
    "data types": """
        astype(x, dtype, /, *, copy=True, device=None)
        can_cast(from_, to, /)
        finfo(type, /)
        iinfo(type, /)
        isdtype(dtype, kind)
        result_type(*arrays_and_dtypes)
    """,
    "elementwise": """
        abs(x, /)
        acos(x, /)
        acosh(x, /)
        add(x1, x2, /)
        asin(x, /)
        asinh(x, /)
        atan(x, /)
        atan2(x1, x2, /)
        atanh(x, /)
        bitwise_and(x1, x2, /)
        bitwise_invert(x, /)
        bitwise_left_shift(x1, x2, /)
        bitwise_or(x1, x2, /)
        bitwise_right_shift(x1, x2, /)
        bitwise_xor(x1, x2, /)
        ceil(x, /)
        clip(x, /, min=None, max=None)
        conj(x, /)
        copysign(x1, x2, /)
        cos(x, /)
        cosh(x, /)
        divide(x1, x2, /)
        equal(x1, x2, /)
        exp(x, /)
        expm1(x, /)
        floor(x, /)
        floor_divide(x1, x2, /)
        greater(x1, x2, /)
        greater_equal(x1, x2, /)
        hypot(x1, x2, /)
        imag(x, /)
        isfinite(x, /)
        isinf(x, /)
        isnan(x, /)
        less(x1, x2, /)
        less_equal(x1, x2, /)
        log(x, /)
        log10(x, /)
        log1p(x, /)
        log2(x, /)
        logaddexp(x1, x2, /)
        logical_and(x1, x2, /)
        logical_not(x, /)
        logical_or(x1, x2, /)
        logical_xor(x1, x2, /)
        maximum(x1, x2, /)
        minimum(x1, x2, /)
        multiply(x1, x2, /)
        negative(x, /)
        nextafter(x1, x2, /)
        not_equal(x1, x2, /)
        positive(x, /)
        pow(x1, x2, /)
        real(x, /)
        reciprocal(x, /)
        remainder(x1, x2, /)
        round(x, /)
        sign(x, /)
        signbit(x, /)
        sin(x, /)
        sinh(x, /)
        sqrt(x, /)
        square(x, /)
        subtract(x1, x2, /)
        tan(x, /)
        tanh(x, /)
        trunc(x, /)
    """,
    "Fourier transforms": """
        fft.fft(x, /, *, n=None, axis=-1, norm="backward")
        fft.ifft(x, /, *, n=None, axis=-1, norm="backward")
        fft.fftn(x, /, *, s=None, axes=None, norm="backward")
        fft.ifftn(x, /, *, s=None, axes=None, norm="backward")
        fft.rfft(x, /, *, n=None, axis=-1, norm="backward")
        fft.irfft(x, /, *, n=None, axis=-1, norm="backward")
        fft.rfftn(x, /, *, s=None, axes=None, norm="backward")
        fft.irfftn(x, /, *, s=None, axes=None, norm="backward")
        fft.hfft(x, /, *, n=None, axis=-1, norm="backward")
        fft.ihfft(x, /, *, n=None, axis=-1, norm="backward")
        fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None)
        fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
        fft.fftshift(x, /, *, axes=None)
        fft.ifftshift(x, /, *, axes=None)
    """,
    "indexing": """
        take(x, indices, /, *, axis=None)
        take_along_axis(x, indices, /, *, axis=-1)
    """,
    "inspection": """
        __array_namespace_info__()
    """,
    "linear algebra": """
        matmul(x1, x2, /)
        matrix_transpose(x, /)
        tensordot(x1, x2, /, *, axes=2)
        vecdot(x1, x2, /, *, axis=-1)
        linalg.cholesky(x, /, *, upper=False)
        linalg.cross(x1, x2, /, *, axis=-1)
        linalg.det(x, /)
        linalg.diagonal(x, /, *, offset=0)
        linalg.eigh(x, /)
        linalg.eigvalsh(x, /)
        linalg.inv(x, /)
        linalg.matmul(x1, x2, /)
        linalg.matrix_norm(x, /, *, keepdims=False, ord="fro")
        linalg.matrix_power(x, n, /)
        linalg.matrix_rank(x, /, *, rtol=None)
        linalg.matrix_transpose(x, /)
        linalg.outer(x1, x2, /)
        linalg.pinv(x, /, *, rtol=None)
        linalg.qr(x, /, *, mode="reduced")
        linalg.slogdet(x, /)
        linalg.solve(x1, x2, /)
        linalg.svd(x, /, *, full_matrices=True)
        linalg.svdvals(x, /)
        linalg.tensordot(x1, x2, /, *, axes=2)
        linalg.trace(x, /, *, offset=0, dtype=None)
        linalg.vecdot(x1, x2, /, *, axis=-1)
        linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
    """,
    "manipulation": """
        broadcast_arrays(*arrays)
        broadcast_to(x, /, shape)
        concat(arrays, /, *, axis=0)
        expand_dims(x, /, *, axis=0)
        flip(x, /, *, axis=None)
        moveaxis(x, source, destination, /)
        permute_dims(x, /, axes)
        repeat(x, repeats, /, *, axis=None)
        reshape(x, /, shape, *, copy=None)
        roll(x, /, shift, *, axis=None)
        squeeze(x, /, axis)
        stack(arrays, /, *, axis=0)
        tile(x, repetitions, /)
        unstack(x, /, *, axis=0)
    """,
    "searching": """
        argmax(x, /, *, axis=None, keepdims=False)
        argmin(x, /, *, axis=None, keepdims=False)
        count_nonzero(x, /, *, axis=None, keepdims=False)
        nonzero(x, /)
        searchsorted(x1, x2, /, *, side="left", sorter=None)
        where(condition, x1, x2, /)
    """,
    "sets": """
        unique_all(x, /)
        unique_counts(x, /)
        unique_inverse(x, /)
        unique_values(x, /)
    """,
    "sorting": """
        argsort(x, /, *, axis=-1, descending=False, stable=True)
        sort(x, /, *, axis=-1, descending=False, stable=True)
    """,
    "statistical": """
        cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
        cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
        max(x, /, *, axis=None, keepdims=False)
        mean(x, /, *, axis=None, keepdims=False)
        min(x, /, *, axis=None, keepdims=False)
        prod(x, /, *, axis=None, dtype=None, keepdims=False)
        std(x, /, *, axis=None, correction=0.0, keepdims=False)
        sum(x, /, *, axis=None, dtype=None, keepdims=False)
        var(x, /, *, axis=None, correction=0.0, keepdims=False)
    """,
    "utility": """
        all(x, /, *, axis=None, keepdims=False)
        any(x, /, *, axis=None, keepdims=False)
        diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
    """,
}

# The attributes and methods of the standard's array; each operator that has a reflected or an in-place form has both.
ATTRIBUTES = ("dtype", "device", "mT", "ndim", "shape", "size", "T")

METHODS = """
    __array_namespace__(self, /, *, api_version=None)
    __bool__(self, /)
    __complex__(self, /)
    __dlpack__(self, /, *, stream=None, max_version=None, dl_device=None, copy=None)
    __dlpack_device__(self, /)
    __float__(self, /)
    __getitem__(self, key, /)
    __index__(self, /)
    __int__(self, /)
    __setitem__(self, key, value, /)
    to_device(self, device, /, *, stream=None)
    __abs__(self, /)
    __invert__(self, /)
    __neg__(self, /)
    __pos__(self, /)
    __eq__(self, other, /)
    __ge__(self, other, /)
    __gt__(self, other, /)
    __le__(self, other, /)
    __lt__(self, other, /)
    __ne__(self, other, /)
"""

WITH_REFLECTED_AND_IN_PLACE = (
    *("add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift", "sub", "truediv", "xor"),
)


def parsed(lines: str) -> Iterator[tuple[str, inspect.Signature]]:
    """Each name in a text of signatures, with its signature."""
    for line in filter(None, map(str.strip, lines.splitlines())):
        name, parameters = line.removesuffix(")").split("(", 1)
        yield name, inspect.signature(eval(f"lambda {parameters}: None"))


SIGNATURES = {name: signature for text in CHAPTERS.values() for name, signature in parsed(text)}
