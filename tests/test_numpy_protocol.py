"""NumPy's functions on traced values and on lamina's arrays, against NumPy itself.

A line of `CALLS` is a Python expression. It runs on NumPy arrays undecorated, on the same arrays under `lamina.defn`,
and on `lamina.Array`s: results, dtypes, shapes and kinds (array, NumPy scalar, Python number, tuple) must be NumPy's.
They are the same bit for bit; the elements of what goes through a matrix product are whole numbers, so that no order of
summation matters.
"""

import ast
import re
import warnings

import numpy as np
import pytest

import lamina
from lamina.numpy_protocol import TABLE, array_function, array_ufunc, load, ufuncs
from lamina.numpy_protocol.table import numpys
from lamina.trace.value import Value

pytestmark = pytest.mark.usefixtures("through_evaluator")

load()

ARRAYS = {
    "x": np.array([[1.5, -2.25, 0.0, 4.0], [-0.0, 7.5, -3.5, 2.0], [9.0, 1.5, -8.75, 0.5]]),
    "y": np.array([[2.0, 0.5, -1.0, 3.0], [4.0, -2.5, 1.0, 2.0], [-3.0, 0.25, 8.0, -0.5]]),
    "f": np.array([[1, -2, 3, 4], [5, 6, -7, 8]], np.float32),  # whole numbers
    "g": np.array([[1, 2, 0, 4], [2, -1, 1, 0], [3, 1, 2, 1], [0, 1, 0, -1]], np.float64),  # whole, square
    "h": np.array([0.5, -1.5, 2.5, 65000.0], np.float16),
    "c": np.array([[1 + 2j, -3j, 4], [0.5, -1 - 1j, 2 + 2j]]),
    "i": np.array([[3, -1, 2, 0], [5, 5, -7, 1], [0, 2, 9, -4]]),
    "j": np.array([2, 0, 1, 2]),
    "k": np.array([200, 100, 3, 0, 255], np.uint8),
    "b": np.array([[True, False, True, True], [False, False, True, False], [True, True, True, True]]),
    "m": np.array([True, False, True, True]),
    "u": np.array([0.5, 1.0, 2.5, 4.0, 8.0]),  # ascending
    "w": np.array([1.0, 3.0, -2.0, 5.0, 2.0]),
    "z": np.array([[1.0, np.nan, 3.0, -np.inf], [np.inf, 2.0, np.nan, 5.0]]),
    "p": np.array([[4.0, 2.0, 1.0], [2.0, 5.0, 3.0], [1.0, 3.0, 6.0]]),  # positive definite
    "t": np.arange(24.0).reshape(2, 3, 4),
    "o": np.zeros((0, 3)),
    "s": np.array(2.5),
    "q": np.float32(1.25),
    "n": 3,
    "r": 0.75,
}

