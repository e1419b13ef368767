"""Seeded streams of the backends' own generators: one per backend, rank and component."""

from __future__ import annotations

import hashlib
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _backend, _conversion, _gate
from cunumpy._call_sites import warn
from cunumpy.errors import ArgumentError, ArgumentTypeError, CuNumpyWarning
from cunumpy.rng._generator import PhiloxGenerator, stream_number
from cunumpy.rng._library_draws import any_on_host, as_host_parameter, checks_values, draw_parameters, size_of_draw

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from numpy.random import SeedSequence

BIT_GENERATORS: tuple[str, ...] = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
"""Names of NumPy's bit generators, as `RandomStreams.seed` takes them."""

_CUPY_BIT_GENERATORS = {"Philox": "Philox4x3210"}
_BACKEND_KEYS = {"numpy": 0, "cupy": 1}
# Spawn keys are (rank, backend) for the streams themselves, whose children may be spawned by their users; keys from 2
# on are ours.
_NUMBERED, _NAMED = 2, 3


class RandomStreams:
    """One random generator per backend, all derived from one seed and the rank of the process.

    The generators are the backends' own, made on first use: NumPy's ``Generator`` with the chosen bit generator, and
    CuPy's. They draw different numbers from the same seed; `philox` gives a generator that draws the same on both.
    A seed and a rank give the same numbers in every run, and ranks draw independently of each other
    (`numpy.random.SeedSequence` with the rank as spawn key). Unseeded, the entropy is the operating system's, fixed at
    first use.

    Of the seed CuPy's bit generators use 32 bits. Where many ranks draw on the device, prefer `philox`, which uses 64
    bits of seed and a stream of its own for each rank.

    Objects may be shared by threads; they pickle and copy with the state of their generators (the state of CuPy's is
    copied to the host for it, which is recorded as ``to_host``).

    See Also
    --------
    random_streams : The process-wide instance.

    Examples
    --------
    >>> from cunumpy.rng import RandomStreams
    >>> streams = RandomStreams()
    >>> streams.seed(42, rank=1)
    >>> streams
    RandomStreams(entropy=42, spawn_key=(1,), bit_generator='PCG64')
    >>> streams.uniform(-1.0, 1.0, 3).shape
    (3,)
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._process_wide = False
        self._sequence: SeedSequence | None = None
        self._bit_generator = "PCG64"
        self._chosen = False  # whether the bit generator was asked for
        self._generators: dict[str, Any] = {}
        self._cupy_global_seed: int | None = None  # what CuPy's global state gets once CuPy is used

    def __repr__(self) -> str:
        sequence = self._sequence
        if sequence is None:
            return "RandomStreams(not seeded)"
        return (
            f"RandomStreams(entropy={sequence.entropy}, spawn_key={sequence.spawn_key}, "
            f"bit_generator={self._bit_generator!r})"
        )

    # --- seeding ------------------------------------------------------------------------------------------------------

    def seed(
        self,
        value: int | None,
        rank: int = 0,
        bit_generator: str | None = None,
        *,
        seed_global: bool | None = None,
    ) -> None:
        """Start all streams anew.

        Parameters
        ----------
        value : int or None
            Any integer from 0 up, of any size; None for entropy of the operating system.
        rank : int, default: 0
            The rank of the process, from 0 up.
        bit_generator : str, optional
            One of `BIT_GENERATORS`, by default ``"PCG64"``. Of these CuPy has only Philox (its ``Philox4x3210``); for
            the others it draws from its own default, with a warning when its generator is made.
        seed_global : bool, optional
            Whether to seed the global states of ``numpy.random`` and ``cupy.random`` as well, with a number derived
            from value and rank; CuPy's at once if CuPy is the active backend, else when CuPy is first used through this
            object. By default only the process-wide `random_streams` does.

        Raises
        ------
        ArgumentTypeError
            A value or rank that is not an integer; floats and bools are none.
        ArgumentError
            A negative value or rank, or an unknown bit generator. Nothing has changed.

        Examples
        --------
        >>> from cunumpy.rng import RandomStreams
        >>> streams = RandomStreams()
        >>> streams.seed(42)
        >>> float(round(streams.random(), 8))
        0.84652896
        """
        if seed_global is not None:
            seed_global = _gate.as_optional_truth(seed_global, function="RandomStreams.seed", argument="seed_global")
        entropy = None if value is None else _natural(value, "RandomStreams.seed", "value")
        key = _natural(rank, "RandomStreams.seed", "rank")
        name = _checked_bit_generator("PCG64" if bit_generator is None else bit_generator, "RandomStreams.seed")
        sequence = np.random.SeedSequence(entropy=entropy, spawn_key=(key,))
        with self._lock:
            if self._process_wide if seed_global is None else seed_global:
                number = int(sequence.generate_state(1)[0])
                if _backend.get_backend() == "cupy":
                    _backend.require_cupy("RandomStreams.seed").random.seed(number)  # may fail: before any change
                    self._cupy_global_seed = None
                else:
                    self._cupy_global_seed = number
                np.random.seed(number)  # noqa: NPY002 - the global state is meant
            else:
                self._cupy_global_seed = None
            self._sequence = sequence
            self._bit_generator = name
            self._chosen = bit_generator is not None
            self._generators = {}

    def _seeded(self) -> SeedSequence:
        with self._lock:
            if self._sequence is None:
                self._sequence = np.random.SeedSequence(spawn_key=(0,))
            return self._sequence

    # --- generators ---------------------------------------------------------------------------------------------------

    def generator(self, backend: str | None = None) -> Any:
        """Return the generator of a backend, the same object until the next `seed`.

        Parameters
        ----------
        backend : {"numpy", "cupy"}, optional
            By default the active backend.

        Returns
        -------
        numpy.random.Generator or cupy.random.Generator

        Raises
        ------
        ArgumentError
            The name is not a backend's.
        MissingPackageError
            CuPy was asked for and can't be used.

        Warns
        -----
        CuNumpyWarning
            CuPy's generator is made and CuPy lacks the bit generator that `seed` was asked for.

        Examples
        --------
        >>> from cunumpy.rng import RandomStreams
        >>> streams = RandomStreams()
        >>> streams.seed(42)
        >>> streams.generator("numpy") is streams.generator("numpy")
        True
        """
        name = _backend_name(backend, "RandomStreams.generator")
        generator = self._generators.get(name)
        if generator is not None:
            return generator
        with self._lock:
            if name not in self._generators:
                self._generators[name] = self._derived(name, self._seeded(), ())
                if name == "cupy" and self._cupy_global_seed is not None:
                    _backend.require_cupy("RandomStreams.generator").random.seed(self._cupy_global_seed)
                    self._cupy_global_seed = None
            return self._generators[name]

    def make_generator(
        self, seed: int | None = None, backend: str | None = None, component: int | str | None = None
    ) -> Any:
        """Return a generator for one component of a program.

        Parameters
        ----------
        seed : int, optional
            Any integer from 0 up. Without a component the result is ``default_rng(seed)`` of the backend, the same on
            every rank. By default this object's own seed.
        backend : {"numpy", "cupy"}, optional
            By default the active backend.
        component : int or str, optional
            A number from 0 up, or a name, of the component. With it the generator is derived from seed, rank and
            component, and draws independently of other ranks and components and of `generator`.

        Returns
        -------
        numpy.random.Generator or cupy.random.Generator
            A new generator at each call; without seed and component the one of `generator`.

        Raises
        ------
        ArgumentTypeError
            A seed or component of another type.
        ArgumentError
            A negative seed or component, or an unknown backend.
        MissingPackageError
            CuPy was asked for and can't be used.

        Warns
        -----
        CuNumpyWarning
            As in `generator`.

        Examples
        --------
        >>> from cunumpy.rng import RandomStreams
        >>> streams = RandomStreams()
        >>> streams.seed(42, rank=3)
        >>> noise = streams.make_generator(component="noise")
        >>> noise.random() != streams.make_generator(component="loading").random()
        True
        """
        function = "RandomStreams.make_generator"
        name = _backend_name(backend, function)
        entropy = None if seed is None else _natural(seed, function, "seed")
        if component is None:
            if entropy is None:
                return self.generator(name)
            return _random_module(name, function).default_rng(entropy)
        key = _component_key(component, function)
        with self._lock:
            sequence = self._seeded() if entropy is None or self._sequence is not None else None
            rank = 0 if sequence is None else sequence.spawn_key[0]
            if sequence is None or entropy is not None:
                sequence = np.random.SeedSequence(entropy, spawn_key=(rank,))
            return self._derived(name, sequence, key)

    def philox(self, component: int = 0) -> PhiloxGenerator:
        """Return a new generator that draws equal numbers on both backends, for one component of a program.

        Parameters
        ----------
        component : int, default: 0
            The number of the component, below 2^32.

        Returns
        -------
        PhiloxGenerator
            At position 0, with ``stream_number(rank, component)`` as its stream. Its seed is the value that `seed` got
            if that is below 2^64, else 64 bits that `numpy.random.SeedSequence` makes of it.

        Raises
        ------
        ArgumentTypeError
            The component is not an integer.
        ArgumentError
            Component or rank is negative or not below 2^32.

        Examples
        --------
        >>> from cunumpy.rng import RandomStreams
        >>> streams = RandomStreams()
        >>> streams.seed(42, rank=3)
        >>> streams.philox(component=1)
        PhiloxGenerator(seed=42, stream=4294967299, position=0)
        """
        sequence = self._seeded()
        entropy: Any = sequence.entropy
        if entropy >= 2**64:
            entropy = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])
        number = _gate.as_integer(
            component, function="RandomStreams.philox", argument="component", least=0, most=2**32 - 1
        )
        return PhiloxGenerator(int(entropy), stream_number(sequence.spawn_key[0], number))

    def _derived(self, backend: str, sequence: SeedSequence, key: tuple[int, ...]) -> Any:
        """Make a generator; the key of a component has its kind first, which keeps it apart from the backends' own."""
        kind, *rest = key or (_BACKEND_KEYS[backend],)
        if key:
            rest = [_BACKEND_KEYS[backend], *rest]
        child = np.random.SeedSequence(sequence.entropy, spawn_key=(*sequence.spawn_key, kind, *rest))
        if backend == "numpy":
            return np.random.Generator(getattr(np.random, self._bit_generator)(child))
        random = _random_module(backend, "RandomStreams.generator")
        number = int(child.generate_state(1, np.uint64)[0])
        if not self._chosen:
            return random.default_rng(number)
        wanted = _CUPY_BIT_GENERATORS.get(self._bit_generator)
        if wanted is None:
            warn(
                f"RandomStreams: CuPy has no bit generator {self._bit_generator!r}, so its default draws on the "
                "device; seed with bit_generator='Philox', which both backends have, or without a choice.",
                CuNumpyWarning,
            )
            return random.default_rng(number)
        return random.default_rng(getattr(random, wanted)(number))

    def _drawing(self, function: str, size: Any, rng: Any) -> Any:
        """Return the generator of a draw, and check what is asked of it."""
        if size is not None:
            for extent in size if isinstance(size, (tuple, list)) else (size,):
                _gate.as_integer(extent, function=function, argument="size", least=0, most=2**63 - 1)
        if rng is None:
            return self.generator()
        if not hasattr(rng, "standard_normal"):
            raise ArgumentTypeError(
                f"{function}: argument 'rng' must be a generator, such as numpy.random.default_rng(seed) or "
                f"PhiloxGenerator(seed), got {_gate.given(rng)}."
            )
        return rng

    # --- draws --------------------------------------------------------------------------------------------------------

    def random(self, size: int | tuple[int, ...] | None = None, rng: Any = None) -> Any:
        """Draw float64 numbers from the uniform distribution on [0, 1).

        Parameters
        ----------
        size : int or tuple of int, optional
            The shape; by default a single number.
        rng : generator, optional
            A NumPy or CuPy ``Generator`` or ``RandomState``, or a `PhiloxGenerator`; by default this object's generator
            of the active backend.

        Returns
        -------
        float or numpy.ndarray or cupy.ndarray
            A Python float for a single number on NumPy, on CuPy a 0-d array.

        Examples
        --------
        >>> from cunumpy.rng import RandomStreams
        >>> RandomStreams().random((2, 3)).shape
        (2, 3)
        """
        generator = self._drawing("RandomStreams.random", size, rng)
        # CuPy's RandomState has the function under its older name only.
        return (getattr(generator, "random", None) or generator.random_sample)(size)

    def standard_normal(self, size: int | tuple[int, ...] | None = None, rng: Any = None) -> Any:
        """Draw float64 numbers from the normal distribution with mean 0 and standard deviation 1.

        Parameters
        ----------
        size, rng
            As in `random`.

        Returns
        -------
        float or numpy.ndarray or cupy.ndarray
            As in `random`.

        Examples
        --------
        >>> from cunumpy.rng import RandomStreams
        >>> RandomStreams().standard_normal(4).dtype
        dtype('float64')
        """
        return self._drawing("RandomStreams.standard_normal", size, rng).standard_normal(size)

    def normal(
        self, loc: Any = 0.0, scale: Any = 1.0, size: int | tuple[int, ...] | None = None, rng: Any = None
    ) -> Any:
        """Draw float64 numbers from a normal distribution.

        Parameters
        ----------
        loc : float or array_like, default: 0.0
            The mean.
        scale : float or array_like, default: 1.0
            The standard deviation, not negative. In device arrays that is not checked.
        size : int or tuple of int, optional
            The shape; by default that of `loc` and `scale` broadcast against each other.
        rng : generator, optional
            As in `random`.

        Returns
        -------
        float or numpy.ndarray or cupy.ndarray
            As in `random`. Lists are copied to the device for a draw there (recorded as ``to_device``).

        Raises
        ------
        ArgumentError
            A negative scale (from NumPy's generators its own ``ValueError``), or shapes that can't be broadcast, to
            `size` where that is given.
        ArgumentTypeError
            Parameters that are no real numbers, or are masked.
        MixedBackendError
            Arrays of another backend than the generator's.

        Examples
        --------
        >>> from cunumpy.rng import RandomStreams
        >>> RandomStreams().normal([0.0, 10.0], 0.1).shape
        (2,)
        """
        function = "RandomStreams.normal"
        generator = self._drawing(function, size, rng)
        method = getattr(generator, "normal", None)
        if isinstance(generator, PhiloxGenerator):
            return method(loc, scale, size)  # type: ignore[misc]
        if not checks_values(generator) and any_on_host(scale, function, "scale", lambda scale: scale < 0):
            raise ArgumentError(f"{function}: argument 'scale' must not be negative, got {scale!r}.")
        loc, scale = draw_parameters(generator, function, size, loc=loc, scale=scale)
        if method is not None:
            return method(loc, scale, size)
        return loc + scale * generator.standard_normal(size_of_draw(size, loc, scale))

    def uniform(
        self, low: Any = 0.0, high: Any = 1.0, size: int | tuple[int, ...] | None = None, rng: Any = None
    ) -> Any:
        """Draw float64 numbers from the uniform distribution on [low, high).

        Parameters
        ----------
        low, high : float or array_like, default: 0.0, 1.0
            The ends of the interval, not in reverse. In device arrays that is not checked. Rounding can give `high`.
        size : int or tuple of int, optional
            The shape; by default that of `low` and `high` broadcast against each other.
        rng : generator, optional
            As in `random`.

        Returns
        -------
        float or numpy.ndarray or cupy.ndarray
            As in `random`. Lists are copied to the device for a draw there (recorded as ``to_device``).

        Raises
        ------
        ArgumentError
            An interval in reverse or without end (from NumPy's generators its own errors), or shapes that can't be
            broadcast, to `size` where that is given.
        ArgumentTypeError
            Parameters that are no real numbers, or are masked.
        MixedBackendError
            Arrays of another backend than the generator's.

        Examples
        --------
        >>> from cunumpy.rng import RandomStreams
        >>> bool(5.0 <= RandomStreams().uniform(5.0, 6.0) <= 6.0)
        True
        """
        function = "RandomStreams.uniform"
        generator = self._drawing(function, size, rng)
        method = getattr(generator, "uniform", None)
        if isinstance(generator, PhiloxGenerator):
            return method(low, high, size)  # type: ignore[misc]
        if not (checks_values(generator) or _arrays.is_device_array(low) or _arrays.is_device_array(high)):
            with np.errstate(over="ignore", invalid="ignore"):
                width = np.subtract(as_host_parameter(high, function, "high"), as_host_parameter(low, function, "low"))
            if not np.isfinite(width).all() or (width < 0).any():
                raise ArgumentError(
                    f"{function}: arguments 'low' and 'high' must be finite, as their difference, and in order, "
                    f"got {low!r} and {high!r}."
                )
        low, high = draw_parameters(generator, function, size, low=low, high=high)
        if method is not None:
            return method(low, high, size)
        return low + (high - low) * self.random(size_of_draw(size, low, high), generator)

    # --- state --------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Any]:
        """The seed and the state of every generator made so far, to be assigned later.

        A dict of numbers, texts and NumPy arrays. To read it copies the state of CuPy's generator to the host (recorded
        as ``to_host``), to assign it copies it back. Assigning leaves the global states of ``numpy.random`` and
        ``cupy.random`` alone; generators handed out before are no longer this object's.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            What is assigned is not such a dict; nothing has changed.

        Examples
        --------
        >>> from cunumpy.rng import RandomStreams
        >>> streams = RandomStreams()
        >>> state = streams.state
        >>> streams.seed(1)
        >>> streams.state = state
        >>> streams
        RandomStreams(not seeded)
        """
        with self._lock:
            sequence = self._sequence
            return {
                "entropy": None if sequence is None else sequence.entropy,
                "rank": 0 if sequence is None else sequence.spawn_key[0],
                "bit_generator": self._bit_generator,
                "chosen": self._chosen,
                "generators": {name: _saved(name, generator) for name, generator in self._generators.items()},
            }

    @state.setter
    def state(self, state: Mapping[str, Any]) -> None:
        function = "RandomStreams.state"
        if not isinstance(state, dict) or set(state) != set(_STATE_KEYS):
            found = sorted(state, key=str) if isinstance(state, dict) else _gate.describe(state)
            _refuse_state(function, f"must be a dict with the keys {', '.join(_STATE_KEYS)}, got {found}")
        if not isinstance(state["generators"], dict):
            _refuse_state(function, f"has generators of type {_gate.describe(state['generators'])}, not dict")
        other = RandomStreams()
        other._bit_generator = _checked_bit_generator(state["bit_generator"], function)
        other._chosen = bool(state["chosen"])
        if state["entropy"] is not None:
            other._sequence = np.random.SeedSequence(
                _natural(state["entropy"], function, "entropy"), spawn_key=(_natural(state["rank"], function, "rank"),)
            )
        for name, saved in state["generators"].items():
            _backend.check_backend_name(name, function)
            other.generator(name)
            try:
                _restore(name, other._generators[name], saved)
            except (TypeError, ValueError, KeyError, AttributeError) as error:
                raise ArgumentError(
                    f"{function}: the state of the {name} generator can't be restored: {error}; assign what the "
                    "property gave."
                ) from error
        with self._lock:
            self._sequence, self._bit_generator, self._chosen = other._sequence, other._bit_generator, other._chosen
            self._generators, self._cupy_global_seed = other._generators, None

    def __getstate__(self) -> dict[str, Any]:
        return self.state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.state = state


