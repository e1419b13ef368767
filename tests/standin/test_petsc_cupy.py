"""PETSc vectors of device arrays: what is asked of petsc4py, in which order with the device, and what is recorded.

petsc4py is a fake with the stand-in's memory: no PETSc with CUDA runs here.
"""

from __future__ import annotations

import cupy
import numpy as np
import pytest

import cunumpy as xp
import fake_petsc4py
from array_kinds import ForeignDeviceArray
from cunumpy.cuda import HostStream
from cunumpy.errors import ArgumentError, ArgumentTypeError, BackendUnavailableError, MixedBackendError
from cunumpy.petsc import (
    csr_matrix,
    mark_modified,
    petsc_access,
    petsc_array,
    petsc_vec,
    place_array,
    update_values,
    write_back,
)
from cunumpy.petsc._matrices import Callback


@pytest.fixture(autouse=True)
def petsc(monkeypatch):
    return fake_petsc4py.install(monkeypatch)


def kinds_of(counter) -> list[str]:
    return [event.kind for event in counter.events]


def test_device_arrays_are_given_as_they_are_after_a_wait() -> None:
    array = cupy.arange(6.0).reshape(2, 3)
    with xp.profiling.count_transfers() as counter:
        vec = petsc_vec(array, block_size=3)
    assert vec.array is array
    assert vec.block_size == 3
    assert kinds_of(counter) == ["sync"]
    event, stream = cupy.cuda.Event(), cupy.cuda.Stream()
    for producer in ({"stream": stream}, {"event": event}):
        petsc_vec(array, **producer)
    with pytest.raises(ArgumentError, match="only one of 'stream' and 'event'"):
        petsc_vec(array, stream=stream, event=event)
    with pytest.raises(ArgumentTypeError, match=r"'stream' must be a cupy.cuda.Stream, .* got cunumpy.HostStream"):
        petsc_vec(array, stream=HostStream())


def test_other_libraries_device_arrays_are_taken(monkeypatch) -> None:
    foreign = ForeignDeviceArray(np.ones(3))
    monkeypatch.setattr("cunumpy._conversion.wrap_foreign", lambda array, function: array.memory)
    vec = petsc_vec(foreign)
    assert isinstance(vec.array, cupy.ndarray)
    foreign.memory[0] = 5
    assert float(vec.array[0]) == 5


def test_what_petsc_can_not_take_is_refused(petsc, monkeypatch) -> None:
    array = cupy.ones(3)
    for wrong, text in ((cupy.ones(3, np.float32), "scalar type"), (cupy.ones(6)[::2], "C-contiguous")):
        with pytest.raises((ArgumentTypeError, ArgumentError), match=text):
            petsc_vec(wrong)
    with pytest.raises(ArgumentTypeError, match="'ghosts' is for host arrays"):
        petsc_vec(array, ghosts=[0])
    assert petsc.Vec.made == []
    monkeypatch.setattr(petsc.Vec, "device_type", "seq")
    with pytest.raises(BackendUnavailableError, match="created a 'seq' vector for a CuPy array"):
        petsc_vec(array)
    assert not petsc.Vec.made[0]  # destroyed
    monkeypatch.setattr(petsc.Vec, "device_type", "")
    with pytest.raises(BackendUnavailableError, match=r"built with CUDA or HIP support .*not configured with CUDA"):
        petsc_vec(array)
    monkeypatch.setattr(petsc.Vec, "device_type", "seqcuda")
    monkeypatch.setattr(petsc.Vec, "device_number", 1)
    with pytest.raises(BackendUnavailableError, match="is on device 0, and PETSc uses device 1"):
        petsc_vec(array)


def test_the_way_back_shares_the_device_memory() -> None:
    array = cupy.arange(3.0)
    vec = petsc_vec(array)
    view = petsc_array(vec)
    assert isinstance(view, cupy.ndarray)
    assert view.data.ptr == array.data.ptr
    assert vec.fresh == "rw"
    petsc_array(vec, write=False)
    assert vec.fresh == "r"
    mark_modified(vec)
    assert vec.fresh == "rw"
    assert petsc_array(petsc_vec(cupy.ones(0))).size == 0


