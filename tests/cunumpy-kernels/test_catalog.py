"""All kernels of a package."""

from __future__ import annotations

import io
import pickle
import re
import sys

import numpy as np
import pytest

from cunumpy.errors import CompileError, CuNumpyWarning, MissingKernelError
from cunumpy.kernels import CompiledHostKernel, CudaKernel, Kernel, KernelCatalog
from kernel_folders import AXPY, AXPY_CUDA, AXPY_NUMPY, forget_packages, write_package

SUM = "def sum2(x, y): pass"
SUM_CUDA = 'extern "C" __global__ void sum2(const double* x, double* y) { y[0] = x[0] + N; }'


@pytest.fixture
def package(tmp_path):
    yield lambda files, **options: write_package(tmp_path, files, **options)
    forget_packages(tmp_path)


def double(x):
    x *= 2


def cuda(body="", declared="double* x", name="double_"):
    return CudaKernel(f'extern "C" __global__ void {name}({declared}) {{ {body} }}', name)


def good_files():
    return {
        "axpy/axpy_kernels.py": AXPY,
        "axpy/axpy_numpy.py": AXPY_NUMPY,
        "axpy/axpy_cuda.cu": AXPY_CUDA,
        "sum2/sum2_numpy.py": SUM,
        "other/readme.txt": "",
        "module.py": "",
    }


def bad_files():
    return {
        **good_files(),
        "broken/broken_kernels.py": "import no_such_module_here",
        "nameless/nameless_kernels.py": "def other(): pass",
        "wrong/wrong_cuda.cu": 'extern "C" __global__ void other(int n) {}',
    }


# --- packages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("init", [True, False])
def test_the_folders_of_a_package(package, init):
    catalog = KernelCatalog.from_package(package(good_files(), init=init), block_size=32)
    assert list(catalog) == ["axpy", "sum2"]
    assert catalog.errors == {}
    assert catalog["axpy"].implementations == ("numpy", "cpu", "python", "cuda")
    assert catalog["axpy"].cuda_kernel.block_size == 32
    assert catalog["sum2"].implementations == ("numpy",)
    assert (catalog.with_cuda, catalog.without_cuda) == (["axpy"], ["sum2"])
    assert catalog.parity_cases() == [("axpy", catalog["axpy"])]
    assert str(catalog) == catalog.summary() == "CUDA kernels: 1 of 2 (missing: sum2)"
    catalog.check_signatures()


def test_options_of_each_kernel(package):
    def options(name):
        return {"use_cupy": False} if name == "sum2" else None

    catalog = KernelCatalog.from_package(
        package(good_files()),
        host_options=options,
        outputs=lambda name: ["y"],
        host_fallback={"axpy": double},
        dispatch="arrays",
        missing_cuda="fallback",
    )
    assert catalog["axpy"].host_kernel.outputs == catalog["sum2"].host_kernel.outputs == ("y",)
    assert catalog["sum2"].host_kernel.use_cupy is False
    assert catalog["axpy"].host_kernel.kernel.get("numpy") is double
    assert catalog["sum2"].host_kernel.kernel.get("numpy") is not double
    assert catalog["sum2"].dispatch == "arrays"
    assert catalog["sum2"].selected(device=True) == "host"
    fallbacks = KernelCatalog.from_package(package(good_files()), host_fallback=lambda name: double)
    assert fallbacks["sum2"].host_kernel.kernel.get("numpy") is double


