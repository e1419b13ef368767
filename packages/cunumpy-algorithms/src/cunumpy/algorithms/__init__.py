"""Particle algorithms."""

__all__: list[str] = []
