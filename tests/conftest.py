"""Settings of all tests."""

from __future__ import annotations

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

try:
    from hypothesis import HealthCheck, settings
except ModuleNotFoundError:  # the tests on GPUs need no more than pytest
    pass
else:
    # How long an example takes says more about the machine than about the code.
    settings.register_profile("cunumpy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("cunumpy")

LONGEST = ("test_standin_suite.py", "packaging")
"""What takes a minute or more: started first, so that no process works on one of them alone at the end."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Keep the temporary files of each rank by themselves: pytest's are cleaned up by one process at a time."""
    rank = os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK"))
    if rank is not None:
        folder = Path(tempfile.gettempdir(), f"cunumpy-tests-{os.getuid()}-rank-{rank}")
        folder.mkdir(exist_ok=True)
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST and item.path.parent.name not in LONGEST)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        for module in mark.args:
            if find_spec(module) is None:
                pytest.skip(f"{module} is not installed")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give the tests of a file to one process, and those of packaging: they share what they have compiled or built."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "tests/packaging" if nodeid.startswith("tests/packaging/") else super()._split_scope(nodeid)

    config.option.loadscopereorder = False
    return ByFile(config, log)
