"""Reference, section 8: streams, events, waiting."""

import threading

import cupy as cp
import numpy as np


def test_work_on_a_stream():
    host_data = np.arange(1000.0)
    stream = cp.cuda.Stream()
    with stream:
        assert cp.cuda.get_current_stream() == stream
        d_data = cp.asarray(host_data)
        result = cp.sum(d_data)
    assert cp.cuda.get_current_stream() == cp.cuda.Stream.null
    stream.synchronize()
    assert stream.done
    assert float(result) == host_data.sum()


def test_several_streams():
    rng = np.random.default_rng(8)
    data_a, data_b = rng.random((2, 256))
    s1 = cp.cuda.Stream()
    s2 = cp.cuda.Stream(non_blocking=True)
    with s1:
        d_a = cp.asarray(data_a)
        result_a = cp.fft.fft(d_a)
    with s2:
        d_b = cp.asarray(data_b)
        result_b = cp.fft.fft(d_b)
    cp.cuda.Device().synchronize()
    np.testing.assert_allclose(result_a.get(), np.fft.fft(data_a), rtol=1e-12)
    np.testing.assert_allclose(result_b.get(), np.fft.fft(data_b), rtol=1e-12)
    assert s1 != s2


def test_events():
    start = cp.cuda.Event()
    end = cp.cuda.Event()
    start.record()
    cp.sort(cp.random.rand(100_000))
    end.record()
    end.synchronize()
    elapsed_ms = cp.cuda.get_elapsed_time(start, end)
    assert 0 < elapsed_ms < 60_000
    other = cp.cuda.Stream()
    other.wait_event(end)
    assert end.done


def test_each_thread_has_its_current_stream():
    stream, seen = cp.cuda.Stream(), []
    with stream:
        thread = threading.Thread(target=lambda: seen.append(cp.cuda.get_current_stream()))
        thread.start()
        thread.join()
    assert seen == [cp.cuda.Stream.null]
    with cp.cuda.Stream.ptds:
        assert cp.cuda.get_current_stream().ptr == cp.cuda.runtime.streamPerThread
