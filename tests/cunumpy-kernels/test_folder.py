"""Kernels from folders: which files count, and what each gives."""

from __future__ import annotations

import copy
import pickle
import sys
import warnings

import numpy as np
import pytest

from cunumpy.errors import CuNumpyWarning
from cunumpy.kernels import HostImplementations, Kernel, KernelCatalog, use_host_kernel_implementation
from kernel_folders import AXPY, AXPY_CUDA, AXPY_NUMPY, compile_extension, forget_packages, write_package

NUMBA = """
class Dispatcher:
    def __init__(self, function): self.py_func = function
    def __call__(self, *args): return self.py_func(*args)
@Dispatcher
def axpy(a, x, y, n):
    y[:n] = y[:n] + a * x[:n]
"""


@pytest.fixture
def package(tmp_path):
    yield lambda files, **options: write_package(tmp_path, files, **options)
    forget_packages(tmp_path)


def compiled(module):
    """Stand for a compiler: another module with the same function, which notes its calls."""

    class Compiled:
        calls = 0

        @classmethod
        def axpy(cls, a, x, y, n):
            cls.calls += 1
            module.axpy(a, x, y, n)

    return Compiled


def assert_computes(kernel, n=3):
    x, y = np.arange(4.0), np.ones(4)
    kernel(2.0, x, y, n)
    expected = np.ones(4)
    expected[:n] += 2 * np.arange(n)
    np.testing.assert_array_equal(y, expected)


def test_all_files(package):
    name = package(
        {
            "axpy/axpy_kernels.py": AXPY,
            "axpy/axpy_numba.py": NUMBA,
            "axpy/axpy_numpy.py": AXPY_NUMPY,
            "axpy/axpy_cuda.cu": AXPY_CUDA,
            "axpy/axpy_test_args.py": "n = 3",
        }
    )
    kernel = Kernel.from_folder(f"{name}.axpy", compile_host=compiled, block_size=64, dispatch="arrays")
    assert kernel.name == "axpy"
    assert kernel.implementations == ("pyccel", "numba", "numpy", "cpu", "python", "cuda")
    assert isinstance(kernel.host_kernel.kernel, HostImplementations)
    assert kernel.cuda_kernel.block_size == 64
    assert [one.name for one in kernel.cuda_kernel.signature] == ["a", "x", "y", "n"]
    assert kernel.cuda_path.name == "axpy_cuda.cu"
    assert (kernel.test_args_module, kernel.test_args.n) == (f"{name}.axpy.axpy_test_args", 3)
    assert f"{name}.axpy.axpy_numba" not in sys.modules  # imported when used
    for implementation in ("pyccel", "numba", "numpy", "python"):
        with use_host_kernel_implementation(implementation):
            assert_computes(kernel)
    assert kernel.selected() == "pyccel"
    assert kernel.host_kernel.kernel.get("pyccel").__self__.calls == 1
    assert kernel.host_parameters() == ["a", "x", "y", "n"]
    kernel.check_signature()


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        ("axpy_kernels.py", AXPY, ("python",)),
        ("axpy_numpy.py", AXPY_NUMPY, ("numpy",)),
        ("axpy_numba.py", NUMBA, ("numba",)),
        ("axpy_cuda.cu", AXPY_CUDA, ("cpu", "cuda")),
    ],
)
def test_one_file_is_enough(package, file, text, names):
    kernel = Kernel.from_folder(f"{package({f'axpy/{file}': text})}.axpy")
    assert kernel.implementations == names
    kernel.check_signature()
    if names == ("cpu", "cuda"):
        assert_computes(kernel)
        assert kernel.selected() == "cpu"
        return
    assert kernel.host_parameters() == ["a", "x", "y", "n"]
    with warnings.catch_warnings():
        if names == ("python",):
            warnings.simplefilter("ignore", CuNumpyWarning)
        assert_computes(kernel)
        assert kernel.selected() == names[0]
    with pytest.raises(NotImplementedError, match=r"add one in .*axpy_cuda\.cu"):
        kernel.selected(device=True)


