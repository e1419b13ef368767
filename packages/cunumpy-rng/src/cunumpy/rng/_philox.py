"""Random numbers without state: functions of (seed, stream, counter), equal on host and device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _gate
from cunumpy.cuda._device_code import check_devices
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.rng import _device_philox, _host

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from numpy.typing import ArrayLike

    from cunumpy._backend import BackendType
    from cunumpy.rng._layout import Operand

__all__ = ["philox4x32_10", "philox_normal", "philox_normal2", "philox_uniform", "philox_uniform2"]

_MASK = 2**64 - 1


class _WordAxisError(ArgumentError, IndexError):
    """The last axis has no four words; an `IndexError` too, as from indexing it."""


def philox4x32_10(counter: ArrayLike, key0: ArrayLike, key1: ArrayLike, *, out: Any = None) -> np.ndarray:
    """Turn four counter words into four random words: the bijection Philox4x32-10.

    Parameters
    ----------
    counter : array_like of int, shape (..., 4)
        The counter words of each block; integers of any dtype, taken modulo 2^32.
    key0, key1 : array_like of int
        The key words, taken modulo 2^32; broadcast against ``counter[..., 0]``.
    out : array, optional
        Where to put the result: uint32, C-contiguous, of its shape, without memory in common with the other arguments.

    Returns
    -------
    ndarray of uint32, shape (..., 4)
        `out` if it was given. A CuPy array if any argument is one.

    Raises
    ------
    ArgumentTypeError
        A `TypeError`: numbers that are no integers, such as floats and bools.
    ArgumentError
        A `ValueError`: shapes that do not go together, or an unsuitable `out`. It is an `IndexError` as well where the
        last axis of `counter` has not four entries.
    MixedBackendError
        A `TypeError`: host and device arrays in one call.

    Notes
    -----
    Philox4x32-10 is defined in Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11 (2011),
    doi:10.1145/2063384.2063405. In CUDA kernels it is ``cunumpy_philox4x32_10`` of ``<cunumpy/random.cuh>``.

    Examples
    --------
    >>> import cunumpy as xp
    >>> [hex(word) for word in xp.rng.philox4x32_10([0, 0, 0, 0], 0, 0)]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    function = "philox4x32_10"
    arguments = {"counter": counter, "key0": key0, "key1": key1}
    backend = _gate.common_backend(function, **arguments, out=out)
    words = _operand(counter, function, "counter")
    if isinstance(words, int) or words.ndim == 0 or words.shape[-1] != 4:
        raise _WordAxisError(
            f"{function}: argument 'counter' must have the four counter words along its last axis, shape (..., 4), got "
            f"{_gate.describe(counter) if isinstance(words, int) else f'shape {words.shape}'}."
        )
    operands = {
        **{f"counter[..., {k}]": words[..., k] for k in range(4)},
        "key0": _operand(key0, function, "key0"),
        "key1": _operand(key1, function, "key1"),
    }
    shape = (*_common_shape(operands, function), 4)
    out = _result(out, shape, np.uint32, backend, function, "out", arguments)
    if backend == "cupy":
        check_devices(function, out=out, **_device_arrays(arguments))
        _device_philox.philox_words(list(operands.values()), out)
    else:
        _host.philox.philox_words(list(operands.values()), out)
    return out  # type: ignore[no-any-return]


def philox_uniform(seed: ArrayLike, stream: ArrayLike, counter: ArrayLike, *, out: Any = None) -> Any:
    """Return the uniform random numbers in [0, 1) that belong to seeds, streams and counters.

    Equal arguments always give equal numbers, on host and device bit for bit, and different ones independent numbers.
    So the numbers of a particle do not depend on where, when and in which order they are drawn: take its id for the
    stream, and count its draws with the counter. A `PhiloxGenerator` of the same seed draws from the stream that it is
    given, 0 by default, which is then that of particle 0: use another seed beside particle ids, or a component from 1
    up in `stream_number`.

    Parameters
    ----------
    seed, stream, counter : array_like of int
        Integers of any dtype, taken modulo 2^64, of which all bits matter; -1 is 2^64 - 1. They are broadcast against
        each other. Arrays of any strides and byte order are read where they are: no copy is made.
    out : array, optional
        Where to put the result: float64, C-contiguous, of its shape, without memory in common with the other arguments.

    Returns
    -------
    float64 or ndarray of float64
        Multiples of 2^-53; of the broadcast shape, C-contiguous; a `numpy.float64` if nothing is an array. `out` if it
        was given. A CuPy array if any argument is one; one kernel is launched for it, and nothing waits for it.

    Raises
    ------
    ArgumentTypeError
        A `TypeError`: numbers that are no integers, such as floats, bools, NaN, None.
    ArgumentError
        A `ValueError`: shapes that do not go together, or an unsuitable `out`.
    MixedBackendError
        A `TypeError`: host and device arrays in one call.

    See Also
    --------
    philox_uniform2 : The same, and a second number of the same block for half the price.
    philox4x32_10 : The random bits.

    Notes
    -----
    The words of `philox4x32_10` with counter words (counter, its low half first; stream, likewise) and key (seed,
    likewise): 53 bits of the first two, times 2^-53. In CUDA kernels it is ``cunumpy_uniform`` of
    ``<cunumpy/random.cuh>``.

    On the host, large calls are shared by ``CUNUMPY_NUM_THREADS`` threads, and take a few MB of memory at most besides
    the result.

    Examples
    --------
    >>> import numpy as np
    >>> import cunumpy as xp
    >>> ids = np.array([0, 1, 2])
    >>> xp.rng.philox_uniform(42, ids, 0)
    array([0.61295988, 0.01005884, 0.3984137 ])
    >>> float(xp.rng.philox_uniform(42, 1, 0)) == float(xp.rng.philox_uniform(42, ids, 0)[1])
    True
    """
    return _draw("philox_uniform", seed, stream, counter, out)


