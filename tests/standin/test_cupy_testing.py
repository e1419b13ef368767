"""``cupy.testing`` and the small modules of the stand-in."""

import contextlib
import random
import unittest

import cupy
import cupyx
import numpy as np
import pytest
from cupy import testing
from cupy.lib import stride_tricks
from cupy.polynomial import polynomial


class TestComparisons:
    @pytest.mark.parametrize(
        ("name", "right", "wrong", "options"),
        [
            ("assert_allclose", [1.0, 2.0 + 1e-9], [1.0, 2.1], {}),
            ("assert_array_almost_equal", [1.0, 2.0 + 1e-9], [1.0, 2.1], {}),
            ("assert_array_almost_equal_nulp", [1.0, 2.0], [1.0, 2.1], {}),
            ("assert_array_max_ulp", [1.0, 2.0], [1.0, 2.1], {}),
            ("assert_array_equal", [1.0, 2.0], [1.0, 2.1], {}),
            ("assert_array_less", [2.0, 3.0], [0.0, 3.0], {}),
        ],
    )
    def test_arrays_of_both_libraries(self, name, right, wrong, options):
        compare = getattr(testing, name)
        for library in (np, cupy):
            compare(cupy.asarray([1.0, 2.0]), library.asarray(right), **options)
            with pytest.raises(AssertionError):
                compare(cupy.asarray([1.0, 2.0]), library.asarray(wrong), **options)

    def test_strides_and_lists(self):
        a = cupy.ones((3, 2))
        testing.assert_array_equal(a, a.copy("F"))
        with pytest.raises(AssertionError, match="Strides"):
            testing.assert_array_equal(a, a.copy("F"), strides_check=True)
        testing.assert_array_list_equal([a, a], [a, a])
        with pytest.raises(AssertionError):
            testing.assert_array_list_equal([a], [a, a])

    def test_warnings_and_calls(self):
        with testing.assert_warns(UserWarning):
            cupy.cuda  # noqa: B018
            import warnings

            warnings.warn("here", UserWarning, stacklevel=1)
        with pytest.raises(AssertionError), testing.assert_warns(UserWarning):
            pass
        with testing.AssertFunctionIsCalled("random.random"):
            random.random()
        with pytest.raises(AssertionError), testing.AssertFunctionIsCalled("random.random", times_called=2):
            random.random()


class TestData:
    def test_the_same_for_both_libraries(self):
        for dtype in (np.float32, np.complex64, bool, int):
            for make in (testing.shaped_arange, testing.shaped_reverse_arange, testing.shaped_random):
                ours, theirs = make((2, 3), cupy, dtype), make((2, 3), np, dtype)
                assert isinstance(ours, cupy.ndarray)
                assert ours.dtype == theirs.dtype == dtype
                np.testing.assert_array_equal(ours.get(), theirs)
        np.testing.assert_array_equal(testing.shaped_arange((2, 2)).get(), [[1, 2], [3, 4]])
        np.testing.assert_array_equal(testing.shaped_reverse_arange((2, 2)).get(), [[4, 3], [2, 1]])
        assert testing.shaped_arange((2, 3), order="F").flags.f_contiguous
        np.testing.assert_allclose(testing.shaped_linspace(0, 1, (2, 2)).get(), [[0, 1 / 3], [2 / 3, 1]], rtol=1e-6)
        assert testing.shaped_sparse_random((10, 10), density=0.2).nnz == 20

    def test_matrices_of_given_singular_values(self):
        made = testing.generate_matrix((4, 3), dtype=np.float64, singular_values=[3.0, 2.0, 1.0])
        np.testing.assert_allclose(np.linalg.svd(made.get())[1], [3, 2, 1])


