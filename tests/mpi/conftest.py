"""A communicator of one process for each test, without messages of the tests before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mpi_under_test import MPI


@pytest.fixture
def comm() -> Iterator[Any]:
    made = MPI.COMM_SELF.Dup()
    yield made
    if made:
        made.Free()
