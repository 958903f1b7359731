"""Measurements of lamina beside its peers, in one run on one machine: `python -m benchmarks`.

`harness` measures, `report` shows, and each other module holds the benchmarks of one concern. Nothing here is a test,
and no test measures time.
"""
