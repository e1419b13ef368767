"""Host calls with device arrays: what the function sees, what comes back, and what is recorded."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import cupy
import numpy as np
import pytest

import cunumpy as xp
from cunumpy._host_call import host_call_inplace
from cunumpy.errors import ArgumentError, ArgumentTypeError, TransferError

Pair = collections.namedtuple("Pair", "u v")


@dataclasses.dataclass(frozen=True)
class Record:
    field: Any
    text: str = "kept"


@pytest.fixture(params=["numpy", "cupy"])
def backend(request):
    with xp.use_backend(request.param):
        yield request.param


def device(*values: float) -> Any:
    return cupy.asarray(np.array(values))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda x: x,
        lambda x: (1, x),
        lambda x: [x, "text"],
        lambda x: {"a": {"b": x}},
        lambda x: Pair(x, 2),
        lambda x: Record(x),
        lambda x: collections.OrderedDict(a=[(x,)]),
    ],
)
def test_arrays_are_found_at_any_depth(backend, wrap) -> None:
    def found(value: Any) -> list[Any]:
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, Record):
            value = [value.field]
        return [leaf for item in value for leaf in found(item)] if isinstance(value, (list, tuple)) else [value]

    def check(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        assert xp.get_backend() == "numpy"
        leaves = found([args, kwargs])
        assert not any(isinstance(leaf, cupy.ndarray) for leaf in leaves)
        arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
        assert len(arrays) == 2
        assert arrays[0] is arrays[1]
        np.testing.assert_array_equal(arrays[0], [1.0, 2.0])
        return args

    x = device(1.0, 2.0)
    argument = wrap(x)
    with xp.profiling.count_transfers() as counter:
        [result] = xp.host_call(check, argument, key=argument)
    assert type(result) is type(argument)
    [array] = [leaf for leaf in found(result) if isinstance(leaf, cupy.ndarray)]
    assert array is not x
    np.testing.assert_array_equal(array.get(), [1.0, 2.0])
    assert [event.kind for event in counter.events] == ["to_host", "to_device"]  # one array, once each way
    assert xp.get_backend() == backend


def test_what_is_returned_for_what(backend) -> None:
    def fun(x: np.ndarray) -> dict[str, Any]:
        return {
            "array": x * 2,
            "zero-d": np.array(1.5),
            "scalar": x.sum(),
            "python": 3,
            "text": np.array(["a"]),
            "masked": np.ma.masked_less(x, 1.5),
            "long": x.astype("g"),
            "objects": np.array([None]),
            "fields": np.zeros(1, [("a", ">f8")]),
            "record": Record(x),
            "none": None,
        }

    result = xp.host_call(fun, device(1.0, 2.0))
    on_device = {name for name, value in result.items() if isinstance(value, cupy.ndarray)}
    assert on_device == {"array", "zero-d", "fields"} | ({"long"} if np.dtype("g") == np.dtype("d") else set())
    assert result["masked"].mask.tolist() == [True, False]
    assert isinstance(result["scalar"], np.float64)
    assert isinstance(result["text"], np.ndarray)
    assert isinstance(result["record"].field, cupy.ndarray)
    assert result["zero-d"].shape == ()


def test_without_device_arrays_results_stay_on_the_host(backend) -> None:
    x = np.ones(2)
    with xp.profiling.forbid_transfers():
        result, active, same = xp.host_call(lambda a: (a + 1, xp.get_backend(), a is x), x)
    assert type(result) is np.ndarray
    assert active == "numpy"
    assert same
    assert xp.get_backend() == backend


def test_untouched_arguments_are_the_same_objects(backend) -> None:
    host, nested = np.ones(2), [1, {"a": "b"}]

    def check(x, a, b):
        assert a is host
        assert b is nested

    xp.host_call(check, device(1.0), host, nested)
    cycle: list[Any] = [1]
    cycle.append(cycle)
    assert xp.host_call(lambda c: c, cycle) is cycle


def test_writes_do_not_reach_the_device_unless_asked_for(backend) -> None:
    x = device(3.0, 1.0, 2.0)
    xp.host_call(np.ndarray.sort, x)
    np.testing.assert_array_equal(x.get(), [3.0, 1.0, 2.0])
    with xp.profiling.count_transfers() as counter:
        host_call_inplace(np.ndarray.sort, x)
    np.testing.assert_array_equal(x.get(), [1.0, 2.0, 3.0])
    assert [(event.kind, event.description) for event in counter.events] == [
        ("to_host", "to_numpy(shape=(3,), dtype=float64)"),
        ("to_device", "host_call_inplace(shape=(3,), dtype=float64)"),
    ]


def test_inplace_handles_views_scalars_and_results(backend) -> None:
    base, scalar = cupy.asarray(np.zeros((4, 2))), cupy.asarray(np.array(1.0))
    left, right = base[:, 0], base[:, 1]

    def fun(a, b, s):
        a += 1.0
        b += 2.0
        s[...] = 5.0
        return {"a": a, "new": a + b}

    result = host_call_inplace(fun, left, b=right, s={"s": scalar}["s"])
    np.testing.assert_array_equal(base.get(), [[1.0, 2.0]] * 4)
    assert scalar.get() == 5.0
    assert result["a"] is left
    np.testing.assert_array_equal(result["new"].get(), [3.0] * 4)


def test_inplace_refuses_arrays_that_share_memory(backend) -> None:
    base = device(0.0, 1.0, 2.0)
    called = []
    with pytest.raises(ArgumentError, match=r"share memory \(shapes \(3,\) and \(2,\)\).*pass one"):
        host_call_inplace(lambda *args: called.append(args), base, [base[1:]])
    assert called == []
    host_call_inplace(lambda a, b: a.__iadd__(1.0), base, base)  # the same array twice is one array
    np.testing.assert_array_equal(base.get(), [1.0, 2.0, 3.0])


def test_a_failing_function_changes_nothing(backend) -> None:
    x = device(1.0)

    def fail(a):
        a[...] = 9.0
        raise KeyError("inside")

    for call in (xp.host_call, host_call_inplace):
        with pytest.raises(KeyError, match="inside"):
            call(fail, x)
    assert x.get() == 1.0
    assert xp.get_backend() == backend


def test_a_cycle_with_device_arrays_is_converted(backend) -> None:
    cycle: list[Any] = [device(1.0)]
    cycle.append(cycle)

    def check(given: list[Any]) -> list[Any]:
        assert given[1] is given
        assert isinstance(given[0], np.ndarray)
        return given

    result = xp.host_call(check, cycle)
    assert result[1] is result
    assert isinstance(result[0], cupy.ndarray)


def test_a_cycle_without_device_arrays_is_passed_and_returned(backend) -> None:
    cycle: list[Any] = [np.ones(1), "text"]
    cycle.append(Record(cycle))
    assert xp.host_call(lambda x, given: given is cycle, device(1.0), cycle)
    assert xp.host_call(lambda given: given[1] is cycle, [device(1.0), cycle])
    node: list[Any] = []
    node.append({"up": node})
    assert xp.host_call(lambda x: node, device(1.0)) is node


def test_unfinished_results_are_refused(backend) -> None:
    def generate(x):
        yield x

    with pytest.raises(ArgumentTypeError, match="'generate' returned a generator, whose body would run after the call"):
        xp.host_call(generate, device(1.0))


def test_nothing_is_called_where_transfers_are_forbidden(backend) -> None:
    called = []
    with xp.profiling.forbid_transfers(), pytest.raises(TransferError):
        xp.host_call(called.append, device(1.0))
    assert called == []


@dataclasses.dataclass
class Solver:
    """A dataclass with device arrays: as an argument it would be copied, as the object of a method it must not be."""

    state: Any

    @xp.evaluate_on_host
    def step(self, x):
        assert isinstance(self.state, cupy.ndarray)
        self.last = x
        return x + 1.0

    @xp.evaluate_on_host(inplace=True)
    def scale(self, x):
        x *= 2.0


def test_methods_change_their_own_object(backend) -> None:
    solver, x = Solver(device(0.0)), device(1.0, 2.0)
    result = solver.step(x)
    np.testing.assert_array_equal(result.get(), [2.0, 3.0])
    np.testing.assert_array_equal(solver.last, [1.0, 2.0])
    solver.scale(x)
    np.testing.assert_array_equal(x.get(), [2.0, 4.0])


class Setup:
    @xp.setup_on_host
    def __init__(self, x):
        self.x, self.backend = x, xp.get_backend()


class ConvertedSetup:
    @xp.setup_on_host(convert=True)
    def __init__(self, x, *, more):
        self.x, self.more, self.backend = x, more, xp.get_backend()


def test_setup_runs_on_the_host(backend) -> None:
    x = device(1.0)
    kept = Setup(x)
    assert kept.x is x
    assert kept.backend == "numpy"
    converted = ConvertedSetup(x, more={"x": x})
    assert isinstance(converted.x, np.ndarray)
    assert converted.more["x"] is converted.x
    assert converted.backend == "numpy"
    assert xp.get_backend() == backend


def test_foreign_device_arrays_are_converted(backend, monkeypatch) -> None:
    from array_kinds import ForeignDeviceArray

    foreign, original = ForeignDeviceArray(np.arange(3.0)), cupy.asarray
    monkeypatch.setattr(
        cupy, "asarray", lambda a, *args, **options: original(getattr(a, "memory", a), *args, **options)
    )
    result = xp.host_call(np.cumsum, foreign)
    np.testing.assert_array_equal(result.get(), [0.0, 1.0, 3.0])
    host_call_inplace(lambda a: a.__imul__(2.0), foreign)
    np.testing.assert_array_equal(foreign.memory.get(), [0.0, 2.0, 4.0])
