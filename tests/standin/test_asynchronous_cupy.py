"""The asynchronous mode of the stand-in: missing waits give wrong answers, right programs right ones."""

import ctypes
import threading

import cupy as cp
import cupyx
import numpy as np
import pytest

import cunumpy as xp
from cunumpy.kernel_testing import fake_cupy_session, run_in_fake_cupy_subprocess

X = np.arange(1000.0)
ADD = cp.ElementwiseKernel("float64 a", "float64 b", "b = a + 1", "add_one")
TWICE = cp.RawKernel('extern "C" __global__ void twice(double* x) { x[blockIdx.x * 100 + threadIdx.x] *= 2; }', "twice")


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


class TestParts:
    """Streams that work on parts of one array need no order."""

    def test_halves_and_columns(self):
        a = cp.asarray(X).reshape(10, 100).copy()
        cp.cuda.Device().synchronize()
        s, t = stream(), stream()
        for first, second in ((np.s_[:5], np.s_[5:]), (np.s_[:, 0], np.s_[:, 1]), (np.s_[::2], np.s_[1::2])):
            expected = a.get()
            with s:
                a[first] *= 2
                one = a[first] + 1
            with t:
                a[second] = -1
                two = a[second] * 3
            expected[first] *= 2
            np.testing.assert_array_equal(one.get(stream=s), expected[first] + 1)
            np.testing.assert_array_equal(two.get(stream=t), np.full_like(expected[second], -3))
            expected[second] = -1
            np.testing.assert_array_equal(a.get(), expected)

    def test_a_pipeline_of_chunks(self):
        host, streams = cupyx.empty_pinned(X.shape), [stream(), stream(), stream()]
        host[...] = X
        a, b = cp.empty(X.shape), cp.empty(X.shape)
        kernel = cp.RawKernel(
            'extern "C" __global__ void f(const double* x, double* y, int start) '
            "{ int i = start + blockIdx.x * 100 + threadIdx.x; y[i] = 2 * x[i]; }",
            "f",
        )
        for number in range(5):
            chunk = np.s_[200 * number : 200 * number + 200]
            with streams[number % 3] as s:
                a[chunk].set(host[chunk], stream=s)
                kernel((2,), (100,), (a, b, np.int32(200 * number)))
                b[chunk].get(out=host[chunk], blocking=False)
        assert (host == X).all()
        cp.cuda.Device().synchronize()
        np.testing.assert_array_equal(host, 2 * X)

    def test_masks_and_index_arrays(self):
        a = cp.asarray(X)
        even, odd = cp.arange(0, 1000, 2), cp.arange(1000) % 2 == 1
        cp.cuda.Device().synchronize()
        s, t = stream(), stream()
        with s:
            a[even] = 0.5
        with t:
            a[odd] = 1.5
        cp.cuda.Device().synchronize()
        np.testing.assert_array_equal(a.get(), np.tile([0.5, 1.5], 500))

    def test_memory_that_nobody_has_written_to(self):
        a = cp.empty(8)
        fill = cp.RawKernel('extern "C" __global__ void fill(double* x) { x[threadIdx.x] = 7; }', "fill")
        with stream() as s:
            fill((1,), (8,), (a,))
            assert (a.get(stream=s) == 7).all()
            cp.cuda.Device().synchronize()
        assert (a.get() == 7).all()

    def test_views_of_what_is_not_there_yet(self):
        s, t = stream(), stream()
        with s:
            a = cp.asarray(X).reshape(10, 100) * 2
        with t:
            view, row = cp.swapaxes(a, 0, 1), cp.atleast_2d(a[0])
        cp.cuda.Device().synchronize()
        a[0, 0] = -5
        assert float(view[0, 0]) == float(row[0, 0]) == -5
        np.testing.assert_array_equal(view.get()[1:], (2 * X).reshape(10, 100).T[1:])


