"""What importing the package loads, and that a distribution gets by with what it declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from distributions import CORE, MEMBERS, evaluate, run_python

# None of these may be loaded by `import cunumpy`; each costs time, needs hardware, or starts something.
NOT_ON_IMPORT = [
    "array_api_compat.numpy",
    "cupy",
    "mpi4py",
    "numba",
    "numpy.f2py",
    "numpy.testing",
    "petsc4py",
    "pyccel",
    "pytest",
    "scipy",
    "unittest",
]

IMPORT_ALONE = """
import importlib, json
import numpy
{before}
before = set(sys.modules)
_ThirdParty.refused.clear()
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps({{"loaded": sorted(set(sys.modules) - before), "refused": sorted(set(_ThirdParty.refused))}}))
"""

# What a private module may lack: it is imported where the package is in use.
IMPORT_ONE = """
import importlib
try:
    importlib.import_module(sys.argv[1])
except ModuleNotFoundError as error:
    is_private = sys.argv[1].startswith("_") or "._" in sys.argv[1]
    if not is_private or error.name not in {"cupy", "cupyx", "mpi4py", "numba", "petsc4py", "pyccel", "pytest"}:
        raise
"""
WITH_SCIPY = ("array-api-compat", "numpy", "scipy")


def needed_folders(name: str, unpacked: dict[str, Path]) -> list[Path]:
    names = [name, *MEMBERS[name].needs]
    return [unpacked[each] for each in names]


def allowed_packages(name: str) -> set[str]:
    """Third-party packages that a distribution has by its own requirements and those of its needs."""
    return {package for each in (name, *MEMBERS[name].needs) for package in MEMBERS[each].third_party}


def import_alone(name: str, modules: list[str], unpacked: dict[str, Path]) -> dict[str, list[str]]:
    before = "import scipy" if "scipy" in allowed_packages(name) else ""
    code = IMPORT_ALONE.format(before=before)
    return evaluate(code, needed_folders(name, unpacked), *modules, third_party=allowed_packages(name))


def test_import_loads_nothing_that_costs(unpacked: dict[str, Path]) -> None:
    # Everything is there to be loaded, as far as this environment has it.
    code = "import json\nimport cunumpy\nprint(json.dumps(sorted(sys.modules)))"
    third_party = ["array-api-compat", "numpy", "scipy", "pytest"]
    loaded = evaluate(code, [unpacked[name] for name in MEMBERS], third_party=third_party)
    assert [name for name in NOT_ON_IMPORT if name in loaded] == []
    assert [name for name in loaded if name.split(".")[0] == "array_api_compat"] == []


def test_import_looks_for_no_optional_package(unpacked: dict[str, Path]) -> None:
    assert import_alone(CORE, ["cunumpy"], unpacked)["refused"] == []


@pytest.mark.parametrize("name", MEMBERS)
def test_distribution_alone_loads_only_what_its_row_allows(name: str, unpacked: dict[str, Path]) -> None:
    modules = [f"cunumpy.{submodule}" for submodule in MEMBERS[name].submodules]
    outcome = import_alone(name, modules, unpacked)
    assert set(modules) <= set(outcome["loaded"])
    # Not even in a `try`: what is optional is looked for on first use.
    assert outcome["refused"] == []
    others = {
        f"cunumpy.{submodule}"
        for other, row in MEMBERS.items()
        if other not in {name, *MEMBERS[name].needs}
        for submodule in row.submodules
    }
    assert others.isdisjoint(outcome["loaded"])


@pytest.mark.long
@pytest.mark.parametrize("name", MEMBERS)
def test_every_module_can_be_imported_first(name: str, unpacked: dict[str, Path]) -> None:
    """No module works only because another was imported before it; private ones too."""
    folder = unpacked[name]
    files = [file.relative_to(folder) for file in folder.rglob("*.py") if file.name != "__main__.py"]
    modules = [".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files]
    assert modules
    for module in modules:
        done = run_python(IMPORT_ONE, needed_folders(name, unpacked), module, third_party=WITH_SCIPY)
        assert done.returncode == 0, f"{module}: {done.stderr}"