_STATE_KEYS = ("entropy", "rank", "bit_generator", "chosen", "generators")

random_streams: RandomStreams = RandomStreams()
"""The process-wide `RandomStreams`; its `seed` also seeds the global states of ``numpy.random`` and ``cupy.random``."""
random_streams._process_wide = True


def get_rng(seed: Any = None) -> Any:
    """Return a new generator of the active backend, ``default_rng(seed)``; `random_streams` has no part in it.

    A seed gives different numbers on the two backends; `PhiloxGenerator` gives the same.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence or generator, optional
        What the backend's ``default_rng`` takes; by default entropy of the operating system. A generator of the
        backend, or a `PhiloxGenerator`, is returned as it is.

    Returns
    -------
    numpy.random.Generator or cupy.random.Generator

    Raises
    ------
    ArgumentTypeError
        A seed that is not made of integers, or is a device array.
    ArgumentError
        A negative seed.

    Examples
    --------
    >>> from cunumpy.rng import get_rng
    >>> float(round(get_rng(7).random(), 8))
    0.62509547
    """
    if isinstance(seed, PhiloxGenerator):
        return seed
    if _arrays.get_array_backend(seed) == "cupy":
        raise ArgumentTypeError(
            "get_rng: argument 'seed' is an array in device memory, which is not copied to the host unasked; convert "
            "it with xp.to_numpy(seed) first."
        )
    if _holds_text(seed):  # NumPy would read numbers from it
        raise ArgumentTypeError(
            f"get_rng: argument 'seed' must be an integer, a sequence of integers, a SeedSequence, or a generator of "
            f"the active backend, got {_gate.given(seed)}; convert text with int(...)."
        )
    random = _random_module(_backend.get_backend(), "get_rng")
    try:
        return random.default_rng(seed)
    except TypeError as error:
        raise ArgumentTypeError(
            f"get_rng: argument 'seed' must be an integer, a sequence of integers, a SeedSequence, or a generator of "
            f"the active backend ({_backend.get_backend()}), got {seed!r}: {error}"
        ) from error
    except ValueError as error:
        raise ArgumentError(f"get_rng: argument 'seed' must not be negative, got {seed!r}: {error}") from error


