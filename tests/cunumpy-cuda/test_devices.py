"""Devices and memory without a device: numbers that are checked, and what there is instead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cunumpy as xp
from array_kinds import KINDS, ArrayKind, as_compared, assert_same_values
from cunumpy.cuda import DeviceProperties
from cunumpy.errors import ArgumentError, ArgumentTypeError, CuNumpyError, MissingPackageError

pytestmark = pytest.mark.skipif(xp.cupy_available(), reason="these tests are for a machine without CuPy and a GPU")


def test_without_devices_nothing_is_selected() -> None:
    assert xp.cuda.device_count() == 0
    assert not xp.cuda.is_hip()
    xp.cuda.set_device(np.int64(3))
    assert xp.cuda.set_device_for_rank(5) == 0
    assert xp.cuda.set_device_for_rank(5, devices_per_node=4) == 1
    assert xp.cuda.set_device_for_rank(5, devices_per_node=0) == 0
    assert xp.cuda.bind_local_device() is None
    assert xp.cuda.device_properties() is None
    assert xp.cuda.device_properties(1) is None
    assert xp.cuda.memory_info() is None
    assert xp.cuda.get_memory_limit() is None
    xp.cuda.set_memory_limit(2**30)
    xp.cuda.free_memory()


def test_shared_memory_has_its_least_value() -> None:
    assert xp.cuda.DEFAULT_SHARED_MEMORY_PER_BLOCK == 48 * 1024
    assert xp.cuda.max_shared_memory_per_block() == 49152
    assert xp.cuda.max_shared_memory_per_block(0, opt_in=True) == 49152


@pytest.mark.parametrize(
    ("function", "arguments", "kind", "text"),
    [
        ("set_device", (1.0,), ArgumentTypeError, "'device_id' must be an integer, got float"),
        ("set_device", (True,), ArgumentTypeError, "'device_id' must be an integer, got bool"),
        ("set_device", (-1,), ArgumentError, "'device_id' must not be negative, got -1"),
        ("set_device_for_rank", ("0",), ArgumentTypeError, "'rank' must be an integer"),
        ("set_device", (10**5000,), ArgumentError, "'device_id' must fit in 64 bits, got int of 16610 bits"),
        ("set_device_for_rank", (-1, 2), ArgumentError, "'rank' must not be negative"),
        ("set_device_for_rank", (1, -2), ArgumentError, "'devices_per_node' must not be negative"),
        ("device_properties", (-1,), ArgumentError, "'device' must not be negative"),
        ("max_shared_memory_per_block", ("0",), ArgumentTypeError, "'device' must be an integer"),
        ("set_memory_limit", (1e9,), ArgumentTypeError, "'nbytes' must be an integer"),
        ("set_memory_limit", (-1,), ArgumentError, "'nbytes' must not be negative"),
        ("empty_pinned", (-1,), ArgumentError, "'shape' must not be negative"),
        ("empty_pinned", ((2, 1.5),), ArgumentTypeError, "'shape' must be an integer"),
        ("empty_pinned", (2, "O"), ArgumentTypeError, "'dtype' is of Python objects"),
        ("empty_pinned", (2, "nothing"), ArgumentTypeError, "'dtype' must describe a dtype"),
        ("empty_pinned", (2, float, "K"), ArgumentError, "'order' must be 'C' or 'F', got 'K'"),
    ],
)
def test_arguments_are_checked(function: str, arguments: tuple, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        getattr(xp.cuda, function)(*arguments)
    assert str(caught.value).startswith(f"{function}: ")


@pytest.mark.parametrize(("function", "argument"), [("pin_memory", [1.0]), ("empty_pinned", 3)])
def test_page_locked_memory_needs_cupy_unless_told_otherwise(function: str, argument: object) -> None:
    with pytest.raises(MissingPackageError, match=f"^{function}: needs CuPy, .*uv add cupy"):
        getattr(xp.cuda, function)(argument)
    assert isinstance(getattr(xp.cuda, function)(argument, strict=False), np.ndarray)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_pinned_copy_of_every_kind_of_array(kind: ArrayKind, tmp_path: Path) -> None:
    value = kind.make(tmp_path)
    before = as_compared(value)
    if kind.values is None or kind.name == "foreign-device-array":
        with pytest.raises(CuNumpyError, match="pin_memory: argument 'array'"):
            xp.cuda.pin_memory(value, strict=False)
    else:
        pinned = xp.cuda.pin_memory(value, strict=False)
        assert_same_values(pinned, kind)
        assert type(pinned) is np.ndarray
        assert pinned.strides == np.array(value, order="K", subok=False).strides
        assert pinned.flags.writeable
        assert not np.may_share_memory(pinned, np.asarray(value) if kind.is_array else np.empty(0))
    assert as_compared(value) == before


def test_empty_pinned_has_the_layout_that_was_asked_for() -> None:
    array = xp.cuda.empty_pinned((2, 3), "float32", "F", strict=False)
    assert (array.shape, array.dtype, array.flags.f_contiguous) == ((2, 3), np.dtype(np.float32), True)
    assert xp.cuda.empty_pinned(4, strict=False).dtype == np.float64
    assert xp.cuda.empty_pinned((), strict=False).shape == ()
    assert xp.cuda.empty_pinned((0, 3), strict=False).shape == (0, 3)


def test_properties_print_as_a_list() -> None:
    device = DeviceProperties(1, "NVIDIA H100", (9, 0), 132, 32, 1024, 65536, 85 * 2**30, 49152, 232448)
    assert device.arch == "sm_90"
    lines = dict(line.split("  ", 1) for line in str(device).splitlines())
    assert {name: value.strip() for name, value in lines.items()} == {
        "id": "1",
        "name": "NVIDIA H100",
        "compute capability": "9.0",
        "multiprocessors": "132",
        "warp size": "32",
        "max threads per block": "1024",
        "registers per block": "65536",
        "total memory": "85.0 GiB",
        "shared memory per block": "48 KiB",
        "shared memory per block opt in": "227 KiB",
    }


def test_bind_local_device_does_not_look_for_cupy_on_numpy() -> None:
    program = (
        "import cunumpy as xp, sys; xp.cuda.bind_local_device(); from cunumpy import _backend; print(_backend._probe)"
    )
    env = {**os.environ, "OMPI_COMM_WORLD_RANK": "0"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env)
    assert done.stdout == "None\n"