CALLS = """
    np.all(b)
    np.all(b, axis=0)
    np.all(x, 1, keepdims=True)
    np.all(b, where=m)
    np.any(b, axis=(0, 1))
    np.any(o)
    np.any(s)
    np.allclose(x, x + 1e-9)
    np.allclose(x, y, rtol=0.1)
    np.allclose(z, z, equal_nan=True)
    np.amax(x, 1)
    np.amin(i, axis=0)
    np.angle(c)
    np.angle(x, deg=True)
    np.angle(q)
    np.append(x, y)
    np.append(x, y, axis=1)
    np.append(i, 2.5)
    np.argmax(x)
    np.argmax(x, axis=1)
    np.argmin(z, 0, keepdims=True)
    np.argpartition(w, 2)[2]
    np.argsort(x)
    np.argsort(i, axis=None, kind="stable")
    np.argsort(x, 0, stable=True)
    np.around(x, 1)
    np.around(h)
    np.array_equal(x, x)
    np.array_equal(x, y)
    np.array_equal(z, z, equal_nan=True)
    np.array_equal(x, w)
    np.array_equiv(x, x[:1])
    np.array_equiv(f[:1] * 0, np.zeros(4))
    np.array_equiv(x, w)
    np.array_split(w, 3)
    np.array_split(x, [1, 3], axis=1)
    np.astype(x, np.float32)
    np.astype(i, bool)
    np.astype(x, x.dtype, copy=False)
    np.atleast_1d(s)
    np.atleast_1d(s, x)
    np.atleast_2d(w)
    np.atleast_3d(x)
    np.atleast_2d(s, w, n)
    np.average(x)
    np.average(x, axis=0)
    np.average(f, axis=1, weights=np.array([1.0, 2.0, 1.0, 4.0]))
    np.average(f, weights=f * f, returned=True)
    np.block([[x, y], [y, x]])
    np.block([w, s, u])
    np.block([[p, np.ones((3, 2))], [np.zeros((2, 3)), np.eye(2)]])
    np.block([[[w]], [[u]]])
    np.block([x, w[:3, None]])
    np.block(s)
    np.broadcast_arrays(x, m)
    np.broadcast_to(w, (2, 5))
    np.broadcast_to(s, (2, 2))
    np.can_cast(x, np.float32)
    np.can_cast(k, np.int16)
    np.choose(j, [w[:4], u[:4], w[1:]])
    np.choose(j + 5, [w[:4], u[:4], w[1:]], mode="wrap")
    np.choose(j - 1, (u[:4], 7), mode="clip")
    np.clip(x, -1, 2)
    np.clip(i, 0, None)
    np.clip(x, max=1.5, min=0)
    np.clip(k, n, 150)
    np.clip(s, 0, 1)
    np.column_stack((w, u))
    np.column_stack((w, np.stack((u, u), 1)))
    np.common_type(f, x)
    np.compress([True, False, True], x, axis=0)
    np.compress(np.array([False, True, True]), x)
    np.concat((x, y), axis=0)
    np.concatenate((x, y))
    np.concatenate((x, i), axis=1)
    np.concatenate((x, w), axis=None)
    np.concatenate((x, y), dtype=np.float32)
    np.concatenate([f, i[:2]], 1)
    np.convolve(w, np.array([1.0, 0.0, 2.0]))
    np.convolve(np.array([1, 2, 3]), i[0], "same")
    np.convolve(w, u * 2, mode="valid")
    np.convolve(c[0], np.array([1j, 2.0]))
    np.copy(x)
    np.copy(x.T, order="F")
    np.copy(q)
    np.corrcoef(f[:, :2] * 2)
    np.correlate(w, np.array([1.0, 2.0]))
    np.correlate(np.array([1.0, 2.0]), w, "full")
    np.correlate(i[0], j, "same")
    np.correlate(c[0], c[1], mode="full")
    np.correlate(m, m, "full")
    np.nonzero(x)
    np.argwhere(x > 0)
    np.argwhere(j)
    np.compress(m, x, axis=1)
    np.compress(b[0][:2], w)
    np.extract(x > 0, x)
    np.flatnonzero(i)
    np.intersect1d(i, j)
    np.setdiff1d(i, j)
    np.setxor1d(i, j)
    np.union1d(i, j)
    np.unique(i)
    np.unique(z)
    np.unique(z, equal_nan=False)
    np.unique(i, return_index=True, return_inverse=True, return_counts=True)
    np.unique(b, return_counts=True)
    np.unique(o)
    np.count_nonzero(x)
    np.count_nonzero(x, axis=0)
    np.count_nonzero(b, axis=1, keepdims=True)
    np.cov(f[:, :2] * 2)
    np.cov(f * 4, bias=True)
    np.cov(f.T * 4, rowvar=False, ddof=0)
    np.cov(j * 4.0)
    np.cov(j * 4.0, rowvar=False)
    np.cov(j[:2] * 4.0, j[1:3] * 2.0)
    np.cov(c[:, :2])
    np.cross(p, p[::-1])
    np.cross(p, p[0])
    np.cross(p, p[::-1], axis=0)
    np.cross(p, p.T, axisa=0, axisb=1, axisc=0)
    np.cumprod(i, axis=1)
    np.cumprod(k)
    np.cumsum(x)
    np.cumsum(k)
    np.cumsum(x, 1)
    np.cumsum(x, axis=0, dtype=np.float32)
    np.cumsum(s)
    np.cumulative_prod(w)
    np.cumulative_sum(x, axis=1, include_initial=True)
    np.delete(w, 1)
    np.delete(w, [0, -1])
    np.delete(x, slice(None, None, 2), axis=1)
    np.delete(x, n)
    np.delete(w, np.array([True, False, False, True, False]))
    np.diag(w)
    np.diag(w, 2)
    np.diag(j, k=-3)
    np.diag(x)
    np.diag(x, -1)
    np.diag(o[:, 0])
    np.diag(o[:, 0], 2)
    np.diag_indices_from(p)
    np.diagflat(i[:2, :2], 1)
    np.diagonal(x)
    np.diagonal(t, 1, 1, 2)
    np.diagonal(t, axis1=2, axis2=0, offset=-1)
    np.diff(x)
    np.diff(i, 2, axis=0)
    np.diff(b)
    np.diff(w, prepend=0, append=u[:2])
    np.digitize(w, u)
    np.digitize(x, u[::-1], right=True)
    np.digitize(s, u)
    np.digitize(i, np.array([-2, 0, 3]), right=True)
    np.dot(f, g)
    np.dot(g[0], g[1])
    np.dot(s, w)
    np.dot(n, 2)
    np.dot(q, f)
    np.dsplit(t, 2)
    np.dstack((x, y))
    np.dstack((w, u))
    np.ediff1d(w)
    np.ediff1d(i, to_end=[7, 8])
    np.ediff1d(i, 99, to_begin=j)
    np.einsum("ij,jk->ik", f, g)
    np.einsum("ij,jk,kl", g, g, g, optimize=True)
    np.einsum("ii", g)
    np.einsum(g, [0, 1], [1, 0])
    np.einsum("ij->", g, optimize=True)
    np.einsum(g[0], [0], g[1], [0], [])
    np.einsum("i,i->", g[0], g[1], optimize="optimal")
    np.einsum_path("ij,jk,kl->il", f, g, g)[0]
    np.empty_like(x).shape
    np.empty_like(x, dtype=int, shape=(2,)) * 0
    np.expand_dims(x, 1)
    np.expand_dims(s, axis=(0, 1))
    np.fft.fft(w)
    np.fft.fft(i, 3, 0, "ortho")
    np.fft.fft2(t, norm="forward")
    np.fft.fftn(t, (2, 3), (0, 2))
    np.fft.fftshift(t)
    np.fft.hfft(c, 5)
    np.fft.ifft(c)
    np.fft.ifft2(t)
    np.fft.ifftn(c)
    np.fft.ihfft(x)
    np.fft.irfft(c, n=5, axis=0)
    np.fft.irfft2(t)
    np.fft.irfftn(t, (4, 3), (0, 1))
    np.fft.rfft(x, axis=0)
    np.fft.rfft2(x)
    np.fft.rfftn(t)
    np.fft.fftshift(w, axes=0)
    np.fft.ifftshift(t, axes=(0, 1))
    np.fix(x)
    np.fix(i)
    np.flip(x)
    np.flip(x, axis=0)
    np.flip(t, (0, 2))
    np.fliplr(x)
    np.flipud(w)
    np.full_like(x, 7)
    np.full_like(i, 2.75)
    np.full_like(x, r, dtype=np.float32, shape=(2, 2))
    np.gradient(w)
    np.gradient(x)
    np.gradient(x, axis=0)
    np.gradient(x, 2.0, n)
    np.gradient(w, 0.5, edge_order=2)
    np.gradient(f, axis=(1, 0))
    np.gradient(i)
    np.gradient(w, np.array([0.0, 1.0, 2.5, 3.0, 5.0]))
    np.gradient(w, np.array([0, 1, 2, 3, 4]), edge_order=2)
    np.gradient(w, u, edge_order=2)
    np.gradient(w, np.array([0.0, 3.0, 6.0, 9.0, 12.0]))
    np.gradient(f, u[:2], 0.25)
    np.bincount(k, minlength=256)
    np.bincount(k, w, 300)
    np.bincount(m, minlength=2)
    np.bincount(np.minimum(np.abs(i), 5).ravel(), minlength=6)
    np.bincount(np.clip(i, 0, 9).ravel(), minlength=12)
    np.bincount(i.ravel() % 7, minlength=7)
    np.bincount(np.argmin(x, axis=1), minlength=x.shape[1])
    np.bincount(np.where(m, 3, 1), minlength=4)
    np.histogram(x)
    np.histogram(x, bins=4, range=(-2, 5))
    np.histogram(i, 5)
    np.histogram(x, u)
    np.histogram(i, [-5, 0, 3, 9])
    np.histogram(w, 3, density=True)
    np.histogram(f, 6)
    np.histogram(x * 0 + 2, 4)
    np.histogram(k, n, (0, 256))
    np.histogram(o)
    np.histogram_bin_edges(x, 7)
    np.hsplit(x, 2)
    np.hsplit(w, [2])
    np.hstack((x, y))
    np.hstack((w, u), dtype=np.float32)
    np.imag(c)
    np.imag(x)
    np.inner(f, g)
    np.inner(g[0], g[1])
    np.insert(w, 2, 9)
    np.insert(w, [1, 3], [7, 8])
    np.insert(w, 1, [7, 8, 9])
    np.insert(x, 1, 5, axis=1)
    np.insert(x, 1, [1, 2, 3], axis=1)
    np.insert(x, [1, 1, -1], w[:3, None], axis=1)
    np.insert(i, slice(0, 2), 2.5, axis=0)
    np.insert(w, -1, s)
    np.insert(w, np.array([True, False, True, False, False]), 3)
    np.interp(x, u, w)
    np.interp(s, u, w)
    np.interp(q, u, w, left=-1.0)
    np.interp(i, u, w, right=r)
    np.interp(z, u, w)
    np.interp(w, np.array([2.0]), np.array([5.0]))
    np.interp(u, u, w)
    np.interp(r, u, w)
    np.interp(u, u, np.array([1.0, np.inf, np.inf, -np.inf, 0.0]))
    np.interp(u + 0.25, u, np.array([1.0, np.inf, np.inf, -np.inf, 0.0]))
    np.isclose(x, y)
    np.isclose(z, z, equal_nan=True)
    np.iscomplex(c)
    np.iscomplex(x)
    np.iscomplex(s)
    np.iscomplexobj(c)
    np.isin(i, [2, 5])
    np.isin(j, j[:2], invert=True)
    np.isneginf(z)
    np.isposinf(z)
    np.isposinf(i)
    np.isneginf(s)
    np.isreal(c)
    np.isreal(q)
    np.isrealobj(x)
    np.ix_(j, w)
    np.ix_([True, False, True], j)
    np.kron(w, u)
    np.kron(f, np.array([[1, 2]]))
    np.kron(s, w)
    np.lexsort((w, u))
    np.lexsort((i[0], i[1], j))
    np.lexsort(i)
    np.lexsort((x, i), axis=0)
    np.lib.stride_tricks.sliding_window_view(w, 3)
    np.lib.stride_tricks.sliding_window_view(x, (2, 2))
    np.lib.stride_tricks.sliding_window_view(x, 2, axis=1)
    np.linalg.cholesky(p)
    np.linalg.cholesky(p, upper=True)
    np.linalg.cond(p)
    np.linalg.cond(np.stack((p, p * 0)), -2)
    np.linalg.cross(p, p[::-1])
    np.linalg.det(p)
    np.linalg.det(i[:, :3])
    np.linalg.diagonal(t, offset=1)
    np.linalg.eigh(p)
    np.linalg.eigh(p, "U").eigenvalues
    np.linalg.eigvalsh(p)
    np.linalg.inv(p)
    np.linalg.matmul(f, g)
    np.linalg.matrix_norm(t)
    np.linalg.matrix_norm(p, ord="nuc", keepdims=True)
    np.linalg.matrix_power(g, 5)
    np.linalg.matrix_power(p, -1)
    np.linalg.matrix_rank(p)
    np.linalg.matrix_rank(t)
    np.linalg.matrix_rank(w)
    np.linalg.matrix_rank(p, rtol=0.4)
    np.linalg.matrix_transpose(t)
    np.linalg.multi_dot([f, g, g])
    np.linalg.multi_dot([g[0], g, g, g[1]])
    np.linalg.multi_dot([f, g])
    np.linalg.norm(g)
    np.linalg.norm(x, axis=1)
    np.linalg.norm(p, 2)
    np.linalg.norm(g, ord=1, axis=(0, 1), keepdims=True)
    np.linalg.outer(w, u)
    np.linalg.pinv(np.eye(3) * 4 + p * 0)
    np.linalg.pinv(np.eye(3) * 4 + p * 0, rtol=None)
    np.linalg.pinv(np.diag([4.0, 0.25, 1e-20]) + p * 0)
    np.linalg.pinv(np.diag([4.0, 0.25, 2.0]) + p * 0, 0.1)
    np.linalg.qr(p)
    np.linalg.qr(x, "complete")
    np.linalg.slogdet(p)
    np.linalg.solve(p, w[:3])
    np.linalg.solve(p, x)
    np.linalg.svd(p)
    np.linalg.svd(x, full_matrices=False)
    np.linalg.svd(x, compute_uv=False)
    np.linalg.svdvals(x)
    np.linalg.tensordot(g, g, axes=1)
    np.linalg.tensorinv(np.eye(6).reshape(2, 3, 6) * s, ind=2)
    np.linalg.tensorsolve(np.eye(6).reshape(2, 3, 6) * s, f[:, :3])
    np.linalg.trace(t)
    np.linalg.trace(i, offset=1)
    np.linalg.vecdot(f, g[:2])
    np.linalg.vector_norm(x, axis=0)
    np.linalg.vector_norm(t, axis=(0, 2), ord=np.inf)
    np.linspace(s, 10, 5)
    np.linspace(0, w, 3)
    np.linspace(r, n, 4, endpoint=False)
    np.linspace(w, u, 3, axis=1, dtype=np.float32)
    np.linspace(0, s, 3, retstep=True)
    np.logspace(0, s, 3)
    np.logspace(0, s, 3, base=2.0)
    np.matrix_transpose(t)
    np.max(x)
    np.max(x, axis=(0, 1), keepdims=True)
    np.max(x, initial=20, where=b)
    np.mean(x)
    np.mean(i, 0)
    np.mean(h)
    np.mean(f, axis=1, dtype=np.float64, keepdims=True)
    np.median(x)
    np.median(x, axis=0)
    np.median(i, 1, keepdims=True)
    np.meshgrid(w, u)
    np.meshgrid(w, j, indexing="ij", sparse=True)
    np.min(x, 0)
    np.moveaxis(t, 0, -1)
    np.moveaxis(t, [0, 1], [2, 0])
    np.nan_to_num(z)
    np.nan_to_num(z, nan=1.0, posinf=2.0)
    np.nan_to_num(i)
    np.nan_to_num(s)
    np.nanargmax(np.where(np.isinf(z), 0, z), axis=1)
    np.nanargmin(z)
    np.nancumprod(np.where(np.isinf(z), 2, z))
    np.nancumsum(z, axis=1)
    np.nanmax(z)
    np.nanmax(z, axis=0)
    np.nanmean(np.where(np.isinf(z), 0, z), 1)
    np.nanmedian(z, axis=1)
    np.nanmin(z, axis=1, keepdims=True)
    np.nanprod(np.where(np.isinf(z), 2, z))
    np.nanstd(np.where(np.isinf(z), 0, z), ddof=1)
    np.nansum(np.where(np.isinf(z), 0, z), axis=0)
    np.nanvar(np.where(np.isinf(z), 0, z), axis=1)
    np.ndim(x)
    np.ndim(n)
    np.ones_like(x)
    np.ones_like(i, np.float32)
    np.ones_like(x, shape=(2, 1), order="F", subok=False)
    np.outer(x, w)
    np.outer(j, s)
    np.pad(w, 2)
    np.pad(x, ((1, 0), (0, 2)), constant_values=7)
    np.pad(w, (1, 3), "edge")
    np.pad(w, 2, mode="reflect")
    np.partition(w, 2)[2]
    np.percentile(x, 30)
    np.percentile(x, [25, 50], axis=1)
    np.permute_dims(t, (2, 0, 1))
    np.permute_dims(t)
    np.polyval(w, x)
    np.polyval([1, 2, 3], j)
    np.polyval(j, n)
    np.polyval(w, s)
    np.prod(i, axis=1)
    np.prod(k)
    np.prod(f, dtype=np.float64)
    np.ptp(x)
    np.ptp(x, axis=1, keepdims=True)
    np.quantile(x, 0.3)
    np.quantile(x, r, axis=0)
    np.ravel(x)
    np.ravel(x, order="F")
    np.ravel(s)
    np.ravel_multi_index((j, j), (3, 4))
    np.ravel_multi_index((j, j + 1), (3, 4), order="F")
    np.ravel_multi_index((j - 1, j + 5), (3, 4), mode=("clip", "wrap"))
    np.ravel_multi_index((n, 1), (4, 4))
    np.real(c)
    np.real(x)
    np.real(q)
    np.repeat(w, 2)
    np.repeat(x, 2, axis=1)
    np.repeat(w, [1, 0, 2, 1, 3])
    np.reshape(x, (2, 6))
    np.reshape(x, -1)
    np.reshape(x, (4, 3), order="F")
    np.reshape(x, shape=(2, 2, 3))
    np.resize(w, (2, 4))
    np.resize(x, 3)
    np.resize(o, (2, 2))
    np.result_type(f, np.float64)
    np.result_type(k, n)
    np.result_type(f, q, 1.0)
    np.roll(x, 1)
    np.roll(x, 2, axis=0)
    np.roll(x, (1, 2), (0, 1))
    np.rollaxis(t, 2)
    np.rollaxis(t, 0, 3)
    np.rollaxis(t, -1, 1)
    np.rot90(x)
    np.rot90(t, 3, axes=(1, 2))
    np.round(x)
    np.round(x, 1)
    np.round(q, 1)
    np.round(i, -1)
    np.searchsorted(u, w)
    np.searchsorted(u, s)
    np.searchsorted(u, r)
    np.searchsorted(u, x, side="right")
    np.searchsorted(w, u, sorter=np.argsort(w))
    np.select([x > 2, x > 0], [x, -x], 7)
    np.select([b, x > 0], [1, x])
    np.select([s > 2], [n], 9)
    np.shape(x)
    np.shape(n)
    np.sinc(x)
    np.size(x)
    np.size(x, 1)
    np.sort(x)
    np.sort(x, axis=0)
    np.sort(z, axis=None)
    np.sort(i, 1, "mergesort")
    np.split(w, [1, 3])
    np.split(x, 2, axis=1)
    np.squeeze(x[None])
    np.squeeze(x[:, None], axis=1)
    np.squeeze(s)
    np.stack((x, y))
    np.stack((w, u), axis=-1)
    np.stack([s, q])
    np.stack((x, i), dtype=np.float32, casting="unsafe")
    np.std(x)
    np.std(x, axis=0, ddof=1)
    np.std(i, 1, keepdims=True)
    np.std(h[:3])
    np.sum(x)
    np.sum(x, 0)
    np.sum(x, axis=(0, 1), keepdims=True)
    np.sum(k)
    np.sum(f, dtype=np.float64)
    np.sum(b, axis=1)
    np.sum(x, initial=5, where=b)
    np.sum(s)
    np.sum(n)
    np.swapaxes(t, 0, 2)
    np.take(x, 3)
    np.take(x, j)
    np.take(x, 0, axis=1)
    np.take(w, 2)
    np.take(x, [[0, 1], [2, 0]], axis=0)
    np.take(w, [7, -9], mode="wrap")
    np.take(w, [7, -9], mode="clip")
    np.take_along_axis(x, np.argsort(x, axis=1), axis=1)
    np.take_along_axis(w, j, 0)
    np.tensordot(g, g)
    np.tensordot(f, g, 1)
    np.tensordot(t, t, axes=((0, 1), (0, 1)))
    np.tile(w, 2)
    np.tile(x, (2, 1, 2))
    np.trace(x)
    np.trace(i, offset=1)
    np.trace(t, axis1=1, axis2=2, dtype=np.float32)
    np.transpose(t)
    np.transpose(t, (1, 0, 2))
    np.trapezoid(w)
    np.trapezoid(w, u)
    np.trapezoid(x, dx=0.5, axis=0)
    np.trapezoid(x, y, axis=1)
    np.trapezoid(i, dx=n)
    np.trapezoid(x, u[:3], axis=0)
    np.tril(x)
    np.tril(x, -1)
    np.tril_indices_from(p, 1)
    np.triu(t, k=1)
    np.triu_indices_from(p)
    np.unravel_index(j, (2, 3))
    np.unravel_index(j, (2, 3), order="F")
    np.unravel_index(n, (2, 3))
    np.unstack(x)
    np.unstack(x, axis=1)
    np.unwrap(w * 3)
    np.unwrap(x, axis=0)
    np.unwrap(i, period=4)
    np.unwrap(i, period=5, discont=4)
    np.unwrap(f)
    np.vander(w)
    np.vander(j, 3)
    np.vander(m, 4, increasing=True)
    np.vander(w, 0)
    np.var(x)
    np.var(x, axis=1, ddof=1)
    np.var(f, 0, np.float64)
    np.vdot(f, f)
    np.vdot(c, c)
    np.vdot(s, s)
    np.vsplit(x, 3)
    np.vstack((x, y))
    np.vstack((w, u))
    np.where(b, x, 0)
    np.where(x > 1, x, y)
    np.where(m, i, 2.5)
    np.where(s > 1, s, q)
    np.where(b, n, f[0])
    np.zeros_like(x)
    np.zeros_like(x, dtype=bool)
"""


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def prepared(line):
    """The expression as a function of the arrays that it names, and those arrays."""
    names = sorted({node.id for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name)} & ARRAYS.keys())
    function = eval(f"lambda {', '.join(names)}: {line}", {"np": np})
    return function, [ARRAYS[name] for name in names]


