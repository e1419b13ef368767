"""The container converter: structure, identity and sharing are kept."""

from __future__ import annotations

import collections
import copy
import dataclasses
import subprocess
import sys
import typing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cunumpy import _containers
from cunumpy.errors import ArgumentError, ArgumentTypeError

Pair = collections.namedtuple("Pair", "a b")


class TypedPair(typing.NamedTuple):
    a: typing.Any
    b: typing.Any = None


@dataclasses.dataclass
class Plain:
    a: typing.Any
    b: typing.Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenSlots:
    a: typing.Any
    b: typing.Any = None


def negated(leaf: typing.Any) -> typing.Any:
    return -leaf if isinstance(leaf, np.ndarray) else leaf


def convert(value: typing.Any, leaf: typing.Callable[[typing.Any], typing.Any] = negated) -> typing.Any:
    return _containers.convert(value, leaf, {}, "f")


leaves = st.one_of(
    st.none(),
    st.integers(),
    st.text(max_size=2),
    st.builds(lambda n: np.arange(float(n)), st.integers(0, 3)),
    st.frozensets(st.integers(), max_size=2),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text(max_size=2), st.integers()), inner, max_size=3),
        st.dictionaries(st.text(max_size=2), inner, max_size=3).map(collections.OrderedDict),
        st.builds(Pair, inner, inner),
        st.builds(Plain, inner, inner),
        st.builds(FrozenSlots, inner, inner),
    ),
    max_leaves=12,
)


def flat(value: typing.Any) -> list[tuple[type, typing.Any]]:
    """Return the types of containers and the leaves, in order: an independent walk."""
    if isinstance(value, (list, tuple)):
        return [(type(value), len(value)), *(entry for item in value for entry in flat(item))]
    if isinstance(value, dict):
        return [(type(value), list(value)), *(entry for item in value.values() for entry in flat(item))]
    if isinstance(value, (Plain, FrozenSlots)):
        return [(type(value), 2), *flat(value.a), *flat(value.b)]
    return [(type(value), value)]


@given(trees)
def test_nothing_to_convert_gives_the_same_object(tree: typing.Any) -> None:
    assert convert(tree, lambda leaf: leaf) is tree


@given(trees)
def test_only_arrays_change_and_the_structure_stays(tree: typing.Any) -> None:
    before = copy.deepcopy(flat(tree))
    result = flat(convert(tree))
    assert len(result) == len(before)
    for (old_type, old), (new_type, new) in zip(before, result, strict=True):
        assert new_type is old_type
        if isinstance(old, np.ndarray):
            np.testing.assert_array_equal(new, -old)
        else:
            assert new == old
    for (_, kept), (_, original) in zip(flat(tree), before, strict=True):
        np.testing.assert_array_equal(kept, original)  # the source is not touched


@given(trees)
def test_there_and_back(tree: typing.Any) -> None:
    for (_, old), (_, new) in zip(flat(tree), flat(convert(convert(tree))), strict=True):
        np.testing.assert_array_equal(new, old)


@given(trees)
def test_holds_agrees_with_a_plain_walk(tree: typing.Any) -> None:
    expected = any(isinstance(leaf, np.ndarray) for _, leaf in flat(tree))
    assert _containers.holds([tree], lambda leaf: isinstance(leaf, np.ndarray)) is expected


def test_an_object_that_appears_twice_stays_one_object() -> None:
    array, shared = np.ones(2), [np.zeros(2)]
    first, second, third = convert([array, {"again": array}, (shared, shared)])
    assert first is second["again"]
    assert third[0] is third[1]
    assert third[0] is not shared


def test_one_memo_serves_several_values() -> None:
    array, memo = np.ones(2), {}
    first = _containers.convert([array], negated, memo, "f")
    second = _containers.convert({"x": array}, negated, memo, "f")
    assert first[0] is second["x"]


def test_unchanged_parts_are_not_copied() -> None:
    untouched = ["text", 1]
    result = convert([untouched, np.ones(1)])
    assert result[0] is untouched