def test_bad_folders_do_not_take_the_others_down(package):
    name = package(bad_files())
    catalog = KernelCatalog.from_package(name)
    assert list(catalog) == ["axpy", "broken", "nameless", "sum2", "wrong"]
    assert list(catalog.errors) == ["broken", "nameless", "wrong"]
    assert len(catalog) == 5
    assert "broken" in catalog
    assert catalog["axpy"].implementations == ("numpy", "cpu", "python", "cuda")
    causes = {"broken": ModuleNotFoundError, "nameless": AttributeError, "wrong": ValueError}
    files = {"broken": "broken_kernels.py", "nameless": "nameless_kernels.py", "wrong": "wrong_cuda.cu"}
    for kernel, cause in causes.items():
        assert isinstance(catalog.errors[kernel].__cause__, cause)
        for _ in range(2):
            with pytest.raises(MissingKernelError) as error:
                catalog[kernel]
            assert error.value is catalog.errors[kernel]
            assert files[kernel] in str(error.value)
            assert f"kernel '{kernel}' of '{name}' can't be read" in str(error.value)
    assert catalog.summary() == "CUDA kernels: 1 of 5 (missing: sum2); not readable: broken, nameless, wrong"
    assert (catalog.with_cuda, catalog.without_cuda) == (["axpy"], ["sum2"])
    with pytest.raises(ValueError, match=r"broken_kernels\.py(.|\n)*nameless_kernels\.py(.|\n)*wrong_cuda\.cu:1:1"):
        catalog.check_signatures()
    assert str(pickle.loads(pickle.dumps(catalog))) == str(catalog)


def test_all_signatures_are_reported(package):
    files = {"sum2/sum2_numpy.py": SUM, "sum2/sum2_cuda.cu": SUM_CUDA.replace("double* y", "double* z")}
    files |= {"axpy/axpy_kernels.py": AXPY, "axpy/axpy_cuda.cu": AXPY_CUDA.replace("const double* x", "const float* x")}
    catalog = KernelCatalog.from_package(package(files))
    with pytest.raises(
        ValueError, match=r"KernelCatalog\.check_signatures:(.|\n)*float64 and float32(.|\n)*\(x, z\) in CUDA"
    ):
        catalog.check_signatures()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"blocksize": 3}, TypeError, "KernelCatalog.from_package: got an unknown argument 'blocksize'"),
        ({"block_size": 0}, ValueError, "block_size"),
        ({"dispatch": "x"}, ValueError, "KernelCatalog.from_package: argument 'dispatch' must be"),
        ({"missing_cuda": "x"}, ValueError, "KernelCatalog.from_package: argument 'missing_cuda' must be"),
        ({"outputs": "y"}, ValueError, "KernelCatalog.from_package: argument 'outputs' must be"),
        ({"compile_host": 3}, TypeError, "KernelCatalog.from_package: argument 'compile_host' must be a function"),
        ({"host_suffix": None}, TypeError, "KernelCatalog.from_package: argument 'host_suffix' must be a str"),
        ({"host_fallback": [double]}, TypeError, "argument 'host_fallback' must be a mapping of names .*, got list"),
    ],
)
def test_wrong_options_are_no_matter_of_a_folder(package, options, error, text):
    with pytest.raises(error, match=text):
        KernelCatalog.from_package(package(good_files()), **options)


def test_no_package():
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        KernelCatalog.from_package("no_such_package")
    with pytest.raises(ModuleNotFoundError, match=r"KernelCatalog\.from_package: 'json\.decoder' is a module"):
        KernelCatalog.from_package("json.decoder")


# --- a mapping --------------------------------------------------------------------------------------------------------


def test_a_read_only_mapping():
    first, second = Kernel(double), Kernel(double, cuda())
    catalog = KernelCatalog({"b": first, "a": second})
    assert list(catalog) == ["b", "a"]
    assert dict(catalog) == {"b": first, "a": second}
    assert catalog.get("c") is None
    with pytest.raises(KeyError, match=r"no kernel .*c.*; there are b, a"):
        catalog["c"]
    with pytest.raises(TypeError):
        catalog["c"] = first
    assert repr(catalog) == "<KernelCatalog of 2 kernels>"
    assert len(KernelCatalog()) == 0


def test_register():
    catalog, kernel = KernelCatalog(), Kernel(double)
    assert catalog.register(kernel) is kernel
    assert catalog.register(kernel, "other") is kernel
    assert list(catalog) == ["double", "other"]
    with pytest.raises(KeyError, match="there is a kernel 'other' already"):
        catalog.register(kernel, "other")
    with pytest.raises(
        TypeError, match=r"argument 'kernels' must map names to kernels, got list; write \{'name': kernel"
    ):
        KernelCatalog([Kernel(double)])
    with pytest.raises(TypeError, match="a kernel must be a Kernel, got function for 'f'"):
        KernelCatalog({"f": double})
    with pytest.raises(TypeError, match="argument 'name' must be a str, got int"):
        catalog.register(kernel, 3)