class TestDecorators:
    def test_values_of_parameters(self):
        seen = []

        @testing.for_all_dtypes(no_complex=True)
        @testing.for_CF_orders()
        def check(dtype, order):
            seen.append((dtype, order))

        check()
        assert len(set(seen)) == len(seen) == 14 * 5
        for decorator, count in (
            (testing.for_float_dtypes(), 3), (testing.for_int_dtypes(), 11), (testing.for_signed_dtypes(), 5),
            (testing.for_unsigned_dtypes(), 5), (testing.for_complex_dtypes(), 2), (testing.for_dtypes("fd"), 2),
        ):  # fmt: skip
            seen.clear()
            decorator(lambda dtype: seen.append(dtype))()
            assert len(seen) == count

    def test_combinations(self):
        seen = []
        testing.for_signed_dtypes_combination(("a", "b"), full=True)(lambda a, b: seen.append((a, b)))()
        assert len(set(seen)) == 25
        seen.clear()
        testing.for_all_dtypes_combination(("a", "b"))(lambda a, b: seen.append((a, b)))()
        assert {a for a, _ in seen} == {b for _, b in seen}

    @testing.for_float_dtypes()
    @testing.numpy_cupy_allclose(rtol={np.float16: 1e-2, "default": 1e-6})
    def test_both_libraries(self, xp, dtype):
        return xp.exp(testing.shaped_random((3, 4), xp, dtype, scale=1))

    @testing.numpy_cupy_array_equal()
    def test_both_libraries_exactly(self, xp):
        return testing.shaped_arange((3, 4), xp).T + 1

    @testing.numpy_cupy_allclose(sp_name="sp")
    def test_sparse_matrices(self, xp, sp):
        a = sp.csr_matrix(xp.eye(3))
        return a @ xp.arange(3.0)

    def test_differences_fail(self):
        for compare in (testing.numpy_cupy_allclose, testing.numpy_cupy_array_equal, testing.numpy_cupy_array_max_ulp):
            with pytest.raises(AssertionError):
                compare()(lambda xp: xp.arange(3.0) + (xp is cupy))()
            with pytest.raises(AssertionError, match="dtypes"):
                compare()(lambda xp: xp.arange(3, dtype="f4" if xp is np else "f8"))()
        with pytest.raises(AssertionError, match="only one"):
            testing.numpy_cupy_equal()(lambda xp: 1 / (xp is np))()
        with pytest.raises(AssertionError, match="both raise"):
            testing.numpy_cupy_equal()(lambda xp: 1 / 0)()
        testing.numpy_cupy_equal()(lambda xp: xp.arange(3).ndim)()

    def test_errors(self):
        testing.numpy_cupy_raises()(lambda xp: xp.ones(3).reshape(2, 2))()
        with pytest.raises(AssertionError, match="does not raise"):
            testing.numpy_cupy_raises()(lambda xp: xp.ones(3))()

    def test_errors_that_are_accepted(self):
        for accepted in (ZeroDivisionError, (TypeError, ArithmeticError), True):
            testing.numpy_cupy_allclose(accept_error=accepted)(lambda xp: 1 / 0)()
        with pytest.raises(AssertionError, match="both raise"):
            testing.numpy_cupy_array_equal(accept_error=TypeError)(lambda xp: 1 / 0)()
        with pytest.raises(AssertionError, match="only one"):
            testing.numpy_cupy_array_equal(accept_error=True)(lambda xp: 1 / (xp is np))()
        for other in (lambda xp: int("x") if xp is np else 1 / 0, lambda xp: xp.ones(3).reshape(2, 2)):
            with pytest.raises(AssertionError):
                testing.numpy_cupy_raises(accept_error=ZeroDivisionError)(other)()

    def test_parameters_of_classes(self):
        assert testing.product({"a": [1, 2], "b": [3]}) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
        assert testing.product_dict([{"a": 1}], [{"b": 2}, {"b": 3}]) == [{"a": 1, "b": 2}, {"a": 1, "b": 3}]

        @testing.parameterize(*testing.product({"value": [1, 2]}))
        class Some(unittest.TestCase):
            value: int

        made = [value for name, value in globals().items() if name.startswith("Some_param_")]
        assert sorted(one.value for one in made) == [1, 2]
        assert not Some.__test__
        for name in [name for name in globals() if name.startswith("Some_param_")]:
            del globals()[name]

    def test_random_numbers_are_fixed(self):
        drawn = [testing.fix_random()(lambda: (float(cupy.random.rand()), testing.generate_seed()))() for _ in range(2)]
        assert drawn[0] == drawn[1]

    def test_requirements(self):
        assert testing.installed("numpy>=1.0")
        assert not testing.installed("numpy<1.0")
        assert not testing.installed("no-such-package-of-this-name")
        assert testing.numpy_satisfies(">=1.0")
        with pytest.raises(unittest.SkipTest):
            testing.with_requires("numpy<1.0")(lambda: None)()


