"""Fused functions of NumPy arrays: compiled loops give what the function itself gives.

Arrays here are small, and the limit from which on loops are compiled is 1. Few functions are compiled, each with many
results.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cunumpy as xp
from cunumpy.errors import ArgumentTypeError, SettingError
from cunumpy.kernels import ElementwiseKernel, _fuse, fuse
from cunumpy.kernels._fused_arrays import FusedArray

RNG = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def compile_all(monkeypatch):
    monkeypatch.setattr(_fuse, "PAYS", 1)


@pytest.fixture
def loops(monkeypatch):
    """Count the loops that run."""
    ran = []
    call = _fuse.Kernel.__call__

    def counted(self, loop, values, into):
        ran.append([one.function for one in loop.outputs])
        return call(self, loop, values, into)

    monkeypatch.setattr(_fuse.Kernel, "__call__", counted)
    return ran


def order_of(array):
    return [step for step, length in zip(array.strides, array.shape, strict=True) if length > 1]


def ordered_bits(values):
    bits = values.view(f"i{values.itemsize}").astype(np.int64)
    return np.where(bits < 0, np.iinfo(f"i{values.itemsize}").min - bits, bits)


def assert_same(result, expected, ulp=0, name=""):
    """The same type, dtype, shape, order in memory and values; NaN is any NaN, and zeros are equal."""
    assert type(result) is type(expected), name
    if not isinstance(expected, (np.ndarray, np.generic)):
        assert result == expected, name
        return
    assert result.dtype == expected.dtype, name
    assert result.shape == expected.shape, name
    if isinstance(expected, np.ndarray) and expected.size:
        assert order_of(result) == order_of(expected), name
    result, expected = np.atleast_1d(result), np.atleast_1d(expected)
    if ulp and expected.dtype.kind == "c":
        size = np.abs(expected)
        with np.errstate(all="ignore"):
            close = np.abs(result - expected) <= ulp * np.spacing(size)
        np.testing.assert_array_equal(np.where(close, expected, result), expected, err_msg=name)
    elif ulp and expected.dtype.kind == "f":
        apart = np.isfinite(expected) & np.isfinite(result)
        np.testing.assert_array_equal(np.where(apart, 0, result), np.where(apart, 0, expected), err_msg=name)
        distance = np.abs(ordered_bits(result[apart].copy()) - ordered_bits(expected[apart].copy()))
        assert distance.max(initial=0) <= ulp, f"{name}: {distance.max()} ulp"
    else:
        np.testing.assert_array_equal(result, expected, err_msg=name)


def compare(function, *arrays, ulp=0, fused=None):
    """Call fused and unfused with copies, and compare results and arguments."""
    mine, theirs = ([copied(one) for one in arrays] for _ in range(2))
    fused = fused or fuse(function)
    with np.errstate(all="ignore"):
        expected = function(*theirs)
        result = fused(*mine)
    if not isinstance(expected, tuple):
        result, expected = (result,), (expected,)
    assert len(result) == len(expected)
    for number, (one, other) in enumerate(zip(result, expected, strict=True)):
        assert_same(one, other, ulp, f"result {number}")
    for one, other in zip(mine, theirs, strict=True):
        assert_same(one, other, ulp, "argument")


def copied(value):
    """Return an array like another one, with its strides."""
    if not isinstance(value, np.ndarray):
        return value
    if not value.size:
        return value.copy(order="K")
    base = value
    while isinstance(base.base, np.ndarray):
        base = base.base
    memory = base.ravel(order="K").copy().view(np.uint8)
    offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return np.ndarray(value.shape, value.dtype, memory.data, offset, value.strides)


# --- each function, with each dtype -----------------------------------------------------------------------------------

SPECIAL = {
    "f": [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.5, -2.5, 1e30, -1e30, 1e-40, 3.0, 7.0],
    "i": [0, 1, -1, 2, -2, 3, 7, -7, 31, 63, 100, -100],
    "u": [0, 1, 2, 3, 7, 8, 31, 63, 100, 200],
    "b": [False, True],
}


def values_of(dtype, count=200):
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        parts = RNG.normal(size=(2, count)) * 10.0 ** RNG.integers(-3, 4, (2, count))
        return (parts[0] + 1j * parts[1]).astype(dtype)
    special = SPECIAL[dtype.kind]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        special = [*special, limits.min, limits.max]
        more = RNG.integers(limits.min, limits.max, count, dtype, endpoint=True)
    elif dtype.kind == "b":
        more = RNG.integers(0, 2, count).astype(bool)
    else:
        more = RNG.normal(size=count) * 10.0 ** RNG.integers(-3, 4, count)
    with np.errstate(all="ignore"):
        given = np.array(special).astype(dtype)
        pairs = np.concatenate(
            [np.asarray(more).astype(dtype), np.repeat(given, len(given)), np.tile(given, len(given))]
        )
    return pairs[: len(pairs) // 2 * 2]


def pair_of(first, second):
    x, y = values_of(first), values_of(second)
    if np.dtype(first).kind == np.dtype(second).kind != "c":
        half = len(SPECIAL[np.dtype(first).kind]) + 2 * (np.dtype(first).kind in "iu")
        y = np.concatenate([y[: -2 * half**2], np.tile(y[-half:], half), np.repeat(y[-half:], half)])
    count = min(len(x), len(y))
    return x[-count:], y[-count:]


EXACT = """
add subtract multiply true_divide floor_divide remainder fmod negative positive absolute fabs conjugate sign sqrt square
reciprocal maximum minimum fmax fmin equal not_equal less less_equal greater greater_equal logical_and logical_or
logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert left_shift right_shift floor ceil trunc rint isnan
isinf isfinite signbit copysign heaviside deg2rad rad2deg divmod
"""
CLOSE = """
power float_power exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh
arctanh cbrt hypot arctan2
"""


def outcomes(names, x, y, other=None):
    """Return all functions' results that NumPy has for these dtypes, and that loops have."""
    results = []
    for name in names:
        function = getattr(np, name)
        for arguments in ((x,),) if function.nin == 1 else ((x, y), (y, x)):
            values = arguments if other is None else tuple(map(other, arguments))
            result = function(*values)
            results += result if isinstance(result, tuple) else (result,)
    return tuple(results)


