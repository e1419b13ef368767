"""The documentation's code blocks run as they stand; its tables and the docstrings are complete."""

import doctest
import importlib
import inspect
import re
import types
import warnings
from importlib import resources
from pathlib import Path

import pytest

import cunumpy as xp
from examples_in_text import assert_runs_and_prints_what_it_says, code_blocks

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ASSISTANTS = ROOT / "packages/cunumpy-core/src/cunumpy/LLM_GUIDE.md"
BLOCKS = [
    pytest.param(block, id=f"{page.parent.name if page.stem == 'README' else page.stem}-{number}")
    for page in [*sorted(DOCS.rglob("*.md")), *sorted(ROOT.glob("packages/*/README.md")), ASSISTANTS]
    for number, block in enumerate(code_blocks(page.read_text()))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_code_block_runs_and_prints_what_it_says(block, tmp_path):
    assert_runs_and_prints_what_it_says(block, tmp_path)


def test_the_guide_for_assistants_is_in_the_package():
    assert resources.files(xp).joinpath(ASSISTANTS.name).read_text() == ASSISTANTS.read_text()


def test_links_lead_to_files():
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)  # no code
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_error_and_warning_is_documented():
    text = (DOCS / "errors.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == set(xp.errors.__all__)
    for name, base in re.findall(r"^\| `(\w+)` \| `(\w+)` \|", text, re.MULTILINE):
        other = getattr(xp.errors, base, None) or getattr(importlib.import_module("builtins"), base)
        assert issubclass(getattr(xp.errors, name), other)


def test_every_public_name_is_in_the_reference():
    listed = {}
    for page in (DOCS / "reference").glob("*.md"):
        module = None
        for line in page.read_text().splitlines():
            if match := re.fullmatch(r"\.\. currentmodule:: (\S+)", line):
                module = listed.setdefault(match.group(1), [])
            match = re.fullmatch(r"(?:   |\.\. (?:autoexception|data):: )(\w+)|\| `(\w+)` \|.*", line)
            if match and module is not None:
                module.append(match.group(1) or match.group(2))
    modules = {"cunumpy": {*xp.__all__} - {"__version__", "scipy", "numpy_backend", "cupy_backend"}}
    submodules = [name for name in xp.__all__ if isinstance(getattr(xp, name), types.ModuleType)]
    for name in ("xp", "kernel_testing", "kernels.jit", "kernels.jit.cg", "kernels.jit.cub", *submodules):
        modules[f"cunumpy.{name}"] = set(importlib.import_module(f"cunumpy.{name}").__all__)
        modules["cunumpy"].discard(name)
    modules["cunumpy.kernels"].discard("jit")
    modules["cunumpy.kernels.jit"] -= {"cg", "cub", "thrust"}
    for names in listed.values():
        assert len(names) == len(set(names))
    assert {name: set(names) for name, names in listed.items()} == modules


def public_objects():
    """Give every public function and class of CuNumpy's own, by its dotted name."""
    for name in xp.__all__:
        value = getattr(xp, name)
        if isinstance(value, types.ModuleType):
            for inner in value.__all__:
                yield f"{name}.{inner}", getattr(value, inner)
        elif callable(value) and not isinstance(value, str):
            yield name, value
    for inner in xp.kernel_testing.__all__:
        yield f"kernel_testing.{inner}", getattr(xp.kernel_testing, inner)
    for inner in importlib.import_module("cunumpy.xp").__all__:
        yield f"xp.{inner}", getattr(importlib.import_module("cunumpy.xp"), inner)


PUBLIC = dict(public_objects())
MADE_BY_OTHERS = {"memory.StagedCopy"}  # users do not construct it
DOCUMENTED = {
    name: value
    for name, value in PUBLIC.items()
    if (inspect.isfunction(value) or inspect.isclass(value))
    and not (inspect.isclass(value) and issubclass(value, BaseException))
}


def test_the_public_surface_is_found():
    assert {"to_numpy", "use_backend", "profiling.count_transfers", "memory.HostStaging", "xp.ArrayBackend"} <= set(
        PUBLIC
    )


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstring_is_complete(name):
    value = DOCUMENTED[name]
    doc = inspect.getdoc(value)
    assert doc, "no docstring"
    assert "Examples\n--------" in doc
    parameters = [p for p in _parameters(value) if p not in ("args", "kwargs") and name not in MADE_BY_OTHERS]
    text = _section(doc, "Parameters") + _section(doc, "Attributes")  # the fields of a tuple are both
    described = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: :.*)?$", text, re.MULTILINE)
    names = {one.strip().lstrip("*") for line in described for one in line.split(",")}
    short = not text and len(parameters) <= 1  # one argument may be clear from the first line
    assert short or set(parameters) <= names, f"not described: {set(parameters) - names}"


@pytest.mark.parametrize("name", DOCUMENTED)
def test_example_runs(name):
    value = DOCUMENTED[name]
    finder = doctest.DocTestFinder(recurse=True)
    tests = [t for t in finder.find(value, name=name, module=False, globs={}) if t.examples]
    assert tests, "no example"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in tests:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            out = []
            runner.run(test, out=out.append)
            assert runner.failures == 0, "".join(out)


def _parameters(value):
    try:
        return list(inspect.signature(value).parameters)
    except ValueError:
        return []


def _section(doc, title):
    match = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    return match.group(1) if match else ""