def quietly(function, *args):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args)


def expect_same(actual, expected, is_eager=False):
    if isinstance(expected, (tuple, list)) and not np.isscalar(expected):
        assert isinstance(actual, (tuple, list)) and len(actual) == len(expected)
        assert isinstance(actual, list) == isinstance(expected, list)
        for mine, numpys in zip(actual, expected, strict=True):
            expect_same(mine, numpys, is_eager)
        return
    if is_eager and isinstance(actual, lamina.Array):
        assert np.asarray(actual).dtype == np.asarray(expected).dtype
        assert actual.shape == np.shape(expected)
    else:
        assert type(actual) is type(expected)
        if isinstance(expected, (np.ndarray, np.generic)):
            assert actual.dtype == expected.dtype
            assert actual.shape == expected.shape
    np.testing.assert_array_equal(np.asarray(actual), expected)
    if np.asarray(expected).dtype.kind == "f":  # the sign of NaN is whatever the processor makes it
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(np.asarray(actual)[numbers]), np.signbit(expected)[numbers])


@pytest.mark.parametrize("line", lines(CALLS))
def test_calls(line):
    function, arrays = prepared(line)
    expected = quietly(function, *arrays)
    expect_same(quietly(lamina.defn(function), *arrays), expected)
    eager = [lamina.asarray(a) if isinstance(a, np.ndarray) else a for a in arrays]
    expect_same(quietly(function, *eager), expected, is_eager=True)


