"""What a test needs: packages, devices, time, and the same random numbers at every run."""

# ruff: noqa: NPY002 - the global state of numpy.random is meant

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import random as python_random
import sys
import unittest
from collections.abc import Iterator
from typing import Any

import numpy as np


def installed(*specifiers: str) -> bool:
    """Whether packages of asked versions are installed."""
    from packaging.requirements import Requirement

    for text in specifiers:
        requirement = Requirement(text)
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            return False
        if not requirement.specifier.contains(version, prereleases=True):
            return False
    return True


def numpy_satisfies(version_range: str) -> bool:
    """Whether NumPy has an asked version."""
    return installed(f"numpy{version_range}")


def with_requires(*requirements: str) -> Any:
    """Skip a test where packages are missing."""
    return unittest.skipUnless(installed(*requirements), f"requires: {','.join(requirements)}")


def _mark(name: str) -> Any:
    import pytest

    return getattr(pytest.mark, name)


def slow(test: Any) -> Any:
    """Mark a test as slow."""
    return _mark("slow")(test)


def multi_gpu(gpu_num: int) -> Any:
    """Mark a test as one of several devices, and skip it where ``CUPY_TEST_GPU_LIMIT`` allows fewer."""
    limit = int(os.environ.get("CUPY_TEST_GPU_LIMIT", "-1"))
    skip = _mark("skipif")(0 <= limit < gpu_num, reason=f"{gpu_num} GPUs required")
    return lambda test: skip(_mark("multi_gpu")(test))


_fixed = 0


def generate_seed() -> int:
    """Return a seed, inside what `fix_random` decorates."""
    assert _fixed > 0, "random is not set up"
    return int(np.random.randint(0x7FFFFFFF))


@contextlib.contextmanager
def _fixed_random() -> Iterator[None]:
    global _fixed
    random = sys.modules["cupy"].random
    before = python_random.getstate(), np.random.get_state(), random.get_random_state()
    python_random.seed(99)
    np.random.seed(100)
    random.set_random_state(random.RandomState(101))
    _fixed += 1
    try:
        yield
    finally:
        _fixed -= 1
        python_random.setstate(before[0])
        np.random.set_state(before[1])
        random.set_random_state(before[2])


def fix_random() -> Any:
    """Return a decorator that gives a test, or the tests of a class, the same random numbers at every run."""

    def decorator(test: Any) -> Any:
        if isinstance(test, type):
            for name, method in list(vars(test).items()):
                if name.startswith("test") and callable(method):
                    setattr(test, name, _fixed_random()(method))
            return test
        return _fixed_random()(test)

    return decorator
