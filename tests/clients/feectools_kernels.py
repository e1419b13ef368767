"""The kernel folders of `feectools` on our packages; `feectools_client.py` runs this in an environment of its own."""

import importlib
import os
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import cunumpy as xp
from cunumpy.cuda import check_cuda
from cunumpy.kernel_testing import assert_kernels_agree, emulate_cuda_kernel
from cunumpy.kernels import CudaKernel, Kernel, KernelCatalog, PyccelCache

PACKAGE = "feectools.linalg.kernels"
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_120")
NAMES = [f"stencil_{operation}_{ndim}d" for operation in ("axpy", "dot", "inner", "transpose") for ndim in (1, 2, 3)]


@pytest.fixture(scope="module")
def catalog():
    return KernelCatalog.from_package(PACKAGE)


def declared(name):
    return getattr(importlib.import_module(f"{PACKAGE}.{name}"), name)


def test_every_folder_loads(catalog):
    assert list(catalog) == catalog.with_cuda == NAMES
    for kernel in catalog.values():
        assert isinstance(kernel, Kernel)
        assert isinstance(kernel.cuda_kernel, CudaKernel)


@pytest.mark.parametrize("name", NAMES)
def test_kernel_that_the_client_declares_is_that_of_its_folder(name, catalog):
    kernel = declared(name)
    assert isinstance(kernel, Kernel)
    assert kernel.name == name
    assert kernel.has_cuda
    assert kernel.implementations == catalog[name].implementations
    assert callable(kernel.cuda_kernel.n_threads_from)


def test_host_and_cuda_versions_have_the_same_parameters(catalog):
    catalog.check_signatures()


def test_every_cuda_source_compiles_for_the_architectures(catalog):
    print(catalog.check_cuda(archs=ARCHITECTURES))


def test_other_cuda_sources_compile(catalog):
    folder = Path(importlib.import_module("feectools").__path__[0])
    for path in set(folder.rglob("*.cu")) - {kernel.cuda_path for kernel in catalog.values()}:
        for kernel in CudaKernel.all_from_file(path).values():
            print(check_cuda(kernel.source, archs=ARCHITECTURES, filename=str(path), include_dirs=kernel.include_dirs))


def test_host_kernels_compile_with_pyccel(tmp_path, monkeypatch):
    cache = PyccelCache("cunumpy-clients")
    monkeypatch.setenv(cache.cache_env, str(tmp_path))
    rng = np.random.default_rng(0)
    for name, arguments in (
        ("stencil_axpy_1d", (0.5, rng.random(7), rng.random(7))),
        ("stencil_axpy_2d", (0.5, rng.random((7, 5)), rng.random((7, 5)))),
        ("stencil_inner_3d", (rng.random((6, 7, 8)), rng.random((6, 7, 8)), *np.array([1, 2, 1]), np.zeros(1))),
    ):
        kernel = Kernel.from_folder(f"{PACKAGE}.{name}", compile_host=cache)
        results = []
        for implementation in ("python", "pyccel"):
            with xp.kernels.use_host_kernel_implementation(implementation):
                given = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
                kernel(*given)
                results.append(given)
        assert not all(np.array_equal(one, other) for one, other in zip(results[0], arguments, strict=True))
        for one, other in zip(*results, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)


def test_modules_that_the_client_compiled_are_what_runs(catalog):
    compiled = bool(int(os.environ["FEECTOOLS_COMPILED"]))
    for kernel in catalog.values():
        assert ("pyccel" in kernel.implementations) == compiled
        assert kernel.host_parameters() == [one.name for one in kernel.cuda_kernel.signature]
        if compiled:
            assert kernel.selected() == "pyccel"


def test_every_cuda_kernel_agrees_with_its_host_kernel_on_the_cpu_device():
    cases = importlib.import_module("feectools.linalg.tests.cuda_parity_cases").PARITY_CASES
    assert set(cases) == set(NAMES)
    for name, spec in cases.items():
        for case in spec.cases:
            assert_kernels_agree(
                declared(name),
                lambda backend, seed, spec=spec, case=case: spec.build(case),
                n_threads=spec.n_threads,
                rtol=spec.rtol,
                atol=spec.atol,
                emulate=True,
            )


@pytest.mark.skipif(version("feectools") == "0.9.0", reason="that release has no kernel with warp shuffles")
def test_kernels_with_warp_shuffles_run_on_the_cpu_device():
    kernel = declared("stencil_dot_3d").cuda_kernel
    assert "__shfl" in kernel.source
    spec = importlib.import_module("feectools.linalg.tests.cuda_parity_cases").PARITY_CASES["stencil_dot_3d"]
    args = spec.build(spec.cases[0])
    before = [one.copy() for one in args if isinstance(one, np.ndarray)]
    emulate_cuda_kernel(kernel, *args)
    after = [one for one in args if isinstance(one, np.ndarray)]
    assert not all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
