"""PETSc vectors over NumPy and CuPy memory."""

__all__: list[str] = []