def test_summary_names_some_of_those_without_cuda():
    catalog = KernelCatalog({f"k{i}": Kernel(double) for i in range(4)})
    assert catalog.summary(max_missing=2) == "CUDA kernels: 0 of 4 (missing: k0, k1, ...)"
    assert catalog.summary(max_missing=4) == "CUDA kernels: 0 of 4 (missing: k0, k1, k2, k3)"
    assert catalog.summary(0) == "CUDA kernels: 0 of 4 (missing: ...)"
    assert str(KernelCatalog({"k": Kernel(double, cuda())})) == "CUDA kernels: 1 of 1"
    for wrong in (-1, "3", None, True):
        with pytest.raises(ValueError, match="argument 'max_missing' must be a number of names"):
            catalog.summary(wrong)


# --- compiling --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
def test_check_cuda_makes_a_table(package, jobs):
    files = {**good_files(), "sum2/sum2_cuda.cu": SUM_CUDA}
    catalog = KernelCatalog.from_package(package(files), options=["-DN=3"])
    shared = "__shared__ double part[128]; part[threadIdx.x] = *x; __syncthreads(); *x = part[127 - threadIdx.x];"
    catalog.register(Kernel(None, cuda(shared)), "shared")
    source = "namespace n { template <typename T, int M> __global__ void scale(T* x) { *x *= M; } }"
    catalog.register(Kernel(None, CudaKernel(source, "n::scale", template_args=[np.float32, 3])), "scale")
    report = catalog.check_cuda(["sm_80", "sm_90"], jobs=jobs)
    assert [(one.name, one.arch) for one in report.kernels] == [
        (name, arch) for name in ("axpy", "sum2", "double_", "n::scale<float, 3>") for arch in ("sm_80", "sm_90")
    ]
    assert {one.shared for one in report.kernels if one.name == "double_"} == {1024}
    assert all(one.registers > 0 and one.spill_stores == 0 for one in report.kernels)
    lines = str(report).splitlines()
    assert lines[1].split()[:5] == ["kernel", "arch", "registers", "shared", "local"]
    assert len(lines) == 10


def test_check_cuda_reports_all_that_fail(package):
    files = {**bad_files(), "sum2/sum2_cuda.cu": "\n\n" + SUM_CUDA}
    catalog = KernelCatalog.from_package(package(files))
    catalog.register(Kernel(None, cuda("*x = missing;")), "last")
    with pytest.raises(CompileError) as error:
        catalog.check_cuda(["sm_90"])
    text = str(error.value)
    assert 'sum2_cuda.cu:3: error: identifier "N" is undefined' in text
    assert 'identifier "missing" is undefined' in text
    assert "wrong_cuda.cu:1:1" in text
    assert {message.line for message in error.value.messages} == {1, 3}


def test_check_cuda_of_nothing_and_of_unknown_architectures(package):
    assert KernelCatalog({"k": Kernel(double)}).check_cuda().kernels == ()
    catalog = KernelCatalog({"k": Kernel(double, cuda())})
    with pytest.raises(ValueError, match="sm_12"):
        catalog.check_cuda(["sm_12"])
    with pytest.raises(TypeError, match="must be several strings, got the single one 'sm_90'"):
        catalog.check_cuda("sm_90")
    with pytest.raises(ValueError, match=r"KernelCatalog\.check_cuda: argument 'jobs' must be at least 1"):
        catalog.check_cuda(jobs=0)


def test_a_kernel_alone_keeps_its_machine_code(tmp_path):
    file = tmp_path / "axpy_cuda.cu"
    file.write_text(AXPY_CUDA)
    report = CudaKernel.from_file(file).check_cuda(["sm_90"])
    assert [one.name for one in report.kernels] == ["axpy"]  # and not the other one of the file
    assert report.cubins["sm_90"][:4] == b"\x7fELF"
    file.write_text(AXPY_CUDA.replace("a * x[i]", "b * x[i]"))
    with pytest.raises(CompileError, match=r"axpy_cuda\.cu:5: error: identifier \"b\" is undefined"):
        CudaKernel.from_file(file).check_cuda(["sm_90"])


