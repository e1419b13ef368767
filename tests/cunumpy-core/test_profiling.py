"""Events, counters, and the blocks that count, check, forbid and allow transfers."""

import copy
import dataclasses
import inspect
import json
import pickle
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cunumpy import _transfers, errors, profiling
from cunumpy.profiling import (
    TransferCounter,
    TransferEvent,
    allow_transfers,
    assert_no_transfers,
    count_transfers,
    forbid_transfers,
)
from recorded_transfers import here, transfer

KINDS = ["to_host", "to_device", "kernel_conversion", "fallback", "device_copy", "sync"]


def test_public_names():
    assert sorted(profiling.__all__) == profiling.__all__
    assert set(profiling.__all__) >= {
        "Timing",
        "TransferBudget",
        "TransferCounter",
        "TransferEvent",
        "assert_no_transfers",
        "count_transfers",
        "forbid_transfers",
        "nvtx_range",
        "timed_region",
    }
    for name in profiling.__all__:
        assert getattr(profiling, name).__doc__


class TestTransferEvent:
    def test_defaults_and_fields(self):
        event = TransferEvent("to_host", "to_numpy()", "run.py:3")
        assert (event.nbytes, event.blocking, event.implicit) == (None, True, False)
        assert TransferEvent("a", "b", "c", 4, False, True) == TransferEvent(
            kind="a", description="b", where="c", nbytes=4, blocking=False, implicit=True
        )

    def test_frozen_hashable_comparable(self):
        event = TransferEvent("to_host", "x", "run.py:3", nbytes=8)
        with pytest.raises(dataclasses.FrozenInstanceError):
            event.nbytes = 9
        assert len({event, TransferEvent("to_host", "x", "run.py:3", nbytes=8)}) == 1
        assert event != TransferEvent("to_host", "x", "run.py:3", nbytes=9)

    def test_time_thread_and_device_are_not_compared(self):
        plain = TransferEvent("to_host", "x", "run.py:3")
        placed = dataclasses.replace(plain, time=1.0, duration=0.5, thread="worker", thread_id=3, device=1)
        assert plain == placed
        assert hash(plain) == hash(placed)

    @pytest.mark.parametrize(
        ("blocking", "implicit", "label"),
        [
            (True, False, "d"),
            (False, False, "d [async]"),
            (True, True, "d [implicit]"),
            (False, True, "d [async] [implicit]"),
        ],
    )
    def test_label_and_str(self, blocking, implicit, label):
        event = TransferEvent("sync", "d", "run.py:3", blocking=blocking, implicit=implicit)
        assert event.label == label
        assert str(event) == f"run.py:3: sync: {label}"

    def test_kind_is_not_validated(self):
        assert str(TransferEvent("mpi", "d", "w")) == "w: mpi: d"

    def test_recorded_event_equals_one_made_by_hand_and_pickles(self):
        with count_transfers() as counter:
            transfer(nbytes=24, description="to_numpy(shape=(3,), dtype=float64)", blocking=False)
        (event,) = counter.events
        assert event == TransferEvent("to_host", event.description, here(-2), 24, False)
        copied = pickle.loads(pickle.dumps(event))
        assert copied == event
        assert dataclasses.asdict(copied) == dataclasses.asdict(event)

    def test_time_and_duration(self):
        before = time.perf_counter()
        with count_transfers() as counter:
            transfer()
            transfer(started=before)
        after = time.perf_counter()
        first, second = counter.events
        assert before <= first.time <= after
        assert first.duration is None
        assert second.time == before
        assert 0 < second.duration <= after - before


