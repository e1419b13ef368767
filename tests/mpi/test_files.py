"""Files of MPI: against what is on the disk."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpi_under_test import MPI, fails, numbers, serial_only

WRITE = MPI.MODE_CREATE | MPI.MODE_RDWR


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / f"file-{MPI.COMM_WORLD.rank}")


def on_disk(path, dtype="f8"):
    return np.fromfile(path, dtype)


def test_writing_and_reading(comm, path):
    with_mode = MPI.File.Open(comm, path, WRITE)
    assert isinstance(with_mode, MPI.File)
    assert with_mode
    assert with_mode.Get_amode() == with_mode.amode == WRITE
    assert with_mode.Get_group().size == 1
    status = MPI.Status()
    with_mode.Write(numbers(4), status)
    assert status.Get_count(MPI.DOUBLE) == 4
    assert with_mode.Get_position() == 32
    with_mode.Write(numbers(2))
    assert with_mode.Get_size() == with_mode.size == 48
    with_mode.Seek(8)
    received = np.zeros(3)
    with_mode.Read(received, status)
    np.testing.assert_array_equal(received, [2, 3, 4])
    assert status.Get_count(MPI.DOUBLE) == 3
    with_mode.Close()
    assert with_mode == MPI.FILE_NULL
    assert not with_mode
    np.testing.assert_array_equal(on_disk(path), [1, 2, 3, 4, 1, 2])


def test_at_offsets(comm, path):
    file = MPI.File.Open(comm, path, WRITE)
    file.Write_at(16, numbers(3))
    file.Write_at_all(0, [np.full(5, 9.0), 2, MPI.DOUBLE])
    assert file.Get_position() == 0
    file.Read_at(16, received := np.zeros(2))
    np.testing.assert_array_equal(received, [1, 2])
    file.Read_at_all(0, received)
    np.testing.assert_array_equal(received, [9, 9])
    file.Close()
    np.testing.assert_array_equal(on_disk(path), [9, 9, 1, 2, 3])


@pytest.mark.parametrize("kind", ["", "_all", "_shared", "_ordered"])
def test_positions(comm, path, kind):
    file = MPI.File.Open(comm, path, WRITE)
    write, read = getattr(file, f"Write{kind}"), getattr(file, f"Read{kind}")
    seek = file.Seek_shared if kind in ("_shared", "_ordered") else file.Seek
    position = file.Get_position_shared if kind in ("_shared", "_ordered") else file.Get_position
    write(numbers(3))
    write(numbers(3))
    assert position() == 48
    seek(0)
    read(received := np.zeros(6))
    np.testing.assert_array_equal(received, [1, 2, 3, 1, 2, 3])
    seek(-16, MPI.SEEK_END)
    assert position() == 32
    seek(-8, MPI.SEEK_CUR)
    read(received := np.zeros(3))
    np.testing.assert_array_equal(received, [1, 2, 3])
    file.Close()


def test_without_waiting(comm, path):
    file = MPI.File.Open(comm, path, WRITE)
    file.Iwrite(numbers(2)).Wait()
    file.Iwrite_at(16, numbers(2)).Wait()
    file.Iwrite_at_all(32, numbers(1)).Wait()
    received = np.zeros(5)
    status = MPI.Status()
    file.Iread_at(0, received).Wait(status)
    np.testing.assert_array_equal(received, [1, 2, 1, 2, 1])
    assert status.Get_count(MPI.DOUBLE) == 5
    file.Seek(0)
    file.Iread(received).Wait()
    file.Write_at_all_begin(0, buffer := numbers(3))
    file.Write_at_all_end(buffer)
    file.Seek(0)
    file.Read_all_begin(received := np.zeros(3))
    file.Read_all_end(received, status)
    np.testing.assert_array_equal(received, [1, 2, 3])
    assert status.Get_count(MPI.DOUBLE) == 3
    assert (file.group_size, file.group_rank) == (1, 0)
    file.Close()
    file.free()  # it is null


def test_ordered_accesses_in_two_parts(comm, path):
    file = MPI.File.Open(comm, path, WRITE)
    status = MPI.Status()
    file.Write_ordered_begin(buffer := numbers(3))
    file.Write_ordered_end(buffer, status)
    assert status.Get_count(MPI.DOUBLE) == 3
    file.Seek_shared(8)
    file.Read_ordered_begin(received := np.zeros(2))
    file.Read_ordered_end(received)
    np.testing.assert_array_equal(received, [2, 3])
    file.free()
    assert not file


def test_reading_beyond_the_end(comm, path):
    numbers(3).tofile(path)
    file = MPI.File.Open(comm, path)
    received = np.full(5, -1.0)
    status = MPI.Status()
    file.Read_at(8, received, status)
    np.testing.assert_array_equal(received, [2, 3, -1, -1, -1])
    assert status.Get_count(MPI.DOUBLE) == 2
    file.Read_at(100, received, status)
    assert status.Get_count() == 0
    file.Close()


def test_sizes(comm, path):
    file = MPI.File.Open(comm, path, WRITE)
    file.Set_size(100)
    assert file.Get_size() == 100
    file.Preallocate(200)
    assert file.Get_size() == 200
    file.Preallocate(10)
    assert file.Get_size() == 200
    file.Set_size(40)
    assert file.size == 40
    file.Sync()
    file.Set_atomicity(True)
    assert file.Get_atomicity()
    file.Close()
    assert os.path.getsize(path) == 40


def test_append_and_delete_on_close(comm, path):
    numbers(2).tofile(path)
    file = MPI.File.Open(comm, path, MPI.MODE_WRONLY | MPI.MODE_APPEND)
    assert file.Get_position() == 16
    file.Write(numbers(1))
    file.Close()
    np.testing.assert_array_equal(on_disk(path), [1, 2, 1])
    MPI.File.Delete(path)
    assert not os.path.exists(path)
    file = MPI.File.Open(comm, path, WRITE | MPI.MODE_DELETE_ON_CLOSE)
    assert os.path.exists(path)
    file.Close()
    assert not os.path.exists(path)


def test_open_errors(comm, path):
    with fails("NO_SUCH_FILE"):
        MPI.File.Open(comm, path, MPI.MODE_RDONLY)
    with fails("NO_SUCH_FILE", "IO", "ACCESS"):
        MPI.File.Delete(path)
    for mode in (
        MPI.MODE_RDONLY | MPI.MODE_CREATE,
        MPI.MODE_RDONLY | MPI.MODE_RDWR,
        MPI.MODE_RDWR | MPI.MODE_SEQUENTIAL,
    ):
        with fails("AMODE"):
            MPI.File.Open(comm, path, mode)
    MPI.File.Open(comm, path, WRITE).Close()
    with fails("FILE_EXISTS"):
        MPI.File.Open(comm, path, WRITE | MPI.MODE_EXCL)


def test_the_mode_is_kept_to(comm, path):
    numbers(2).tofile(path)
    file = MPI.File.Open(comm, path, MPI.MODE_RDONLY)
    with fails("READ_ONLY", "ACCESS", "AMODE"):
        file.Write(numbers(1))
    file.Close()
    file = MPI.File.Open(comm, path, MPI.MODE_WRONLY)
    with fails("ACCESS", "AMODE", "BAD_FILE", "UNSUPPORTED_OPERATION", "READ_ONLY"):
        file.Read(np.zeros(1))
    file.Close()
    np.testing.assert_array_equal(on_disk(path), [1, 2])


def test_the_null_file():
    null = MPI.FILE_NULL
    assert not null
    with fails("FILE", "ARG"):
        null.Get_size()


def test_sequential_files(comm, path):
    numbers(3).tofile(path)
    file = MPI.File.Open(comm, path, MPI.MODE_RDONLY | MPI.MODE_SEQUENTIAL)
    file.Read_shared(received := np.zeros(2))
    np.testing.assert_array_equal(received, [1, 2])
    file.Close()


@serial_only  # Open MPI lets these pass
def test_sequential_files_have_no_positions(comm, path):
    numbers(3).tofile(path)
    file = MPI.File.Open(comm, path, MPI.MODE_RDONLY | MPI.MODE_SEQUENTIAL)
    for call in (lambda: file.Read(np.zeros(1)), lambda: file.Read_at(0, np.zeros(1)), lambda: file.Seek(0)):
        with fails("UNSUPPORTED_OPERATION"):
            call()
    file.Close()
    file = MPI.File.Open(comm, path, WRITE)
    with fails("ARG", "DISP"):
        file.Set_view(-5)
    with fails("UNSUPPORTED_DATAREP"):
        file.Set_view(0, MPI.DOUBLE, MPI.DOUBLE, "nonsense")
    with fails("ARG"):
        file.Set_view(0, MPI.DOUBLE, MPI.INT)
    with fails("ARG"):
        file.Set_view(0, MPI.INT, MPI.INT.Create_indexed([1, 1], [3, 0]).Commit())
    file.Close()


@serial_only
def test_errors_are_those_of_the_system_too(comm, path):
    with pytest.raises(OSError, match=r"File\.Open: .*file-0"):
        MPI.File.Open(comm, path, MPI.MODE_RDONLY)
    with MPI.File.Open(comm, path, WRITE) as file:
        file.Write(numbers(1))
    assert not file
    with pytest.raises(ValueError, match="needs one of MODE_RDONLY, MODE_WRONLY, MODE_RDWR"):
        MPI.File.Open(comm, path, MPI.MODE_CREATE)


# --- views


def test_a_view_in_items(comm, path):
    np.arange(20.0).tofile(path)
    file = MPI.File.Open(comm, path, MPI.MODE_RDWR)
    file.Set_view(16, MPI.DOUBLE)
    assert file.Get_view()[0] == 16
    assert file.Get_view()[1].Get_size() == 8
    assert file.Get_view()[3] == "native"
    file.Read_at(3, received := np.zeros(2))
    np.testing.assert_array_equal(received, [5, 6])
    assert file.Get_byte_offset(3) == 40
    file.Seek(0, MPI.SEEK_END)
    assert file.Get_position() == 18
    file.Write(np.array([77.0]))
    assert file.Get_position() == 19
    file.Close()
    assert on_disk(path)[20] == 77


def test_a_view_of_a_subarray(comm, path):
    whole = np.arange(48.0).reshape(6, 8)
    whole.tofile(path)
    block = MPI.DOUBLE.Create_subarray([6, 8], [2, 3], [1, 4]).Commit()
    file = MPI.File.Open(comm, path, MPI.MODE_RDWR)
    file.Set_view(0, MPI.DOUBLE, block)
    file.Read_all(received := np.zeros((2, 3)))
    np.testing.assert_array_equal(received, whole[1:3, 4:7])
    assert file.Get_byte_offset(4) == (2 * 8 + 5) * 8
    file.Write_at_all(0, -received)
    file.Close()
    whole[1:3, 4:7] *= -1
    np.testing.assert_array_equal(on_disk(path).reshape(6, 8), whole)
    block.Free()


def test_a_view_with_gaps_beyond_the_end(comm, path):
    every_third = MPI.INT.Create_resized(0, 12).Commit()
    file = MPI.File.Open(comm, path, WRITE)
    file.Set_view(4, MPI.INT, every_third)
    file.Write(numbers(100, "i4"))
    file.Seek(50)
    file.Read(received := np.zeros(3, "i4"))
    np.testing.assert_array_equal(received, [51, 52, 53])
    file.Close()
    found = on_disk(path, "i4")
    np.testing.assert_array_equal(found[1::3], numbers(100, "i4"))  # what is between is anything
    assert len(found) == 299
    every_third.Free()


def test_memory_and_file_may_have_different_types(comm, path):
    column = MPI.DOUBLE.Create_vector(3, 1, 4).Commit()
    file = MPI.File.Open(comm, path, WRITE)
    file.Write([numbers(12), 1, column])
    file.Close()
    np.testing.assert_array_equal(on_disk(path), [1, 5, 9])
    column.Free()


def test_positions_before_the_beginning(comm, path):
    file = MPI.File.Open(comm, path, WRITE)
    with fails("ARG", "UNSUPPORTED_OPERATION", "OTHER"):
        file.Seek(-5)
    file.Close()


@given(
    blocks=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4)), min_size=1, max_size=4),
    disp=st.integers(0, 40),
    at=st.integers(0, 20),
    count=st.integers(0, 30),
)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_views_are_indices(tmp_path, blocks, disp, at, count):
    """Blocks with gaps, repeated from some byte on: offsets count what is seen."""
    lengths = [n for n, _ in blocks]
    displacements, place = [], 0
    for n, gap in blocks:
        displacements.append(place + gap)
        place += gap + n
    filetype = MPI.SHORT.Create_indexed(lengths, displacements).Commit()
    extent = filetype.extent // 2
    seen = [i for n, start in zip(lengths, displacements, strict=True) for i in range(start, start + n)]
    places = [item * extent + i for item in range(60) for i in seen]
    path = str(tmp_path / f"view-{MPI.COMM_WORLD.rank}")
    content = np.arange(2000, dtype="i2").view("u1")
    content.tofile(path)
    file = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_RDWR)
    file.Set_view(disp, MPI.SHORT, filetype)
    expected = np.array([content[disp + 2 * p : disp + 2 * p + 2].view("i2")[0] for p in places[at : at + count]], "i2")
    file.Read_at(at, received := np.zeros(count, "i2"))
    np.testing.assert_array_equal(received, expected)
    file.Write_at(at, np.full(count, -1, "i2"))
    file.Close()
    for p in places[at : at + count]:
        content[disp + 2 * p : disp + 2 * p + 2] = 255
    np.testing.assert_array_equal(on_disk(path, "u1"), content)
    filetype.Free()
