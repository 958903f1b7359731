"""What a compiler is tested with: all ops on all dtypes and layouts, and programs of every scope, by the evaluator.

`run_compiler_suite` is for the tests of a package that adds a compiler.
"""

from lamina.testing.suite import Report, run_compiler_suite

__all__ = ["Report", "run_compiler_suite"]
