"""Measurements of CuNumpy's performance targets: ``uv run python -m benchmarks``.

The rows are in `benchmarks.rows`, what they time is in one module per topic, how it is timed in `benchmarks._measure`.
"""