READS = {
    "ufunc": lambda a: a + 1,
    "function": lambda a: cp.cumsum(a),
    "copy": lambda a: a.copy(),
    "index": lambda a: a[cp.arange(1000)],
    "next": lambda a: (a + 1) * 2,
    "kernel": lambda a: ADD(a),
}
WRITES = {
    "ufunc": lambda a: cp.multiply(a, 2, out=a),
    "fill": lambda a: a.fill(3),
    "assignment": lambda a: a.__setitem__(slice(None), 3),
    "kernel": lambda a: TWICE((10,), (100,), (a,)),
    "memset": lambda a: a.data.memset_async(0, a.nbytes),
    "copy": lambda a: a.set(-X),
}


class TestOverwriting:
    """What overwrites data that unordered work still reads, or writes, too."""

    def read_and_overwrite(self, read, overwrite, wait=None):
        a = cp.asarray(X)
        cp.cuda.Device().synchronize()
        s, t = stream(), stream()
        with s:
            result = read(a)
        if wait is not None:
            wait(s, t)
        with t:
            overwrite(a)
        cp.cuda.Device().synchronize()
        return result

    @pytest.mark.parametrize("write", WRITES)
    @pytest.mark.parametrize("read", READS)
    def test_without_order_the_result_is_not_a_number(self, read, write):
        result = self.read_and_overwrite(READS[read], WRITES[write])
        assert np.isnan(result.get()).any()

    @pytest.mark.parametrize("write", WRITES)
    def test_with_order_it_is_right(self, write):
        for wait in (lambda s, t: t.wait_event(s.record()), lambda s, t: s.synchronize()):
            result = self.read_and_overwrite(READS["next"], WRITES[write], wait)
            np.testing.assert_array_equal(result.get(), 2 * (X + 1))

    def test_other_elements_may_be_overwritten(self):
        result = self.read_and_overwrite(lambda a: a[:500] + 1, lambda a: a[500:].fill(0))
        np.testing.assert_array_equal(result.get(), X[:500] + 1)
        result = self.read_and_overwrite(lambda a: a[::2] + 1, lambda a: a[1::2].fill(0))
        np.testing.assert_array_equal(result.get(), X[::2] + 1)

    def test_copies_to_the_host(self):
        pinned = cupyx.zeros_pinned(X.shape)
        self.read_and_overwrite(lambda a: a.get(out=pinned, blocking=False), lambda a: a.fill(0))
        assert np.isnan(pinned).all()

    def test_what_was_made_of_it_is_spoiled_but_not_what_replaces_it(self):
        a, b = cp.asarray(X), cp.zeros(1000)
        cp.cuda.Device().synchronize()
        s, t = stream(), stream()
        with s:
            cp.add(a, 1, out=b)
            c = b * 2
            b.fill(4)
            d = b * 2
        with t:
            a.fill(0)
        cp.cuda.Device().synchronize()
        assert np.isnan(c.get()).all()
        assert (b.get() == 4).all()
        assert (d.get() == 8).all()

    def test_two_writes(self):
        a = cp.zeros(1000)
        cp.cuda.Device().synchronize()
        s, t = stream(), stream()
        with s:
            a[:600] = 1
        with t:
            a[400:] = 2
        cp.cuda.Device().synchronize()
        found = a.get()
        assert (found[:400] == 1).all()
        assert np.isnan(found[400:600]).all()
        assert (found[600:] == 2).all()
        a.fill(5)
        assert (a.get() == 5).all()

    def test_shared_input_of_kernels(self):
        a = cp.asarray(X)
        cp.cuda.Device().synchronize()
        results = []
        for _ in range(3):
            with stream():
                results.append(ADD(a))
        cp.cuda.Device().synchronize()
        for result in results:
            np.testing.assert_array_equal(result.get(), X + 1)

    @pytest.mark.parametrize("wait", [False, True])
    def test_memory_that_is_freed_while_another_stream_uses_it(self, wait):
        with stream() as s:
            a = cp.asarray(X)
        t = stream()
        t.wait_event(s.record())
        with t:
            b = a * 2
        if wait:
            s.wait_event(t.record())
        del a
        with s:
            c = cp.zeros(1000)  # in the same memory, as the pool would have it
        cp.cuda.Device().synchronize()
        assert np.isnan(b.get()).all() != wait
        assert (c.get() == 0).all()

    @pytest.mark.parametrize("wait", [False, True])
    def test_memory_that_is_freed_while_another_stream_writes_to_it(self, wait):
        with stream() as s:
            a = cp.empty(1000)
            t = stream()
            with t:
                a.fill(1)
            if wait:
                s.wait_event(t.record())
            del a
            c = cp.zeros(1000)
        cp.cuda.Device().synchronize()
        assert np.isnan(c.get()).all() != wait

    def test_temporaries_are_no_danger(self):
        a = cp.asarray(X)
        cp.cuda.Device().synchronize()
        for _ in range(3):
            with stream():
                b = (a * 2 + 1) / (a + 1)
                cp.cuda.get_current_stream().synchronize()
        np.testing.assert_array_equal(b.get(), (2 * X + 1) / (X + 1))
        with cp.cuda.Stream():  # ordered with the null stream
            c = (a * 2 + 1).sum()
        d = cp.zeros(1000)
        assert float(c) == (2 * X + 1).sum()
        assert (d.get() == 0).all()

    def test_elements_that_are_replaced_by_what_they_were_are_not_spoiled(self):
        a = cp.ones(1000)
        cp.cuda.Device().synchronize()
        s, t = stream(), stream()
        with s:
            b = a + 1
            event = s.record()
            b.fill(2)
        t.wait_event(cp.cuda.Event())
        with t:
            a.fill(0)
        cp.cuda.Device().synchronize()
        assert event.done
        assert (b.get() == 2).all()

    def test_many_streams(self):
        from cunumpy.kernel_testing._fake_cupy.stream_clocks import clocks

        a = cp.zeros(10)
        kept = cp.cuda.Stream()
        for number in range(200):
            with cp.cuda.Stream() if number % 3 else kept as s:
                a += 1
                s.synchronize()
        assert float(a[0]) == 200
        assert len(clocks) < 100

    def test_callbacks_may_wait_for_other_threads(self):
        s, done = stream(), threading.Event()

        def in_thread():
            (cp.ones(3) + 1).get()
            done.set()

        def callback(_):
            thread = threading.Thread(target=in_thread)
            thread.start()
            assert done.wait(20)
            thread.join()

        s.launch_host_func(callback, None)
        s.synchronize()
        assert done.is_set()

    def test_long_loops_keep_little(self):
        from cunumpy.kernel_testing._fake_cupy.memory_history import unsettled

        a, b = cp.zeros(10), cp.ones(10)
        for _ in range(500):
            a += b
            c = a * 2
        assert (c.get() == 1000).all()
        assert len(unsettled) == 0