# --- arguments --------------------------------------------------------------------------------------------------------


def _holds_text(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "SUT" or (value.dtype.kind == "O" and _holds_text(value.reshape(-1).tolist()))
    return isinstance(value, (str, bytes)) or (isinstance(value, (list, tuple)) and any(map(_holds_text, value)))


def _natural(value: Any, function: str, argument: str) -> int:
    """Return an integer that is not negative, of any size."""
    number = _gate.as_integer(value, function=function, argument=argument)
    if number < 0:
        raise ArgumentError(f"{function}: argument {argument!r} must not be negative, got {number}.")
    return number


def _checked_bit_generator(name: Any, function: str) -> str:
    if not isinstance(name, str) or name not in BIT_GENERATORS:
        raise ArgumentError(
            f"{function}: argument 'bit_generator': Unknown bit generator {name!r}; expected one of "
            f"{', '.join(BIT_GENERATORS)}."
        )
    return str(name)


def _component_key(component: Any, function: str) -> tuple[int, ...]:
    if isinstance(component, str):  # not Python's hash, which differs between processes
        digest = hashlib.sha256(component.encode()).digest()
        return (_NAMED, *(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4)))
    return (_NUMBERED, _natural(component, function, "component"))


def _backend_name(backend: Any, function: str) -> str:
    return _backend.get_backend() if backend is None else _backend.check_backend_name(backend, function)