class TestTransferCounter:
    def test_empty(self):
        counter = TransferCounter()
        zero = ", ".join(f"{kind}=0" for kind in KINDS)
        assert repr(counter) == f"TransferCounter({zero})"
        assert counter.report() == (
            "0 transfer(s) through cunumpy "
            "(0 to_host, 0 to_device, 0 kernel_conversion, 0 fallback, 0 device_copy, 0 sync)"
        )
        assert counter.events == []
        assert counter.count("never") == counter.bytes("never") == 0

    def test_numbers(self):
        counter = TransferCounter()
        with count_transfers(counter):
            for times, kind in enumerate(KINDS, start=1):
                for _ in range(times):
                    transfer(kind, nbytes=10 * times)
            transfer("to_host", nbytes=None)
        assert counter.to_host == 2
        assert counter.to_device == 2
        assert counter.kernel_conversions == 3
        assert counter.fallbacks == 4
        assert counter.device_copies == 5
        assert counter.syncs == 6
        assert counter.total == 16
        assert counter.bytes_to_host == 10
        assert counter.bytes_to_device == 40
        assert counter.bytes("sync") == 360
        assert [event.kind for event in counter.kernel_conversion_calls] == ["kernel_conversion"] * 3

    def test_unknown_kinds_count_in_total_and_are_reported(self):
        counter = TransferCounter()
        counter.events.append(TransferEvent("mpi", "Send", "run.py:3", 7))
        assert (counter.total, counter.count("mpi"), counter.bytes("mpi")) == (1, 1, 7)
        assert counter.report().endswith("  mpi (1):\n    run.py:3: Send")

    def test_report_groups_by_line_and_label_in_first_seen_order(self):
        counter = TransferCounter()
        counter.events += [
            TransferEvent("to_device", "b", "z.py:1"),
            TransferEvent("to_host", "a", "z.py:9"),
            TransferEvent("to_host", "a", "a.py:1"),
            TransferEvent("to_host", "a", "z.py:9", blocking=False),
            TransferEvent("to_host", "a", "z.py:9"),
        ]
        assert counter.report().splitlines() == [
            "5 transfer(s) through cunumpy "
            "(4 to_host, 1 to_device, 0 kernel_conversion, 0 fallback, 0 device_copy, 0 sync)",
            "  to_host (4):",
            "    z.py:9: a (x2)",
            "    a.py:1: a",
            "    z.py:9: a [async]",
            "  to_device (1):",
            "    z.py:1: b",
        ]

    def test_numbers_follow_changes_of_the_list(self):
        with count_transfers() as counter:
            transfer("to_host")
            transfer("to_device")
            assert counter.total == 2
            counter.events.clear()
            assert counter.total == 0
            transfer("to_host")
            assert counter.to_host == 1
            counter.events[0] = TransferEvent("sync", "x", "w")
            assert (counter.to_host, counter.syncs) == (0, 1)
            counter.events = [TransferEvent("to_device", "x", "w", 3)] * 2
            transfer("to_device", nbytes=4)
            assert (counter.to_device, counter.bytes_to_device) == (3, 10)
            counter.clear()
            assert counter.events == counter.regions == []
            assert counter.total == 0

    def test_a_sum_in_the_middle_of_a_change_does_not_hide_it(self):
        counter = TransferCounter()
        counter.events.append(TransferEvent("to_host", "x", "w"))

        def replacements():
            assert counter.to_host == 1  # another thread may ask at this moment
            yield TransferEvent("sync", "x", "w")

        counter.events[:] = replacements()
        assert (counter.to_host, counter.syncs) == (0, 1)

    def test_sums_only(self):
        counter = TransferCounter(keep_events=False)
        with count_transfers() as full, count_transfers(counter):
            for _ in range(3):
                transfer(nbytes=5)
            transfer("sync", implicit=True)
        assert counter.events == []
        assert counter.report() == full.report()
        assert (counter.to_host, counter.bytes_to_host, counter.syncs) == (3, 15, 1)
        assert counter.to_dict()["totals"] == full.to_dict()["totals"]
        counter.clear()
        assert counter.total == 0

    def test_sums_only_refuses_what_needs_events(self, tmp_path):
        counter = TransferCounter(keep_events=False)
        with pytest.raises(errors.ArgumentError, match="keep_events=False; use TransferCounter\\(\\) to write a trace"):
            counter.write_trace(tmp_path / "trace.json")
        assert not (tmp_path / "trace.json").exists()
        with pytest.raises(errors.ArgumentError, match="keep_events=False"):
            counter.events = []

    @pytest.mark.parametrize("keep_events", [True, False])
    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
    def test_copies_and_pickles(self, duplicate, keep_events):
        counter = TransferCounter(keep_events=keep_events)
        with count_transfers(counter):
            transfer(nbytes=3)
        other = duplicate(counter)
        with count_transfers(other):
            transfer(nbytes=4)
        assert (counter.to_host, counter.bytes_to_host) == (1, 3)
        assert (other.to_host, other.bytes_to_host) == (2, 7)

    events = st.builds(
        TransferEvent,
        st.sampled_from([*KINDS, "other"]),
        st.sampled_from(["a", "a [async]", "b"]),
        st.sampled_from(["x.py:1", "y.py:2"]),
        st.none() | st.integers(0, 100),
        st.booleans(),
        st.booleans(),
    )
    changes = st.one_of(
        st.tuples(st.just("receive"), events),
        st.tuples(st.just("insert"), events),
        st.tuples(st.just("pop"), st.none()),
        st.tuples(st.just("clear"), st.none()),
        st.tuples(st.just("reverse"), st.none()),
        st.tuples(st.just("assign"), st.lists(events, max_size=3)),
        st.tuples(st.just("look"), st.none()),
    )

    @given(st.lists(changes, max_size=30))
    def test_numbers_and_report_agree_with_a_plain_recount(self, changes):
        counter = TransferCounter()
        model = []
        for change, value in changes:
            if change == "receive":
                counter._receive(value)
                model.append(value)
            elif change == "insert":
                counter.events.insert(0, value)
                model.insert(0, value)
            elif change == "pop" and model:
                counter.events.pop()
                model.pop()
            elif change == "clear":
                counter.events.clear()
                model.clear()
            elif change == "reverse":
                counter.events.reverse()
                model.reverse()
            elif change == "assign":
                counter.events = value
                model = list(value)
            else:
                assert counter.total == sum(event.kind != "sync" for event in model)
        self.compare(counter, model)

    @given(st.lists(events, max_size=30))
    def test_sums_agree_with_a_plain_recount(self, events):
        counter = TransferCounter(keep_events=False)
        for event in events:
            counter._receive(event)
        self.compare(counter, events)

    @staticmethod
    def compare(counter, events):
        lines = []
        for kind in [*KINDS, "other"]:
            chosen = [event for event in events if event.kind == kind]
            assert counter.count(kind) == len(chosen)
            assert counter.bytes(kind) == sum(event.nbytes or 0 for event in chosen)
            if chosen:
                lines.append(f"  {kind} ({len(chosen)}):")
            calls = [f"    {event.where}: {event.label}" for event in chosen]
            lines += (c + (f" (x{calls.count(c)})" if calls.count(c) > 1 else "") for c in dict.fromkeys(calls))
        assert counter.report().splitlines()[1:] == lines