def test_without_a_compiler_plain_python_is_not_called_compiled(package):
    name = package({"axpy/axpy_kernels.py": AXPY, "axpy/axpy_numpy.py": AXPY_NUMPY})
    kernel = Kernel.from_folder(f"{name}.axpy")
    assert kernel.implementations == ("numpy", "python")
    assert kernel.selected() == "numpy"
    assert_computes(kernel)
    name = package({"axpy/axpy_kernels.py": AXPY})
    kernel = Kernel.from_folder(f"{name}.axpy")
    with pytest.warns(CuNumpyWarning, match="kernel 'axpy': runs as plain Python"):
        assert_computes(kernel)
    assert kernel.selected() == "python"


def test_a_failing_compiler_leaves_the_others(package):
    def compiler(module):
        raise RuntimeError("no gfortran")

    name = package({"axpy/axpy_kernels.py": AXPY, "axpy/axpy_numpy.py": AXPY_NUMPY})
    kernel = Kernel.from_folder(f"{name}.axpy", compile_host=compiler)
    assert_computes(kernel)
    assert kernel.selected() == "numpy"
    assert str(kernel.host_kernel.kernel.errors["pyccel"]) == "no gfortran"


@pytest.mark.parametrize("with_source", [True, False])
def test_a_module_that_is_compiled_where_it_stands(package, tmp_path, with_source):
    source = "def halve(x: 'float[:]'):\n    for i in range(len(x)):\n        x[i] /= 2\n"
    name = package({"halve/halve_kernels.py": source} if with_source else {"halve/other.txt": ""})
    compile_extension(tmp_path / name / "halve")
    kernel = Kernel.from_folder(f"{name}.halve")
    assert kernel.implementations == (("pyccel", "python") if with_source else ("pyccel",))
    for implementation in kernel.implementations:
        x = np.array([1.0, 3.0])
        with use_host_kernel_implementation(implementation):
            kernel(x)
        assert x.tolist() == [0.5, 1.5]
    assert kernel.selected() == "pyccel"
    assert type(kernel.host_kernel.kernel.get("pyccel")).__name__ == "builtin_function_or_method"
    assert kernel.host_parameters() == (["x"] if with_source else None)
    if not with_source:
        stub = tmp_path / name / "halve" / "__pyccel__" / "halve_kernels.pyi"
        stub.parent.mkdir()
        stub.write_text("def halve(x : 'float64[:]') -> None:\n    ...\n")
        assert kernel.host_parameters() == ["x"]


def test_namespace_packages(package):
    name = package({"axpy/axpy_kernels.py": AXPY, "axpy/axpy_cuda.cu": AXPY_CUDA}, init=False)
    kernel = Kernel.from_folder(f"{name}.axpy")
    assert kernel.implementations == ("cpu", "python", "cuda")


def test_a_folder_that_declares_its_kernel(package, tmp_path):
    name = package({"axpy/axpy_kernels.py": AXPY, "axpy/axpy_numpy.py": AXPY_NUMPY, "axpy/axpy_cuda.cu": AXPY_CUDA})
    (tmp_path / name / "axpy" / "__init__.py").write_text(
        "from cunumpy.kernels import Kernel\n"
        "axpy = Kernel.from_folder(__name__, n_threads_from=lambda args: args[1].size)\n"
    )
    declared = __import__(f"{name}.axpy", fromlist=["axpy"]).axpy
    assert_computes(declared)
    assert pickle.loads(pickle.dumps(declared)) is declared
    assert copy.deepcopy([declared])[0] is declared


def test_folder_kernels_pickle(package):
    name = package({"axpy/axpy_kernels.py": AXPY, "axpy/axpy_numpy.py": AXPY_NUMPY, "axpy/axpy_cuda.cu": AXPY_CUDA})
    kernel = Kernel.from_folder(f"{name}.axpy", compile_host=compiled, outputs=["y"])
    other = pickle.loads(pickle.dumps(kernel))
    assert other is not kernel
    assert other.implementations == kernel.implementations
    assert other.host_kernel.outputs == ("y",)
    assert_computes(other)
    with pytest.raises(TypeError, match=r"its n_threads_from, .*<lambda>"):
        pickle.dumps(Kernel.from_folder(f"{name}.axpy", n_threads_from=lambda args: 1))


