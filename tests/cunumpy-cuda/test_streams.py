"""Streams and events of the host, which code written for CuPy's can use."""

from __future__ import annotations

import inspect
import pickle
import time

import pytest

import cunumpy as xp
from cunumpy.cuda import HostEvent, HostStream
from cunumpy.errors import ArgumentError, ArgumentTypeError, BackendUnavailableError


def test_the_numpy_backend_makes_those_of_the_host() -> None:
    assert isinstance(xp.cuda.create_stream(), HostStream)
    assert isinstance(xp.cuda.create_stream(non_blocking=False, priority=-1), HostStream)
    assert isinstance(xp.cuda.create_event(), HostEvent)
    assert isinstance(xp.cuda.record_event(), HostEvent)
    with xp.cuda.stream() as stream:
        assert stream is None
    with xp.cuda.stream(join=True) as stream:
        assert stream is None


def test_a_stream_is_entered_any_number_of_times() -> None:
    stream = HostStream()
    with (
        stream as first,
        stream as second,
        xp.cuda.stream(stream) as third,
        xp.cuda.stream(stream, join=True) as fourth,
    ):
        assert first is second is third is fourth is stream
    with stream:
        pass
    assert stream.use() is stream


def test_what_code_for_cupy_asks_a_stream() -> None:
    stream = HostStream()
    assert (stream.done, stream.is_non_blocking, stream.priority, stream.device_id) == (True, False, 0, -1)
    assert not stream.is_capturing()
    assert stream.ptr != 0
    assert HostStream.null.ptr == 0
    assert HostStream.null is stream.null
    stream.synchronize()
    with pytest.raises(BackendUnavailableError, match="CUDA graphs need a CUDA stream"):
        stream.begin_capture()


def test_streams_are_equal_if_they_are_the_same() -> None:
    first, second = HostStream(), HostStream()
    assert first == first
    assert first != second
    assert first != "stream"
    assert {first: 1, second: 2}[first] == 1
    assert repr(first) == f"<HostStream {first.ptr}>"


def test_callbacks_are_called_at_once() -> None:
    calls: list[object] = []
    stream = HostStream()
    stream.launch_host_func(calls.append, "a")
    stream.add_callback(lambda *arguments: calls.append(arguments), "b")
    assert calls == ["a", (stream, 0, "b")]


def test_events_are_complete_and_recorded_again() -> None:
    stream, event = HostStream(), HostEvent()
    assert event.done
    assert stream.record(event) is event
    assert isinstance(stream.record(), HostEvent)
    assert xp.cuda.record_event(event) is event
    assert xp.cuda.record_event(event, stream=stream) is event
    assert isinstance(xp.cuda.record_event(stream=stream), HostEvent)
    event.synchronize()
    stream.wait_event(event)
    xp.cuda.wait_event(event)
    xp.cuda.wait_event(event, stream=stream)


def test_time_between_events_in_seconds() -> None:
    start, stop = xp.cuda.create_event(timing=True), xp.cuda.create_event(timing=True)
    before = time.perf_counter()
    xp.cuda.record_event(start)
    time.sleep(0.02)
    xp.cuda.record_event(stop)
    assert 0.02 <= xp.cuda.elapsed(start, stop) <= time.perf_counter() - before
    assert xp.cuda.elapsed(stop, start) < 0
    xp.cuda.record_event(start)  # moved behind `stop`
    assert xp.cuda.elapsed(start, stop) < 0


def test_time_needs_events_that_take_it() -> None:
    timed, untimed = HostEvent(), xp.cuda.create_event()
    with pytest.raises(
        ArgumentError, match=r"^elapsed: argument 'start' was not recorded; .*create_event\(timing=True\)"
    ):
        xp.cuda.elapsed(timed, timed)
    timed.record()
    untimed.record()
    with pytest.raises(ArgumentError, match="argument 'stop' was made without timing"):
        xp.cuda.elapsed(timed, untimed)
    with pytest.raises(ArgumentTypeError, match=r"argument 'stop' must be a cupy.cuda.Event or a HostEvent, got float"):
        xp.cuda.elapsed(timed, 1.0)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: xp.cuda.stream(3).__enter__(), "stream: argument 'existing' must be .* got int"),
        (lambda: xp.cuda.record_event(3), "record_event: argument 'event' must be .* got int"),
        (lambda: xp.cuda.record_event(stream=3), "record_event: argument 'stream' must be .* got int"),
        (
            lambda: xp.cuda.record_event(HostStream()),
            "record_event: argument 'event' must be .* got cunumpy.HostStream",
        ),
        (lambda: xp.cuda.wait_event(None), "wait_event: argument 'event' must be an event, .* got None"),
        (lambda: xp.cuda.wait_event(HostEvent(), stream=HostEvent()), "wait_event: argument 'stream' must be"),
        (lambda: HostStream().record(3), "HostStream.record: argument 'event' must be a HostEvent"),
        (lambda: HostStream().wait_event(None), "HostStream.wait_event: argument 'event' must be a HostEvent"),
        (lambda: HostEvent().record(3), "HostEvent.record: argument 'stream' must be a HostStream"),
        (lambda: pickle.dumps(HostStream()), "a HostStream does not pickle"),
        (lambda: pickle.dumps(HostEvent()), "a HostEvent does not pickle"),
    ],
)
def test_what_does_not_fit_is_refused(call, text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=text):
        call()


@pytest.mark.needs("cunumpy.kernel_testing")
def test_signatures_are_those_of_cupy() -> None:
    """Of the stand-in, whose names and parameters a test compares with CuPy's."""
    from cunumpy.kernel_testing._fake_cupy import cuda

    own = {name for name in dir(HostStream) if not name.startswith("_")} - {"begin_capture"}
    of_device_alone = {"ptds", "from_external", "begin_capture", "end_capture"}
    assert {name for name in dir(cuda.Stream) if not name.startswith("_")} - of_device_alone <= own
    for name in own:
        of_cupy = getattr(cuda.Stream, name, None)
        if inspect.isfunction(of_cupy):
            assert list(inspect.signature(of_cupy).parameters) == list(
                inspect.signature(getattr(HostStream, name)).parameters
            )
    assert list(inspect.signature(cuda.Event).parameters) == list(inspect.signature(HostEvent).parameters)


def test_a_priority_that_is_no_number_is_refused_on_the_host_too() -> None:
    with pytest.raises(ArgumentTypeError, match=r"argument 'priority' must be an integer or None, got str \('high'\)"):
        xp.cuda.create_stream(priority="high")
