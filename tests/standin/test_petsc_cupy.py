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
from cunumpy.petsc import mark_modified, petsc_access, petsc_array, petsc_vec, place_array, write_back


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