def test_headers_are_found_in_the_folder_and_beside_the_root_package(package, tmp_path):
    name = package({"a/b/axpy/axpy_cuda.cu": "", "a/b/axpy/own.cuh": "", "shared.cuh": ""})
    source = f'#include "own.cuh"\n#include "{name}/shared.cuh"\n{AXPY_CUDA}'
    (tmp_path / name / "a" / "b" / "axpy" / "axpy_cuda.cu").write_text(source)
    kernel = Kernel.from_folder(f"{name}.a.b.axpy").cuda_kernel
    assert kernel.include_dirs == (tmp_path / name / "a" / "b" / "axpy", tmp_path)
    assert [path.name for path in kernel.included_headers] == ["own.cuh", "shared.cuh"]
    other = Kernel.from_folder(f"{name}.a.b.axpy", include_dirs=[tmp_path / "other"]).cuda_kernel
    assert other.include_dirs == (tmp_path / name / "a" / "b" / "axpy", tmp_path / "other")


def test_other_names_of_files(package):
    name = package({"axpy/axpy_host.py": AXPY, "axpy/axpy.cu": AXPY_CUDA, "axpy/axpy_args.py": ""})
    kernel = Kernel.from_folder(f"{name}.axpy", host_suffix="_host", cuda_suffix=".cu", test_args_suffix="_args")
    assert kernel.implementations == ("cpu", "python", "cuda")
    assert kernel.test_args_module == f"{name}.axpy.axpy_args"
    without = Kernel.from_folder(f"{name}.axpy", host_suffix="_host", cuda_suffix=".cu", test_args_suffix=None)
    assert without.test_args_module is None


def test_outputs(package):
    dotted = f"{package({'axpy/axpy_kernels.py': AXPY})}.axpy"
    assert Kernel.from_folder(dotted).host_kernel.outputs is None
    assert Kernel.from_folder(dotted, outputs=[2]).host_kernel.outputs == (2,)
    assert Kernel.from_folder(dotted, outputs="annotations").host_kernel.outputs == ("y",)
    chosen = Kernel.from_folder(dotted, outputs="annotations", host_options={"outputs": ("x", "y")})
    assert chosen.host_kernel.outputs == ("x", "y")
    with pytest.raises(ValueError, match=r"'outputs' must be a sequence .* or 'annotations', got 'y'; .* pass \['y'\]"):
        Kernel.from_folder(dotted, outputs="y")
    with pytest.raises(ValueError, match="outputs names 'z'"):
        Kernel.from_folder(dotted, outputs=["z"])


def test_more_implementations_have_precedence(package):
    dotted = f"{package({'axpy/axpy_kernels.py': AXPY, 'axpy/axpy_numpy.py': AXPY_NUMPY})}.axpy"
    kernel = Kernel.from_folder(dotted, extra_implementations={"numpy": lambda: lambda *args: "mine"})
    assert kernel(1, 2) == "mine"
    with pytest.raises(ValueError, match="has an entry 'fortran'"):
        Kernel.from_folder(dotted, extra_implementations={"fortran": lambda: None})


@pytest.mark.parametrize(("length", "warned"), [(48, False), (49, True)])
def test_names_too_long_for_fortran(package, length, warned):
    kernel = "k" * length
    dotted = f"{package({f'{kernel}/{kernel}_kernels.py': f'def {kernel}(x): pass'})}.{kernel}"
    if not warned:
        Kernel.from_folder(dotted)
        return
    with pytest.warns(UserWarning, match=r"has 64 characters; Fortran allows 63"):
        Kernel.from_folder(dotted)
    Kernel.from_folder(dotted, check_name_length=False)


# --- errors name the file ---------------------------------------------------------------------------------------------


def test_an_empty_folder(package):
    name = package({"axpy/readme.txt": ""})
    with pytest.raises(
        FileNotFoundError, match=r"needs one of axpy_kernels\.py, axpy_numba\.py, axpy_numpy\.py, axpy_cuda"
    ):
        Kernel.from_folder(f"{name}.axpy")