def _random_module(backend: str, function: str) -> Any:
    return np.random if backend == "numpy" else _backend.require_cupy(function).random


def _refuse_state(function: str, found: str) -> NoReturn:
    raise ArgumentTypeError(f"{function}: a state {found}; assign what the property gave.")


# --- state of generators ----------------------------------------------------------------------------------------------


def _saved(backend: str, generator: Any) -> dict[str, Any]:
    bits = generator.bit_generator
    if backend == "numpy":
        return {"state": bits.state, "children": bits.seed_seq.n_children_spawned}
    # CuPy has no way to save a generator; this attribute of its bit generators is their state in device memory.
    return {"state": _conversion.copy_to_host(bits._state, "RandomStreams.state")}


def _restore(backend: str, generator: Any, saved: dict[str, Any]) -> None:
    bits = generator.bit_generator
    if backend == "numpy":
        bits.state = saved["state"]
        bits.seed_seq.spawn(saved["children"])
        return
    state = saved["state"]
    if not isinstance(state, np.ndarray) or (state.shape, state.dtype) != (bits._state.shape, bits._state.dtype):
        raise ValueError(f"it must be an array of {bits._state.size} bytes, got {_gate.describe(state)}")
    bits._state = _conversion.copy_to_device(state, "RandomStreams.state")