def test_every_entry_of_the_table_is_called():
    called = {match.group(1) for line in lines(CALLS) if (match := re.match(r"np\.([\w.]+)\(", line))}
    assert called == TABLE.keys() - SHAPED_BY_ELEMENTS - THAT_WRITE


SHAPED_BY_ELEMENTS = {"unique_all", "unique_counts", "unique_inverse", "unique_values"}
THAT_WRITE = {"copyto", "fill_diagonal", "put", "put_along_axis", "putmask"}


@pytest.mark.parametrize("name", sorted(SHAPED_BY_ELEMENTS))
def test_shapes_that_depend_on_elements(name):
    function, x = getattr(np, name), np.array([[3, 0, 1], [1, 0, 3]])
    result = function(lamina.asarray(x))
    assert all(isinstance(each, lamina.Array) for each in (result if isinstance(result, tuple) else (result,)))
    expected = function(x)
    if name == "unique_values":
        expected = np.sort(expected)  # in no certain order
    expect_same(result, expected, is_eager=True)
    assert getattr(result, "_fields", None) == getattr(function(x), "_fields", None)
    expect_same(lamina.defn(function, strict=True)(x), expected, is_eager=False)


# Functions that are not in the table


def dispatched():
    """The public functions of NumPy that ask `__array_function__`, by name."""
    found = {}
    for prefix, module in (("", np), ("linalg.", np.linalg), ("fft.", np.fft)):
        for name in dir(module):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function = getattr(module, name)
            if hasattr(function, "_implementation"):
                found.setdefault(function, prefix + name)
    return {name: function for function, name in found.items()}


