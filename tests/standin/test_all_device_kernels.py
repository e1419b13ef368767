"""Every CUDA kernel of the packages runs on the stand-in, and computes what the host does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy.cuda import cuda_kernel_names

POINTS = np.random.default_rng(1).random((50, 3))
KEYS = np.array([0, 1, 1, 2, 0])
VALUES = np.array([1.5, 2.0, -3.0, 0.25, 8.0])


def added(device: Any) -> Any:
    out = device(np.zeros((3, 2)))
    xp.algorithms.scatter_add(out, (device(KEYS), device(KEYS % 2)), device(VALUES), check=True)
    return out


def checked(device: Any) -> Any:
    out = device(np.zeros(3))
    xp.algorithms.scatter_add(out, device(KEYS), device(VALUES), check=True)
    return out


def planned(device: Any) -> list[Any]:
    alg = xp.algorithms
    plan = alg.SegmentPlan(device(KEYS), 3)
    ordered = alg.SegmentPlan(device(KEYS), 3, deterministic=True)
    narrow = device(VALUES.astype(np.float32))
    return [
        *(plan.sum(narrow), plan.mean(narrow), plan.min(narrow), plan.count(), plan.gather(device(np.arange(3.0)))),
        *(ordered.sum(narrow), ordered.mean(narrow), ordered.max(narrow)),
    ]


def drawn(device: Any) -> list[Any]:
    rng = xp.rng.PhiloxGenerator(3)
    return [
        *(rng.uniform(0, 2, 100), rng.normal(0, 1, 100), rng.exponential(2, 100), rng.integers(7, size=100)),
        rng.integers(device(np.zeros(9, np.int64)), device(np.arange(1, 10))),
    ]


def numbered(device: Any) -> list[Any]:
    ids = device(np.arange(20))
    return [
        xp.rng.philox_uniform(1, ids, 0),
        xp.rng.philox_normal(1, ids, 0),
        xp.rng.philox4x32_10(device(WORDS), 1, 2),
    ]


WORDS = np.arange(12, dtype=np.uint32).reshape(3, 4)

CALLS = {
    "morton.cu": [
        lambda device: xp.algorithms.morton_keys(device(POINTS), [0] * 3, [1] * 3, 8),
        lambda device: xp.algorithms.hilbert_encode(device(KEYS), device(KEYS), levels=4),
        lambda device: xp.algorithms.morton_decode(device(KEYS.astype(np.uint64)), 2),
    ],
    "segments.cu": [
        lambda device: xp.algorithms.segment_sum(device(VALUES), device(KEYS), 3, deterministic=True),
        lambda device: xp.algorithms.segment_max(device(VALUES), device(KEYS), 3),
        lambda device: xp.algorithms.segment_mean(device(VALUES), device(KEYS), 3),
        lambda device: xp.algorithms.segment_boundaries(device(np.sort(KEYS))),
        lambda device: xp.algorithms.cell_offsets(device(np.sort(KEYS)), 3),
        lambda device: xp.algorithms.sort_by_cell(device(KEYS), 3, device(VALUES)),
        lambda device: xp.algorithms.segment_count(device(KEYS), 3, out=device(np.zeros(3, np.int64))),
        *(added, checked, planned),
    ],
    "generator.cu": [drawn],
    "philox.cu": [numbered],
}


def on_host(result: Any) -> list[np.ndarray]:
    results = result if isinstance(result, (tuple, list)) else [result]
    return [one if isinstance(one, np.ndarray) else xp.to_numpy(one) for one in results if not isinstance(one, int)]


@pytest.mark.parametrize("source", CALLS)
def test_every_kernel_runs_and_computes_what_the_host_does(source, raw_modules):
    package = xp.rng if source in ("generator.cu", "philox.cu") else xp.algorithms
    folder = Path(str(package.__file__)).parent
    assert {path.name for path in folder.glob("*.cu")} <= set(CALLS)
    ran = set()
    for call in CALLS[source]:
        with xp.use_backend("numpy"):
            expected = on_host(call(np.asarray))
        raw_modules.clear()
        with xp.use_backend("cupy"):
            found = on_host(call(cupy.asarray))
        ran |= {name.partition("<")[0] for name in raw_modules}
        assert len(found) == len(expected) > 0
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
    assert ran == set(cuda_kernel_names((folder / source).read_text()))