def supported(names, first, second):
    """Return the functions that can be fused for two dtypes: the others make the whole function run unfused."""
    x, y = np.ones(2, first), np.ones(2, second)
    found = []
    for name in names:
        try:
            fuse(lambda a, b, name=name: outcomes([name], a, b)).source(x, y)
        except (ArgumentTypeError, TypeError):
            continue
        found.append(name)
    return found


PAIRS = [
    ("float64", "float64"),
    ("float32", "float32"),
    ("float16", "float32"),
    ("float64", "int32"),
    ("int64", "int64"),
    ("int32", "int16"),
    ("int8", "uint8"),
    ("uint64", "int64"),
    ("uint16", "uint16"),
    ("bool", "bool"),
    ("bool", "int8"),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_functions_that_are_equal_bit_for_bit(first, second, loops):
    names = supported(EXACT.split(), first, second)
    assert len(names) >= 15
    x, y = pair_of(first, second)
    compare(lambda a, b: outcomes(names, a, b), x, y)
    assert len(loops) == 1


@pytest.mark.parametrize(
    ("first", "second"), [("float64", "float64"), ("float32", "float32"), ("float16", "float16"), ("int32", "float32")]
)
def test_functions_within_4_ulp(first, second, loops):
    names = supported(CLOSE.split(), first, second)
    assert set(names) >= set(CLOSE.split()) - {"float_power"}
    x, y = pair_of(first, second)
    compare(lambda a, b: outcomes(names, a, b), x, y, ulp=4)
    assert len(loops) == 1


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_complex_numbers(dtype, loops):
    def function(z, w, x):
        return (z + w, z - w, z * w, z / w, -z, abs(z), z.conj(), z**2, z == w, z != w, z * x, x / z, z + 1j, 2 * z,
                xp.where(x > 0, z, w), x.astype(z.dtype), z.astype("F"), np.logical_not(z), (z + w).sum())  # fmt: skip

    z, w = values_of(dtype), values_of(dtype)
    compare(function, z, w, z.real.copy(), ulp=4)
    assert len(loops) == 2


def test_no_product_and_sum_become_one_operation(loops):
    """Which rounds once instead of twice, and would be the compiler's choice."""
    x = 1 + RNG.random(1000) * 1e-8
    compare(lambda x, y: x * x - y, x, x * x)
    assert len(loops) == 1
    assert (fuse(lambda x, y: x * x - y)(x, x * x) == 0).all()


CASTS = ["?", "b", "B", "h", "i", "I", "l", "L", "e", "f", "d", "F", "D"]


@pytest.mark.parametrize("given", ["?", "b", "H", "l", "L", "e", "f", "d"])
def test_conversions(given, loops):
    x = values_of(given)
    if np.dtype(given).kind == "f":
        x = np.where(np.abs(x) < 100, np.abs(x), np.array(1.0, given))  # others are undefined in C
    compare(lambda x: tuple(x.astype(one) for one in CASTS), x)
    assert len(loops) == 1


def test_halves_are_rounded_once(loops):
    x = RNG.random(2000) * 10.0 ** RNG.integers(-9, 5, 2000)
    compare(lambda x: (x.astype("e"), (x * 3).astype("e").astype("d")), x)
    assert len(loops) == 1


# --- numbers ----------------------------------------------------------------------------------------------------------


def with_numbers(x, a):
    return x + a, a - x, x * a, x / a, x > a, xp.maximum(x, a), xp.where(x > 1, x, a), xp.clip(x, a, None), x**2


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "bool"])
@pytest.mark.parametrize("number", [2, 2.5, np.float32(2.5), np.float64(2.5), np.int64(3), True], ids=repr)
def test_numbers_have_numpys_dtypes(dtype, number):
    """Python's give way to arrays, NumPy's do not; no loop is needed for that."""

    def dtypes(x, a):
        results = []
        for operation in (np.add, np.true_divide, np.maximum, np.greater, np.power):
            try:
                results.append(operation(x, a).dtype.str)
            except TypeError:
                results.append("none")
        return tuple(results)

    x = np.ones(3, dtype)
    assert fuse(dtypes)(x, number) == dtypes(x, number)


