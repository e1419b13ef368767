"""Transfer budgets: phases, rules, and every message."""

import copy
import pickle

import pytest

from cunumpy import _transfers, errors
from cunumpy.profiling import TransferBudget, TransferCounter, TransferEvent, count_transfers
from recorded_transfers import here, transfer


@pytest.fixture
def budget():
    return TransferBudget()


class TestPhases:
    def test_counts_events_and_calls(self, budget):
        for _ in range(3):
            with budget.phase("step") as counter:
                transfer()
        assert counter is budget["step"] is budget.phases["step"]
        assert budget.calls == {"step": 3}
        assert budget["step"].to_host == 3

    def test_item_creates_a_counter(self, budget):
        assert isinstance(budget["later"], TransferCounter)
        assert budget.calls == {}
        with budget.phase("later") as counter:
            pass
        assert counter is budget["later"]

    def test_event_goes_to_the_innermost_phase_only(self, budget):
        with budget.phase("outer"):
            transfer()
            with budget.phase("inner"):
                transfer("to_device")
            transfer()
        assert (budget["outer"].to_host, budget["outer"].to_device) == (2, 0)
        assert (budget["inner"].to_host, budget["inner"].to_device) == (0, 1)

    def test_counters_and_other_budgets_see_all(self, budget):
        other = TransferBudget()
        with count_transfers() as counter, other.phase("all"), budget.phase("outer"), budget.phase("inner"):
            transfer()
        assert counter.total == other["all"].total == budget["inner"].total == 1
        assert budget["outer"].total == 0

    def test_recursion_is_one_call(self, budget):
        @budget.count("step")
        def step(depth):
            transfer()
            if depth:
                with budget.phase("other"):
                    step(depth - 1)

        step(2)
        assert budget.calls == {"step": 1, "other": 1}
        assert budget["step"].to_host == 3

    def test_exception_keeps_call_and_events(self, budget):
        with pytest.raises(KeyError), budget.phase("step"):
            raise KeyError(transfer())
        transfer()
        assert budget.calls == {"step": 1}
        assert budget["step"].total == 1
        assert not _transfers.watching()

    def test_decorator_keeps_metadata(self, budget):
        @budget.count("step")
        def step(x):
            """Doc."""
            return x

        assert step(4) == 4
        assert (step.__name__, step.__doc__) == ("step", "Doc.")
        assert budget.calls == {"step": 1}

    @pytest.mark.parametrize("name", [3, None, ("a",)])
    def test_names_are_strings(self, budget, name):
        for function in (budget.phase, budget.count, budget.require, budget.__getitem__):
            with pytest.raises(errors.ArgumentTypeError, match="the name of a phase must be a string, got "):
                function(name)
        assert budget.phases == {}


class TestStartAndStop:
    def test_nothing_is_counted_before_the_start(self):
        budget = TransferBudget(started=False)
        assert not budget.started
        with budget.phase("step") as counter:
            transfer()
        assert (budget.calls, counter.total) == ({}, 0)
        budget.start()
        with budget.phase("step"):
            transfer()
        assert (budget.calls, counter.total) == ({"step": 1}, 1)

    def test_stop_takes_effect_at_once(self, budget):
        with budget.phase("step") as counter:
            transfer()
            budget.stop()
            transfer()
            budget.start()
            transfer()
        assert counter.total == 2

    def test_phase_entered_while_stopped_is_charged_to_none(self, budget):
        with budget.phase("outer"):
            budget.stop()
            with budget.phase("inner"):
                budget.start()
                transfer()
            transfer()
        assert budget.calls == {"outer": 1}
        assert (budget["outer"].total, budget["inner"].total) == (1, 0)

    def test_uncounted_entry_does_not_hide_a_counted_one(self, budget):
        budget.stop()
        with budget.phase("step"):
            budget.start()
            with budget.phase("step"):
                transfer()
        assert budget.calls == {"step": 1}
        assert budget["step"].total == 1

    def test_other_counters_count_all_the_same(self):
        budget = TransferBudget(started=False)
        with count_transfers() as counter, budget.phase("step"):
            transfer()
        assert counter.total == 1


