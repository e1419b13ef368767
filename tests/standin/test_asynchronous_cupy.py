"""The asynchronous mode of the stand-in: missing waits give wrong answers, right programs right ones."""

import threading

import cupy as cp
import cupyx
import numpy as np
import pytest

import cunumpy as xp
from cunumpy.kernel_testing import fake_cupy_session, run_in_fake_cupy_subprocess

X = np.arange(1000.0)


@pytest.fixture(autouse=True)
def late():
    with fake_cupy_session(asynchronous=True):
        yield


def stream():
    return cp.cuda.Stream(non_blocking=True)


def test_one_stream_is_in_order():
    a = cp.asarray(X)
    a += 1
    b = cp.sqrt(a) * 2
    b[::2] = 0
    expected = np.sqrt(X + 1) * 2
    expected[::2] = 0
    np.testing.assert_array_equal(b.get(), expected)
    assert float(a.sum()) == (X + 1).sum()


class TestTwoStreams:
    def test_without_order_new_memory_is_not_a_number(self):
        s, t = stream(), stream()
        with s:
            a = cp.asarray(X) * 2
        with t:
            b = a + 1
        assert np.isnan(b.get(stream=t)).all()
        s.synchronize()
        with t:
            np.testing.assert_array_equal((a + 1).get(), 2 * X + 1)

    def test_without_order_old_memory_is_old(self):
        a = cp.asarray(X)
        cp.cuda.Device().synchronize()
        s, t = stream(), stream()
        with s:
            a *= 2
        with t:
            b = a + 1
        np.testing.assert_array_equal(b.get(stream=t), X + 1)

    def test_events_order(self):
        s, t = stream(), stream()
        with s:
            a = cp.asarray(X) * 2
        t.wait_event(s.record())
        with t:
            np.testing.assert_array_equal((a + 1).get(), 2 * X + 1)

    def test_an_event_orders_what_is_before_it(self):
        s, t = stream(), stream()
        with s:
            a = cp.asarray(X)
            event = s.record()
            a *= 2
        t.wait_event(event)
        with t:
            np.testing.assert_array_equal(a.get(), X)

    @pytest.mark.parametrize("wait", ["stream", "event", "device", "runtime"])
    def test_waits_of_the_host_order(self, wait):
        s, t = stream(), stream()
        with s:
            a = cp.asarray(X) * 2
        event = s.record()
        {
            "stream": s.synchronize, "event": event.synchronize, "device": cp.cuda.Device().synchronize,
            "runtime": lambda: cp.cuda.runtime.streamSynchronize(s.ptr),
        }[wait]()  # fmt: skip
        with t:
            np.testing.assert_array_equal(a.get(), 2 * X)

    def test_blocking_streams_are_ordered_by_the_null_stream(self):
        a = cp.asarray(X)
        with cp.cuda.Stream():
            b = a * 2
        c = b + 1
        np.testing.assert_array_equal(c.get(), 2 * X + 1)
        c = b + 2
        with stream() as s:
            assert np.isnan((c + 1).get(stream=s)).all()


class TestCopies:
    def test_to_the_host(self):
        s, pinned = stream(), cupyx.zeros_pinned(X.shape)
        with s:
            a = cp.asarray(X) + 1
            a.get(out=pinned, blocking=False)
            a *= 0
        assert (pinned == 0).all()
        s.synchronize()
        np.testing.assert_array_equal(pinned, X + 1)

    def test_to_new_host_memory(self):
        a = cp.asarray(X)
        copied = a.get(blocking=False)
        assert np.isnan(copied).all()
        cp.cuda.Stream.null.synchronize()
        np.testing.assert_array_equal(copied, X)

    def test_to_the_device(self):
        s, pinned = stream(), cupyx.zeros_pinned(X.shape)
        a = cp.empty_like(cp.asarray(X))
        cp.cuda.Device().synchronize()
        for early in (True, False):
            pinned[...] = X
            a.set(pinned, stream=s)
            if not early:
                s.synchronize()
            pinned[...] = -1
            with s:
                assert (a.get() == (-1 if early else X)).all()

    def test_callbacks_come_when_they_are_waited_for(self):
        s, called = stream(), []
        s.launch_host_func(called.append, 1)
        assert called == []
        s.synchronize()
        assert called == [1]


def test_questions_are_not_answered_at_once():
    s = stream()
    with s:
        cp.asarray(X)
    event = s.record()
    assert not s.done
    assert not event.done
    assert event.done
    assert s.done


def test_kernels():
    double = cp.RawKernel('extern "C" __global__ void twice(double* x) { x[threadIdx.x] *= 2; }', "twice")
    add = cp.ElementwiseKernel("float64 a", "float64 b", "b = a + 1", "add_one")
    s, t = stream(), stream()
    with s:
        a = cp.asarray(X[:8])
        double((1,), (8,), (a,))
        np.testing.assert_array_equal(add(a).get(), 2 * X[:8] + 1)
        double((1,), (8,), (a,))
    with t:
        np.testing.assert_array_equal(add(a).get(), 2 * X[:8] + 1)
        cp.cuda.Device().synchronize()
        np.testing.assert_array_equal(add(a).get(), 4 * X[:8] + 1)


def test_threads():
    with stream() as s:
        a = cp.asarray(X)
    found = []
    with cp.cuda.Stream.ptds:
        thread = threading.Thread(target=lambda: found.append((a + 0).get()))
        thread.start()
        thread.join()
        assert np.isnan(found[0]).all()
    s.synchronize()


def test_cunumpy_waits():
    with stream():
        a = xp.asarray(X) * 2
        np.testing.assert_array_equal(xp.to_numpy(a), 2 * X)


def test_the_variable_turns_it_on():
    code = """
import cupy as cp, numpy as np
copied = cp.arange(3.0).get(blocking=False)
print(np.isnan(copied).all())
"""
    assert run_in_fake_cupy_subprocess("import cunumpy" + code, env={"CUNUMPY_FAKE_CUPY_ASYNC": "1"}).stdout == "True\n"
    assert run_in_fake_cupy_subprocess("import cunumpy" + code).stdout == "False\n"