def philox_uniform2(
    seed: ArrayLike, stream: ArrayLike, counter: ArrayLike, *, out: tuple[Any, Any] | None = None
) -> tuple[Any, Any]:
    """Return two uniform random numbers in [0, 1) for each seed, stream and counter.

    Parameters
    ----------
    seed, stream, counter : array_like of int
        As of `philox_uniform`.
    out : pair of arrays, optional
        Where to put the results, each as `out` of `philox_uniform`, without memory in common.

    Returns
    -------
    u0, u1 : float64 or ndarray of float64
        `u0` is what `philox_uniform` gives, `u1` is made of the two other words of the block.

    Raises
    ------
    ArgumentTypeError, ArgumentError, MixedBackendError
        As from `philox_uniform`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> u0, u1 = xp.rng.philox_uniform2(42, [0, 1], 0)
    >>> u0, u1
    (array([0.61295988, 0.01005884]), array([0.07323174, 0.23206617]))
    """
    return _draw_pair("philox_uniform2", seed, stream, counter, out)


def philox_normal(seed: ArrayLike, stream: ArrayLike, counter: ArrayLike, *, out: Any = None) -> Any:
    """Return the normal random numbers of mean 0 and variance 1 that belong to seeds, streams and counters.

    Parameters
    ----------
    seed, stream, counter : array_like of int
        As of `philox_uniform`.
    out : array, optional
        As of `philox_uniform`.

    Returns
    -------
    float64 or ndarray of float64
        As from `philox_uniform`. Values lie within 8.57 of 0. Host and device, and hosts with and without the native
        library, agree within 8 units in the last place: their logarithms, sines and cosines differ.

    Raises
    ------
    ArgumentTypeError, ArgumentError, MixedBackendError
        As from `philox_uniform`.

    See Also
    --------
    philox_normal2 : The same, and a second number of the same block for half the price.

    Notes
    -----
    The method of Box and Muller (1958): of the numbers (u0, u1) of `philox_uniform2`, ``sqrt(-2 log(1 - u0)) cos(2 pi
    u1)``. In CUDA kernels it is ``cunumpy_normal`` of ``<cunumpy/random.cuh>``.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.rng.philox_normal(42, [0, 1, 2], 0)
    array([ 1.23454182,  0.01598893, -0.88834022])
    """
    return _draw("philox_normal", seed, stream, counter, out)


def philox_normal2(
    seed: ArrayLike, stream: ArrayLike, counter: ArrayLike, *, out: tuple[Any, Any] | None = None
) -> tuple[Any, Any]:
    """Return two normal random numbers of mean 0 and variance 1 for each seed, stream and counter.

    Parameters
    ----------
    seed, stream, counter : array_like of int
        As of `philox_uniform`.
    out : pair of arrays, optional
        As of `philox_uniform2`.

    Returns
    -------
    z0, z1 : float64 or ndarray of float64
        `z0` is what `philox_normal` gives, `z1` has the sine in place of the cosine; they are independent.

    Raises
    ------
    ArgumentTypeError, ArgumentError, MixedBackendError
        As from `philox_uniform`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> z0, z1 = xp.rng.philox_normal2(42, [0, 1], 0)
    >>> z0, z1
    (array([1.23454182, 0.01598893]), array([0.61184994, 0.14129369]))

    Three components for each particle and step, two counters a step:

    >>> ids, step = xp.arange(1000), 7
    >>> x, y = xp.rng.philox_normal2(42, ids, 2 * step)
    >>> z = xp.rng.philox_normal(42, ids, 2 * step + 1)
    """
    return _draw_pair("philox_normal2", seed, stream, counter, out)


