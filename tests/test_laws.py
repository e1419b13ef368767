"""Laws of functions, as properties: a public function that has a law has one here or in its distribution's tests."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import cunumpy as xp
from cunumpy import algorithms, cuda, integrate, memory, mpi, optimize, rng

TESTS = Path(__file__).parent

WITHOUT_LAWS = {
    "settings, and what they are": """
        available backend_info cupy_available cupy_version_supported default_float_dtype get_backend set_backend
        require_version synchronize get_rng cuda_aware_report get_mpi get_mpi_cuda_aware set_mpi_cuda_aware
        mpi_is_cuda_aware require_cuda_aware_mpi launched_under_mpi local_rank is_serial""",
    "which backend an array has, in the kinds of arrays": """
        get_array_backend get_array_module get_namespace is_cpu is_gpu same_backend assert_same_backend
        synchronize_for_mpi mpi_buffer""",
    "other functions are called, in the tests of call forms": """
        evaluate_on_host host_call host_call_inplace setup_on_host""",
    "conversions whose law is that of to_numpy and to_device, in the kinds of arrays": """
        as_device_array to_cunumpy to_host_async""",
    "SciPy's own": "curve_fit fsolve least_squares minimize root_scalar odeint quad solve_ivp",
    "rows that go to other ranks, in tests/mpi": "migrate exchange_ghosts",
}


def _names(function: ast.FunctionDef) -> set[str]:
    """Return the names that a function uses; also as text, as `getattr` takes them, but not within a sentence."""
    return {
        name
        for node in ast.walk(function)
        for name in (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "value", None))
        if isinstance(name, str) and name.isidentifier()
    }


def _in_properties() -> set[str]:
    """Return the names that all properties use, and the functions of their files that they call."""
    names: set[str] = set()
    for path in TESTS.rglob("test_*.py"):
        source = path.read_text(encoding="utf-8")
        if "@given" not in source:
            continue
        functions = {one.name: one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef)}
        for one in functions.values():
            if any(ast.unparse(decorator).startswith("given(") for decorator in one.decorator_list):
                mine = _names(one)
                names |= mine.union(*(_names(functions[name]) for name in mine & set(functions)))
    return names


def test_every_function_has_a_property_or_a_reason() -> None:
    reasons = {name for names in WITHOUT_LAWS.values() for name in names.split()}
    public = {
        name
        for module in (xp, algorithms, rng, optimize, integrate, memory, mpi)
        for name in module.__all__
        if callable(getattr(module, name)) and not isinstance(getattr(module, name), type)
    }
    found = _in_properties()
    assert sorted(public - found - reasons) == []
    assert sorted(reasons - public) == []


POINTS = st.lists(st.tuples(*[st.floats(-1.5, 1.5)] * 3), min_size=1, max_size=20)


@pytest.mark.parametrize(("keys_of", "encode"), [("morton_keys", "morton_encode"), ("hilbert_keys", "hilbert_encode")])
@given(points=POINTS, ndim=st.sampled_from([2, 3]), levels=st.integers(1, 10), wide=st.booleans())
@settings(max_examples=30)
def test_keys_of_points_are_those_of_their_cells(
    keys_of: str, encode: str, points: list[Any], ndim: int, levels: int, wide: bool
) -> None:
    """In a box of powers of two, where cells are found exactly; what is outside belongs to the nearest cell."""
    positions, dtype = np.array(points)[:, :ndim], np.uint64 if wide else np.uint32
    cells = np.clip(np.floor((positions + 1) / 2 * 2**levels), 0, 2**levels - 1).astype(np.uint32)
    lower, upper = [-1.0] * ndim, [1.0] * ndim
    found = getattr(algorithms, keys_of)(positions, lower, upper, levels, dtype=dtype)
    options = {"levels": levels} if encode == "hilbert_encode" else {}
    expected = getattr(algorithms, encode)(*cells.T.copy(), dtype=dtype, **options)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)
    if levels > 1:  # fewer levels are the leading digits
        coarser = getattr(algorithms, keys_of)(positions, lower, upper, levels - 1, dtype=dtype)
        np.testing.assert_array_equal(coarser, found >> dtype(ndim))


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_normal_numbers_belong_to_their_counters(seed: int, stream: int, counters: list[int]) -> None:
    """However they are grouped, and they are the first of each pair."""
    numbers = np.array(counters, np.uint64)
    found = rng.philox_normal(seed, stream, numbers)
    np.testing.assert_array_equal(found, rng.philox_normal2(seed, stream, numbers)[0])
    np.testing.assert_array_equal(found[::-1], rng.philox_normal(seed, np.uint64(stream), numbers[::-1]))
    assert rng.philox_normal(seed, stream, counters[0]) == found[0]


NUMBERS = st.integers(0, 2**32 - 1)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=20))
def test_stream_numbers_tell_all_pairs_apart(pairs: list[tuple[int, int]]) -> None:
    found = {rng.stream_number(rank, component) for rank, component in pairs}
    assert len(found) == len(set(pairs))
    assert all(0 <= number < 2**64 for number in found)


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(-100, 100), st.floats(0.1, 10)), min_size=1, max_size=10))
def test_brackets_hold_a_change_of_sign(rows: list[tuple[float, float, float]]) -> None:
    root, start, width = np.array(rows).T
    found = optimize.bracket_root(lambda x: x - root, start, start + width)
    assert np.all(found.success)
    low, high = found.bracket
    assert np.all((low <= root) & (root <= high))


@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=4),
    st.integers(-20, 20),
    st.integers(1, 20),
    st.integers(1, 10),
)
def test_rk4_integrates_cubic_polynomials(coefficients: list[int], start: int, length: int, steps: int) -> None:
    rate = np.polynomial.Polynomial(coefficients)
    a, b = start / 4, (start + length) / 4
    whole = rate.integ()
    found = integrate.rk4(lambda t, y: np.full_like(y, rate(t)), (a, b), np.zeros(2), steps).y
    size = np.abs(coefficients).sum() * max(1.0, abs(a), abs(b)) ** 3 * (b - a)
    np.testing.assert_allclose(np.ravel(found)[-1], whole(b) - whole(a), atol=1e-13 * (1 + size))


@given(st.lists(st.integers(-128, 127), max_size=12), st.sampled_from(["i1", "f4", "f8", "c16"]))
def test_one_rank_gathers_and_scatters_what_it_has(values: list[int], dtype: str) -> None:
    comm, array = mpi.SerialComm(), np.array(values, dtype)
    for found in (
        mpi.allgather(comm, array),
        mpi.alltoall(comm, array),
        mpi.alltoall(comm, array, [len(values)]),
        mpi.gather(comm, array[::-1])[::-1],
    ):
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)
        assert not np.shares_memory(found, array)


@given(st.sampled_from(["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]))
def test_types_of_kernels_are_read_as_they_are_written(dtype: str) -> None:
    (found,) = cuda.parse_cuda_signature(f"__global__ void k({cuda.ctype_of(dtype)}* x);", "k")
    assert found.dtype == np.dtype(dtype)


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3), max_size=6))
@settings(max_examples=30)
def test_includes_are_found_once_and_their_hash_tells_every_change(
    tmp_path_factory: pytest.TempPathFactory, graph: dict[str, list[str]]
) -> None:
    """The definition: what can be reached, files that are not there left out, also around circles."""
    folder = tmp_path_factory.mktemp("includes")
    for name, others in graph.items():
        text = "".join(f'#include "{other}.cuh"\n' for other in others) + f"// {name}\n"
        (folder / f"{name}.cuh").write_text(text, encoding="utf-8")
    reached, waiting = set(), ["a"]
    while waiting:
        name = waiting.pop()
        if name in graph and name not in reached:
            reached.add(name)
            waiting += graph[name]
    found = cuda.resolve_includes('#include "a.cuh"', [folder])
    assert sorted(path.stem for path in found) == sorted(reached)
    assume(found)
    before = cuda.include_hash(found)
    assert before == cuda.include_hash(found)
    with open(found[-1], "a", encoding="utf-8") as file:
        file.write(" ")
    assert cuda.include_hash(found) != before