def test_no_package():
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        Kernel.from_folder("no_such_package.axpy")
    with pytest.raises(ModuleNotFoundError, match=r"'json\.decoder' is a module and no package"):
        Kernel.from_folder("json.decoder")
    with pytest.raises(TypeError, match="'package' must be the dotted name of a package as str, got NoneType"):
        Kernel.from_folder(None)
    for name in ("", ".axpy", "axpy.", "a..b", "a/b"):
        for function in (Kernel.from_folder, KernelCatalog.from_package):
            with pytest.raises(ValueError, match="argument 'package' must be the dotted name of a package, from its"):
                function(name)


def test_a_function_of_another_name(package):
    name = package({"axpy/axpy_kernels.py": "def apxy(): pass", "axpy/axpy_numpy.py": "x = 1"})
    with pytest.raises(AttributeError, match=r"axpy_kernels\.py has no function 'axpy'; the function of a kernel has"):
        Kernel.from_folder(f"{name}.axpy")
    name = package({"axpy/axpy_numpy.py": "x = 1"})
    kernel = Kernel.from_folder(f"{name}.axpy")
    with pytest.raises(LookupError, match=r"axpy_numpy\.py has no function 'axpy'"):
        kernel()


def test_a_function_that_can_not_be_called(package):
    name = package({"axpy/axpy_kernels.py": "axpy = 3"})
    with pytest.raises(TypeError, match=r"'axpy' in .*axpy_kernels\.py must be the function of the kernel, got int"):
        Kernel.from_folder(f"{name}.axpy")


def test_a_module_that_can_not_be_imported(package):
    name = package({"axpy/axpy_kernels.py": "import no_such_module_here"})
    with pytest.raises(ModuleNotFoundError, match="no_such_module_here") as error:
        Kernel.from_folder(f"{name}.axpy")
    assert any("axpy_kernels.py was imported, for the kernel 'axpy'" in note for note in error.value.__notes__)


def test_a_source_that_is_no_text(package, tmp_path):
    name = package({"axpy/axpy_cuda.cu": ""})
    (tmp_path / name / "axpy" / "axpy_cuda.cu").write_bytes(b"// caf\xe9")
    with pytest.raises(ValueError, match=r"axpy_cuda\.cu' is not encoded in UTF-8: .*0xe9"):
        Kernel.from_folder(f"{name}.axpy")


def test_a_source_without_the_kernel(package):
    name = package({"axpy/axpy_cuda.cu": 'extern "C" __global__ void other(int n) {}'})
    with pytest.raises(ValueError, match=r"axpy_cuda\.cu:1:1: there is no kernel 'axpy'; its kernels are other"):
        Kernel.from_folder(f"{name}.axpy")


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (
            {"blocksize": 3},
            TypeError,
            "unknown argument 'blocksize'; besides its own it takes those of CudaKernel: block_s",
        ),
        ({"block_size": 0}, ValueError, "block_size"),
        (
            {"dispatch": "x"},
            ValueError,
            "Kernel.from_folder: argument 'dispatch' must be 'backend' or 'arrays', got 'x'",
        ),
        (
            {"missing_cuda": "x"},
            ValueError,
            "Kernel.from_folder: argument 'missing_cuda' must be 'raise' or 'fallback'",
        ),
        ({"compile_host": "pyccel"}, TypeError, "argument 'compile_host' must be a function of a module.*, got str"),
        ({"host_suffix": None}, TypeError, "Kernel.from_folder: argument 'host_suffix' must be a str, got NoneType"),
        ({"cuda_suffix": None}, TypeError, "argument 'cuda_suffix' must be a str"),
        ({"test_args_suffix": 3}, TypeError, "argument 'test_args_suffix' must be a str"),
        ({"host_options": "outputs"}, TypeError, "argument 'host_options' must be a mapping .*, got str"),
    ],
)
def test_wrong_options_are_refused_whatever_the_folder_holds(package, options, error, text):
    with pytest.raises(error, match=text):
        Kernel.from_folder(f"{package({'axpy/axpy_kernels.py': AXPY})}.axpy", **options)