def _draw(function: str, seed: Any, stream: Any, counter: Any, out: Any) -> Any:
    arguments = {"seed": seed, "stream": stream, "counter": counter}
    backend = _gate.common_backend(function, **arguments, out=out)
    operands = {argument: _operand(value, function, argument) for argument, value in arguments.items()}
    shape = _common_shape(operands, function)
    result = _result(out, shape, np.float64, backend, function, "out", arguments)
    _write(function, backend, operands, result, None)
    return result[()] if out is None and backend == "numpy" else result


def _draw_pair(function: str, seed: Any, stream: Any, counter: Any, out: Any) -> tuple[Any, Any]:
    arguments = {"seed": seed, "stream": stream, "counter": counter}
    if out is None:
        first = second = None
    elif isinstance(out, (tuple, list)) and len(out) == 2 and out[0] is not None and out[1] is not None:
        first, second = out
    else:
        raise ArgumentTypeError(
            f"{function}: argument 'out' must be a pair of arrays, one for each result, got {_gate.describe(out)}; "
            "pass out=(first, second), or leave it out."
        )
    backend = _gate.common_backend(function, **arguments, **{"out[0]": first, "out[1]": second})
    operands = {argument: _operand(value, function, argument) for argument, value in arguments.items()}
    shape = _common_shape(operands, function)
    results = (
        _result(first, shape, np.float64, backend, function, "out[0]", arguments),
        _result(second, shape, np.float64, backend, function, "out[1]", arguments | {"out[0]": first}),
    )
    _write(function, backend, operands, *results)
    return results if out is not None or backend == "cupy" else (results[0][()], results[1][()])


def _write(function: str, backend: BackendType, operands: Mapping[str, Operand], first: Any, second: Any) -> None:
    module: ModuleType = _host.philox
    if backend == "cupy":
        check_devices(
            function, **_device_arrays(operands), **{"out" if second is None else "out[0]": first, "out[1]": second}
        )
        module = _device_philox
    write = module.philox_uniform if function.startswith("philox_uniform") else module.philox_normal
    write(list(operands.values()), first, second)


def _operand(value: Any, function: str, argument: str) -> Operand:
    """Turn an argument into an int in [0, 2^64) or an array of an integer dtype; the array is not converted."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value) & _MASK
    if _arrays.is_device_array(value):
        if value.dtype.kind not in "iu":
            _gate.refuse_non_integer(value, value.dtype, function=function, argument=argument)
        return value
    if value is None or isinstance(value, (bool, float, complex, str, bytes, np.generic)):
        what = "None" if value is None else f"{_gate.describe(value).partition('(')[0]} {value!r}"
        raise ArgumentTypeError(
            f"{function}: argument {argument!r} must be an integer or an array of integers, got {what}; convert a "
            "whole number with int(...)."
        )
    array = _gate.as_host_array(value, function=function, argument=argument, dtype_kinds="biufcSUTMmVO")
    if isinstance(value, (list, tuple)):
        array = _gate.integers_of_list(value, array, wrap=True)
    if array.dtype.kind not in "iu":
        _gate.refuse_non_integer(value, array.dtype, function=function, argument=argument)
    return array


def _common_shape(operands: Mapping[str, Operand], function: str) -> tuple[int, ...]:
    shapes = {argument: value.shape for argument, value in operands.items() if not isinstance(value, int)}
    different = set(shapes.values())
    if len(different) < 2:
        return different.pop() if different else ()
    try:
        return np.broadcast_shapes(*different)
    except ValueError:
        given = ", ".join(f"{argument} {shape}" for argument, shape in shapes.items())
        raise ArgumentError(
            f"{function}: the arguments' shapes can't be broadcast to one: {given}; give them equal shapes, or length "
            "1 along an axis."
        ) from None


def _result(
    out: Any,
    shape: tuple[int, ...],
    dtype: Any,
    backend: BackendType,
    function: str,
    argument: str,
    inputs: Mapping[str, Any],
) -> Any:
    """Check the array that was given for a result, or make one."""
    if out is not None:
        _gate.check_output(
            out, shape=shape, dtype=dtype, backend=backend, function=function, argument=argument, inputs=inputs
        )
        return out
    module = np if backend == "numpy" else _backend.require_cupy(function)
    return module.empty(shape, dtype)


def _device_arrays(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {argument: value for argument, value in arguments.items() if _arrays.is_device_array(value)}
