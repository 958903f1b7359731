"""The whole road on one small program: trace, read, order, check, pickle, run, and NumPy's own result."""

import pickle

import numpy as np

import lamina
from lamina.evaluator import compile_graph


def blur_until_calm(image, limit, steps):
    """Averages neighbours until little changes; windows, reductions, a loop and a branch."""
    kernel = np.array([[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]) / 16

    def turn(state):
        step, now, _ = state
        padded = np.pad(now, 1, mode="edge")
        windows = lamina.sliding_window_view(padded, (3, 3))
        after = np.einsum("ijkl,kl->ij", windows, kernel)
        return step + 1, after, abs(after - now).max()

    def goes_on(state):
        step, _, change = state
        return (step < steps) & (change > limit)

    step, calm, change = lamina.while_loop(goes_on, turn, (0, image, np.float64(np.inf)))
    bright = lamina.cond(calm.mean() > 0.5, lambda: 1 - calm, lambda: calm)
    return {"steps": step, "change": change, "image": bright, "rows": bright.sum(axis=1)}


def plain(image, limit, steps):
    """The same in NumPy."""
    kernel = np.array([[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]) / 16
    step, change = 0, np.inf
    while step < steps and change > limit:
        padded = np.pad(image, 1, mode="edge")
        after = sum(
            kernel[i, j] * padded[i : i + image.shape[0], j : j + image.shape[1]] for i in range(3) for j in range(3)
        )
        image, step, change = after, step + 1, abs(after - image).max()
    if image.mean() > 0.5:
        image = 1 - image
    return {"steps": step, "change": change, "image": image, "rows": image.sum(axis=1)}


def test_the_whole_road() -> None:
    image = np.random.default_rng(0).random((12, 9))
    graph = lamina.expr.check(lamina.trace(blur_until_calm, image, 0.02, 50))
    assert [str(param.dtype) for param in graph.params] == ["float64", "float64", "int64"]

    order = lamina.tree.post_order(graph.outputs)
    places = {node: place for place, node in enumerate(order)}
    assert all(places[operand] < places[node] for node in order for operand in lamina.tree.operands(node))
    assert {"while", "cond", "sum", "elem"} <= {node.op for node in order}
    assert str(graph).startswith("blur_until_calm(%0: float64[12, 9], %1: float64[], %2: int64[]):\n")

    again = pickle.loads(pickle.dumps(graph))
    assert again == graph and str(again) == str(graph)

    compiled = [lamina.defn(blur_until_calm, compiler=compiler) for compiler in ("native", "evaluator")]
    for limit, steps in ((0.02, 50), (1e-9, 4), (5.0, 3), (0.5, 0)):
        expected = plain(image, limit, steps)
        for each in compiled:
            result = each(image, limit, steps)
            assert list(result) == list(expected) and result["steps"] == expected["steps"]
            for key in ("change", "image", "rows"):
                np.testing.assert_allclose(result[key], expected[key], rtol=1e-12)
        leaves = compile_graph(again)(image, np.float64(limit), np.int64(steps))
        for leaf, value in zip(leaves, result.values(), strict=True):
            np.testing.assert_array_equal(leaf, value)


def test_lamina_arrays_take_the_same_road_without_a_trace() -> None:
    image = np.random.default_rng(1).random((5, 6))
    expected = plain(image, 0.05, 10)
    result = blur_until_calm(lamina.asarray(image), 0.05, 10)
    assert all(type(value) is lamina.Array for value in result.values())
    for key, value in expected.items():
        np.testing.assert_allclose(np.asarray(result[key]), value, rtol=1e-12)