def violations(events, *args, calls_made=0, **rule):
    budget = TransferBudget()
    for _ in range(calls_made):
        with budget.phase("p"):
            pass
    budget["p"].events.extend(events)
    budget.require("p", *args, **rule)
    return budget.violations()


HOST = TransferEvent("to_host", "copy", "run.py:3", 24)


class TestRules:
    def test_nothing_allowed(self):
        assert violations([HOST]) == ["p: not allowed: run.py:3: to_host: copy"]

    def test_ignored_by_default(self):
        events = [TransferEvent("sync", "s", "w"), TransferEvent("device_copy", "d", "w")]
        assert violations(events) == []
        assert violations(events, ignore=()) == ["p: not allowed: w: sync: s", "p: not allowed: w: device_copy: d"]
        assert violations(events, ignore=["sync"]) == ["p: not allowed: w: device_copy: d"]

    def test_allowed_kinds_are_checked_even_if_ignored(self):
        events = [TransferEvent("sync", "s", "w")] * 2
        assert violations(events, {"sync": {"max_count": 1}}) == ["p: 2 sync > max_count=1"]

    @pytest.mark.parametrize("limits", [None, {}])
    def test_allowed_without_limit(self, limits):
        assert violations([HOST] * 9, {"to_host": limits}) == []

    def test_max_nbytes(self):
        assert violations([HOST], {"to_host": {"max_nbytes": 24}}) == []
        assert (
            violations([HOST, HOST], {"to_host": {"max_nbytes": 23}})
            == ["p: 24 bytes > max_nbytes=23: run.py:3: to_host: copy"] * 2
        )
        unknown = TransferEvent("to_host", "copy", "w")
        assert violations([unknown], {"to_host": {"max_nbytes": 23}}) == [
            "p: unknown bytes > max_nbytes=23: w: to_host: copy"
        ]

    def test_max_count(self):
        assert violations([HOST] * 2, {"to_host": {"max_count": 2}}) == []
        assert violations([HOST] * 2, {"to_host": {"max_count": 1}}) == ["p: 2 to_host > max_count=1"]

    def test_max_total_bytes(self):
        events = [HOST, HOST, TransferEvent("to_host", "copy", "w")]
        assert violations(events, {"to_host": {"max_total_bytes": 48}}) == []
        assert violations(events, {"to_host": {"max_total_bytes": 40}}) == [
            "p: 48 bytes of to_host > max_total_bytes=40"
        ]

    def test_limits_may_be_floats(self):
        assert violations([HOST], {"to_host": {"max_nbytes": 1e6, "max_count": float("inf")}}) == []

    @pytest.mark.parametrize("flag", ["blocking", "implicit"])
    @pytest.mark.parametrize("value", [False, True])
    def test_required_flags(self, flag, value):
        event = TransferEvent("to_host", "copy", "w", **{flag: value})
        assert violations([event], {"to_host": {flag: value}}) == []
        assert violations([event], {"to_host": {flag: not value}}) == [f"p: {flag}={value} not allowed: {event}"]

    def test_calls(self):
        assert violations([], calls=0) == []
        assert violations([], calls=2, calls_made=2) == []
        assert violations([], calls=0, calls_made=1) == ["p: 1 call(s), expected 0"]
        budget = TransferBudget()
        budget.require("never", calls=1)
        assert budget.violations() == ["never: 0 call(s), expected 1"]

    def test_order_of_rules_and_replacement(self):
        budget = TransferBudget()
        budget.require("b", calls=1)
        budget.require("a", calls=1)
        budget.require("b", calls=2)
        assert budget.violations() == ["b: 0 call(s), expected 2", "a: 0 call(s), expected 1"]
        budget.require("b")
        assert budget.violations() == ["a: 0 call(s), expected 1"]

    @pytest.mark.parametrize(
        ("options", "kind", "text"),
        [
            (
                {"allow": {"to_hots": None}},
                ValueError,
                "unknown transfer kind 'to_hots' in allow; the kinds are to_host, ",
            ),
            ({"allow": {3: None}}, ValueError, "unknown transfer kind 3 in allow"),
            (
                {"allow": {"to_host": {"max_bytes": 1}}},
                ValueError,
                "unknown limits of 'to_host': 'max_bytes'; the limits are",
            ),
            ({"allow": ["to_host"]}, TypeError, "allow must map kinds to their limits"),
            ({"allow": "to_host"}, TypeError, "allow must map kinds to their limits"),
            ({"allow": {"to_host": 3}}, TypeError, "the limits of 'to_host' must be a mapping"),
            (
                {"allow": {"to_host": {"blocking": None}}},
                TypeError,
                "blocking of 'to_host' must be True or False, got None",
            ),
            ({"allow": {"to_host": {"implicit": 1}}}, TypeError, "implicit of 'to_host' must be True or False, got 1"),
            (
                {"allow": {"to_host": {"max_count": "3"}}},
                TypeError,
                "max_count of 'to_host' must be an integer, got '3'",
            ),
            (
                {"allow": {"to_host": {"max_count": True}}},
                TypeError,
                "max_count of 'to_host' must be an integer, got True",
            ),
            (
                {"allow": {"to_host": {"max_nbytes": -1}}},
                ValueError,
                "max_nbytes of 'to_host' must not be negative, got -1",
            ),
            ({"allow": {"to_host": {"max_nbytes": float("nan")}}}, ValueError, "must not be negative, got nan"),
            ({"ignore": ("snyc",)}, ValueError, "unknown transfer kind 'snyc' in ignore"),
            ({"ignore": "sync"}, TypeError, r"ignore must be a sequence of kinds, as \('sync',\), got 'sync'"),
            ({"ignore": None}, TypeError, "ignore must be a sequence of kinds"),
            ({"calls": -1}, ValueError, "calls must not be negative, got -1"),
            ({"calls": 1.0}, TypeError, "calls must be an integer, got 1.0"),
            ({"calls": True}, TypeError, "calls must be an integer, got True"),
        ],
    )
    def test_arguments_are_checked_and_the_old_rule_stays(self, budget, options, kind, text):
        budget.require("p", calls=7)
        with pytest.raises(kind, match=r"^TransferBudget\.require\(\): .*" + text) as caught:
            budget.require("p", **options)
        assert isinstance(caught.value, errors.CuNumpyError)
        assert budget.violations() == ["p: 0 call(s), expected 7"]