def test_check_cuda_refuses_a_kernel_that_no_launch_finds(tmp_path):
    """Without ``extern "C"`` the machine code has the kernel under a mangled name."""
    file = tmp_path / "axpy_cuda.cu"
    file.write_text("__global__ void axpy(double* x) { *x = 1; }")
    with pytest.raises(
        CompileError, match=r"'axpy': the compiled code has no function 'axpy'; declare it extern \"C\""
    ):
        KernelCatalog({"axpy": Kernel(None, CudaKernel.from_file(file))}).check_cuda(["sm_90"])
    file.write_text('extern "C" {\n__global__ void axpy(double* x) { *x = 1; }\n}')
    assert [one.name for one in CudaKernel.from_file(file).check_cuda(["sm_90"]).kernels] == ["axpy"]


def test_compile_all_without_cupy():
    assert KernelCatalog({"k": Kernel(double)}).compile_all() == []
    with pytest.raises(RuntimeError, match="needs CuPy"):
        KernelCatalog({"k": Kernel(double, cuda())}).compile_all()
    for jobs in (0, -1):
        with pytest.raises(ValueError, match="'jobs' must be at least 1"):
            KernelCatalog().compile_all(jobs=jobs)


@pytest.mark.parametrize("jobs", [1, 3])
def test_build_all_builds_every_host_side(package, jobs):
    built = []

    def compiler(module):
        built.append(module.__name__.rpartition(".")[2])
        return module

    name = package(
        {"axpy/axpy_kernels.py": AXPY, "sum2/sum2_numpy.py": SUM, "only/only_cuda.cu": SUM_CUDA.replace("sum2", "only")}
    )
    catalog = KernelCatalog.from_package(name, compile_host=compiler, options=["-DN=1"])
    catalog.register(Kernel(CompiledHostKernel("math", "sqrt", compiler)), "sqrt")
    catalog.register(Kernel(CompiledHostKernel("math", "missing", compiler, double)), "missing")
    catalog.register(Kernel(double), "double")
    names = {"axpy": "pyccel", "sum2": "numpy", "sqrt": "compiled", "missing": "fallback", "double": "host"}
    names["only"] = "cpu"
    assert catalog.build_all(jobs=jobs) == names
    assert sorted(built) == ["axpy_kernels", "math", "math"]


def test_build_all_warns_and_raises(package):
    catalog = KernelCatalog.from_package(package({"axpy/axpy_kernels.py": AXPY}))
    with pytest.warns(CuNumpyWarning, match="runs as plain Python"):
        assert catalog.build_all() == {"axpy": "python"}
    catalog = KernelCatalog.from_package(package({"a/a_numpy.py": "1 / 0", "sum2/sum2_numpy.py": SUM}))
    with pytest.raises(LookupError, match=r"kernel 'a': none of its implementations .*ZeroDivisionError"):
        catalog.build_all()
    with pytest.raises(MissingKernelError, match="kernel 'broken' of"):
        KernelCatalog.from_package(package(bad_files())).build_all()


def test_progress_is_shown_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    catalog = KernelCatalog({f"k{i}": Kernel(double) for i in range(3)})
    monkeypatch.setattr(sys, "stderr", Terminal())
    catalog.build_all(jobs=2)
    assert "build_all: 100%" in sys.stderr.getvalue()
    assert "3/3" in sys.stderr.getvalue()
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "tqdm", None)  # as if it were not installed
    catalog.build_all()
    assert re.fullmatch(r"\rbuild_all: 3 of at most 3 kernels, double, \d\.\d s\n", sys.stderr.getvalue())
    monkeypatch.setattr(sys, "stderr", io.StringIO())  # a file, of which the user has asked for nothing
    catalog.build_all()
    assert sys.stderr.getvalue() == ""


def test_catalogs_pickle(package):
    catalog = KernelCatalog.from_package(package(good_files()))
    other = pickle.loads(pickle.dumps(catalog))
    assert list(other) == list(catalog)
    x, y = np.arange(3.0), np.ones(3)
    other["axpy"](1.0, x, y, 3)
    assert y.tolist() == [1, 2, 3]
