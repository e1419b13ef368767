"""Host kernels on device arrays: the same as on NumPy arrays, with containers, aliases and identity kept."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cunumpy as xp
from cunumpy.errors import ArgumentError, ArgumentTypeError, TransferError
from cunumpy.kernels import PyccelKernel

Pair = collections.namedtuple("Pair", "u v")


@dataclasses.dataclass
class Open:
    a: Any
    b: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: Any
    b: Any = None


class Stack(list):
    """A subclass of list with an attribute."""

    name = "stack"


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: Any, b: Any = None) -> None:
        self.a, self.b = a, b


class Plain(Slotted):
    """One with `__dict__` and slots."""

    def __init__(self, a: Any, b: Any = None) -> None:
        super().__init__(a)
        self.more = b


HERE = (__name__,)


@pytest.fixture(params=["numpy", "cupy"])
def backend(request):
    with xp.use_backend(request.param):
        yield request.param


def device(*values: float) -> Any:
    return cupy.asarray(np.array(values))


# --- the law: as on NumPy arrays --------------------------------------------------------------------------------------

bases = st.sampled_from([(6,), (3, 4), (2, 3, 2), (0, 3), ()])
wrappers = st.sampled_from(["list", "tuple", "dict", "Pair", "Open", "Frozen", "Stack", "OrderedDict", "default"])


@st.composite
def specs(draw: st.DrawFn) -> Any:
    """Draw how to make arguments: base arrays, views of them, and containers; and where to close a cycle."""
    shapes = draw(st.lists(st.tuples(bases, st.sampled_from("CF")), min_size=1, max_size=3))
    leaf = st.one_of(
        st.tuples(st.just("view"), st.integers(0, len(shapes) - 1), st.integers(0, 4)),
        st.tuples(st.just("scalar"), st.sampled_from([1, 2.5, "text", None])),
    )
    tree = st.recursive(
        leaf, lambda inner: st.tuples(wrappers, st.lists(inner, max_size=3)) | st.tuples(st.just("again"), inner)
    )
    return shapes, draw(st.lists(tree, min_size=1, max_size=4)), draw(st.booleans())


def view(array: Any, way: int) -> Any:
    if array.ndim == 0 or way == 0:
        return array
    return [array[1:], array[::2], array[..., :2], array[::-1]][way - 1]


def build(spec: Any, module: Any) -> tuple[list[Any], list[Any]]:
    """Make the arguments with the arrays of one library; return them and the base arrays."""
    shapes, trees, cyclic = spec
    arrays = [
        module.asarray(np.asarray(np.arange(float(np.prod(shape))).reshape(shape), order=order))
        for shape, order in shapes
    ]
    memo: dict[Any, Any] = {}

    def make(tree: Any) -> Any:
        kind = tree[0]
        if kind == "view":
            key = ("view", tree[1], tree[2])
            return memo.setdefault(key, view(arrays[tree[1]], tree[2]))
        if kind == "scalar":
            return tree[1]
        if kind == "again":
            key = ("again", repr(tree[1]))
            if key not in memo:
                memo[key] = make(tree[1])
            return memo[key]
        items = [make(item) for item in tree[1]]
        first, second = [*items, None, None][:2]
        named = dict(zip("xyz", items, strict=False))
        return {
            "list": lambda: items,
            "tuple": lambda: tuple(items),
            "dict": lambda: named,
            "Pair": lambda: Pair(first, second),
            "Open": lambda: Open(first, second),
            "Frozen": lambda: Frozen(first, second),
            "Stack": lambda: Stack(items),
            "OrderedDict": lambda: collections.OrderedDict(named),
            "default": lambda: collections.defaultdict(list, named),
        }[kind]()

    args = [make(tree) for tree in trees]
    if cyclic:
        knot = [arrays[0], args]
        knot.append((knot, {"knot": knot}))
        args.append(knot)
    return args, arrays


def kernel(*args: Any) -> Any:
    """Change everything that can be changed, and return some of it and new things; the same for the same arguments."""
    arrays: list[Any] = []
    seen: set[int] = set()

    def visit(value: Any) -> None:
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            arrays.append(value)
            value *= 2.0
            value += len(arrays)
        elif isinstance(value, (list, tuple)):
            for item in list(value):
                visit(item)
            if isinstance(value, list):
                value.append({"new": np.full(2, float(len(arrays))), "old": arrays[-1:]})
                if len(value) > 3:
                    value.reverse()
                    del value[1]
        elif isinstance(value, dict):
            for item in list(value.values()):
                visit(item)
            value["late"] = arrays[0] if arrays else "none"
            if "y" in value:
                value["x"], value["y"] = value.pop("y"), value.get("x")
        elif isinstance(value, (Open, Frozen)):
            visit(value.a)
            visit(value.b)
            if isinstance(value, Open):
                value.b = [value.a, value.b]

    visit(args)
    result = {"first": args[0], "all": arrays, "new": [a + 1.0 for a in arrays]}
    return Pair(result, [a[..., :1] for a in arrays if a.ndim])


def picture(value: Any, array_type: type) -> Any:
    """Describe a structure by values, types and sharing, so that pictures are equal where structures are."""
    numbers: dict[int, int] = {}
    keep: list[Any] = []

    def draw(value: Any) -> Any:
        if value is None or isinstance(value, (str, int, float)):
            return value
        if id(value) in numbers:
            return "again", numbers[id(value)]
        numbers[id(value)] = len(numbers)
        keep.append(value)
        if isinstance(value, (np.ndarray, cupy.ndarray)):
            assert isinstance(value, array_type)
            values = value if isinstance(value, np.ndarray) else value.get()
            return "array", values.shape, values.tolist()
        if isinstance(value, dict):
            return type(value), [(key, draw(item)) for key, item in value.items()]
        if isinstance(value, (list, tuple)):
            return type(value), [draw(item) for item in value]
        return type(value), draw(value.a), draw(value.b)

    return draw(value)


@given(specs())
def test_conversion_is_not_seen(spec: Any) -> None:
    expected_args, expected_arrays = build(spec, np)
    args, arrays = build(spec, cupy)
    expected = kernel(*expected_args)
    assume(expected[0]["all"])  # else nothing is converted
    result = PyccelKernel(kernel)(*args)
    ours, theirs = [args, arrays, result], [expected_args, expected_arrays, expected]
    assert picture(ours, cupy.ndarray) == picture(theirs, np.ndarray)


# --- containers and objects -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Pair, Open, Frozen, Slotted, Plain])
def test_argument_objects_keep_their_type(backend, make: Callable[..., Any]) -> None:
    x, text = device(1.0, 2.0), ["text"]
    given = make(x, text)

    def check(p):
        assert type(p) is type(given)
        assert p is not given
        first = p.u if isinstance(p, Pair) else p.a
        assert isinstance(first, np.ndarray)
        first[0] = 5.0

    PyccelKernel(check, object_modules=HERE)(given)
    assert (given.u if isinstance(given, Pair) else given.a) is x
    np.testing.assert_array_equal(x.get(), [5.0, 2.0])


def test_modules_are_matched_by_whole_components(backend) -> None:
    def run(modules: tuple[str, ...], module: str) -> bool:
        kind = type("Holder", (), {"__module__": module})
        holder = kind()
        holder.array = device(1.0)
        found: list[bool] = []
        PyccelKernel(lambda h: found.append(isinstance(h.array, np.ndarray)), object_modules=modules)(holder)
        return found[0]

    assert run(("my_pkg",), "my_pkg")
    assert run(("my_pkg",), "my_pkg.sub.module")
    assert run(("other", "my_pkg.sub"), "my_pkg.sub")
    assert not run(("my_pkg",), "my_pkg2")
    assert not run(("my_pkg.sub",), "my_pkg")
    assert not run((), "my_pkg")


def test_changes_of_objects_reach_the_callers(backend) -> None:
    def change(obj, frozen, nothing):
        obj.more = obj.a * 2
        del obj.b
        obj.new = "new"
        object.__setattr__(frozen, "b", frozen.a)
        nothing.append(obj.a)

    obj, frozen, empty = Plain(device(1.0)), Frozen(device(2.0)), []
    obj.b = 1
    array = obj.a
    PyccelKernel(change, object_modules=HERE)(obj, frozen, empty)
    assert obj.a is array is empty[0]
    assert isinstance(obj.more, cupy.ndarray)
    assert obj.more.get().tolist() == [2.0]
    assert not hasattr(obj, "b")
    assert obj.new == "new"
    assert frozen.b is frozen.a


def test_unchanged_containers_are_left_alone(backend) -> None:
    class Watched(dict):
        def __setitem__(self, key, value):
            assert self is not given
            super().__setitem__(key, value)

    given = Watched(a=device(1.0), b=[1])
    inner = given["b"]
    PyccelKernel(lambda d: d["a"].__iadd__(1))(given)
    assert given["b"] is inner
    assert given["a"].get() == 2.0


def test_the_order_of_a_dict_is_kept(backend) -> None:
    given = collections.OrderedDict(a=device(1.0), b=2, c=3)
    PyccelKernel(lambda d: (d.move_to_end("a"), d.pop("b"), d.update(z=0)))(given)
    assert list(given) == ["c", "a", "z"]
    assert type(given) is collections.OrderedDict


# --- aliases, identity, memory ----------------------------------------------------------------------------------------


def test_overlapping_views_share_one_copy(backend) -> None:
    base = cupy.asarray(np.zeros((4, 4)))

    def write(row, column, everything):
        assert np.shares_memory(row, everything)
        row[...] = 1.0
        column[...] = 2.0
        assert everything[1, 1] == 2.0

    with xp.profiling.count_transfers() as counter:
        PyccelKernel(write)(base[1], base[:, 1], base)
    expected = np.zeros((4, 4))
    expected[1], expected[:, 1] = 1.0, 2.0
    np.testing.assert_array_equal(base.get(), expected)
    kinds = [event.kind for event in counter.events]
    assert kinds == ["to_host", "kernel_conversion", "to_device"]  # the common memory, once there and once back
    assert counter.bytes_to_host == base.nbytes


def test_only_declared_outputs_are_copied_back_even_from_common_memory(backend) -> None:
    base = device(0.0, 0.0, 0.0, 0.0)

    def write(a, b):
        a += 1.0
        b += 10.0

    PyccelKernel(write, outputs=["b"])(base[:3], base[2:])
    assert base.get().tolist() == [0.0, 0.0, 11.0, 10.0]


def test_interleaved_arrays_are_apart(backend) -> None:
    base = device(0.0, 0.0, 0.0, 0.0)
    shared: list[bool] = []

    def write(a, b):
        shared.append(np.shares_memory(a, b) or not a.flags.c_contiguous)
        a[...], b[...] = 1.0, 2.0

    PyccelKernel(write)(base[::2], base[1::2])
    assert base.get().tolist() == [1.0, 2.0, 1.0, 2.0]
    assert shared == [False]


def test_views_of_other_dtypes_stay_aligned(backend) -> None:
    base = cupy.asarray(np.zeros(9, np.int32))
    wide, narrow = base[1:].view(np.int64), base[:5]

    def write(a, b):
        assert a.flags.aligned == (wide.data.ptr % 8 == 0)
        a[0] = (7 << 32) + 5
        assert b[1] == 5

    PyccelKernel(write)(wide, narrow)
    assert base.get().tolist() == [0, 5, 7, 0, 0, 0, 0, 0, 0]


def test_the_same_array_is_copied_once(backend) -> None:
    x = device(1.0)

    def check(a, b, c):
        assert a is b is c["x"]
        a += 1

    with xp.profiling.count_transfers() as counter:
        PyccelKernel(check)(x, x, c={"x": x})
    assert [event.kind for event in counter.events] == ["to_host", "kernel_conversion", "to_device"]
    assert x.get() == 2.0


def test_returned_arguments_are_the_callers(backend) -> None:
    x, y = device(1.0, 2.0), [device(3.0)]
    new = PyccelKernel(lambda x, y: {"x": x, "y": y, "pair": Pair(y, x[1:]), "n": x.sum(), "t": (x * 2,)})(x, y)
    assert new["x"] is x
    assert new["y"] is y
    assert type(new["pair"]) is Pair
    assert new["pair"].u is y
    assert new["pair"].v.data.ptr == x.data.ptr + 8
    assert isinstance(new["n"], np.float64)
    assert new["t"][0].get().tolist() == [2.0, 4.0]
    assert PyccelKernel(lambda p: p)(given := (x, 1)) is given


def test_orders_of_copies(backend) -> None:
    flags: list[tuple[bool, bool]] = []
    grid = cupy.asarray(np.zeros((3, 4, 5)))
    arrays = [grid, cupy.asarray(np.zeros((3, 4), order="F")), cupy.asarray(np.zeros((6, 8)))[::2, ::2]]
    PyccelKernel(lambda *a: flags.extend((x.flags.c_contiguous, x.flags.f_contiguous) for x in a))(*arrays)
    assert flags == [(True, False), (False, True), (True, False)]


@pytest.mark.parametrize(
    "array",
    [
        cupy.asarray(np.zeros((3, 4))),
        cupy.asarray(np.zeros((3, 4), order="F")),
        cupy.asarray(np.zeros((3, 8)))[:, ::2],
        cupy.asarray(np.zeros(()))[...],
        cupy.asarray(np.zeros((0, 2))),
    ],
    ids=["C", "F", "strided", "0-d", "empty"],
)
def test_every_layout_is_written_in_place(backend, array) -> None:
    expected = np.arange(array.size, dtype=float).reshape(array.shape)
    pointer = array.data.ptr
    PyccelKernel(lambda x: x.__setitem__(..., expected))(array)
    np.testing.assert_array_equal(array.get(), expected)
    assert array.data.ptr == pointer


def test_contiguous_arrays_are_written_without_a_temporary(backend, monkeypatch) -> None:
    def fail(*args, **kwargs):
        raise AssertionError("a temporary device array")

    x = device(1.0, 2.0)
    monkeypatch.setattr(cupy, "asarray", fail)
    PyccelKernel(lambda x: x.__iadd__(1.0))(x)
    assert x.get().tolist() == [2.0, 3.0]


# --- outputs, failures, records ---------------------------------------------------------------------------------------


def two(x, y):
    x += 1.0
    y += 1.0


@pytest.mark.parametrize(
    ("outputs", "written"),
    [(None, "xy"), ((), ""), ([0], "x"), ([-1], "y"), (["y"], "y"), (["x", 1], "xy"), ([0, "x"], "x")],
)
@pytest.mark.parametrize("names", [0, 1, 2])
def test_outputs(backend, outputs, written: str, names: int) -> None:
    x, y = device(0.0), device(0.0)
    args, kwargs = [(x, y), (x,), ()][names], [{}, {"y": y}, {"x": x, "y": y}][names]
    k = PyccelKernel(two, outputs=outputs)
    if outputs == [-1]:  # counts from the end of the positional arguments
        written = "yx"[names] if names < 2 else ""
    if not written and outputs:
        with pytest.raises(IndexError, match="two: outputs names position -1, but this call has 0 positional"):
            k(*args, **kwargs)
        return
    with xp.profiling.count_transfers() as counter:
        k(*args, **kwargs)
    assert [float(x.get()[0]), float(y.get()[0])] == ["x" in written, "y" in written]
    assert counter.to_device == len(written)


def test_containers_among_the_outputs_count_whole(backend) -> None:
    x, y, z = device(0.0), device(0.0), device(0.0)

    def add(tree, z):
        for array in (tree[0], tree[1].a, z):
            array += 1.0

    PyccelKernel(add, outputs=["tree"], object_modules=HERE)([x, Slotted(y)], z)
    assert [float(a.get()[0]) for a in (x, y, z)] == [1.0, 1.0, 0.0]


def test_wrong_outputs_raise_before_the_function_runs(backend) -> None:
    ran = []
    x = device(1.0)
    with pytest.raises(KeyError, match="outputs names 'z', which is no argument of this call with 1 positional"):
        PyccelKernel(lambda *a: ran.append(a), outputs=["z"], parameters=lambda: ["x"])(x)
    with pytest.raises(IndexError, match="outputs names position 3, but this call has 1 positional"):
        PyccelKernel(lambda *a: ran.append(a), outputs=[3])(x)
    with pytest.raises(KeyError, match=r"are not known. Correct 'outputs', pass it by name"):
        PyccelKernel(lambda *a: ran.append(a), outputs=["x"])(x)
    assert ran == []
    y = device(1.0)
    PyccelKernel(lambda *a: a[1].__iadd__(1), outputs=["y"], parameters=lambda: ["x", "y"])(x, y)
    assert y.get() == 2.0


def test_a_failing_kernel_changes_nothing(backend) -> None:
    x, listed = device(1.0), [device(2.0)]

    def fail(x, listed):
        x[...] = 9.0
        listed.append(1)
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        PyccelKernel(fail)(x, listed)
    assert x.get() == 1.0
    assert len(listed) == 1
    assert xp.get_backend() == backend


def test_results_that_can_not_go_to_the_device_change_nothing(backend) -> None:
    x = device(1.0)

    def run(x):
        x[...] = 9.0
        return odd

    odd = object()
    with pytest.raises(ArgumentTypeError, match=r"^run: argument 'result' \(object\) is not an array of numbers"):
        PyccelKernel(run, is_array=lambda value: value is odd)(x)
    assert x.get() == 1.0


def test_forbidden_transfers_stop_it_before_anything_happens(backend) -> None:
    ran: list[Any] = []
    x = device(1.0)
    with xp.profiling.forbid_transfers(), pytest.raises(TransferError):
        PyccelKernel(ran.append)(x)
    assert ran == []


def test_records(backend) -> None:
    def scale(x, y):
        x *= 2
        return x + y

    x, y = device(1.0, 2.0), cupy.asarray(np.zeros(2, np.float32))
    with xp.profiling.count_transfers() as counter:
        PyccelKernel(scale, outputs=[0])(x, y)
    assert [(event.kind, event.description, event.nbytes) for event in counter.events] == [
        ("to_host", "scale(shape=(2,), dtype=float64)", 16),
        ("to_host", "scale(shape=(2,), dtype=float32)", 8),
        ("kernel_conversion", "scale: a host kernel on copies of 2 device array(s)", None),
        ("to_device", "scale(shape=(2,), dtype=float64)", 16),
        ("to_device", "scale(shape=(2,), dtype=float64)", 16),
    ]


# --- when it converts -------------------------------------------------------------------------------------------------


def test_host_arguments_are_converted_on_the_cupy_backend_only(backend) -> None:
    x = np.ones(2)
    with xp.profiling.count_transfers() as counter:
        result = PyccelKernel(lambda a: (a is x, a + 1, xp.get_backend()))(x)
    assert result[0]
    assert result[2] == "numpy"
    assert isinstance(result[1], cupy.ndarray if backend == "cupy" else np.ndarray)
    assert counter.kernel_conversions == 0
    assert xp.get_backend() == backend


def test_conversion_can_be_forced_and_forbidden(backend) -> None:
    assert isinstance(PyccelKernel(lambda a: a + 1, use_cupy=True)(np.ones(1)), cupy.ndarray)
    assert isinstance(PyccelKernel(lambda a: a + 1, use_cupy=False)(np.ones(1)), np.ndarray)
    x = device(1.0)
    assert PyccelKernel(lambda a: a, use_cupy=False)(x) is x
    kernel = PyccelKernel(lambda a: a)
    assert kernel.use_cupy == (backend == "cupy")


def test_host_arrays_beside_device_arrays_are_passed_as_they_are(backend) -> None:
    x, host, kept = device(1.0), np.ones(1), [np.ones(1)]

    def check(x, given, listed):
        assert given is host
        assert listed is kept
        given += x
        listed.append(given)

    PyccelKernel(check)(x, host, kept)
    assert host == 2.0
    assert kept[1] is host


def test_foreign_device_arrays_are_converted(backend, monkeypatch) -> None:
    from array_kinds import ForeignDeviceArray

    foreign, original = ForeignDeviceArray(np.arange(3.0)), cupy.asarray
    monkeypatch.setattr(
        cupy, "asarray", lambda a, *args, **options: original(getattr(a, "memory", a), *args, **options)
    )
    assert PyccelKernel(lambda a: a.__imul__(2.0))(foreign) is foreign
    np.testing.assert_array_equal(foreign.memory.get(), [0.0, 2.0, 4.0])
    interface = {**foreign.__cuda_array_interface__}
    foreign.__cuda_array_interface__ = {**interface, "data": (interface["data"][0], True)}
    with pytest.raises(ArgumentError, match="is among the outputs, but it is read-only"):
        PyccelKernel(lambda a: None, outputs=[0])(foreign)
    assert PyccelKernel(lambda a: float(a.sum()), outputs=())(foreign) == 6.0


# --- views of strided arrays, arrays that overlap themselves, and what does not end with the call ---------------------

PARTS: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda base: base,
    "transposed": lambda base: base.transpose(2, 0, 1),
    "every other": lambda base: base[::2, :, ::2],
    "reversed": lambda base: base[::-1, ::-1],
    "block": lambda base: base[1:3, 1:, :2],
    "strided and transposed": lambda base: base[:, ::2].transpose(1, 2, 0),
    "one row": lambda base: base[1, :, 1],
    "axes of length one": lambda base: base[:, :1, 1:2],
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda x: x[1:],
    "reversed": lambda x: x[::-1],
    "element": lambda x: x[1:2],
    "transposed": lambda x: x.T,
    "new axis": lambda x: x[None, ..., None],
    "diagonal": lambda x: np.einsum("iij->ji", x[:2, :2]) if x.ndim == 3 and min(x.shape) > 1 else x,
    "rows": lambda x: x.reshape(x.shape[0], -1)[::2] if x.flags.c_contiguous else x[::2],
    "imaginary part": lambda x: x.imag,
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("way", VIEWS)
def test_returned_views_are_views_of_the_callers_array(backend, part: str, way: str) -> None:
    values = np.arange(60.0).reshape(4, 3, 5) * (1 + 2j)
    base = cupy.asarray(values)
    expected = VIEWS[way](PARTS[part](values))
    if not np.shares_memory(expected, values) or (way == "rows" and not PARTS[part](values).flags.c_contiguous):
        expected = None  # NumPy makes a copy there
    result = PyccelKernel(VIEWS[way])(PARTS[part](base))
    if expected is None:
        return
    np.testing.assert_array_equal(result.get(), expected)
    result[...] = -7.0
    expected[...] = -7.0
    np.testing.assert_array_equal(base.get(), values)


def test_views_that_strides_can_not_tell_are_arrays_of_their_own(backend) -> None:
    base = cupy.asarray(np.arange(12.0).reshape(3, 4))
    part = base[:, :2]
    for view in (lambda x: x.reshape(-1)[1:], lambda x: x.view(np.complex128)):
        result = PyccelKernel(view)(part)
        np.testing.assert_array_equal(result.get(), view(np.ascontiguousarray(part.get())))
        result[...] = -1.0
    np.testing.assert_array_equal(base.get(), np.arange(12.0).reshape(3, 4))


def overlapping(base: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    return cupy.ndarray(shape, base.dtype, base.data, strides)


@pytest.mark.parametrize(("shape", "strides"), [((3, 3), (8, 8)), ((4,), (0,)), ((2, 3), (16, 8)), ((2, 2), (12, 8))])
def test_arrays_with_elements_that_share_memory_can_be_read_and_not_written(backend, shape, strides) -> None:
    base = cupy.asarray(np.arange(8.0))
    window = overlapping(base, shape, strides)
    assert PyccelKernel(lambda x: float(x.sum()))(window) == float(window.get().sum())
    assert PyccelKernel(lambda x: x)(window) is window

    def write(x):
        x.flat[1] = -1.0

    with pytest.raises(ArgumentError, match="write: has written to a device array with elements that share memory"):
        PyccelKernel(write)(window)
    with pytest.raises(ArgumentError, match="is among the outputs, but elements of it share memory"):
        PyccelKernel(lambda x: pytest.fail("it was called"), outputs=["x"])(window)
    assert base.get().tolist() == list(range(8))


def test_arguments_that_change_their_shape_or_dtype_change_nothing(backend) -> None:
    def reshape(y, x):
        y += 1.0
        x.shape = (2, 1)

    def reinterpret(y, x):
        y += 1.0
        x.dtype = np.int64

    for function in (reshape, reinterpret):
        x, y = device(1.0, 2.0), device(1.0, 2.0)
        with pytest.raises(ArgumentError, match=rf"{function.__name__}: has made its argument .* in place"):
            PyccelKernel(function)(y, x)
        assert y.get().tolist() == x.get().tolist() == [1.0, 2.0]
        PyccelKernel(function, outputs=["y"])(y, x)
        assert y.get().tolist() == [2.0, 3.0]


def test_functions_whose_body_runs_later_are_refused(backend) -> None:
    x = device(1.0)

    def generator(x):
        x += 1.0
        yield

    async def coroutine(x):
        x += 1.0

    async def asynchronous_generator(x):
        x += 1.0
        yield

    for function in (generator, coroutine, asynchronous_generator):
        with pytest.raises(ArgumentTypeError, match=rf"'{function.__name__}' returned a .* after the call"):
            PyccelKernel(function)(x)
    assert x.get().tolist() == [1.0]