class TestPointers:
    def copies(self, kind):
        """Return a copy to the host and one from it, by pointers or by addresses, in a stream."""
        if kind == "pointers":
            return (
                lambda host, a, s: a.data.copy_to_host_async(ctypes.c_void_p(host.ctypes.data), host.nbytes, s),
                lambda a, host, s: a.data.copy_from_async(host.ctypes.data, host.nbytes, s),
            )
        runtime = cp.cuda.runtime
        to_host, to_device = runtime.memcpyDeviceToHost, runtime.memcpyHostToDevice
        return (
            lambda host, a, s: runtime.memcpyAsync(host.ctypes.data, a.data.ptr, host.nbytes, to_host, s.ptr),
            lambda a, host, s: runtime.memcpyAsync(a.data.ptr, host.ctypes.data, host.nbytes, to_device, s.ptr),
        )

    @pytest.mark.parametrize("kind", ["pointers", "addresses"])
    def test_to_pinned_memory(self, kind):
        to_host, _ = self.copies(kind)
        pinned, s = cupyx.zeros_pinned(X.shape), stream()
        with s:
            a = cp.asarray(X) + 1
        to_host(pinned, a, s)
        assert (pinned == 0).all()
        s.synchronize()
        np.testing.assert_array_equal(pinned, X + 1)

    @pytest.mark.parametrize("kind", ["pointers", "addresses"])
    def test_from_pinned_memory(self, kind):
        _, to_device = self.copies(kind)
        pinned, s = cupyx.empty_pinned(X.shape), stream()
        pinned[...] = X
        a = cp.zeros(1000)
        cp.cuda.Device().synchronize()
        to_device(a, pinned, s)
        pinned[...] = -1  # too early
        with s:
            assert (a.get() == -1).all()
        pinned[...] = X
        to_device(a, pinned, s)
        s.synchronize()
        pinned[...] = -1
        np.testing.assert_array_equal(a.get(), X)

    @pytest.mark.parametrize("kind", ["pointers", "addresses"])
    def test_memory_that_is_not_pinned_is_not_late(self, kind):
        to_host, to_device = self.copies(kind)
        host, s = np.zeros(1000), stream()
        with s:
            a = cp.asarray(X) * 2
        to_host(host, a, s)
        np.testing.assert_array_equal(host, 2 * X)
        to_device(a, X, s)
        with stream():
            assert (a.get() == 2 * X).all()
        with s:
            np.testing.assert_array_equal(a.get(), X)

    def test_the_order_of_the_null_stream(self):
        s, host = stream(), np.empty(1000)
        a, b = cp.zeros(1000), cp.zeros(1000)
        cp.cuda.Device().synchronize()
        with s:
            a += 1
        a.data.copy_to_host(host.ctypes.data, a.nbytes)
        assert (host == 0).all()  # nothing orders the null stream after s
        b.data.copy_from_device(a.data, a.nbytes)
        assert (b.get() == 0).all()
        s.synchronize()
        b.data.copy_from_device_async(a.data, a.nbytes, s)
        with stream() as t:
            assert (b.get() == 0).all()
            t.wait_event(s.record())
            assert (b.get() == 1).all()
        cp.cuda.runtime.memset(a.data.ptr, 0, a.nbytes)
        assert (a.get() == 0).all()
        with s:
            assert (a.get() == 0).all()  # get() has waited

    def test_rows(self):
        runtime, s = cp.cuda.runtime, stream()
        pinned = cupyx.zeros_pinned((10, 60))
        a = cp.asarray(X).reshape(10, 100)
        cp.cuda.Device().synchronize()
        runtime.memcpy2DAsync(pinned.ctypes.data, 480, a.data.ptr, 800, 480, 10, runtime.memcpyDefault, s.ptr)
        assert (pinned == 0).all()
        s.synchronize()
        np.testing.assert_array_equal(pinned, X.reshape(10, 100)[:, :60])


def test_kernels_of_cunumpy():
    from cunumpy.kernels import CudaKernel

    twice = CudaKernel('extern "C" __global__ void twice(double* x) { x[threadIdx.x] *= 2; }', "twice")
    a = cp.asarray(X[:8])
    cp.cuda.Device().synchronize()
    s, t = stream(), stream()
    with s:
        twice(a, grid=1, block=8)
        np.testing.assert_array_equal((a + 1).get(stream=s), 2 * X[:8] + 1)
        twice(a, grid=1, block=8)
    with t:
        np.testing.assert_array_equal(a.get(stream=t), 2 * X[:8])
    cp.cuda.Device().synchronize()
    np.testing.assert_array_equal(a.get(), 4 * X[:8])


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
    for setting, late in (("1", "True\n"), ("0", "False\n")):
        done = run_in_fake_cupy_subprocess("import cunumpy" + code, env={"CUNUMPY_FAKE_CUPY_ASYNC": setting})
        assert done.stdout == late