def test_numbers_are_parameters_of_one_loop(loops):
    fused = fuse(with_numbers)
    x = RNG.random(100).astype("float32") * 4
    for number in (2, 2.5, 0.5, -1.0, 3):
        compare(with_numbers, x, number, fused=fused)
    assert len(loops) == 5
    compare(with_numbers, RNG.integers(-100, 100, 50).astype("int8"), 3)
    compare(with_numbers, RNG.integers(-100, 100, 50), np.float64(3.5))


@pytest.mark.parametrize(
    ("dtype", "number", "function"),
    [
        ("int8", 300, lambda x, a: (x + 1) < a),
        ("uint8", -1, lambda x, a: (x + 1) != a),
        ("int64", 2**80, lambda x, a: (x + 1) < a),
    ],
)
def test_numbers_out_of_range_are_compared_by_numpy(dtype, number, function, loops):
    compare(function, np.arange(5, dtype=dtype), number)
    assert loops == []


def test_numpys_errors_for_numbers_are_numpys():
    for function in (lambda x: x + 1 + 300, lambda x: (x + 1) ** -1, lambda x: -(x > 0), lambda x: x + np.ones(3)):
        x = np.arange(5, dtype="int8")
        with pytest.raises(Exception) as expected:
            function(x)
        with pytest.raises(type(expected.value)) as raised:
            fuse(function)(x)
        assert str(raised.value) == str(expected.value)


@pytest.mark.parametrize(
    "exponent", [2, 2.0, 0.5, -1, 1, 0, 3, -2.0, 1.5, np.float64(2), np.float32(0.5), True], ids=repr
)
def test_exponents_that_numpy_treats_apart(exponent):
    for dtype in ("float64", "float32"):
        x = np.concatenate([values_of(dtype), np.linspace(-1, 10, 50).astype(dtype)])
        compare(lambda x: x**exponent + 1, x, ulp=4)
        if exponent in (2, 0.5, -1) and not isinstance(exponent, np.generic):
            compare(lambda x: x**exponent + 1, x)