class TestCountTransfers:
    def test_counts_inside_only(self):
        transfer()
        with count_transfers() as counter:
            transfer()
        transfer()
        assert counter.total == 1

    def test_into_keeps_what_it_has(self):
        counter = TransferCounter()
        for _ in range(2):
            with count_transfers(counter) as given_back:
                transfer()
        assert given_back is counter
        assert counter.total == 2

    def test_nested_counters_get_each_event_once(self):
        with count_transfers() as outer:
            transfer()
            with count_transfers() as inner, count_transfers(outer), count_transfers(outer, all_threads=True):
                transfer()
            transfer()
        assert (outer.total, inner.total) == (3, 1)

    def test_leaving_an_inner_block_of_the_same_counter_keeps_it_open(self):
        with count_transfers() as counter:
            with count_transfers(counter):
                pass
            transfer()
        assert counter.total == 1

    def test_one_object_can_be_entered_inside_itself(self):
        block = count_transfers()
        with block as outer, block as inner:
            transfer()
        assert outer is not inner
        assert outer.total == inner.total == 1
        assert not _transfers.watching()

    def test_left_on_exceptions(self):
        counter = TransferCounter()
        with pytest.raises(KeyError), count_transfers(counter):
            raise KeyError
        transfer()
        assert counter.total == 0
        assert not _transfers.watching()

    def test_decorator(self):
        counter = TransferCounter()

        @count_transfers(counter)
        def work(a, *, b=1):
            """Doc."""
            transfer()
            return a + b

        assert work(1, b=2) == 3
        assert work(5) == 6
        assert counter.total == 2
        assert (work.__name__, work.__doc__) == ("work", "Doc.")
        assert str(inspect.signature(work)) == "(a, *, b=1)"

    def test_decorated_function_may_call_itself(self):
        counter = TransferCounter()

        @count_transfers(counter)
        def work(depth):
            transfer()
            return depth and work(depth - 1)

        work(4)
        assert counter.total == 5

    def test_decorates_methods(self):
        counter = TransferCounter()

        class Solver:
            @count_transfers(counter)
            def step(self, x):
                transfer()
                return x

        assert Solver().step(3) == 3
        assert counter.total == 1

    def test_bare_decorator_is_refused_with_the_way_out(self):
        with pytest.raises(errors.ArgumentTypeError, match=r"write @count_transfers\(\)"):

            @count_transfers
            def work():
                pass

    @pytest.mark.parametrize("wrong", [[], 3, "counter", TransferCounter])
    def test_into_is_checked(self, wrong):
        with pytest.raises(TypeError, match=r"count_transfers\(into=...\) must be a TransferCounter or None, got "):
            count_transfers(wrong)

    def test_decorates_callables_only(self):
        with pytest.raises(errors.ArgumentTypeError, match=r"^\w+: expected a function to decorate, got 3\.$"):
            count_transfers()(3)

    @pytest.mark.parametrize(
        "block", [count_transfers(), assert_no_transfers(), forbid_transfers(syncs=True), allow_transfers()]
    )
    def test_blocks_pickle(self, block):
        with block:
            copied = pickle.loads(pickle.dumps(block))
        assert not _transfers.watching()
        with copied:
            assert _transfers.watching()
        assert not _transfers.watching()


