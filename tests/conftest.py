"""What every test may use: reproducible random numbers, and the switch for long runs."""

import os
import secrets
import sys
import tempfile
import zlib
from collections.abc import Iterator

import hypothesis
import numpy as np
import pytest

import lamina

# No test is timed, so examples have no deadline. Without --long each run draws the same examples.
hypothesis.settings.register_profile("short", deadline=None, derandomize=True)
hypothesis.settings.register_profile("long", deadline=None, derandomize=False, max_examples=2_000, print_blob=True)

LAST_DRAW = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lamina")
    group.addoption("--long", action="store_true", help="run the tests marked `long`, and more random cases elsewhere")
    group.addoption(
        "--seed", type=int, default=None, help="seed of the `rng` fixture (0; with --long, a new one each run)"
    )


def pytest_configure(config: pytest.Config) -> None:
    # Set once, in the main process: pytest-xdist hands its options to the workers, so that all have one seed.
    if config.option.seed is None:
        config.option.seed = secrets.randbits(32) if config.option.long else 0
    if not hasattr(config, "workerinput"):
        # likewise one folder for compiled code, which isn't the user's
        folder = tempfile.TemporaryDirectory(prefix="lamina-tests-")
        config.add_cleanup(folder.cleanup)
        os.environ["LAMINA_CACHE_DIR"] = folder.name
    hypothesis.settings.load_profile("long" if config.option.long else "short")


def pytest_report_header(config: pytest.Config) -> str:
    return f"lamina: --seed {config.option.seed}{' --long' if config.option.long else ''}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.long:
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="long: runs with --long"))


def pytest_collection_finish() -> None:
    # pytest binds each module whose doctests it collects to its package, over the functions of the same names.
    for name in ("defn", "trace"):
        setattr(lamina, name, getattr(sys.modules["lamina.defn"], name))


@pytest.fixture
def long_mode(request: pytest.FixtureRequest) -> bool:
    """Whether this is a run with --long, in which a random test should draw many more cases."""
    return bool(request.config.option.long)


@pytest.fixture(scope="module")
def through_evaluator() -> Iterator[None]:
    """For a module about what is traced, or what an op means, to the last bit: nothing is compiled to machine code.

    The native compiler has tests of its own for all ops and for random programs, and compiling is what takes long.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(lamina.defn.__kwdefaults__, "compiler", "evaluator")
        yield


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator of random numbers that depends on --seed and on the test's name, not on the order of the tests."""
    seed = request.config.option.seed
    request.node.stash[LAST_DRAW] = f"random numbers of this test: repeat them with --seed {seed}"
    return np.random.default_rng([seed, zlib.crc32(request.node.nodeid.encode())])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.failed and (line := item.stash.get(LAST_DRAW, None)):
        report.sections.append(("seed", line))
    return report
