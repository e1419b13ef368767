"""What pytest gets from cunumpy-kernels by itself: ``--cuda-check``, the fixture `backend`, and short reports.

pytest loads this in every project of the environment, so it imports nothing of `cunumpy` until a test needs it: the
start of pytest takes no longer, and projects without kernels notice nothing.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_FAULT = "cuda_fault"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--cuda-check``."""
    parser.getgroup("cunumpy", "CUDA kernels").addoption(
        "--cuda-check",
        nargs="?",
        const="on",
        choices=("on", "off"),
        help="run CUDA kernels on the CPU with checks of memory, races and barriers (sets CUNUMPY_CPU_CHECK), or with "
        "'off' without; by default those of cunumpy.kernel_testing have them",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let this process, and those that it starts, know about the option."""
    setting = config.getoption("--cuda-check", default=None)
    if setting is not None:
        os.environ["CUNUMPY_CPU_CHECK"] = "1" if setting == "on" else "0"


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say that the option is given."""
    setting = config.getoption("--cuda-check", default=None)
    return None if setting is None else f"cuda-check: {setting}"


@pytest.fixture(params=["numpy", "cupy"])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a test on each backend of cunumpy, and give its name; on CuPy only where there is a GPU."""
    from cunumpy.kernel_testing._pytest_objects import on_backend

    yield from on_backend(request)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """End the traceback of a kernel's fault at the launch, in the code of the test or of what it tests."""
    errors = sys.modules.get("cunumpy.errors")
    if errors is None or call.excinfo is None or not isinstance(call.excinfo.value, errors.KernelError):
        return (yield)
    hidden = []
    for entry in call.excinfo.traceback:
        variables = entry.frame.f_globals
        if str(variables.get("__name__")).startswith("cunumpy.") and "__tracebackhide__" not in variables:
            variables["__tracebackhide__"] = True
            hidden.append(variables)
    try:
        report = yield
    finally:
        for variables in hidden:
            variables.pop("__tracebackhide__", None)
    report.user_properties.append((_FAULT, str(call.excinfo.value)))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the faults of kernels, each with its test, once more at the end."""
    reports = [one for outcome in ("failed", "error") for one in terminalreporter.stats.get(outcome, ())]
    found = [
        (report.nodeid, text)
        for report in reports
        for name, text in getattr(report, "user_properties", ())
        if name == _FAULT
    ]
    if found:
        terminalreporter.section("faults of CUDA kernels")
    for test, text in found:
        terminalreporter.write_line(test, bold=True)
        for line in text.splitlines():
            terminalreporter.write_line(f"    {line}")