def missing():
    """The names of those that are not in the table: ``python tests/test_numpy_protocol.py`` prints them."""
    known = {numpys(name) for name in TABLE}
    return sorted(name for name, function in dispatched().items() if function not in known)


def test_table_names_functions_of_numpy():
    functions = set(dispatched().values()) | {np.lib.stride_tricks.sliding_window_view}
    assert {numpys(name) for name in TABLE} <= functions


@pytest.mark.parametrize("name", missing())
def test_missing_functions_say_so(name):
    function = numpys(name)

    def traced(x):
        with pytest.raises(NotImplementedError, match=rf"np\.{name}\b") as raised:
            array_function(function, (Value,), (x,), {})
        assert re.search("write|Use|lamina.runtime_call", str(raised.value))
        return x

    lamina.defn(traced, strict=True)(np.ones(3))


@pytest.mark.parametrize("given", [None, (-0.5, 0.7), (0.3, 0.3)])
def test_even_bins_count_what_lies_on_their_edges(rng, given):
    x = np.round(np.concatenate([rng.standard_normal(300), np.linspace(-0.5, 0.7, 37), np.full(9, 0.3)]), 2)
    if given is not None:
        x[5:8] = np.nan, np.inf, -np.inf
    for bins in (1, 7, 12, 36):

        def counted(x, bins=bins):
            return np.histogram(x, bins, range=given)

        for expected, actual in zip(counted(x), lamina.defn(counted, strict=True)(x), strict=True):
            assert expected.dtype == actual.dtype
            assert np.array_equal(expected, actual)