def test_integer_powers_wrap(loops):
    x = np.arange(-20, 21)
    compare(lambda x, u: (x**7 + 1, (x * 2) ** 2, u**u, x.astype("int8") ** 5), x, np.arange(41, dtype="uint32"))
    assert len(loops) == 1


# --- shapes, strides, order -------------------------------------------------------------------------------------------


@st.composite
def layouts(draw):
    """Two arrays that broadcast against each other, each with strides of some kind."""
    shape = draw(st.lists(st.integers(1, 5), min_size=0, max_size=4))

    def array(dtype):
        mine = [1 if draw(st.integers(0, 4)) == 0 else length for length in shape]
        mine = mine[draw(st.integers(0, len(mine))) if draw(st.booleans()) else 0 :]
        order = draw(st.permutations(range(len(mine))))
        wide = [mine[axis] * draw(st.sampled_from([1, 1, 2])) for axis in order]
        base = np.arange(np.prod(wide, dtype=int), dtype=dtype).reshape(wide) % 7 + 1
        view = base.transpose(np.argsort(order))
        index = []
        for axis, length in enumerate(mine):
            step = view.shape[axis] // length
            index.append(slice(None, None, -step if draw(st.integers(0, 3)) == 0 else step))
        return view[tuple(index)]

    return array("float64"), array("int32")


def mixed(x, y):
    z = (x - y) * 2 + y
    return z, z.astype("float32"), xp.where(y > 3, x, z)


FUSED_MIXED = fuse(mixed)


@settings(max_examples=60, deadline=None)
@given(layouts())
def test_layouts(arrays):
    compare(mixed, *arrays, fused=FUSED_MIXED)


def changed(x, y):
    x *= 2
    x += y.sum(axis=0) if y.ndim > x.ndim else y
    y -= 1.0
    return x * y


FUSED_CHANGED = fuse(changed)


@settings(max_examples=50, deadline=None)
@given(layouts())
def test_arguments_changed_in_place(arrays):
    x, y = arrays
    y = y.astype("float64", order="K")
    if np.broadcast_shapes(x.shape, y.shape) != x.shape:
        x, y = y, x
    if np.broadcast_shapes(x.shape, y.shape) == x.shape:
        compare(changed, x, y, fused=FUSED_CHANGED)


def reduced(x):
    y = x * 2 + 1
    return y.max(), y.sum(axis=-1, keepdims=True), (y > 3).any(axis=0)


FUSED_REDUCED = fuse(reduced)


@settings(max_examples=25, deadline=None)
@given(layouts())
def test_reductions(arrays):
    x = arrays[0]
    if x.ndim:
        compare(reduced, x, fused=FUSED_REDUCED, ulp=4)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4)])
def test_empty_arrays(shape):
    compare(lambda x: (x * 2 + 1, (x + 1).sum(), (x * 2 + 1).any()), np.zeros(shape))


def test_read_only_and_numbers_as_arrays():
    x = np.arange(6.0)
    x.flags.writeable = False
    compare(lambda x, a: (x * a + 1, a + 1, a * a), x, np.array(2.5))
    with pytest.raises(ValueError, match="read-only"):
        fuse(lambda x: np.add(x * 2, 1, out=x))(x)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


# --- writing ----------------------------------------------------------------------------------------------------------


def test_results_and_arguments_keep_their_identity():
    x, y = np.arange(4.0), np.arange(4.0)
    fused = fuse(lambda x, y: (x, y.__iadd__(x * 2), [x + 1, None, {"a": x - 1}], "text"))
    first, second, (third, nothing, named), text = fused(x, y)
    assert first is x
    assert second is y
    assert y.tolist() == [0.0, 3.0, 6.0, 9.0]
    assert (third.tolist(), nothing, named["a"].tolist(), text) == ([1, 2, 3, 4], None, [-1, 0, 1, 2], "text")
    assert type(third) is np.ndarray


