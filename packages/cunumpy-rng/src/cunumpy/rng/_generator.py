"""A counter-based generator with a position, equal on both backends."""

from __future__ import annotations

import math
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _gate, _threads
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.rng._draws import (
    LARGEST,
    MOST,
    POSITIONS,
    Draw,
    beyond_dtype_text,
    checked_position,
    checked_probabilities,
    empty_interval_text,
    interval_ends,
    is_number,
    module_of,
    path_of,
    population_of,
    shape_of_size,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from numpy.typing import DTypeLike

    from cunumpy._backend import BackendType

    Size = int | tuple[int, ...] | None

_WORTH_THREADS = 2**15
"""Blocks of the smallest calls that are shared by threads."""


def stream_number(rank: int = 0, component: int = 0) -> int:
    """Return a stream for each pair of a process's rank and a component of the program.

    Parameters
    ----------
    rank, component : int, default: 0
        From 0 up, below 2^32.

    Returns
    -------
    int
        ``component * 2**32 + rank``: different pairs give different streams. Where ids of particles below 2^32 are
        streams as well, component 0 is theirs.

    Raises
    ------
    ArgumentTypeError
        Not an integer.
    ArgumentError
        Negative, or not below 2^32.

    Examples
    --------
    >>> from cunumpy.rng import PhiloxGenerator, stream_number
    >>> loading = PhiloxGenerator(42, stream_number(rank=3, component=1))
    >>> loading.stream == 2**32 + 3
    True
    """
    numbers = []
    for argument, value in (("rank", rank), ("component", component)):
        number = _gate.as_integer(value, function="stream_number", argument=argument)
        if not 0 <= number < 2**32:
            raise ArgumentError(f"stream_number: argument {argument!r} must be in [0, 2^32), got {number}.")
        numbers.append(number)
    return numbers[1] << 32 | numbers[0]


class PhiloxGenerator:
    """A counter-based random number generator that draws equal numbers with NumPy and CuPy.

    The methods are the most used ones of NumPy's ``Generator``. Where arrays are among the arguments (`out` counts),
    they decide which backend draws; without any it is the active one. Uniform numbers, integers and permutations are
    equal bit for bit, normal and exponential ones within 8 units in the last place. On CuPy nothing waits for the
    device and each fill is one kernel launch; array parameters and `choice` take a few more.

    Generators with the same seed and different streams are independent, as are those with different seeds. Give each
    process and each component of a program its own stream: `stream_number`, or `RandomStreams.philox`.

    **Partition of the counters.** The generator has a `position`, the number of the next block. Block ``b`` is Philox
    4x32-10 of (seed, stream, counter ``b``), which gives two 64-bit or four 32-bit words. A call that draws ``n``
    values begins with a block of its own:

    ==========================================================  ===================  ==================================
    method                                                      blocks used          value ``j`` comes from
    ==========================================================  ===================  ==================================
    `random`, `uniform`, `standard_normal`, `normal`,           ``ceil(n / 2)``      number ``j % 2`` of block
    `standard_exponential`, `exponential` in float64                                 ``position + j // 2``
    the same in float32                                         ``ceil(n / 4)``      number ``j % 4`` of block
                                                                                     ``position + j // 4``
    `integers` of any dtype; `choice` with replacement          ``ceil(n / 2)``      as in float64
    `permutation`, `choice` without replacement                 ``ceil(m / 2)``      keys for all ``m`` entries, as in
                                                                                     float64
    ==========================================================  ===================  ==================================

    A normal pair is a block's two uniform numbers by Box and Muller's method. Integers that Lemire's method rejects are
    drawn again with 1, 2, ... in bits 56 to 63 of the counter. So ``PhiloxGenerator(s, t).random(2 * n)`` has the pairs
    of ``philox_uniform2(s, t, arange(n))``, and any part of a sequence can be computed by itself: set the position.

    Threads may share a generator: each call takes its blocks in one step, whose order is not determined.

    Parameters
    ----------
    seed : int
        Taken modulo 2^64.
    stream : int, default: 0
        Taken modulo 2^64.

    Raises
    ------
    ArgumentTypeError
        Seed or stream is not an integer; floats, bools and None are none.

    References
    ----------
    Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11 (2011), doi:10.1145/2063384.2063405.

    Examples
    --------
    >>> from cunumpy.rng import PhiloxGenerator
    >>> generator = PhiloxGenerator(42)
    >>> velocities = generator.normal(0.0, 2.0, size=(1000, 3))
    >>> generator
    PhiloxGenerator(seed=42, stream=0, position=1500)
    >>> saved = generator.state
    >>> first = generator.integers(100, size=5)
    >>> generator.state = saved
    >>> bool((generator.integers(100, size=5) == first).all())
    True
    """

    __slots__ = ("_lock", "_position", "_seed", "_stream")

    def __init__(self, seed: int, stream: int = 0) -> None:
        self._seed = _gate.as_integer(seed, function="PhiloxGenerator", argument="seed") % 2**64
        self._stream = _gate.as_integer(stream, function="PhiloxGenerator", argument="stream") % 2**64
        self._position = 0
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"PhiloxGenerator(seed={self._seed}, stream={self._stream}, position={self._position})"

    # --- position and state -------------------------------------------------------------------------------------------

    @property
    def seed(self) -> int:
        """The seed, in [0, 2^64)."""
        return self._seed

    @property
    def stream(self) -> int:
        """The stream, in [0, 2^64)."""
        return self._stream

    @property
    def position(self) -> int:
        """The number of the next block, in [0, 2^56]; may be assigned."""
        return self._position

    @position.setter
    def position(self, position: int) -> None:
        number = checked_position(position, "PhiloxGenerator.position")
        with self._lock:
            self._position = number

    def advance(self, blocks: int) -> None:
        """Move the position by a number of blocks, negative ones included.

        Parameters
        ----------
        blocks : int
            Two float64 numbers or integers, or four float32 numbers, each.

        Raises
        ------
        ArgumentTypeError
            Not an integer.
        ArgumentError
            The position would leave [0, 2^56]; it stays.

        Examples
        --------
        >>> from cunumpy.rng import PhiloxGenerator
        >>> generator = PhiloxGenerator(42)
        >>> generator.advance(10)
        >>> generator.position
        10
        """
        step = _gate.as_integer(blocks, function="PhiloxGenerator.advance", argument="blocks")
        with self._lock:
            self._position = checked_position(self._position + step, "PhiloxGenerator.advance")

    @property
    def state(self) -> dict[str, int]:
        """Seed, stream and position, as a dict of ints that can be stored anywhere, JSON included; may be assigned."""
        with self._lock:
            return {"seed": self._seed, "stream": self._stream, "position": self._position}

    @state.setter
    def state(self, state: Mapping[str, int]) -> None:
        function = "PhiloxGenerator.state"
        try:
            keys = set(state)
        except TypeError:
            keys = set()
        if keys != {"seed", "stream", "position"}:
            raise ArgumentTypeError(f"{function}: must be a dict with the keys seed, stream, position, got {state!r}.")
        seed = _gate.as_integer(state["seed"], function=function, argument="seed") % 2**64
        stream = _gate.as_integer(state["stream"], function=function, argument="stream") % 2**64
        position = checked_position(state["position"], function)
        with self._lock:
            self._seed, self._stream, self._position = seed, stream, position

    def __getstate__(self) -> dict[str, int]:
        return self.state

    def __setstate__(self, state: dict[str, int]) -> None:
        self._lock = Lock()
        self.state = state

    def _take(self, blocks: int, function: str) -> int:
        """Return the position, and move it beyond the blocks."""
        if blocks >= _WORTH_THREADS:
            _threads.thread_count()  # which may be a setting that can't be used; then nothing has moved
        with self._lock:
            position = self._position
            if blocks > POSITIONS - position:
                raise ArgumentError(
                    f"{function}: needs {blocks} block(s), but of the 2^56 blocks of a stream only "
                    f"{POSITIONS - position} are left; go on with another stream."
                )
            self._position = position + blocks
        return position

    # --- real numbers -------------------------------------------------------------------------------------------------

    def random(self, size: Size = None, dtype: DTypeLike = np.float64, out: Any = None) -> Any:
        """Draw from the uniform distribution on [0, 1).

        Parameters
        ----------
        size : int or tuple of int, optional
            The shape; by default a single number, or the shape of `out`.
        dtype : {float64, float32}
            Numbers have 53 or 24 random bits.
        out : array, optional
            Is filled and returned: of this dtype, C-contiguous and writable.

        Returns
        -------
        float or numpy.ndarray or cupy.ndarray
            A single number is a Python float on NumPy, a 0-d array on CuPy.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            A dtype, shape or output that can't be used; the position has not moved.

        Examples
        --------
        >>> from cunumpy.rng import PhiloxGenerator
        >>> PhiloxGenerator(42).random(2)
        array([0.61295988, 0.07323174])
        """
        draw = Draw("PhiloxGenerator.random", size, dtype, out)
        return self._fill(draw, "uniform", 0.0, 1.0)

    def uniform(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        size: Size = None,
        *,
        dtype: DTypeLike = np.float64,
        out: Any = None,
        check: bool = True,
    ) -> Any:
        """Draw from the uniform distribution on [low, high); rounding can give `high`.

        Parameters
        ----------
        low, high : float or array_like, default: 0.0, 1.0
            The ends of the interval, finite and in order.
        size : int or tuple of int, optional
            The shape; by default that of `low` and `high` broadcast against each other, or of `out`.
        dtype, out
            As in `random`.
        check : bool, default: True
            Whether parameters in device memory are read to check them (recorded as ``to_host``).

        Returns
        -------
        float or numpy.ndarray or cupy.ndarray
            As in `random`: ``low + (high - low) * u``.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            Parameters, or what `random` refuses; the position has not moved.
        MixedBackendError
            Arrays of both backends.

        Examples
        --------
        >>> from cunumpy.rng import PhiloxGenerator
        >>> PhiloxGenerator(42).uniform(-1.0, [1.0, 3.0]).shape
        (2,)
        """
        function = "PhiloxGenerator.uniform"
        if check is not True and check is not False:
            check = _gate.as_truth(check, function=function, argument="check")
        draw = Draw(function, size, dtype, out, low=low, high=high)
        low, high = draw.parameters
        if is_number(low) and is_number(high):
            width = high - low
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # an infinite width is refused below
                width = high - low
        widest = LARGEST[draw.dtype]
        bad = draw.any(lambda width: (width < 0) | (width > widest) | (width != width), width, check)
        if bad:
            raise ArgumentError(
                f"{function}: arguments 'low' and 'high' must be finite in {draw.dtype}, as their difference, and in "
                f"order, got {draw.shown('low')} and {draw.shown('high')}."
            )
        return self._fill(draw, "uniform", low, width)

    def standard_normal(self, size: Size = None, dtype: DTypeLike = np.float64, out: Any = None) -> Any:
        """Draw from the normal distribution of mean 0 and standard deviation 1.

        Parameters
        ----------
        size, dtype, out
            As in `random`. The tails end at 8.57 (float64) or 5.77 (float32).

        Returns
        -------
        float or numpy.ndarray or cupy.ndarray
            As in `random`.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            As in `random`.

        Examples
        --------
        >>> from cunumpy.rng import PhiloxGenerator
        >>> PhiloxGenerator(42).standard_normal(2).round(6)
        array([1.234542, 0.61185 ])
        """
        draw = Draw("PhiloxGenerator.standard_normal", size, dtype, out)
        return self._fill(draw, "normal", 0.0, 1.0)

    def normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        *,
        dtype: DTypeLike = np.float64,
        out: Any = None,
        check: bool = True,
    ) -> Any:
        """Draw from a normal distribution.

        Parameters
        ----------
        loc : float or array_like, default: 0.0
            The mean.
        scale : float or array_like, default: 1.0
            The standard deviation, not negative.
        size, dtype, out, check
            As in `uniform`.

        Returns
        -------
        float or numpy.ndarray or cupy.ndarray
            As in `random`.

        Raises
        ------
        ArgumentTypeError, ArgumentError, MixedBackendError
            As in `uniform`.

        Examples
        --------
        >>> from cunumpy.rng import PhiloxGenerator
        >>> PhiloxGenerator(42).normal(10.0, [0.1, 1.0], size=(5, 2)).shape
        (5, 2)
        """
        if check is not True and check is not False:
            check = _gate.as_truth(check, function="PhiloxGenerator.normal", argument="check")
        draw = Draw("PhiloxGenerator.normal", size, dtype, out, loc=loc, scale=scale)
        loc, scale = draw.parameters
        draw.refuse_negative("scale", scale, check)
        return self._fill(draw, "normal", loc, scale)

    def standard_exponential(self, size: Size = None, dtype: DTypeLike = np.float64, *, out: Any = None) -> Any:
        """Draw from the exponential distribution of mean 1.

        Parameters
        ----------
        size, dtype, out
            As in `random`. The tail ends at 36.7 (float64) or 16.6 (float32).

        Returns
        -------
        float or numpy.ndarray or cupy.ndarray
            As in `random`.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            As in `random`.

        Examples
        --------
        >>> from cunumpy.rng import PhiloxGenerator
        >>> PhiloxGenerator(42).standard_exponential(2).round(6)
        array([0.949227, 0.076052])
        """
        draw = Draw("PhiloxGenerator.standard_exponential", size, dtype, out)
        return self._fill(draw, "exponential", 0.0, 1.0)

    def exponential(
        self,
        scale: Any = 1.0,
        size: Size = None,
        *,
        dtype: DTypeLike = np.float64,
        out: Any = None,
        check: bool = True,
    ) -> Any:
        """Draw from an exponential distribution.

        Parameters
        ----------
        scale : float or array_like, default: 1.0
            The mean, not negative.
        size, dtype, out, check
            As in `uniform`.

        Returns
        -------
        float or numpy.ndarray or cupy.ndarray
            As in `random`.

        Raises
        ------
        ArgumentTypeError, ArgumentError, MixedBackendError
            As in `uniform`.

        Examples
        --------
        >>> from cunumpy.rng import PhiloxGenerator
        >>> PhiloxGenerator(42).exponential(3.0, size=4).shape
        (4,)
        """
        if check is not True and check is not False:
            check = _gate.as_truth(check, function="PhiloxGenerator.exponential", argument="check")
        draw = Draw("PhiloxGenerator.exponential", size, dtype, out, scale=scale)
        (scale,) = draw.parameters
        draw.refuse_negative("scale", scale, check)
        return self._fill(draw, "exponential", 0.0, scale)

    def _fill(self, draw: Draw, kind: str, loc: Any, scale: Any) -> Any:
        """Draw ``loc + scale * x``, scalars in the fill itself, arrays after it."""
        out = draw.output()
        position = self._take(-(-out.size // (16 // out.itemsize)), draw.function)
        fill = getattr(path_of(draw.backend), f"fill_{kind}")
        whole_loc, whole_scale = is_number(loc), is_number(scale)
        number = out.dtype.type
        fill(
            out,
            self._seed,
            self._stream,
            position,
            number(loc) if whole_loc and whole_scale else number(0),
            number(scale) if whole_scale else number(1),
        )
        if not (whole_loc and whole_scale):
            with np.errstate(over="ignore", invalid="ignore"):  # infinite without a warning, as in the fill
                if not whole_scale:
                    out *= scale.astype(out.dtype)
                out += number(loc) if whole_loc else loc.astype(out.dtype)
        return draw.result(out)

    # --- integers -----------------------------------------------------------------------------------------------------

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Size = None,
        dtype: DTypeLike = np.int64,
        endpoint: bool = False,
        out: Any = None,
        *,
        check: bool = True,
    ) -> Any:
        """Draw integers from an interval, each exactly as probable as any other.

        Parameters
        ----------
        low, high : int or array_like of int
            From `low` up to, but without, `high`; without `high` from 0 up to `low`. Up to the whole range of the dtype
            (the end of a 64-bit one with ``endpoint=True``, or as a Python int).
        size : int or tuple of int, optional
            The shape; by default that of `low` and `high` broadcast against each other, or of `out`.
        dtype : dtype_like, default: int64
            Any integer dtype, or bool.
        endpoint : bool, default: False
            Whether `high` can be drawn as well.
        out : array, optional
            As in `random`.
        check : bool, default: True
            As in `uniform`. Unchecked intervals that are empty or beyond the dtype give arbitrary integers.

        Returns
        -------
        integer or numpy.ndarray or cupy.ndarray
            A single number is a NumPy scalar of the dtype on NumPy, a 0-d array on CuPy.

        Raises
        ------
        ArgumentTypeError
            Bounds that are not integers, a dtype that is not an integer's, and what `random` refuses.
        ArgumentError
            An empty interval, bounds beyond the dtype, and what `random` refuses. The position has not moved.
        MixedBackendError
            Arrays of both backends.

        Notes
        -----
        Array bounds take 16 bytes of memory for each number drawn.

        References
        ----------
        Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019), doi:10.1145/3230636.

        Examples
        --------
        >>> from cunumpy.rng import PhiloxGenerator
        >>> rolled = PhiloxGenerator(42).integers(1, 6, size=1000, dtype="uint8", endpoint=True)
        >>> sorted(set(rolled.tolist()))
        [1, 2, 3, 4, 5, 6]
        """
        function = "PhiloxGenerator.integers"
        if check is not True and check is not False:
            check = _gate.as_truth(check, function=function, argument="check")
        if endpoint is not True and endpoint is not False:
            endpoint = _gate.as_truth(endpoint, function=function, argument="endpoint")
        if high is None:
            low, high = 0, low
            names = {"high": "low"}
        else:
            names = {}
        draw = Draw(function, size, dtype, out, integer=True, names=names, low=low, high=high)
        low, high = draw.parameters
        first, last = (0, 1) if draw.dtype.kind == "b" else (np.iinfo(draw.dtype).min, np.iinfo(draw.dtype).max)
        if is_number(low) and is_number(high):
            top = high if endpoint else high - 1
            if low > top:
                raise ArgumentError(empty_interval_text(draw, endpoint))
            if low < first or top > last:
                raise ArgumentError(beyond_dtype_text(draw, first, last, endpoint))
            out = draw.output()
            position = self._take(-(-out.size // 2), function)
            path_of(draw.backend).fill_integers(
                out, self._seed, self._stream, position, low % 2**64, (top - low + 1) % 2**64
            )
            return draw.result(out)
        bottom, span = interval_ends(draw, low, high, first, last, endpoint, check)
        out = draw.output()
        position = self._take(-(-out.size // 2), function)
        xp = draw.module
        bottom = xp.ascontiguousarray(xp.broadcast_to(bottom, out.shape))
        span = xp.ascontiguousarray(xp.broadcast_to(span, out.shape))
        path_of(draw.backend).fill_integers_between(out, self._seed, self._stream, position, bottom, span)
        return draw.result(out)

    # --- orders and choices -------------------------------------------------------------------------------------------

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """Return the numbers below `x`, or the entries of an array, in random order.

        The order is that of 64-bit random keys, ties (which are as rare as 1 in 2^64 pairs) in their original order.

        Parameters
        ----------
        x : int or array_like
            A number of elements, or an array of at least one dimension, which is left as it is.
        axis : int, default: 0
            Along which axis entries move, as wholes.

        Returns
        -------
        numpy.ndarray or cupy.ndarray
            int64 of shape (x,), or a new array like `x`.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            No such number or array, or no such axis; the position has not moved.

        Notes
        -----
        Takes O(n log n) time and 16 bytes of memory for each entry.

        Examples
        --------
        >>> from cunumpy.rng import PhiloxGenerator
        >>> sorted(PhiloxGenerator(42).permutation(5).tolist())
        [0, 1, 2, 3, 4]
        """
        function = "PhiloxGenerator.permutation"
        backend, array, count = population_of(function, "x", x, axis)
        order = self._order(backend, count, function)
        return order if array is None else array.take(order, axis=axis)

    def choice(
        self, a: Any, size: Size = None, replace: bool = True, p: Any = None, axis: int = 0, *, check: bool = True
    ) -> Any:
        """Draw entries of an array, or numbers below an int.

        Parameters
        ----------
        a : int or array_like
            A number of elements, or an array of at least one dimension.
        size : int or tuple of int, optional
            How many entries, as a shape; by default a single one.
        replace : bool, default: True
            Whether an entry can be drawn more than once. If not, entries come in the order in which they are drawn.
        p : array_like, optional
            The probability of each entry, shape (n,), at least 0, with sum 1; by default all are equal. With
            replacement a probability counts in multiples of 2^-62.
        axis : int, default: 0
            Along which axis entries lie.
        check : bool, default: True
            Whether `p` in device memory is read to check it (recorded as ``to_host``).

        Returns
        -------
        scalar or numpy.ndarray or cupy.ndarray
            The axis of `a` is replaced by the shape `size`. An int `a` gives int64.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            No such population, size or probabilities; the position has not moved.
        MixedBackendError
            `a` and `p` are arrays of different backends.

        Notes
        -----
        Without replacement it takes time and memory for the whole population. Probabilities then are those of drawing
        one after another (the smallest of exponential keys divided by them). Results are equal on both backends, but
        for weighted draws without replacement whose keys agree to 15 digits.

        References
        ----------
        Efraimidis, Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters 97 (2006),
        doi:10.1016/j.ipl.2005.11.003.

        Examples
        --------
        >>> from cunumpy.rng import PhiloxGenerator
        >>> PhiloxGenerator(42).choice(10, size=3, replace=False).shape
        (3,)
        """
        function = "PhiloxGenerator.choice"
        replace = _gate.as_truth(replace, function=function, argument="replace")
        check = _gate.as_truth(check, function=function, argument="check")
        shape = () if size is None else shape_of_size(function, size)
        number = math.prod(shape)
        backend, array, count = population_of(function, "a", a, axis, p)
        xp = module_of(backend)
        if count == 0 and number > 0:
            raise ArgumentError(f"{function}: argument 'a' has no entries to choose {number} from.")
        if not replace and number > count:
            raise ArgumentError(
                f"{function}: {number} entries can't be chosen from {count} without replacement; ask for fewer, or use "
                "replace=True."
            )
        weights = None
        if p is not None:
            weights = checked_probabilities(function, backend, p, count, 0 if replace else number, check)
        if replace:
            index = self._with_replacement(backend, xp, count, number, weights, function)
        elif weights is None:
            index = self._order(backend, count, function)[:number]
        else:
            keys = xp.empty(count)
            position = self._take(-(-count // 2), function)
            path_of(backend).fill_exponential(keys, self._seed, self._stream, position, np.float64(0), np.float64(1))
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # infinite keys come last
                keys /= weights
            keys[weights == 0] = math.inf
            index = path_of(backend).order(keys)[:number]
        if size is None:
            index = index.reshape(())
            if array is None:
                return index if backend == "cupy" else index[()]
            taken = array.take(index, axis=axis)
            return taken[()] if isinstance(taken, np.ndarray) and taken.ndim == 0 else taken
        index = index.reshape(shape)
        return index if array is None else array.take(index, axis=axis)

    def _order(self, backend: BackendType, count: int, function: str) -> Any:
        if count > MOST:
            raise ArgumentError(f"{function}: an order of {count} entries is more than an array can hold.")
        xp = module_of(backend)
        keys = xp.empty(count, np.uint64)
        position = self._take(-(-count // 2), function)
        path_of(backend).fill_integers(keys, self._seed, self._stream, position, 0, 0)
        return path_of(backend).order(keys)

    def _with_replacement(
        self, backend: BackendType, xp: ModuleType, count: int, number: int, weights: Any, function: str
    ) -> Any:
        index = xp.empty(number, np.int64 if weights is None else np.float64)
        position = self._take(-(-number // 2), function)
        path = path_of(backend)
        if weights is None:
            path.fill_integers(index, self._seed, self._stream, position, 0, count)
            return index
        path.fill_uniform(index, self._seed, self._stream, position, np.float64(0), np.float64(1))
        if number == 0:
            return index.astype(np.int64)
        # Sums of integers do not depend on their order, which differs between backends.
        ends = xp.cumsum(xp.rint(weights * 2.0**62).astype(np.int64))
        index *= ends[-1].astype(np.float64)
        return xp.searchsorted(ends, xp.minimum(index.astype(np.int64), ends[-1] - 1), side="right")