class TestAssertNoTransfers:
    @pytest.mark.parametrize("kind", ["to_host", "to_device", "kernel_conversion", "fallback", "mpi"])
    def test_transfers_are_reported_at_the_end(self, kind):
        block = assert_no_transfers()
        counter = block.__enter__()
        transfer(kind)
        with pytest.raises(AssertionError, match=kind) as caught:
            block.__exit__(None, None, None)
        assert counter.report() in str(caught.value)
        assert here(-4) in str(caught.value)
        assert isinstance(caught.value, errors.TransferError)

    @pytest.mark.parametrize("syncs", [False, True])
    def test_device_copies_are_free(self, syncs):
        with assert_no_transfers(syncs=syncs) as counter:
            transfer("device_copy")
        assert counter.device_copies == 1

    def test_waits_count_on_request(self):
        with assert_no_transfers() as counter:
            transfer("sync")
            transfer("sync", implicit=True)
        assert counter.syncs == 2
        with pytest.raises(AssertionError, match="no transfers and no waits"), assert_no_transfers(syncs=True):
            transfer("sync")

    def test_an_exception_of_the_block_comes_first(self):
        with pytest.raises(KeyError), assert_no_transfers():
            raise KeyError(transfer())

    def test_decorator(self):
        @assert_no_transfers()
        def work(n):
            for _ in range(n):
                transfer()
            return n

        assert work(0) == 0
        with pytest.raises(AssertionError):
            work(1)
        assert work(0) == 0

    def test_outer_counter_sees_the_events(self):
        with count_transfers() as counter, pytest.raises(AssertionError), assert_no_transfers():
            transfer()
        assert counter.total == 1


class TestForbidTransfers:
    @pytest.mark.parametrize("kind", ["to_host", "to_device", "kernel_conversion", "fallback"])
    def test_raises_before_the_transfer(self, kind):
        with count_transfers() as counter, pytest.raises(errors.TransferError), forbid_transfers():
            transfer(kind)
        assert counter.events == []

    def test_text_names_transfer_line_block_and_way_out(self):
        with pytest.raises(AssertionError) as caught, forbid_transfers():
            transfer(nbytes=24, description="to_numpy(shape=(3,), dtype=float64)")
        assert str(caught.value) == (
            f"{here(-2)}: to_numpy(shape=(3,), dtype=float64) (to_host of 24 bytes) is forbidden by forbid_transfers() "
            f"at {here(-4)}; move it out of that block, or mark it as wanted by allow_transfers()"
        )

    def test_size_may_be_unknown_and_the_read_implicit(self):
        with pytest.raises(AssertionError, match=r"float\(device array\) \(sync, implicit\) is"), forbid_transfers():
            transfer("sync", None, "float(device array)", implicit=True)

    def test_waits(self):
        with count_transfers() as counter, forbid_transfers():
            transfer("sync")
            transfer("device_copy")
        assert len(counter.events) == 2
        with pytest.raises(AssertionError, match="synchronize"), forbid_transfers(syncs=True):
            transfer("sync", None, "synchronize()")
        with forbid_transfers(syncs=True):
            transfer("device_copy")

    def test_free_again_outside(self):
        with pytest.raises(KeyError), forbid_transfers():
            raise KeyError
        transfer()

    def test_nested_blocks_all_hold(self):
        with forbid_transfers(syncs=True), forbid_transfers():
            with pytest.raises(AssertionError):
                transfer("sync")
            with pytest.raises(AssertionError):
                transfer("to_host")
        with forbid_transfers():
            with forbid_transfers(syncs=True), pytest.raises(AssertionError):
                transfer("sync")
            transfer("sync")

    def test_allow_inside(self):
        with count_transfers() as counter, forbid_transfers(syncs=True):
            with allow_transfers():
                transfer()
                transfer("sync")
                with forbid_transfers(), pytest.raises(AssertionError):
                    transfer()
            with pytest.raises(AssertionError):
                transfer()
        assert len(counter.events) == 2

    def test_decorators(self):
        @allow_transfers()
        def output():
            transfer()
            return 1

        @forbid_transfers()
        def step(bad):
            if bad:
                transfer()
            return output()

        assert step(False) == 1
        with pytest.raises(AssertionError, match="forbidden"):
            step(True)


def test_nothing_is_recorded_without_a_counter():
    assert not _transfers.watching()
    _transfers.record("to_host", "copy", 8)
    with forbid_transfers():
        assert _transfers.watching()
    with count_transfers() as counter:
        pass
    assert counter.events == []


def test_inner_copies_of_a_recorded_one_are_not_counted():
    with count_transfers() as counter, count_transfers(all_threads=True) as everywhere, forbid_transfers():
        with _transfers.own():
            assert not _transfers.watching()
            transfer()
        assert _transfers.watching()
    assert counter.events == everywhere.events == []


def test_numpy_integers_as_sizes():
    with count_transfers() as counter:
        transfer(nbytes=np.int64(16))
    assert counter.bytes_to_host == 16
    assert json.loads(counter.to_json())["events"][0]["nbytes"] == 16
