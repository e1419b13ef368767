"""Batched quadrature and ordinary differential equations."""

__all__: list[str] = []
