"""`xp.scipy`: SciPy's names with the NumPy backend, and the rules of the namespace object."""

import copy
import gc
import importlib
import pickle
import subprocess
import sys

import pytest

import cunumpy as xp
from cunumpy import _scipy_namespace
from cunumpy._scipy_namespace import ScipyNamespace
from cunumpy.errors import ArgumentError, ArgumentTypeError, MissingNameError, MissingPackageError

scipy = pytest.importorskip("scipy")

SUBPACKAGES = ["fft", "fftpack", "interpolate", "linalg", "ndimage", "signal", "sparse", "spatial", "special", "stats"]
SUBPACKAGES += ["sparse.csgraph", "sparse.linalg"]


def child(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)


def walk(namespace, path):
    for name in path.split("."):
        namespace = getattr(namespace, name)
    return namespace


@pytest.mark.parametrize("path", SUBPACKAGES)
def test_each_subpackage_has_scipys_public_names(path):
    namespace = walk(ScipyNamespace(), path)
    assert isinstance(namespace, ScipyNamespace)
    module = importlib.import_module(f"scipy.{path}")
    assert namespace.resolve() is module
    children = {child.rpartition(".")[2] for child in SUBPACKAGES if child.rpartition(".")[0] == path}
    for name in set(module.__all__) - children - {"test"}:
        assert getattr(namespace, name) is getattr(module, name)
        assert namespace.available(name)
    assert {*module.__all__, "available", "resolve"} <= set(dir(namespace)) | {"test"}


def test_other_subpackages_are_plain_modules():
    namespace = ScipyNamespace()
    assert namespace.optimize is importlib.import_module("scipy.optimize")
    assert namespace.__class__ is ScipyNamespace
    assert namespace.resolve() is scipy


def test_the_same_object_each_time():
    namespace = ScipyNamespace()
    assert namespace.sparse.linalg is namespace.sparse.linalg
    assert namespace.special.erf is namespace.special.erf
    assert ScipyNamespace("sparse.linalg").spsolve is namespace.sparse.linalg.spsolve


@pytest.mark.parametrize("path", ["optimize", "special.erf", "no", ".fft", "sparse."])
def test_a_path_is_one_of_the_list(path):
    with pytest.raises(ArgumentError, match=f"path must be empty or one of fft, .*stats, not {path!r}"):
        ScipyNamespace(path)


def test_a_path_is_a_string():
    with pytest.raises(ArgumentTypeError, match="path must be a string, not 3 of type int"):
        ScipyNamespace(3)


def test_a_missing_name_tells_backend_and_likely_name():
    with pytest.raises(
        MissingNameError,
        match=r"xp\.scipy\.special has no 'erff' with the numpy backend: scipy\.special lacks it\. Did you mean 'erf'",
    ) as caught:
        _ = ScipyNamespace("special").erff
    assert isinstance(caught.value, AttributeError)
    assert not hasattr(ScipyNamespace("special"), "no_such_function")
    assert not hasattr(ScipyNamespace(), "")


def test_protocols_are_not_looked_for_in_scipy():
    with pytest.raises(AttributeError, match="has no attribute '__version__'"):
        _ = ScipyNamespace().__version__


def test_available_answers_false_and_never_raises():
    namespace = ScipyNamespace()
    assert namespace.available("special")
    assert namespace.available("optimize")
    assert not namespace.available("no_such_module")
    with pytest.raises(ArgumentTypeError, match="name must be a string, not 3"):
        namespace.available(3)


def test_attributes_can_not_be_set_or_deleted():
    special = ScipyNamespace("special")
    erf = special.erf
    with pytest.raises(AttributeError, match=r"xp\.scipy\.special\.erf can't be set.*resolve\(\) returns"):
        special.erf = 3
    with pytest.raises(AttributeError, match=r"xp\.scipy\.special\.new can't be set"):
        special.new = 3
    with pytest.raises(AttributeError, match=r"xp\.scipy\.special\.erf can't be deleted"):
        del special.erf
    assert special.erf is erf


def test_the_top_level_has_one_namespace():
    assert isinstance(xp.scipy, ScipyNamespace)
    assert xp.scipy is xp.scipy
    assert xp.scipy.resolve() is scipy


def test_repr_does_not_resolve_anything():
    assert repr(ScipyNamespace("sparse")) == "<cunumpy scipy namespace <backend>.sparse>"
    assert repr(ScipyNamespace()) == "<cunumpy scipy namespace <backend>>"


@pytest.mark.parametrize("path", ["", "sparse.linalg"])
def test_copies_and_pickles(path):
    namespace = ScipyNamespace(path)
    for other in (copy.copy(namespace), copy.deepcopy(namespace), pickle.loads(pickle.dumps(namespace))):
        assert isinstance(other, ScipyNamespace)
        assert other.resolve() is namespace.resolve()


def test_solve_circulant_is_scipys_with_numpy():
    assert ScipyNamespace().linalg.solve_circulant is importlib.import_module("scipy.linalg").solve_circulant


def test_nothing_is_imported_before_the_first_use():
    done = child(
        "import sys; from cunumpy._scipy_namespace import ScipyNamespace; xp = ScipyNamespace(); xp.sparse.linalg; "
        "repr(xp); print('scipy' in sys.modules); xp.special.erf; print('scipy.special' in sys.modules)"
    )
    assert (done.stdout.split(), done.stderr) == (["False", "True"], "")


def test_without_scipy_the_error_says_what_to_do():
    done = child(
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'scipy':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from cunumpy._scipy_namespace import ScipyNamespace\n"
        "namespace = ScipyNamespace()\n"
        "print(namespace.available('optimize'), namespace.special.available('erf'), 'special' in dir(namespace))\n"
        "try:\n    namespace.special.erf\nexcept ImportError as error:\n    print(error)\n"
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "False False True",
        "xp.scipy.special: SciPy is not installed, so scipy.special can't be imported. Run: uv add scipy",
    ]


def test_a_broken_scipy_is_reported_with_the_reason(monkeypatch):
    def broken(name):
        raise ImportError("libopenblas.so: cannot open shared object file")

    monkeypatch.setattr(_scipy_namespace.importlib, "import_module", broken)
    with pytest.raises(MissingPackageError, match=r"scipy\.fft can't be imported: libopenblas\.so") as caught:
        ScipyNamespace("fft").resolve()
    assert caught.value.name == "scipy.fft"


def test_namespaces_are_collected():
    namespace = ScipyNamespace()
    count = len(_scipy_namespace._instances)
    del namespace
    gc.collect()
    assert len(_scipy_namespace._instances) < count
