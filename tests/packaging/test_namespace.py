"""One import package from any set of the distributions, however they got onto the path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

from distributions import CORE, MEMBERS, OPTIONAL, OWNER, PACKAGES, evaluate, run_python, sources, uv

WITH_SCIPY = ("array-api-compat", "numpy", "scipy")

# A star import would rebind the user's `xp`; nothing but tests should load the other.
NOT_IN_ALL = {"kernel_testing", "xp"}

# Reads every submodule as an attribute, in one Python for each call; prints what came of it.
READ = """
import json
import cunumpy as xp
before = sorted(name for name in sys.modules if name.startswith("cunumpy."))
listed = {name: (name in dir(xp), name in xp.__all__) for name in sys.argv[1:]}
result = {}
for name in sys.argv[1:]:
    try:
        module = getattr(xp, name)
    except AttributeError as error:
        result[name] = [type(error).__name__, str(error)]
    else:
        result[name] = module.__name__
print(json.dumps({"result": result, "listed": listed, "before": before}))
"""

# The same for many paths in one Python: what belongs to cunumpy is forgotten in between, NumPy stays.
READ_EACH = """
import importlib, json, pathlib
names = json.loads(sys.argv[1])
start = list(sys.path)
outcomes = []
for path in json.loads(pathlib.Path(sys.argv[2]).read_text()):
    for name in [name for name in sys.modules if name.partition(".")[0] == "cunumpy"]:
        del sys.modules[name]
    sys.path[:] = start + path
    importlib.invalidate_caches()
    import cunumpy as xp
    result = {}
    for name in names:
        try:
            result[name] = getattr(xp, name).__name__
        except AttributeError as error:
            result[name] = str(error)
    listed = {"dir": set(names) & set(dir(xp)), "all": set(names) & set(xp.__all__)}
    outcomes.append({"result": result, **{key: sorted(value) for key, value in listed.items()}})
print(json.dumps(outcomes))
"""


def full_name(submodule: str) -> str:
    return f"cunumpy.{submodule}"


def check(outcome: dict, installed: set[str]) -> None:
    for submodule, owner in OWNER.items():
        got = outcome["result"][submodule]
        if owner in installed:
            assert got == full_name(submodule)
        else:
            assert f"uv add {owner}" in got[1], got
        in_dir, in_all = outcome["listed"][submodule]
        assert in_dir is (owner in installed), submodule
        assert in_all is (owner in installed and submodule not in NOT_IN_ALL), submodule


def test_source_tree_on_the_path_alone() -> None:
    check(evaluate(READ, sources(), *OWNER, third_party=WITH_SCIPY), set(MEMBERS))


def test_order_on_the_path_does_not_matter() -> None:
    check(evaluate(READ, reversed(sources()), *OWNER, third_party=WITH_SCIPY), set(MEMBERS))


def test_pythonpath_as_a_user_sets_it() -> None:
    """The variable itself, with this environment's NumPy."""
    done = subprocess.run(
        [sys.executable, "-c", "import cunumpy as xp; print(xp.rng.__file__, xp.petsc.__file__, sep='\\n')"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, sources()))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all(Path(line).is_relative_to(PACKAGES) for line in done.stdout.splitlines())


def test_wheels_in_one_folder(wheels: dict[str, Path], tmp_path: Path) -> None:
    uv("pip", "install", "--quiet", "--no-deps", "--target", tmp_path, *wheels.values())
    check(evaluate(READ, [tmp_path], *OWNER, third_party=WITH_SCIPY), set(MEMBERS))


def test_editable_installs_beside_wheels(wheels: dict[str, Path], tmp_path: Path) -> None:
    editable = [CORE, "cunumpy-rng", "cunumpy-mpi"]
    install = ["pip", "install", "--quiet", "--no-deps", "--target", tmp_path]
    uv(*install, *(wheels[name] for name in MEMBERS if name not in editable))
    uv(*install, "--no-sources", *(item for name in editable for item in ("--editable", PACKAGES / name)))
    # A folder that pip installs into is read by `site`, which follows the editable installs' .pth files.
    code = "import site; site.addsitedir(sys.argv.pop(1))\n" + READ
    check(evaluate(code, [], tmp_path, *OWNER, third_party=WITH_SCIPY), set(MEMBERS))


def test_every_subset_that_can_be_installed(unpacked: dict[str, Path], tmp_path: Path) -> None:
    some = [set(names) | {CORE} for size in range(len(OPTIONAL) + 1) for names in combinations(OPTIONAL, size)]
    subsets = [subset for subset in some if all(subset.issuperset(MEMBERS[name].needs) for name in subset)]
    assert {CORE} in subsets
    assert set(MEMBERS) in subsets
    paths = [[str(unpacked[name]) for name in MEMBERS if name in subset] for subset in subsets]
    listing = tmp_path / "paths.json"
    listing.write_text(json.dumps(paths), encoding="utf-8")
    outcomes = evaluate(READ_EACH, [], json.dumps(list(OWNER)), listing, third_party=WITH_SCIPY)
    for subset, outcome in zip(subsets, outcomes, strict=True):
        present = sorted(submodule for submodule, owner in OWNER.items() if owner in subset)
        for submodule, owner in OWNER.items():
            if owner in subset:
                assert outcome["result"][submodule] == full_name(submodule)
            else:
                assert f"uv add {owner}" in outcome["result"][submodule]
        assert outcome["dir"] == present
        assert outcome["all"] == [name for name in present if name not in NOT_IN_ALL]


def test_submodules_load_on_first_access(unpacked: dict[str, Path]) -> None:
    outcome = evaluate(READ, [unpacked[name] for name in MEMBERS], *OWNER, third_party=WITH_SCIPY)
    others = {full_name(submodule) for submodule, owner in OWNER.items() if owner != CORE}
    assert others.isdisjoint(outcome["before"])
    assert {"cunumpy.memory", "cunumpy.profiling"}.isdisjoint(outcome["before"])


@pytest.mark.parametrize("submodule", ["rng", "kernels", "integrate"])
def test_missing_submodule_is_an_attribute_error_with_the_remedy(submodule: str, unpacked: dict[str, Path]) -> None:
    code = f"""
import cunumpy as xp
assert not hasattr(xp, {submodule!r})
try:
    xp.{submodule}
except AttributeError as error:
    print(error)
"""
    done = run_python(code, [unpacked[CORE]])
    assert done.returncode == 0, done.stderr
    assert repr(submodule) in done.stdout
    assert f"uv add {OWNER[submodule]}" in done.stdout


def test_missing_dependency_inside_a_submodule_is_not_taken_for_a_missing_distribution(
    unpacked: dict[str, Path], tmp_path: Path
) -> None:
    broken = tmp_path / "cunumpy" / "rng"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("import package_that_is_nowhere\n")
    code = """
import cunumpy as xp
try:
    xp.rng
except ModuleNotFoundError as error:
    print(error.name)
"""
    done = run_python(code, [unpacked[CORE], tmp_path])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "package_that_is_nowhere"


def test_misspelt_name_is_not_taken_for_a_missing_distribution(unpacked: dict[str, Path]) -> None:
    code = """
import cunumpy as xp
try:
    xp.kernles
except AttributeError as error:
    print(error)
"""
    done = run_python(code, [unpacked[CORE]])
    assert done.returncode == 0, done.stderr
    assert "kernles" in done.stdout
    assert "uv add" not in done.stdout