def test_what_is_written_before_it_is_read_elsewhere(loops):
    """x is read by a later loop, and by NumPy, after its new value is known."""

    def function(x, y):
        old = x * 1.0
        x += y * 2
        top = (y + 1).max()
        x *= top
        return old * top + y, x - old

    compare(function, np.arange(8.0), np.arange(8.0) % 3)
    assert loops


@pytest.mark.parametrize("unfused", [False, True])
def test_numbers_do_not_change_in_place(unfused):
    def function(x):
        total = before = (x * 2).sum()
        if unfused:
            str(x)
        total += x
        count = x.max()
        count += 1
        return total, before, count

    compare(function, np.arange(4.0), ulp=4)


def test_the_same_array_twice():
    def function(x, y):
        x += 1
        y *= 2
        return x + y

    mine, theirs = np.arange(5.0), np.arange(5.0)
    assert_same(fuse(function)(mine, mine), function(theirs, theirs))
    assert_same(mine, theirs)


def test_arguments_that_overlap(loops):
    def average(out, left, right):
        out[...] = 0.5 * (left + right)

    mine, theirs = np.arange(10.0), np.arange(10.0)
    average(theirs[1:-1], theirs[:-2], theirs[2:])
    fuse(average)(mine[1:-1], mine[:-2], mine[2:])
    assert_same(mine, theirs)
    assert loops == []
    compare(lambda left, right: 0.5 * (left + right), *(np.arange(10.0)[one] for one in (slice(2, None), slice(-2))))
    assert len(loops) == 1


def test_assignment_to_all_elements(loops):
    def function(x, y):
        x[:] = y * 2 + 1
        y[...] = 3
        x.fill(x.ndim)
        x[...] = x + y

    compare(function, np.arange(5.0), np.arange(5))
    compare(lambda x, y: y.__setitem__(..., x * 2 + 0.5), np.arange(5.0), np.arange(5))
    assert loops


def test_new_arrays(loops):
    def function(x):
        zeros, ones, full, like = (
            xp.zeros_like(x),
            xp.ones_like(x, dtype="int32"),
            xp.full_like(x, 2.5),
            xp.empty_like(x),
        )
        zeros += x * 2
        like[...] = zeros - full
        return zeros, ones, full * x, like, x.copy(), np.copy(x)

    for x in (np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4).T, np.arange(24.0).reshape(6, 4)[::2]):
        compare(function, x)
    assert len(loops) == 3


def test_results_in_given_arrays(loops):
    def function(x, y):
        np.add(x, y, out=y)
        np.multiply(y, 2, out=(x,))
        xp.clip(x, 1, 5, out=x)
        return np.sqrt(x)

    compare(function, np.arange(5.0), np.ones(5))
    assert len(loops) == 1


def test_an_array_from_elsewhere(loops):
    table = np.linspace(0, 1, 6)
    compare(lambda x: table * x + table, np.arange(6.0))
    assert len(loops) == 1

    def to_table(x):
        np.add(x * 2, 1, out=table)

    fuse(to_table)(np.arange(6.0))
    assert table.tolist() == [1, 3, 5, 7, 9, 11]


def test_exceptions_leave_what_was_done_before():
    def function(x):
        x += 1
        raise LookupError

    x = np.zeros(3)
    for _ in range(2):
        with pytest.raises(LookupError):
            fuse(function)(x)
    assert x.tolist() == [2.0, 2.0, 2.0]


# --- several loops ----------------------------------------------------------------------------------------------------


def test_softmax_is_three_loops(loops):
    def softmax(x, y):
        e = xp.exp(x * 2 + y - (x * 2 + y).max())
        return e / e.sum() + 1

    compare(softmax, np.linspace(0, 2, 50), np.linspace(1, 0, 50), ulp=16)
    assert loops[0][0] == "max"
    assert len(loops) == 3


def test_rows_and_columns(loops):
    def outer(x, y):
        a, b = x * 2 + 1, np.exp(y) - 1
        return a * b + a

    compare(outer, np.linspace(0, 1, 5)[:, None], np.linspace(0, 1, 7)[None, :], ulp=4)
    assert len(loops) == 3


