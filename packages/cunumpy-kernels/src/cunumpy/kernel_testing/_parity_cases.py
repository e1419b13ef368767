"""Comparing the kernels of a catalog with the arguments that a module next to each makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy._gate import describe
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernels import Kernel, KernelCatalog

from ._parity import assert_kernels_agree
from ._requirements import require_pytest

if TYPE_CHECKING:
    from types import ModuleType

TEST_ARGS_SETTINGS = (
    "N_THREADS",
    "GRID",
    "BLOCK",
    "RTOL",
    "ATOL",
    "N_CALLS",
    "OUTPUTS",
    "SEED",
    "SEEDS",
    "SIZES",
    "EMULATE",
    "EQUAL_NAN",
    "CHECK_INPUTS",
)
"""What a module with arguments for tests may set: the arguments of `assert_kernels_agree`, in capitals."""


def parity_cases(catalog: KernelCatalog) -> list[Any]:
    """Return the kernels of a catalog that have both sides, as parameters of a pytest test that calls `check_parity`.

    Parameters
    ----------
    catalog : KernelCatalog

    Returns
    -------
    list
        For each of `KernelCatalog.parity_cases` a ``pytest.param(kernel, id=name)``. A kernel without a module of
        test arguments is marked to be skipped, with the file that is missing as the reason.

    Raises
    ------
    ArgumentTypeError
        `catalog` is no `KernelCatalog`.
    ImportError
        pytest is missing.

    Examples
    --------
    >>> import pytest
    >>> import cunumpy as xp
    >>> from cunumpy.kernel_testing import check_parity, parity_cases
    >>> catalog = xp.kernels.KernelCatalog()  # usually KernelCatalog.from_package("my_program.kernels")
    >>> @pytest.mark.parametrize("kernel", parity_cases(catalog))
    ... def test_parity(kernel):
    ...     check_parity(kernel)
    """
    if not isinstance(catalog, KernelCatalog):
        raise ArgumentTypeError(f"parity_cases: argument 'catalog' must be a KernelCatalog, got {describe(catalog)}.")
    pytest = require_pytest("parity cases")
    cases = []
    for name, kernel in catalog.parity_cases():
        marks = []
        if kernel.test_args_module is None:
            marks.append(pytest.mark.skip(reason=f"{_missing_file(kernel, name)} is missing"))
        cases.append(pytest.param(kernel, id=name, marks=marks))
    return cases


def _missing_file(kernel: Kernel, name: str) -> str:
    file = f"{name}_test_args.py"
    return file if kernel.cuda_path is None else str(kernel.cuda_path.parent / file)


def check_parity(kernel: Kernel, **overrides: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Compare both sides of a kernel with the arguments that its module of test arguments makes.

    The module has a function ``make_args(backend, seed)``, with ``SIZES`` set ``make_args(backend, seed, size)``. It
    may set the other arguments of `assert_kernels_agree` in capitals: ``N_THREADS``, ``GRID``, ``BLOCK``, ``RTOL``,
    ``ATOL``, ``N_CALLS``, ``OUTPUTS``, ``SEED``, ``SEEDS``, ``SIZES``, ``EMULATE``, ``EQUAL_NAN``, ``CHECK_INPUTS``.

    Parameters
    ----------
    kernel : Kernel
    **overrides
        Arguments of `assert_kernels_agree` that win over the module's.

    Returns
    -------
    dict of str to numpy.ndarray
        As of `assert_kernels_agree`.

    Raises
    ------
    ArgumentError
        A `ValueError`: the kernel has no such module.
    ArgumentTypeError
        A `TypeError`: the module has no function ``make_args``.
    AssertionError
        As for `assert_kernels_agree`, which also raises what else there is.

    Examples
    --------
    >>> from cunumpy.kernel_testing import check_parity
    >>> def test_push(push):  # a Kernel from a folder with push_test_args.py
    ...     check_parity(push, rtol=1e-10)
    """
    if not isinstance(kernel, Kernel):
        raise ArgumentTypeError(f"check_parity: argument 'kernel' must be a Kernel, got {describe(kernel)}.")
    module = kernel.test_args
    if module is None:
        raise ArgumentError(
            f"check_parity: kernel {kernel.name!r} has no module of test arguments; add "
            f"{_missing_file(kernel, kernel.name)}, or pass Kernel the name of one as test_args=."
        )
    return assert_kernels_agree(kernel, **_settings(module, overrides))


def _settings(module: ModuleType, overrides: dict[str, Any]) -> dict[str, Any]:
    settings = {name.lower(): getattr(module, name) for name in TEST_ARGS_SETTINGS if hasattr(module, name)}
    settings["make_args"] = getattr(module, "make_args", None)
    if "seed" in overrides:
        settings.pop("seeds", None)
    settings |= overrides
    if not callable(settings["make_args"]):
        raise ArgumentTypeError(
            f"check_parity: {module.__name__} has no function make_args(backend, seed), which returns the arguments."
        )
    return settings