def test_a_negative_number_is_not_counted():
    def counted(x):
        return np.bincount(np.minimum(x, 3), minlength=4)

    compiled = lamina.defn(counted, strict=True)
    assert np.array_equal(compiled(np.array([0, 9, 2, 2])), [1, 0, 2, 1])
    with pytest.raises(ValueError, match="'list' argument must have no negative elements"):
        counted(np.array([0, -1, 2]))
    with pytest.raises(ValueError, match="'list' argument must have no negative elements"):
        compiled(np.array([0, -1, 2]))


def test_missing_functions_of_arrays_are_numpys():
    """NumPy computes with the elements of an array that is there; its results are its own."""
    x = lamina.asarray([3.0, 1.0, 3.0, 2.0])
    for function in (np.i0, np.trim_zeros, np.roots, lambda a: np.bincount(a.astype(np.int64))):
        expected = function(x.to_numpy())
        actual = function(x)
        assert type(actual) is np.ndarray
        np.testing.assert_array_equal(actual, expected)
    assert np.array_repr(x) == "array([3., 1., 3., 2.])"
    np.testing.assert_array_equal(np.apply_along_axis(lambda row: row * 2, 0, x), [6.0, 2.0, 6.0, 4.0])
    # of a table function, an argument that lamina hasn't
    assert type(np.sum(x, out=(out := np.empty(())))) is np.ndarray and out == 9
    assert type(np.histogram(x, 3, weights=x)[0]) is np.ndarray
    np.testing.assert_array_equal(np.add(x, 1, where=[True, False] * 2, out=np.zeros(4)), [4.0, 0.0, 4.0, 0.0])


def test_functions_of_numpy_that_write():
    """They write into the memory of an array, as NumPy's own, unless it must not be written."""
    x = lamina.asarray(np.array([[3.0, 1.0], [4.0, 2.0]]))
    np.copyto(x, [5.0, 6.0])
    np.fill_diagonal(x, 0.0)
    assert x.tolist() == [[0.0, 6.0], [5.0, 0.0]]
    out = lamina.asarray(np.empty(2))
    assert np.sum(x, axis=0, out=out) is out and out.tolist() == [5.0, 6.0]
    assert np.add(out, 1.0, out=out) is out and out.tolist() == [6.0, 7.0]
    read_only = lamina.asarray(np.broadcast_to(1.0, (2, 2)))
    packed = lamina.asarray([[1, 2], [3, 4]], dtype="int4")
    for array in (read_only, packed):
        with pytest.raises(ValueError, match="read-only"):
            np.copyto(array, 0)
    assert packed.tolist() == [[1, 2], [3, 4]]

    def traced(y):
        np.copyto(x, 0.0)
        return y

    with pytest.raises(NotImplementedError, match="written in place, and such writes aren't traced"):
        lamina.defn(traced, strict=True)(1.0)
    assert x.tolist() == [[0.0, 6.0], [5.0, 0.0]]


# What is not there


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("np.sum(x, out=np.empty(()))", "np.sum.*out"),
        ("np.add(x, y, out=np.empty((3, 4)))", "np.add.*out"),
        ("np.add(x, y, where=b)", "np.add.*where.*np.where"),
        ("np.add(x, y, signature='dd->d')", "signature"),
        ("np.add.reduceat(w, [0, 2])", r"np\.add\.reduceat"),
        ("np.hypot.reduce(w)", r"np\.hypot\.reduce"),
        ("np.subtract.accumulate(w)", r"np\.subtract\.accumulate"),
        ("np.frompyfunc(lambda a: a, 1, 1)(x)", "isn't there"),
        ("np.matmul(f, g, axes=[(0, 1), (0, 1), (0, 1)])", "axes"),
        ("np.histogram(x, weights=x)", "np.histogram.*weights"),
        ("np.histogram(x, 'auto')", "np.histogram.*auto"),
        ("np.cov(f, aweights=f[0])", "np.cov.*aweights"),
        ("np.interp(x, u, w, period=3)", "np.interp.*period"),
        ("np.interp(x, u, c[0])", "complex"),
        ("np.linalg.svd(p, hermitian=True)", "np.linalg.svd.*hermitian"),
        ("np.linalg.qr(p, 'r')", "np.linalg.qr.*'r'"),
        ("np.linalg.cond(p, 1)", "np.linalg.cond.*p=1"),
        ("np.linalg.matrix_rank(p, 0.5)", "np.linalg.matrix_rank.*tol"),
        ("np.sort(x, order='a')", "np.sort.*order"),
        ("np.unique(x, axis=0)", r"np\.unique.*axis"),
        ("np.argwhere(s)", r"np\.argwhere"),
        ("np.intersect1d(j, j, return_indices=True)", r"np\.intersect1d.*return_indices"),
        ("np.bincount(j)", r"np\.bincount.*lamina\.scatter"),
        ("np.bincount(k, minlength=255)", r"np\.bincount.*lamina\.scatter"),
        ("np.i0(w)", r"np\.i0.*lamina\.runtime_call"),
        ("np.delete(w, j)", "np.delete"),
    ],
)
def test_refused(line, message):
    function, arrays = prepared(line)
    with pytest.raises(NotImplementedError, match=f"(?s){message}"):
        lamina.defn(function, strict=True)(*arrays)