def test_a_mean_and_a_norm(loops):
    def function(x):
        return (x * 2 + 1).mean(), xp.sqrt((x * x).sum(axis=1)), (x * 2).mean(axis=0, keepdims=True), (x > 0).mean()

    fused = fuse(function)
    compare(function, RNG.random((20, 30)) - 0.5, ulp=4, fused=fused)
    for dtype in ("float32", "int32", "float16"):
        few = fuse(lambda x: (x * 2 + 1).mean(axis=0))
        compare(few.__wrapped__, RNG.integers(-5, 6, (20, 30)).astype(dtype), ulp=4, fused=few)
    assert loops


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sums_are_as_accurate_as_numpys(dtype):
    """Sums of equal numbers round always in the same direction, one after another."""
    fused = fuse(lambda x: (x * 1).sum())
    for count in (1000, 16384, 300_000):
        for x in (np.full(count, 0.1, dtype), RNG.random(count).astype(dtype), np.full(count, 1 / 3, dtype)):
            exact = np.sum(x.astype(np.longdouble))
            error = abs(fused(x).astype(np.longdouble) - exact)
            assert error <= 2 * np.spacing(np.dtype(dtype).type(exact))


def test_workers_change_no_bit(monkeypatch):
    fused = fuse(lambda x: (np.sin(x) * 2, (np.sin(x) * 2).sum()))
    x = RNG.random(100_003)
    results = []
    for count in ("1", "2", "3"):
        monkeypatch.setenv("CUNUMPY_NUM_THREADS", count)
        results.append(fused(x))
    for one, total in results[1:]:
        assert total == results[0][1]
        np.testing.assert_array_equal(one, results[0][0])


# --- what runs unfused, and what is refused ---------------------------------------------------------------------------


UNFUSED = {
    "a branch": lambda x: x * 2 if (x > 1).any() else x - 1,
    "a number of Python": lambda x: x * float(x.sum()) + 1,
    "a function that is not elementwise": lambda x: np.cumsum(x) + 1,
    "an argument of a function": lambda x: np.add(x, 1, where=x > 2, out=np.zeros_like(x)),
    "an attribute": lambda x: x * x.strides[0] + 1,
    "text": lambda x: (str(x), f"{x}", repr(x)),
    "a conversion": lambda x: np.asarray(x) * 2 + 1,
    "a list": lambda x: np.stack([x, x * 2]) + 1,
    "variance": lambda x: x.var() * 2 + x.std(),
    "a part": lambda x: x.imag + 1,
    "decimals": lambda x: x.round(1) + 1,
    "argmax": lambda x: x.argmax() + 1,
    "an accumulation": lambda x: np.add.accumulate(x) * 2,
    "membership": lambda x: 2.0 in x,
}


@pytest.mark.parametrize("name", UNFUSED)
def test_what_runs_unfused(name, loops):
    function = UNFUSED[name]
    x = np.linspace(0, 4, 9)
    compare(lambda x: (x.__iadd__(1), function(x), x - 1)[1:], x)
    assert loops == []
    with pytest.raises(ArgumentTypeError, match="with these arguments it runs unfused: "):
        fuse(function).source(x)


def test_functions_run_once_in_each_call():
    calls = []

    def function(x):
        calls.append(type(x))
        return x * 2 if x.any() else x

    fused = fuse(function)
    for count in range(1, 4):
        fused(np.ones(5))
        assert len(calls) == count
    assert calls[1:] == [np.ndarray] * 2