def test_access_orders_both_directions(petsc) -> None:
    vec = petsc_vec(cupy.zeros(3))
    state = vec.state
    with xp.profiling.count_transfers() as counter, petsc_access(vec) as values:
        assert petsc.DeviceContext.waits == 1  # PETSc's work is done
        values += 1
    assert kinds_of(counter) == ["sync", "sync"]
    assert vec.state == state + 1
    with petsc_access(vec, write=False, stream=cupy.cuda.Stream()) as values:
        assert float(values.sum()) == 3
    assert vec.state == state + 1


def test_copies_on_the_device_are_counted_and_written_back() -> None:
    array = cupy.arange(4, dtype=np.float32).reshape(2, 2).T
    with xp.profiling.count_transfers() as counter:
        vec = petsc_vec(array, copy=True)
    assert kinds_of(counter) == ["device_copy", "sync"]
    assert vec.array.dtype == np.float64
    vec.array *= 2
    with xp.profiling.count_transfers() as counter:
        write_back(vec)
    assert counter.device_copies == 1
    np.testing.assert_array_equal(array.get(), 2 * np.arange(4).reshape(2, 2).T)


def test_host_and_device_do_not_mix() -> None:
    with pytest.raises(MixedBackendError, match=r"'vec' is on the device .* xp.to_cupy\(array\)"):
        place_array(petsc_vec(cupy.ones(3)), np.ones(3)).__enter__()
    with pytest.raises(MixedBackendError, match=r"'vec' is on the host .* xp.to_numpy\(array\)"):
        place_array(petsc_vec(np.ones(3)), cupy.ones(3)).__enter__()
    with pytest.raises(BackendUnavailableError, match="needs PETSc's VecCUDAPlaceArray"):
        place_array(petsc_vec(cupy.ones(3)), cupy.ones(3)).__enter__()


# --- functions on arrays as operators ---------------------------------------------------------------------------------


def test_operators_get_device_arrays_in_order_with_petsc(petsc) -> None:
    seen = []

    def double(x, out):
        seen.append((type(x), x.shape, petsc.DeviceContext.waits))
        out[...] = 2 * x

    x, y = petsc_vec(cupy.arange(4.0)), petsc_vec(cupy.zeros(4))
    state = y.state
    with xp.profiling.count_transfers() as counter:
        Callback(double, "shell_matrix", [(2, 2), (2, 2)])([x], y)
    assert seen == [(cupy.ndarray, (2, 2), 1)]
    assert kinds_of(counter) == ["sync", "sync"]
    assert y.state == state + 1
    np.testing.assert_array_equal(y.array.get(), [0.0, 2.0, 4.0, 6.0])


def test_errors_of_operators_on_a_device_fill_with_nan() -> None:
    def fails(x, out):
        raise KeyError

    x, y = petsc_vec(cupy.arange(4.0)), petsc_vec(cupy.zeros(4))
    callback = Callback(fails, "ksp_solve", [None, None])
    with pytest.raises(KeyError):
        callback([x], y)
    callback.deferred = True
    callback([x], y)
    assert isinstance(callback.error, KeyError)
    assert np.isnan(y.array.get()).all()
    returns = Callback(lambda x, out: 2 * x, "ksp_solve", [None, None])
    with pytest.raises(ArgumentTypeError, match="its result is what it writes to its last argument"):
        returns([x], y)


def test_matrices_of_device_arrays_take_values_where_they_are(petsc, monkeypatch) -> None:
    calls = []
    monkeypatch.setattr("cunumpy.petsc._matrices.call_c", lambda *arguments, **names: calls.append(arguments[1:]))
    data = cupy.asarray([2.0, -1.0, 4.0])
    with xp.profiling.count_transfers() as counter:
        matrix = csr_matrix(data, cupy.asarray([0, 1, 1]), [0, 2, 3])
    assert matrix.kind == "aijcusparse"
    assert matrix.rows.tolist() == [0, 0, 1]
    assert matrix.columns.tolist() == [0, 1, 1]
    assert calls == [("MatSetValuesCOO", 0, data.data.ptr, 1)]
    assert kinds_of(counter) == ["to_host", "sync", "device_copy"]
    other = 2 * data
    update_values(matrix, other)
    assert calls[1][2] == other.data.ptr
    with pytest.raises(ArgumentTypeError, match="'data' must be on the device, as the arrays of the matrix were"):
        update_values(matrix, np.ones(3))
