"""Measurements of lamina beside its peers, in one run on one machine: `python -m benchmarks`.

`programs/` holds NumPy programs, run by each of the `competitors`: `contest` starts a `worker` for each group.
`harness` measures what lamina itself costs: a call, an import, a traversal, in modules of these names. `report`, `plot`
and `summary` show both. Nothing here is a test, and no test measures time.
"""