REFUSED = {
    "x[int]": lambda x: x[0],
    "x[slice]": lambda x: x[1:] - x[:-1],
    "x[int] =": lambda x: x.__setitem__(0, 1.0),
    "reshape": lambda x: x.reshape(-1),
    "ravel": lambda x: np.ravel(x),
    "T": lambda x: x.T + 1,
    "transpose": lambda x: np.transpose(x),
    "@": lambda x: x @ x,
    "matmul": lambda x: np.matmul(x, x),
    "dot": lambda x: x.dot(x),
    "einsum": lambda x: np.einsum("ij->i", x),
    "take": lambda x: np.take(x, 0),
    "iteration": lambda x: [row for row in x],  # noqa: C416
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("limit", [1, 10**9])
def test_what_is_refused(name, limit, monkeypatch):
    """In small calls, too: a function must not work with few elements alone."""
    monkeypatch.setattr(_fuse, "PAYS", limit)
    x = np.ones((3, 3))

    @fuse
    def function(x):
        x += 1
        return REFUSED[name](x)

    for _ in range(2):
        with pytest.raises(ArgumentTypeError) as raised:
            function(x)
        assert str(raised.value).startswith(f"function: {name!r} is ")
        assert "can't be part of a fused function" in str(raised.value)
    assert (x == 1).all()


def test_intermediate_results_are_not_kept():
    kept = []
    fused = fuse(lambda x: kept.append(x * 2) or x + 1 + 2)
    fused(np.ones(3))
    with pytest.raises(ArgumentTypeError, match="an intermediate result was kept beyond the call"):
        np.asarray(kept[0])


def test_arrays_are_freed_when_nobody_has_them():
    """At once, not when Python next collects cycles: they may be large."""
    fused = fuse(lambda x, y: (np.cumsum(x) if y is None else x * y + 1, x - 1))
    gc.disable()
    try:
        for other in (np.ones(3), None):
            x = np.ones(3)
            results = fused(x, other)
            alive = [weakref.ref(one) for one in (x, *results)]
            del x, results
            assert [one() for one in alive] == [None] * 3
    finally:
        gc.enable()


def test_arguments_kept_are_the_arrays():
    kept = []
    x = np.ones(3)
    fuse(lambda x: kept.append(x) or x + 1 + 2)(x)
    assert (kept[0] + 1).tolist() == [2.0, 2.0, 2.0]


class Subclass(np.ndarray):
    pass


@pytest.mark.parametrize(
    "array",
    [
        np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
        np.arange(3.0).view(Subclass),
        np.arange(3.0, dtype=">f8"),
        np.arange(3.0, dtype=np.longdouble),
        np.array([1, 2, 3], object),
        np.array(["2020-01-01", "2020-01-02"], "M8[D]"),
    ],
    ids=lambda array: f"{type(array).__name__}-{array.dtype.str}",
)
def test_arrays_that_are_not_fused(array, loops):
    fused = fuse(lambda x: x - x + x)
    try:
        expected = array - array + array
    except TypeError as error:
        with pytest.raises(TypeError, match=str(error)[:20].replace("(", ".")):
            fused(array)
    else:
        result = fused(array)
        assert type(result) is type(expected)
        assert str(result) == str(expected)
    assert loops == []


def test_error_states_other_than_warnings(loops):
    fused = fuse(lambda x: 1 / x + 1)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        fused(np.zeros(3))
    assert loops == []
    assert np.isinf(fused(np.zeros(3))).all()  # no warning: the loop does not look


# --- around it --------------------------------------------------------------------------------------------------------


def test_stand_ins_look_like_arrays():
    def function(x, s):
        assert type(x) is FusedArray
        assert isinstance(x, np.ndarray)
        assert (x.shape, x.ndim, x.size, len(x), x.dtype) == ((2, 3), 2, 6, 2, np.dtype("float32"))
        assert (x.itemsize, x.nbytes, np.shape(x), np.ndim(x), np.size(x)) == (4, 24, (2, 3), 2, 6)
        assert isinstance(x.sum(), np.float32)
        assert xp.get_array_module(x).exp is np.exp
        assert xp.get_array_backend(x) == "numpy"
        assert np.result_type(x, np.float64) == np.float64
        assert x.real is x
        assert x.conj() is x
        assert x[...] is x
        assert x.astype("float32", copy=False) is x
        assert not hasattr(x, "get")
        return x * s + np.float64(2) * x

    result = fuse(function)(np.ones((2, 3), "float32"), np.float64(3))
    assert_same(result, np.full((2, 3), 5.0))


def test_fused_functions_within_fused_functions(loops):
    inner = fuse(lambda x: x * 2 + 1)
    assert fuse(lambda x: inner(inner(x)) - 1)(np.arange(4.0)).tolist() == [2.0, 6.0, 10.0, 14.0]
    assert len(loops) == 1


def test_branches_on_numbers_and_shapes(loops):
    def function(x, n, periodic=True, kind=None):
        for step in range(n):
            x = x * 0.5 + step
        return x + 1 if periodic and kind is None and x.ndim == 1 and x.shape[0] > 2 else x - 1

    fused = fuse(function)
    for arguments in ((1,), (3,), (2, False), (2, True, "odd")):
        compare(function, np.arange(5.0), *arguments, fused=fused)
    assert len(loops) == 4


def test_too_many_loops(loops, monkeypatch):
    monkeypatch.setattr(_fuse, "MAX_KERNELS", 1)
    fused = fuse(lambda x, n: sum((x * 2 for _ in range(n)), x + 1))
    for count in (1, 2):
        compare(fused.__wrapped__, np.arange(5.0), count, fused=fused)
    assert len(loops) == 1


def test_loops_from_a_size_on(monkeypatch, loops):
    monkeypatch.setattr(_fuse, "PAYS", 6)
    fused = fuse(lambda x, y: x * 2 + y)
    for n, expected in ((5, 0), (6, 1), (5, 1), (7, 2)):
        compare(fused.__wrapped__, np.arange(float(n)), np.ones(n), fused=fused)
        assert len(loops) == expected
    compare(fused.__wrapped__, np.ones((3, 1)), np.ones((1, 3)), fused=fused)  # 9 elements
    assert len(loops) == 2  # one operation is left for the whole, NumPy's


def test_threads():
    fused = fuse(lambda x, a: xp.sqrt(x * a + 1) - x)
    errors = []

    def work(number):
        x = np.full(1000 + number, float(number))
        for _ in range(20):
            same = np.array_equal(fused(x, number), np.sqrt(x * number + 1) - x)
            errors.extend([] if same else [number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert errors == []


def test_the_source_shows_the_loops():
    @fuse
    def damped(x, rate):
        return (x * xp.exp(-rate * x)).sum()

    text = damped.source(np.ones((2, 3)), 0.5)
    assert text.startswith("// 1. A loop over 6 elements of shape (2, 3), whose results are reduced: sum along (0, 1).")
    assert "const double v1 = (double)(exp(v0));" in text
    with pytest.raises(
        ArgumentTypeError, match="damped: with these arguments it runs unfused: there is no NumPy array"
    ):
        damped.source(2.0, 0.5)


def test_without_a_compiler():
    program = """
import numpy as np, cunumpy as xp
from cunumpy.kernels import _fuse, fuse
_fuse.PAYS = 1
f = fuse(lambda x: (x * 2 + 1).sum())
print(f(np.arange(4.0)))
"""
    environment = {**os.environ, "PATH": os.path.dirname(sys.executable), "CXX": ""}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("16.0\n", "")


@pytest.mark.parametrize("setting", ["no-such-compiler", "'", "false"])
def test_a_compiler_that_is_none_is_an_error_that_names_the_setting(setting, monkeypatch):
    """As for `ElementwiseKernel`; nothing is changed, and small calls don't ask."""

    @fuse
    def scaled(x):
        x *= 2
        return x + 1

    monkeypatch.setenv("CXX", setting)
    x = np.ones(100)
    for _ in range(2):
        with pytest.raises(SettingError, match="environment variable CXX="):
            scaled(x)
    assert (x == 1).all()
    with pytest.raises(SettingError, match="environment variable CXX="):
        ElementwiseKernel("T x", "T y", "y = x + 1", "one_more")(x)
    monkeypatch.setattr(_fuse, "PAYS", 1000)
    assert (scaled(x) == 3).all()
    monkeypatch.setattr(_fuse, "PAYS", 1)
    monkeypatch.setenv("CXX", " ")
    assert (scaled(x) == 5).all()
