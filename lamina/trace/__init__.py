"""How it was asked: NumPy functions called with traced values, whose operations become a graph."""