@pytest.mark.parametrize("kind", [Pair, TypedPair, Plain, FrozenSlots])
def test_records_keep_their_type(kind: type) -> None:
    result = convert(kind(np.ones(2), "text"))
    assert type(result) is kind
    np.testing.assert_array_equal(result.a, [-1.0, -1.0])
    assert result.b == "text"


def test_dict_subclasses_keep_what_they_are() -> None:
    ordered = convert(collections.OrderedDict([("z", np.ones(1)), ("a", 1)]))
    assert type(ordered) is collections.OrderedDict
    assert list(ordered) == ["z", "a"]
    default = convert(collections.defaultdict(list, x=np.ones(1)))
    assert default["missing"] == []
    assert default["x"] == -1.0


@pytest.mark.needs("scipy")
def test_results_of_scipy() -> None:
    from scipy.optimize import OptimizeResult
    from scipy.stats import ttest_1samp

    result = convert(OptimizeResult(x=np.ones(2), success=True))
    assert type(result) is OptimizeResult
    np.testing.assert_array_equal(result.x, [-1.0, -1.0])
    test = ttest_1samp(np.arange(12.0).reshape(4, 3), 0.0)  # a named tuple with its own __new__ and more attributes
    opposite = convert(test)
    assert type(opposite) is type(test)
    np.testing.assert_array_equal(opposite.statistic, -test.statistic)
    np.testing.assert_array_equal(opposite.df, test.df)


class Numbered(list):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def test_list_subclasses_keep_their_attributes() -> None:
    numbered = Numbered(7)
    numbered.append(np.ones(1))
    result = convert(numbered)
    assert type(result) is Numbered
    assert result.number == 7
    assert result[0] == -1.0
    assert numbered[0] == 1.0


made: list[str] = []


@dataclasses.dataclass(frozen=True)
class Counted:
    given: typing.Any
    derived: typing.Any = dataclasses.field(init=False)
    unset: typing.Any = dataclasses.field(init=False)
    shared: typing.ClassVar[np.ndarray] = np.ones(1)

    def __post_init__(self) -> None:
        made.append("post_init")
        object.__setattr__(self, "derived", self.given * 2)


def test_dataclasses_are_rebuilt_without_their_init() -> None:
    value = Counted(np.ones(2))
    made.clear()
    result = convert(value)
    assert made == []
    np.testing.assert_array_equal(result.given, [-1.0, -1.0])
    np.testing.assert_array_equal(result.derived, [-2.0, -2.0])  # init=False fields too
    assert not hasattr(result, "unset")
    assert result.shared is Counted.shared
    np.testing.assert_array_equal(value.given, [1.0, 1.0])


def test_dataclass_types_and_other_objects_are_leaves() -> None:
    class Holder:
        a = np.ones(1)

    holder = Holder()
    assert convert([Plain, holder])[0] is Plain
    assert convert(holder) is holder
    assert not _containers.holds([Plain, holder, {1, 2}], lambda leaf: isinstance(leaf, np.ndarray))


def test_a_cycle_is_searched_and_converted_to_a_cycle() -> None:
    cycle: list[typing.Any] = [np.ones(1)]
    cycle.append({"up": cycle})
    assert _containers.holds(cycle, lambda leaf: isinstance(leaf, np.ndarray))
    assert not _containers.holds(cycle, lambda leaf: isinstance(leaf, set))
    result = convert(cycle)
    assert result is not cycle
    assert result[0] == -1.0
    assert result[1]["up"] is result
    assert cycle[0] == 1.0
    assert cycle[1]["up"] is cycle


def test_a_cycle_in_which_nothing_changes_stays_as_it_is() -> None:
    cycle: list[typing.Any] = ["text"]
    cycle += [cycle, {"up": (cycle,)}]
    assert convert(cycle) is cycle
    array = np.ones(1)
    result = convert([cycle, array, cycle])
    assert result[0] is result[2] is cycle
    assert result[1] is not array