class TestReport:
    def test_report_and_check(self, budget):
        budget.check()
        assert budget.report() == ""
        with budget.phase("load"):
            pass
        with budget.phase("step"):
            transfer(description="to_numpy()")
        line = here(-1)
        phases = [
            "load (1 call(s)):",
            *("  " + text for text in budget["load"].report().splitlines()),
            "step (1 call(s)):",
            *("  " + text for text in budget["step"].report().splitlines()),
        ]
        assert budget.report().splitlines() == phases
        budget.require("step", calls=2)
        broken = [
            "broken rules:",
            "  step: 1 call(s), expected 2",
            f"  step: not allowed: {line}: to_host: to_numpy()",
        ]
        assert budget.report().splitlines() == phases + broken
        with pytest.raises(AssertionError) as caught:
            budget.check()
        assert isinstance(caught.value, errors.TransferError)
        assert str(caught.value) == f"transfer budget exceeded:\n{budget.report()}"

    def test_repr(self, budget):
        with budget.phase("step"):
            transfer()
        budget.require("step")
        assert repr(budget) == "TransferBudget(started=True, calls={'step': 1}, rules=1, violations=1)"

    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
    def test_copies_and_pickles(self, budget, duplicate):
        budget.require("step", calls=2)
        with budget.phase("step"):
            transfer()
        other = duplicate(budget)
        with other.phase("step"):
            pass
        assert (budget.calls, other.calls) == ({"step": 1}, {"step": 2})
        assert len(other.violations()) == 1
