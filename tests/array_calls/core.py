"""Calls of `cunumpy` itself, with `cunumpy.memory` and `cunumpy.cuda`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import cunumpy as xp
from array_calls.call import ANYTHING, CALLS, FLOATS, ROWS, Call, itself, require
from cunumpy import cuda, kernels, memory


def _any_array(name: str, function: Callable[..., Any], answer: Any) -> None:
    """Enter a function that looks at what an argument is, whatever it is."""
    parameter = next(iter(inspect.signature(function).parameters))
    CALLS[name] = Call(function, {parameter: ROWS}, lambda **given: answer, takes={parameter: ANYTHING})


_any_array("get_array_backend", xp.get_array_backend, "numpy")
_any_array("is_cpu", xp.is_cpu, True)
_any_array("is_gpu", xp.is_gpu, False)
CALLS |= {
    "get_array_module": Call(
        lambda array: xp.get_array_module(array).sqrt is np.sqrt,
        {"array": ROWS},
        lambda array: True,
        takes={"array": ANYTHING},
    ),
    "same_backend": Call(
        lambda **given: xp.same_backend(*given.values()),
        {"arrays[0]": ROWS, "arrays[1]": FLOATS},
        lambda **given: True,
        takes=dict.fromkeys(["arrays[0]", "arrays[1]"], ANYTHING),
    ),
    "assert_same_backend": Call(
        lambda **given: xp.assert_same_backend(*given.values()),
        {"arrays[0]": ROWS, "arrays[1]": FLOATS},
        lambda **given: None,
        takes=dict.fromkeys(["arrays[0]", "arrays[1]"], ANYTHING),
        names=dict.fromkeys(["arrays[0]", "arrays[1]"], "mismatched backends"),
    ),
    "to_numpy": Call(xp.to_numpy, {"array": ROWS}, itself, any_dtype=("array",), takes={"array": ("string",)}),
    "to_cunumpy": Call(xp.to_cunumpy, {"array": ROWS}, itself, any_dtype=("array",), takes={"array": ("string",)}),
    "to_host_async": Call(
        lambda array: xp.to_host_async(array).result(),
        {"array": ROWS},
        itself,
        any_dtype=("array",),
        takes={"array": ("string",)},
    ),
    "host_call": Call(
        lambda **given: xp.host_call(np.add, *given.values()),
        {"args[0]": ROWS, "args[1]": ROWS + 1},
        lambda **given: np.add(*given.values()),
        ("fun", "kwargs"),
        errors=(Exception,),  # those of the function
        function="^",
        names=dict.fromkeys(["args[0]", "args[1]"], "^"),
        takes=dict.fromkeys(["args[0]", "args[1]"], ANYTHING),
    ),
}
CALLS["host_call_inplace"] = replace(
    CALLS["host_call"],
    run=lambda **given: (xp.host_call_inplace(np.add, *given.values(), out=given["args[0]"]), given["args[0]"])[1],
    written=("args[0]",),
    expected=lambda **given: np.add(*given.values(), out=given["args[0]"]),
)


# --- cunumpy.memory, cunumpy.cuda -------------------------------------------------------------------------------------


def _mirrored(host: Any) -> Any:
    return np.array(memory.DeviceMirror(host).to_device().to_host().host)


def _rebound(host: Any) -> Any:
    mirror = memory.DeviceMirror(ROWS.copy())
    return np.array(mirror.rebind(host).to_device().to_host().host)


def _staged(array: Any) -> Any:
    return memory.HostStaging((6, 2), np.float64).copy(array).result(copy=True)


def _like_rows(array: Any) -> Any:
    require(array.shape == ROWS.shape and array.dtype == ROWS.dtype)
    return array


CALLS |= {
    "memory.DeviceMirror": Call(_mirrored, {"host": ROWS}, lambda host: host, any_dtype=("host",)),
    "memory.DeviceMirror.rebind": Call(_rebound, {"host": ROWS}, lambda host: host, any_dtype=("host",)),
    "memory.HostStaging.copy": Call(_staged, {"array": ROWS}, _like_rows, ("stream", "event")),
    "cuda.pin_memory": Call(
        lambda array: cuda.pin_memory(array, strict=False),
        {"array": ROWS},
        itself,
        ("strict",),
        any_dtype=("array",),
        takes={"array": ("string",)},
    ),
    "kernels.as_kernel_array": Call(
        lambda value, like: kernels.as_kernel_array(value, like=like),
        {"value": ROWS, "like": FLOATS},
        lambda value, like: value,
        ("dtype", "strided", "check"),
        any_dtype=("value",),
        takes={"like": ANYTHING},
    ),
}


def _turned(out: Any) -> Any:
    return out[::-1].copy() if out.ndim else out


def _run_output(out: Any, like: Any) -> Any:
    with kernels.kernel_output(out, like=like) as buffer:
        buffer[...] = _turned(buffer)
    return out


def _run_outputs(**given: Any) -> Any:
    with kernels.kernel_outputs(given["outs[0]"], given["outs[1]"], like=given["like"]) as buffers:
        for buffer in buffers:
            buffer[...] = _turned(buffer)
    return given["outs[0]"], given["outs[1]"]


CALLS |= {
    "kernels.kernel_output": Call(
        _run_output,
        {"out": ROWS, "like": FLOATS},
        lambda out, like: _turned(out),
        ("dtype", "strided", "check"),
        written=("out",),
        any_dtype=("out",),
        takes={"like": ANYTHING},
    ),
    "kernels.kernel_outputs": Call(
        _run_outputs,
        {"outs[0]": ROWS, "outs[1]": FLOATS, "like": FLOATS},
        lambda **given: (_turned(given["outs[0]"]), _turned(given["outs[1]"])),
        ("dtype", "strided", "check"),
        written=("outs[0]", "outs[1]"),
        any_dtype=("outs[0]", "outs[1]"),
        takes={"like": ANYTHING},
    ),
}