@pytest.mark.parametrize("position", [0, 3])
def test_a_cycle_stays_one_wherever_the_array_is(position: int) -> None:
    inner: dict[str, typing.Any] = {}
    plain = Plain(inner)
    cycle: list[typing.Any] = [inner, (inner,), plain]
    inner["up"] = cycle
    cycle.insert(position, np.ones(1))
    for up in (convert([cycle])[0], convert(inner)["up"], convert((cycle,))[0], convert(plain).a["up"]):
        array = up.pop(position)
        assert array == -1.0
        new, (same,), holder = up
        assert new is same is holder.a is not inner
        assert new["up"] is up is not cycle
        assert type(holder) is Plain


def test_a_tuple_that_holds_itself_through_a_list_stays_one() -> None:
    knot: list[typing.Any] = [np.ones(1)]
    knot.append((knot, "text"))
    first, second = convert(knot)[1], convert(knot[1])
    for result in (first, second):
        assert result[0][1] is result
        assert result[0][0] == -1.0


def test_a_container_that_can_not_be_copied_is_named() -> None:
    class Stubborn(dict):
        def __copy__(self):
            raise RuntimeError("no")

    class Same(dict):
        def __copy__(self):
            return self

    with pytest.raises(ArgumentTypeError, match="f: a Stubborn holds arrays to convert, but can't be copied: Runtime"):
        convert(Stubborn(a=np.ones(1)))
    with pytest.raises(ArgumentTypeError, match="the object itself"):
        convert(Same(a=np.ones(1)))
    assert convert(Stubborn(a=1))["a"] == 1


def test_a_failing_leaf_leaves_the_memo_clean() -> None:
    memo: dict[int, tuple[object, object]] = {}

    def fail(leaf: object) -> object:
        raise ValueError("leaf")

    with pytest.raises(ValueError, match="leaf"):
        _containers.convert([{1, 2}], fail, memo, "f")
    assert memo == {}


class Slotted:
    __slots__ = ("__private", "public", "unset")

    def __init__(self, array: np.ndarray) -> None:
        self.__private = array
        self.public = [array]

    @property
    def private(self) -> np.ndarray:
        return self.__private


class Mixed(Slotted):
    def __init__(self, array: np.ndarray) -> None:
        super().__init__(array)
        self.own = {"array": array}


@pytest.mark.parametrize("kind", [Slotted, Mixed])
def test_classes_are_opened_on_demand(kind: type) -> None:
    value = kind(np.ones(1))
    assert convert(value) is value
    result = _containers.convert(value, negated, {}, "f", lambda cls: issubclass(cls, Slotted))
    assert type(result) is kind
    assert result.private is result.public[0]
    assert result.private == -1.0
    assert value.private == 1.0
    assert not hasattr(result, "unset")
    if kind is Mixed:
        assert result.own["array"] is result.private
    found = list(_containers.leaves([value, value], lambda cls: cls is kind))
    assert all(leaf is value.private for leaf in found)


def test_dataclasses_is_not_imported_for_values_that_are_none() -> None:
    code = (
        "import sys\n"
        "from cunumpy import _containers\n"
        "_containers.convert([{'a': (1, {2})}], lambda leaf: 3, {}, 'f')\n"
        "sys.exit('dataclasses' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("hold", [lambda inner: [inner], lambda inner: (inner,), lambda inner: {"a": inner}, Plain])
def test_nesting_beyond_pythons_limit(hold) -> None:
    value: typing.Any = np.ones(2)
    nothing: typing.Any = {1}
    for _ in range(5000):
        value, nothing = hold(value), hold(nothing)
    assert _containers.holds([value], lambda leaf: isinstance(leaf, np.ndarray))
    assert convert(nothing) is nothing  # nothing to convert
    with pytest.raises(ArgumentError, match=r"^f: an argument or result is a \w+ .* nested too deeply .* flat list"):
        convert(value)