@pytest.mark.parametrize(
    "line",
    [
        "np.concatenate((x, w))",
        "np.concatenate((x, y), axis=2)",
        "np.concatenate((x, y), dtype=int, casting='safe')",
        "np.sum(x, axis=5)",
        "np.stack((x, w))",
        "np.reshape(x, (5, 5))",
        "np.cross(w, w)",
        "np.diag(t)",
        "np.fliplr(w)",
        "np.hsplit(s, 2)",
        "np.vsplit(w, 2)",
        "np.rollaxis(t, 5)",
        "np.rollaxis(t, 0, 9)",
        "np.gradient(w, edge_order=3)",
        "np.gradient(x, 1, 2, 3)",
        "np.gradient(w[:1])",
        "np.gradient(w, u[:2])",
        "np.choose(j + 5, [w[:4], u[:4]])",
        "np.choose(j, [w[:4], u[:4]], mode='wrong')",
        "np.select([x], [x])",
        "np.select([b], [x, x])",
        "np.select([], [])",
        "np.unravel_index(j, (1, 1))",
        "np.ravel_multi_index((j, j), (1, 1))",
        "np.ravel_multi_index((j, j), (1, 1, 1))",
        "np.digitize(w, w)",
        "np.digitize(c, u)",
        "np.histogram(x, w)",
        "np.histogram(x, 0)",
        "np.histogram(z)",
        "np.histogram(x, range=(3, 1))",
        "np.interp(x, u, w[:2])",
        "np.interp(x, x, x)",
        "np.interp(x, u[:0], u[:0])",
        "np.correlate(x, w)",
        "np.convolve(w, w[:0])",
        "np.convolve(w, w, 'wrong')",
        "np.vander(x)",
        "np.cov(t)",
        "np.cov(x, ddof=0.5)",
        "np.isposinf(c)",
        "np.block([[w], u])",
        "np.block([])",
        "np.block((w, u))",
        "np.where(b, x)",
        "np.lexsort(())",
        "np.ix_(x)",
        "np.ediff1d(i, to_end=2.5)",
        "np.insert(w, 9, 1)",
        "np.linalg.inv(p * 0)",
        "np.linalg.inv(x)",
        "np.linalg.multi_dot([p])",
        "np.linalg.multi_dot([p, t, p])",
        "np.linalg.pinv(p, rcond=1.0, rtol=1.0)",
        "np.linalg.tensorsolve(t, w)",
        "np.linalg.tensorinv(t, 0)",
        "np.linalg.cond(o)",
        "np.add.reduce(x, axis=7)",
        "np.add.accumulate(s)",
        "np.add(x, y, dtype=np.int64)",
        "np.add(x, w)",
        "np.invert(x)",
        "np.left_shift(x, 1)",
        "np.power(i, -1)",
        "np.ldexp(x, x)",
        "np.add(x, 'a')",
        "np.sum(x, wrong=1)",
        "np.sum()",
    ],
)
def test_both_raise(line):
    """The same class of error as NumPy's, or a child of it."""
    function, arrays = prepared(line)
    with pytest.raises(Exception) as raised:
        quietly(function, *arrays)
    expected = raised.type
    if expected.__name__.startswith(("_UFunc", "UFunc")):
        expected = TypeError
    with pytest.raises(expected):
        quietly(lamina.defn(function), *arrays)


def test_errors_name_numpys_function_and_the_line():
    with pytest.raises(ValueError, match=r"^np\.concatenate: .*test_numpy_protocol\.py:\d+"):
        lamina.defn(lambda x: np.concatenate((x, x[0])))(np.ones((2, 2)))


class Stranger:
    """Knows better than anybody."""

    __array_ufunc__ = None

    def __array_function__(self, func, types, args, kwargs):
        return "stranger"


def test_strangers_are_asked_too():
    x = lamina.asarray([1.0])
    assert np.concatenate((x, Stranger())) == "stranger"
    assert array_function(np.sum, (Stranger, lamina.Array), (), {}) is NotImplemented
    assert array_ufunc(np.add, "__call__", (x, "text"), {}) is NotImplemented
    with pytest.raises(TypeError):
        np.add(x, Stranger())


# Ufuncs

UFUNCS = {function.__name__: function for name in dir(np) if isinstance(function := getattr(np, name), np.ufunc)}
DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
VALUES = [0, 1, 2, 3, 0.5, 1.75]


def operand(dtype, shift=0):
    return np.roll(np.array(VALUES).astype(dtype), shift)


def agrees(function, *arrays):
    """NumPy's result, or an error of its class."""
    try:
        expected = quietly(function, *arrays)
    except TypeError:
        with pytest.raises(TypeError):
            quietly(lamina.defn(function), *arrays)
        return
    expect_same(quietly(lamina.defn(function), *arrays), expected)
    expect_same(quietly(function, *(lamina.asarray(a) for a in arrays)), expected, is_eager=True)


def shaped(name, x):
    """Operands with the axes that a ufunc of matrices needs."""
    return {"matmul": x.reshape(2, 3).T[:2, :2], "matvec": x[:4].reshape(2, 2), "vecmat": x[:2]}.get(name, x)


