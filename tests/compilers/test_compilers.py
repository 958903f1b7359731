"""Every compiler that the project has, by the suite, and on models of real shape from one source."""

from typing import Any

import numpy as np
import pytest

import lamina
from lamina import blocks
from lamina.expr import OPS
from lamina.testing import run_compiler_suite
from lamina.testing.programs import PROGRAMS
from tests.support.compilers import every_compiler

each_compiler = pytest.mark.parametrize("compiler", every_compiler())


@each_compiler
@pytest.mark.parametrize("op", OPS)
def test_an_op(compiler: Any, op: str) -> None:
    report = run_compiler_suite(compiler, ops=[op], programs=())
    assert report, str(report)


@each_compiler
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program(compiler: Any, program: str) -> None:
    report = run_compiler_suite(compiler, ops=(), programs=[program])
    assert report, str(report)


# Models. The parameters are a dict of arrays; the oracle is plain NumPy in float64.


def mlp(params: dict[str, Any], x: Any) -> Any:
    hidden = blocks.gelu(x @ params["w1"] + params["b1"])
    hidden = blocks.layer_norm(hidden, params["scale"], params["shift"])
    return blocks.log_softmax(blocks.silu(hidden @ params["w2"] + params["b2"]) @ params["w3"])


def transformer(params: dict[str, Any], x: Any) -> Any:
    """A pre-norm block: attention of several heads, each position seeing those before it, and an MLP."""
    batch, length, width = x.shape
    heads = 4

    def split(y: Any) -> Any:
        return y.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)

    normed = blocks.rms_norm(x, params["norm1"])
    query, key, value = (split(normed @ params[name]) for name in ("q", "k", "v"))
    seen = blocks.attention(query, key, value, np.tri(length, dtype=bool))
    x = x + seen.transpose(0, 2, 1, 3).reshape(batch, length, width) @ params["o"]
    normed = blocks.layer_norm(x, params["norm2"], params["bias2"])
    return x + blocks.gelu(normed @ params["up"]) @ params["down"]


def plain_softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def plain_gelu(x: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return x * ndtr(x)


def plain_layer_norm(x: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def plain_mlp(p: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    hidden = plain_layer_norm(plain_gelu(x @ p["w1"] + p["b1"]), p["scale"], p["shift"])
    z = hidden @ p["w2"] + p["b2"]
    return np.log(plain_softmax(z / (1 + np.exp(-z)) @ p["w3"]))


def plain_transformer(p: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    batch, length, width = x.shape
    normed = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p["norm1"]
    seen = np.empty_like(x)
    for n in range(batch):
        for start in range(0, width, width // 4):
            q, k, v = ((normed[n] @ p[name])[:, start : start + width // 4] for name in ("q", "k", "v"))
            for i in range(length):
                weights = plain_softmax(q[i] @ k[: i + 1].T / np.sqrt(width // 4))
                seen[n, i, start : start + width // 4] = weights @ v[: i + 1]
    x = x + seen @ p["o"]
    return x + plain_gelu(plain_layer_norm(x, p["norm2"], p["bias2"]) @ p["up"]) @ p["down"]


def drawn(rng: np.random.Generator, **shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    return {name: rng.standard_normal(shape) / np.sqrt(shape[0]) for name, shape in shapes.items()}


MODELS = {
    "mlp": (
        mlp,
        plain_mlp,
        (32, 20),
        {"w1": (20, 64), "b1": (64,), "scale": (64,), "shift": (64,), "w2": (64, 64), "b2": (64,), "w3": (64, 10)},
    ),
    "transformer": (
        transformer,
        plain_transformer,
        (2, 12, 32),
        {"q": (32, 32), "k": (32, 32), "v": (32, 32), "o": (32, 32), "up": (32, 128), "down": (128, 32),
         "norm1": (32,), "norm2": (32,), "bias2": (32,)},
    ),
}  # fmt: skip
TOLERANCES = {"float64": 1e-13, "float32": 2e-5, "float16": 2e-2}  # relative and absolute; of elements of about 1


@each_compiler
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.filterwarnings("ignore::lamina.errors.LaminaWarning")
def test_a_model_gives_the_same_everywhere(compiler: Any, model: str, dtype: str, rng: np.random.Generator) -> None:
    function, plain, shape, shapes = MODELS[model]
    params, x = drawn(rng, **shapes), rng.standard_normal(shape)
    given = {name: param.astype(dtype) for name, param in params.items()}
    result = lamina.defn(function, compiler=compiler, strict=True)(given, x.astype(dtype))
    assert result.dtype == dtype
    tolerance = TOLERANCES[dtype]
    np.testing.assert_allclose(result, plain(params, x), rtol=tolerance, atol=tolerance)


@each_compiler
@pytest.mark.filterwarnings("ignore::lamina.errors.LaminaWarning")
def test_programs_of_numpy_with_writes_loops_and_branches(compiler: Any, rng: np.random.Generator) -> None:
    def program(a: Any, b: Any, n: Any) -> Any:
        for i in range(n):
            if a[0, 0] > i:
                a[1:, 1:] += b[:-1, ::-1][:, 1:] * 0.5
            else:
                a.T[i] -= 1
            b = b[::-1] + a.sum(axis=0)
        a[:, 0] = 7
        return a.T, b, a.reshape(-1)[3:9]

    a, b = rng.integers(-9, 9, (6, 5)) * 1.0, rng.integers(-9, 9, (6, 5)) * 1.0
    for view in (a, np.asfortranarray(a), a[::-1, ::-1], np.repeat(a, 2, axis=1)[:, ::2]):
        ours, theirs = view.copy("A"), view.copy("A")
        results = lamina.defn(program, compiler=compiler, strict=True)(ours, b, 4)
        expected = program(theirs, b, 4)
        np.testing.assert_array_equal(ours, theirs)
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, wanted)


@each_compiler
def test_options_that_a_compiler_does_not_know(compiler: Any) -> None:
    with pytest.raises(TypeError, match=r"the compiler '\w+' has .*options.*'magic'"):
        lamina.defn(lambda x: x + 1, compiler=compiler, magic=True)(np.ones(2))
