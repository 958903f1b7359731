"""The functions' results are NumPy's, to the last bit, so the evaluator computes them."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _through_evaluator(through_evaluator: None) -> None:
    """For every module here."""
