"""Counter-based random numbers."""

__all__: list[str] = []
