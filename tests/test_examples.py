"""The programs that people are shown: the examples, and lamina built small."""

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import lamina

ROOT = Path(__file__).parent.parent


def load(file: str) -> Any:
    spec = importlib.util.spec_from_file_location(Path(file).stem, ROOT / file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def edges() -> Any:
    return load("examples/edges.py")


@pytest.fixture
def photo(rng: np.random.Generator) -> np.ndarray:
    """Discs on a gradient, with noise."""
    y, x = np.mgrid[:40, :56]
    image = 60.0 + x + 120.0 * ((y - 18) ** 2 + (x - 20) ** 2 < 100) - 50.0 * ((y - 25) ** 2 + (x - 42) ** 2 < 36)
    colours = image[..., np.newaxis] * [1.0, 0.8, 0.6] + rng.normal(0, 4, (40, 56, 3))
    return colours.clip(0, 255).astype(np.uint8)


def test_edges_are_those_of_plain_numpy(edges: Any, photo: np.ndarray) -> None:
    for arguments in ((20, 6.0, 24.0, 60.0), (0, 2.5, 10.0, 20.0), (3, 1.0, 5.0, 500.0)):
        results, expected = edges.edges(photo, *arguments), edges.plain(photo, *arguments)
        assert list(results) == list(expected)
        for name in expected:
            np.testing.assert_array_equal(results[name], expected[name], strict=True, err_msg=name)


def test_edges_are_where_they_should_be(edges: Any, photo: np.ndarray) -> None:
    """Against SciPy's filters and its labels of connected regions, which share no code with either."""
    results = edges.edges(photo, 0, 6.0, 24.0, 60.0)
    blurred = ndimage.convolve(photo @ edges.LUMA / 65536, edges.BINOMIAL / 256, mode="nearest")
    np.testing.assert_allclose(results["calm"], blurred, rtol=1e-13)
    strength = np.hypot(ndimage.sobel(blurred, 0, mode="nearest"), ndimage.sobel(blurred, 1, mode="nearest"))
    np.testing.assert_allclose(results["strength"], strength, rtol=1e-9, atol=1e-9)
    found = results["edges"]
    labels, count = ndimage.label(found, np.ones((3, 3)))
    assert count >= 2  # both discs
    assert (ndimage.maximum(strength, labels, range(1, count + 1)) > 60).all() and strength[found].min() > 24
    assert results["share"] == found.mean() > 0.02


def test_the_demo_writes_its_picture(
    edges: Any, photo: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written: dict[Path, np.ndarray] = {}
    modules = {
        "skimage": types.ModuleType("skimage"),
        "skimage.data": types.SimpleNamespace(astronaut=lambda: photo),
        "skimage.io": types.SimpleNamespace(imsave=written.__setitem__),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(edges, "BUILD", tmp_path / "build")
    edges.main()
    picture = written[tmp_path / "build" / "edges.png"]
    assert (picture.shape, picture.dtype) == ((40, 3 * 56, 3), np.uint8)
    np.testing.assert_array_equal(picture[:, :56], photo)
    assert (picture[:, 112:] == [255, 214, 90]).all(axis=-1).any()
    graph = lamina.trace(edges.edges, photo, edges.ROUNDS, edges.SOFTNESS, edges.LOW, edges.HIGH)
    assert (tmp_path / "build" / "edges.txt").read_text(encoding="utf-8") == f"{graph}\n"
    printed = capsys.readouterr().out
    assert "bit for bit" in printed and str(graph).splitlines()[0][:40] in printed and "plain NumPy" in printed


# lamina built small


@pytest.fixture(scope="module")
def small() -> Any:
    return load("docs/small.py")


def test_small_computes_what_numpy_does(small: Any, rng: np.random.Generator) -> None:
    def program(x: Any, y: Any) -> Any:
        return np.transpose(x + y * 2) / np.sqrt(np.sum(x * x)) - np.add(1, y)

    x, y = rng.random((3, 3)), rng.random((3, 3))
    np.testing.assert_array_equal(small.defn(program)(x, y), program(x, y))


def test_small_loops_nest_and_read_from_outside(small: Any) -> None:
    def program(x: Any, k: Any) -> Any:
        def turn(u: Any) -> Any:
            return small.while_loop(lambda v: np.less(np.sum(v), k + np.sum(u)), lambda v: v + x, u)

        return small.while_loop(lambda u: np.less(np.sum(u), 100.0), turn, x)

    x, k = np.array([1.0, 2.0]), 4.0
    expected = x
    while expected.sum() < 100:
        start = expected.sum()
        while expected.sum() < k + start:
            expected = expected + x
    np.testing.assert_array_equal(small.defn(program)(x, k), expected)


def test_small_traces_once_for_each_shape(small: Any) -> None:
    traced = []

    @small.defn
    def double(x: Any) -> Any:
        traced.append(x)
        return x + x

    assert double(np.ones(2)).tolist() == double(np.ones(2)).tolist() == [2, 2]
    assert double(np.ones((2, 1))).tolist() == [[2], [2]]
    assert len(traced) == 2


def test_small_orders_a_deep_graph(small: Any) -> None:
    node = leaf = small.Expr("parameter", (0,), ())
    for _ in range(20_000):
        node = small.Expr("add", (node, node), ())
    order = small.post_order(node)
    assert order[0] is leaf and order[-1] is node and len(order) == 20_001


def test_small_fits_on_a_page() -> None:
    lines = [line for line in (ROOT / "docs/small.py").read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(lines) <= 110
