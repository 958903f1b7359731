"""Conway's game of life on a board with a dead rim, in place, and how many cells were alive at each step.

Method: the neighbour counts by eight slices of N. Rougier, From Python to NumPy (2017); the game is John Conway's
(M. Gardner, Scientific American, October 1970).
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(board: np.ndarray, steps: int) -> np.ndarray:
    """The number of cells alive before each step; the board is updated in place."""
    alive = np.zeros(steps, dtype=np.int64)
    for step in range(steps):
        alive[step] = board.sum()
        neighbours = (
            board[:-2, :-2] + board[:-2, 1:-1] + board[:-2, 2:]
            + board[1:-1, :-2] + board[1:-1, 2:]
            + board[2:, :-2] + board[2:, 1:-1] + board[2:, 2:]
        )  # fmt: skip
        birth = (neighbours == 3) & (board[1:-1, 1:-1] == 0)
        survive = ((neighbours == 2) | (neighbours == 3)) & (board[1:-1, 1:-1] == 1)
        board[...] = 0
        board[1:-1, 1:-1][birth | survive] = 1
    return alive


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A random board."""
    board = np.zeros((size, size), dtype=np.uint8)
    board[1:-1, 1:-1] = rng.random((size - 2, size - 2)) < 0.3
    return board, 2 * size