@pytest.mark.parametrize("name", sorted(UFUNCS.keys() - {"isnat"}))
def test_ufuncs(name):
    assert (name in ufuncs.CALLED) != (name in ufuncs.MADE)
    ufunc = UFUNCS[name]
    for dtype in DTYPES:
        x = operand(dtype)
        if ufunc.nin == 1:
            if name == "reciprocal" and np.dtype(dtype).kind in "iu":
                x = np.maximum(x, 1)  # of 0, NumPy gives what the processor gives
            agrees(ufunc, x)
            agrees(ufunc, x[1])
            agrees(ufunc, np.asarray(x[2]))
            continue
        for other in (dtype, "int8", "float32"):
            y = operand(other, 2)
            if name == "power" and np.dtype(dtype).kind in "iu" and np.dtype(other).kind == "i":
                y = np.abs(y)
            left, right = shaped(name, x), shaped("matvec" if name == "vecmat" else "", y)
            right = right[:2] if name in ("matvec", "matmul") else right
            agrees(ufunc, left, right)
            if ufunc.signature is None:
                agrees(ufunc, x[1], y[1])
                agrees(ufunc, x, np.asarray(y[3]))
                agrees(lambda a: ufunc(a, 2), x)
                agrees(lambda a: ufunc(1, a), x)


def test_isnat_is_not_there():
    with pytest.raises(NotImplementedError, match=r"np\.isnat"):
        lamina.defn(np.isnat, strict=True)(np.ones(3))


SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-310, -5e-324, 2.0**-1022, 1.7e308, 0.1, 3e-308]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_parts_of_floats(dtype, rng):
    """The functions that take the bits apart, on every kind of float."""
    limits = np.finfo(dtype)
    random = rng.standard_normal(200) * 2.0 ** rng.integers(limits.minexp - 20, limits.maxexp, 200)
    with np.errstate(all="ignore"):
        x = np.array([*SPECIAL, limits.max, limits.tiny, limits.smallest_subnormal, *random]).astype(dtype)
    for function in (np.frexp, np.spacing, np.modf, np.signbit, np.fabs):
        agrees(function, x)
    agrees(np.nextafter, x, x[::-1])
    for exponents in (rng.integers(-2200, 2200, x.size), rng.integers(-60, 60, x.size), np.full(x.size, 2**40)):
        agrees(np.ldexp, x, exponents)
        agrees(np.ldexp, x, (-exponents).astype(np.int64))
    agrees(np.ldexp, x, np.int8(3))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_bits_are_counted(dtype, rng):
    limits = np.iinfo(dtype)
    agrees(np.bitwise_count, np.array([limits.min, limits.max, 0, 1, *rng.integers(0, limits.max, 20, dtype)], dtype))


UFUNC_CALLS = """
    np.add(x, y, dtype=np.float32)
    np.add(i, 1, dtype=np.float64)
    np.add(i, f[0], dtype=np.complex64)
    np.add(n, 2, dtype=np.int8)
    np.add(k, i[0, :1], casting="safe")
    np.add(x, y, dtype=np.int64, casting="unsafe")
    np.add(x, y, order="F", subok=False)
    np.add(x, y, out=None, where=True)
    np.add(i, j, signature=(None, None, np.float32), casting="unsafe")
    np.add(i, j, sig=(np.float64, np.float64, np.float64))
    np.less(x, i, dtype=bool)
    np.logical_and(x, i, dtype=bool)
    np.sqrt(i + 10, dtype=np.float32, casting="unsafe")
    np.matmul(f, g, dtype=np.float32)
    np.modf(x, dtype=np.float32)
    np.divmod(i, 3)
    np.divmod(x, r)
    np.matmul(f, g)
    np.vecdot(f, g[:2], axis=0)
    np.vecdot(c, c)
    np.add(n, 1)
    np.true_divide(n, 2)
    np.power(2, n)
    np.sqrt(n)
    np.maximum(r, n)
    np.add(1.0, x)
    np.add([1, 2, 3, 4], x)
    np.add(q, 1)
    np.add.reduce(x)
    np.add.reduce(x, axis=None)
    np.add.reduce(x, axis=(0, 1), keepdims=True)
    np.add.reduce(k)
    np.add.reduce(x, initial=10)
    np.add.reduce(x, where=b)
    np.add.reduce(f, dtype=np.float64)
    np.add.reduce(s)
    np.multiply.reduce(i, 1)
    np.maximum.reduce(x, axis=1)
    np.minimum.reduce(z, axis=1)
    np.maximum.reduce(i, dtype=np.float64)
    np.logical_and.reduce(x)
    np.logical_or.reduce(i, axis=1, keepdims=True)
    np.bitwise_and.reduce(i)
    np.bitwise_or.reduce(k, axis=0)
    np.bitwise_xor.reduce(i, axis=(0, 1))
    np.bitwise_or.reduce(b, axis=1)
    np.add.accumulate(x)
    np.add.accumulate(k)
    np.add.accumulate(x, axis=1, dtype=np.float32)
    np.multiply.accumulate(i, 1)
    np.maximum.accumulate(x, axis=1)
    np.minimum.accumulate(z, axis=0)
    np.maximum.accumulate(i, dtype=np.float32)
    np.add.outer(w, u)
    np.subtract.outer(x, j)
    np.multiply.outer(w, n)
    np.multiply.outer(2, w)
    np.power.outer(w, j, dtype=np.float32)
    np.hypot.outer(s, u)
    np.greater.outer(j, j)
    x + y.T.T
    np.arange(4) @ g
    g @ [1, 2, 3, 4]
    np.float64(2) * x
    np.float32(2) - q
    np.int8(3) ** j
"""


@pytest.mark.parametrize("line", lines(UFUNC_CALLS))
def test_ufunc_calls(line):
    test_calls(line)


if __name__ == "__main__":
    print(*missing(), sep="\n")
