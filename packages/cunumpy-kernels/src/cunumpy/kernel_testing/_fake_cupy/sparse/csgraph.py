"""``cupyx.scipy.sparse.csgraph``: matrices as graphs."""

from __future__ import annotations

from typing import Any

import scipy.sparse.csgraph

from cunumpy.kernel_testing._fake_cupy.array_base import wrap

from .formats import csr_matrix
from .storage import issparse


def connected_components(
    csgraph: Any, directed: bool = True, connection: str = "weak", return_labels: bool = True
) -> Any:
    """Return the number of connected parts of a graph, and the part of each node; CuPy needs pylibcugraph for it."""
    graph = csgraph if issparse(csgraph) else csr_matrix(csgraph)
    if graph.shape[0] != graph.shape[1]:
        raise ValueError("graph should be a square array")
    count, labels = scipy.sparse.csgraph.connected_components(graph._host(), directed, connection)
    return (int(count), wrap(labels)) if return_labels else int(count)


def contents() -> dict[str, Any]:
    """Return the contents of ``cupyx.scipy.sparse.csgraph``."""
    return {"connected_components": connected_components}
