"""The calls of `array_calls` with device arrays of every kind; see `test_array_arguments`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cupy
import numpy as np
import pytest

import cunumpy as xp
from array_calls import CALLS, Call
from array_variants import Variant
from cunumpy.errors import CuNumpyError
from cunumpy.kernel_testing import host_buffer
from test_array_arguments import clear, differ

HOST_ONLY = {
    "algorithms.compact_by_mask": "its row makes a host array of the result",
    **dict.fromkeys([name for name in CALLS if "SegmentPlan." in name], "its row has keys on the host"),
    "algorithms.morton_scales": "gives host arrays to be handed to kernels",
    "integrate.BatchedDenseOutput.__call__": "its row solves on the host",
    "mpi.mpi_buffer": "its row is for host arrays; see test_mpi_cupy.py",
    "optimize.bracket_root": "its row makes host arrays of the results",
    "rng.philox4x32_10": "is for host arrays",
}
BEGINNINGS = ("algorithms.", "rng.philox", "rng.PhiloxGenerator.", "mpi.", "to_numpy", "to_cunumpy", "to_host_async")
SOLVERS = {
    "integrate.fixed_quad", "integrate.quad_batched", "integrate.rk4", "integrate.solve_ivp_batched",
    "optimize.find_root", "optimize.least_squares_batched", "optimize.newton",
}  # fmt: skip
STAYS_ON_THE_HOST = {"lower", "upper"}
"""Arguments of few numbers that go to kernels by value, and are not copied back from a device unasked."""

ROWS = {
    name: call
    for name, call in CALLS.items()
    if (name.startswith(BEGINNINGS) or name in SOLVERS) and name not in HOST_ONLY
}
ARGUMENTS = [
    (name, argument) for name, call in ROWS.items() for argument in call.arrays if argument not in STAYS_ON_THE_HOST
]


def _sliced(values: np.ndarray, step: int) -> tuple[Any, Any]:
    memory = cupy.full(tuple((n or 1) * abs(step) for n in values.shape), 1, values.dtype)
    view = memory[tuple(slice(None, None, step) for _ in values.shape)][tuple(slice(n) for n in values.shape)]
    view[...] = cupy.asarray(values)
    return view, memory


def same_values(values: np.ndarray) -> Iterator[Variant]:
    """Give the values in every form that a device array has."""
    yield Variant("C order", cupy.asarray(values), values)
    yield Variant("F order", cupy.asarray(values, order="F"), values)
    yield Variant("transposed", cupy.asarray(values.T).T, values)
    view, memory = _sliced(values, 3)
    yield Variant("sliced", view, values, memory)
    view, memory = _sliced(values, -2)
    yield Variant("reversed and sliced", view, values, memory)


def other_values(values: np.ndarray) -> Iterator[Variant]:
    """Give device arrays of other shapes and dtypes, and host arrays among device arrays."""
    shape = values.shape

    def variant(name: str, array: np.ndarray) -> Variant:
        return Variant(name, cupy.asarray(array), array)

    yield variant("0-d", values.reshape(-1)[:1].reshape(()).copy())
    yield variant("empty", np.empty((0, *shape[1:]), values.dtype))
    if shape:
        yield variant("empty rows", np.empty((*shape[:-1], 0), values.dtype))
        yield Variant(
            "broadcast", cupy.broadcast_to(cupy.asarray(values[:1]), shape), np.repeat(values[:1], shape[0], 0)
        )
        yield variant("longer", np.concatenate([values, values[:1]]))
        yield variant("more axes", values[..., None].copy())
    for name in ("bool", "int8", "int32", "uint64", "float16", "float32", "complex128"):
        with np.errstate(all="ignore"):
            yield variant(name, values.astype(name))
    yield Variant("host array", values.copy(), values)
    yield Variant("scalar", values.reshape(-1)[0].item(), values.reshape(-1)[:1].reshape(()).copy())


def _to_host(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_to_host(item) for item in value]
    return host_buffer(value).copy() if isinstance(value, cupy.ndarray) else value


def _compared(value: Any) -> Any:
    return repr(value) if not isinstance(value, cupy.ndarray) else (value.shape, value.dtype, _to_host(value).tolist())


def _other(call: Call, argument: str) -> Any:
    if "None" in call.takes.get(argument, ()):
        return None
    return call.arrays[argument].copy() if argument in STAYS_ON_THE_HOST else cupy.asarray(call.arrays[argument])


def failures(name: str, argument: str, variants: Iterator[Variant]) -> list[str]:
    """Call a function with each variant of an argument, all others on the device, and tell what is wrong."""
    call = ROWS[name]
    found = []
    for variant in variants:
        if variant.name in call.skip.get(argument, ()):
            continue
        arrays = {other: _other(call, other) for other in call.arrays} | {argument: variant.value}
        plain = {other: None if arrays[other] is None else value.copy() for other, value in call.arrays.items()} | {
            argument: np.array(variant.values)
        }
        compared = {other: _compared(value) for other, value in arrays.items()}
        memory = None if variant.memory is None else _to_host(variant.memory)
        error, got, wanted = None, None, None
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                got = _to_host(call.run(**arrays))
            except Exception as raised:
                error = raised
            try:
                with xp.use_backend("numpy"):
                    wanted, sensible = call.expected(**plain), True
            except Exception:
                sensible = False
        problem = ""
        if error is not None:
            problem = clear(error, name, argument, replace(call, errors=(CuNumpyError,)), False)
            if variant.name == "C order":
                problem = problem or f"refused: {error}"
        elif sensible:
            problem = differ(got, wanted, replace(call, rtol=max(call.rtol, 1e-12)))
        elif variant.name != "host array":
            problem = f"was taken, though its values make no sense: {got!r}"
        for other, value in arrays.items():
            if (error is not None or other not in call.written) and _compared(value) != compared[other]:
                problem += f"; changed {other}"
        if variant.memory is not None and argument in call.written and error is None:
            variant.value[...] = cupy.asarray(np.asarray(variant.values))
            if not np.array_equal(_to_host(variant.memory), memory):
                problem += "; wrote outside of the array"
        if problem:
            found.append(f"{variant.name}: {problem}")
    return found


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_device_arrays_of_every_kind(name: str, argument: str) -> None:
    xp.mpi.set_mpi_cuda_aware(False)
    try:
        values = ROWS[name].arrays[argument]
        found = failures(name, argument, same_values(values)) + failures(name, argument, other_values(values))
    finally:
        xp.mpi.set_mpi_cuda_aware(None)
    assert not found, "\n".join(["", *found])