class TestSmallModules:
    def test_views(self):
        a = cupy.arange(6.0)
        windows = stride_tricks.sliding_window_view(a, 3)
        np.testing.assert_array_equal(windows.get(), np.lib.stride_tricks.sliding_window_view(np.arange(6.0), 3))
        twice = stride_tricks.as_strided(a, (2, 3), (24, 8))
        twice[0, 0] = 9
        assert float(a[0]) == 9
        assert cupy.byte_bounds(a) == (a.data.ptr, a.data.ptr + 48)

    def test_polynomials(self):
        x, c = cupy.asarray([1.0, 2.0, 3.0]), cupy.asarray([1.0, -2.0, 0.5])
        for name, args in (("polyval", (x, c)), ("polyvander", (x, 3)), ("polycompanion", (c,)),
                           ("polyvalfromroots", (x, c))):  # fmt: skip
            host = [one.get() if isinstance(one, cupy.ndarray) else one for one in args]
            expected = getattr(np.polynomial.polynomial, name)(*host)
            np.testing.assert_allclose(getattr(polynomial, name)(*args).get(), expected)

    def test_memory_of_results(self):
        calls = []

        @cupy.memoize(for_each_device=True)
        def square(x):
            calls.append(x)
            return x * x

        assert [square(3), square(3), square(4)] == [9, 9, 16]
        assert calls == [3, 4]
        cupy.clear_memo()
        square(3)
        assert calls == [3, 4, 3]

    def test_broadcast(self):
        made = cupy.broadcast(cupy.ones((3, 1)), cupy.ones(4))
        assert (made.shape, made.nd, made.size) == ((3, 4), 2, 12)
        assert [one.shape for one in made.values] == [(3, 4), (3, 4)]

    def test_errors_of_calculations(self):
        assert cupyx.geterr() == {"divide": None, "over": None, "under": None, "invalid": None, "linalg": "ignore"}
        with cupyx.errstate(linalg="raise"):
            assert cupyx.geterr()["linalg"] == "raise"
        assert cupyx.geterr()["linalg"] == "ignore"
        with pytest.raises(NotImplementedError):
            cupyx.seterr(divide="raise")

    def test_waiting_can_be_forbidden(self):
        a, event = cupy.ones(()), cupy.cuda.Event()
        forbidden = contextlib.ExitStack()
        with pytest.warns(UserWarning, match="allow_synchronize will be removed"):
            forbidden.enter_context(cupyx.allow_synchronize(False))
        with forbidden:
            a += 1
            for wait in (
                a.get, a.item, lambda: float(a), lambda: str(a), cupy.cuda.Device().synchronize, event.synchronize,
                cupy.cuda.Stream.null.synchronize,
            ):  # fmt: skip
                with pytest.raises(cupyx.DeviceSynchronized, match="detected while disallowed"):
                    wait()
        assert float(a) == 2

    def test_what_is_there(self):
        assert "stand-in" in str(cupyx.get_runtime_info())
        assert cupy.cuda.get_cuda_path() is None
        assert cupy.cuda.device.get_compute_capability() == cupy.cuda.Device().compute_capability
        assert cupy.cuda.runtime.cudaDevAttrWarpSize == 10
        with pytest.warns(UserWarning, match="moved to cupyx.profiler.benchmark"):
            assert cupyx.time.repeat(lambda: None, n_repeat=2).cpu_times.shape == (2,)
