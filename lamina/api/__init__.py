"""The public functions, by chapters of the Python array API standard, on traced values and on arrays alike."""
