"""Batched root finding and minimisation."""

__all__: list[str] = []
