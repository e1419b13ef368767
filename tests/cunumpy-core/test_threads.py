"""How many threads native code may use."""

import os

import pytest

from cunumpy import _launcher, _threads


def launch(local_size: int | None, size: int | None = None) -> _launcher.Launch:
    return _launcher.Launch("Open MPI", "OMPI_COMM_WORLD_RANK", 0, size, 0, local_size)


@pytest.fixture(autouse=True)
def eight_processors(monkeypatch):
    monkeypatch.delenv("CUNUMPY_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(_threads, "usable_processors", lambda: 8)
    monkeypatch.setattr(_launcher, "find_launch", lambda: None)


def test_all_usable_processors_outside_of_mpi():
    assert _threads.thread_count() == 8


def test_the_variable_decides(monkeypatch):
    monkeypatch.setenv("CUNUMPY_NUM_THREADS", "3")
    monkeypatch.setattr(_launcher, "find_launch", lambda: launch(8))
    assert _threads.thread_count() == 3


@pytest.mark.parametrize(
    ("local_size", "size", "usable", "expected"),
    [
        (2, 4, 8, 4),  # nothing bound: the share of the node
        (4, 4, 2, 2),  # bound to two processors, which is the share
        (2, 2, 1, 1),  # bound more tightly
        (16, 16, 8, 1),  # more ranks than processors
        (None, 4, 8, 2),  # the node's number of ranks is unknown: at worst all run here
        (None, None, 8, 8),
    ],
)
def test_ranks_of_an_mpi_run_share_the_node(monkeypatch, local_size, size, usable, expected):
    monkeypatch.setattr(_launcher, "find_launch", lambda: launch(local_size, size))
    monkeypatch.setattr(_threads, "usable_processors", lambda: usable)
    assert _threads.thread_count() == expected


@pytest.mark.parametrize(("n", "expected"), [(0, 1), (199, 1), (200, 2), (350, 3), (10**9, 8)])
def test_small_work_has_one_thread(n, expected):
    assert _threads.threads_for(n, 100) == expected


def test_this_machine_has_a_processor(monkeypatch):
    monkeypatch.undo()
    assert 1 <= _threads.usable_processors() <= (os.cpu_count() or 1)
