"""``cupy.random``: NumPy's distributions, with CuPy's names and parameters, and other sequences than NumPy's.

A seed gives other numbers than in NumPy, as it does with CuPy: code must not count on the two being equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _api, asynchrony
from .array_base import changed, is_host_array, target, unsupported, used, wrap
from .host_copies import announced_copy
from .ndarray import ndarray
from .signatures import with_signature

# Mixed into every seed, so that the sequence is not NumPy's.
_PERTURBATION = 0x5EED_C0DE
INTEGER_RESULTS = frozenset(
    [
        "binomial",
        "geometric",
        "hypergeometric",
        "logseries",
        "negative_binomial",
        "poisson",
        "randint",
        "integers",
        "zipf",
    ]
)


def _seed(seed: Any) -> Any:
    if seed is None:
        return None
    if isinstance(seed, ndarray):
        raise TypeError("a seed is a number or a NumPy array, got a cupy.ndarray")
    words = np.atleast_1d(np.asarray(seed))
    if words.dtype.kind not in "iu" or (words < 0).any():
        raise TypeError(f"Seed must be a non-negative integer or an array of them, got {seed!r}")
    return [_PERTURBATION, *(int(word) % 2**32 for word in words.ravel())]


# Methods of the older interface that refuse lists and NumPy arrays; the others copy them to the device.
_DEVICE_DATA_ALONE = frozenset(["lognormal", "normal"])


def _parameter(value: Any, copied_by: str = "") -> Any:
    """Return a parameter of a distribution; host data is copied where a function is named, and else refused."""
    if is_host_array(value) or isinstance(value, (list, tuple)):
        if not copied_by:
            raise unsupported(value)
        value = announced_copy(value, f"random.{copied_by}()")
    return used(value) if isinstance(value, ndarray) else value


def _drawn(name: str, value: Any, dtype: Any) -> ndarray:
    """Return draws as a device array of the type asked for."""
    if dtype is None:
        return wrap(value)
    wanted = np.dtype(dtype)
    allowed = "iub" if name in INTEGER_RESULTS else "f"
    if wanted.kind not in allowed or wanted == np.float16:
        raise TypeError(f"Unsupported dtype {wanted} for {name}")
    return wrap(np.asarray(value).astype(wanted, copy=False))


def _draw(generator: Any, name: str, values: dict[str, Any]) -> Any:
    """Draw from one of NumPy's distributions."""
    asynchrony.begin_operation()
    dtype = values.pop("dtype", None)
    out = values.pop("out", None)
    size = values.pop("size", None)
    if out is not None:
        if size is not None and np.broadcast_shapes(size) != out.shape:
            raise ValueError("size must match out.shape when used together")
        size, dtype = out.shape, out.dtype
    options = {key: value for key, value in values.items() if key in ("endpoint", "check_valid", "tol")}
    copies = isinstance(generator, np.random.RandomState) and name not in _DEVICE_DATA_ALONE
    parameters = [
        _parameter(value, name if copies else "") for key, value in values.items() if key not in (*options, "method")
    ]
    # The interval of integers has to be drawn in the wanted type; other types are cast.
    if name in ("randint", "integers"):
        options["dtype"] = np.dtype(dtype)
    drawn = _drawn(name, getattr(generator, name)(*parameters, size=size, **options), dtype)
    if out is None:
        return drawn
    target(out)[...] = drawn._buffer
    return out


class RandomState:
    """Source of random numbers, by the older interface.

    Parameters
    ----------
    seed : int or numpy.ndarray, optional
        Start of the sequence; unpredictable by default.
    method : optional
        Accepted for CuPy's sake; the stand-in has one method.
    """

    def __init__(self, seed: Any = None, method: Any = None) -> None:
        self._generator = np.random.RandomState(_seed(seed))

    def seed(self, seed: Any = None) -> None:
        """Start the sequence anew."""
        self._generator.seed(_seed(seed))

    def rand(self, *size: int, **kwarg: Any) -> ndarray:
        """Draw from [0, 1)."""
        dtype = kwarg.pop("dtype", float)
        if kwarg:
            raise TypeError(f"rand() got unexpected keyword arguments {kwarg}")
        return _drawn("rand", self._generator.random_sample(size), dtype)

    def randn(self, *size: int, **kwarg: Any) -> ndarray:
        """Draw from the standard normal distribution."""
        dtype = kwarg.pop("dtype", float)
        if kwarg:
            raise TypeError(f"randn() got unexpected keyword arguments {kwarg}")
        return _drawn("randn", self._generator.standard_normal(size), dtype)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> ndarray:
        """Draw from given values, or from ``range(a)``."""
        if size is None or (isinstance(a, ndarray) and a.ndim == 0):
            raise NotImplementedError("choice() without specifying size is not supported yet")
        weights = None if p is None else _parameter(p, "choice")
        return wrap(self._generator.choice(_parameter(a, "choice"), size, replace, weights))

    def permutation(self, a: Any) -> ndarray:
        """Return the rows of an array, or ``range(a)``, in random order."""
        return wrap(self._generator.permutation(_parameter(a)))

    def shuffle(self, a: Any) -> None:
        """Put the rows of an array in random order."""
        if not isinstance(a, ndarray):
            raise TypeError("The array must be cupy.ndarray")
        with changed(a) as buffer:
            self._generator.shuffle(buffer)

    def tomaxint(self, size: Any = None) -> ndarray:
        """Draw from all non-negative integers."""
        return wrap(self._generator.tomaxint(size))

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        check_valid: str = "ignore",
        tol: float = 1e-8,
        method: str = "cholesky",
        dtype: Any = float,
    ) -> ndarray:
        """Draw vectors from a normal distribution."""
        validity: Any = check_valid
        name = "multivariate_normal"
        drawn = self._generator.multivariate_normal(_parameter(mean, name), _parameter(cov, name), size, validity, tol)
        return _drawn(name, drawn, dtype)


class BitGenerator:
    """Source of random bits, by the newer interface."""

    def __init__(self, seed: Any = None) -> None:
        self._bits = np.random.Philox(_seed(seed))

    @property
    def _state(self) -> ndarray:
        """The state in device memory, of another size than CuPy's; programs that save it assign it later."""
        state: Any = self._bits.state
        inner, rest = state["state"], [state[key] for key in ("buffer_pos", "has_uint32", "uinteger")]
        numbers = np.concatenate([inner["counter"], inner["key"], state["buffer"], np.array(rest, np.uint64)])
        return wrap(numbers.astype(np.uint64).view(np.int8))

    @_state.setter
    def _state(self, state: ndarray) -> None:
        numbers = used(state).view(np.uint64)
        self._bits.state = {
            "bit_generator": "Philox",
            "state": {"counter": numbers[:4], "key": numbers[4:6]},
            "buffer": numbers[6:10],
            "buffer_pos": int(numbers[10]),
            "has_uint32": int(numbers[11]),
            "uinteger": int(numbers[12]),
        }


class XORWOW(BitGenerator):
    """CuPy's default source of random bits."""

    def __init__(self, seed: Any = None, *, size: int = -1) -> None:
        super().__init__(seed)


class MRG32k3a(BitGenerator):
    """A source of random bits."""

    def __init__(self, seed: Any = None, *, size: int = -1) -> None:
        super().__init__(seed)


class Philox4x3210(BitGenerator):
    """A source of random bits."""

    def __init__(self, seed: Any = None, *, size: int = -1) -> None:
        super().__init__(seed)


class Generator:
    """Source of random numbers, by the newer interface; CuPy's has fewer distributions than NumPy's.

    Parameters
    ----------
    bit_generator : BitGenerator
        Source of the bits.
    """

    def __init__(self, bit_generator: BitGenerator) -> None:
        self.bit_generator = bit_generator
        self._generator = np.random.Generator(bit_generator._bits)


def _add_distributions(cls: type, table: dict[str, str]) -> None:
    for name, text in table.items():
        if name in vars(cls) or not (hasattr(np.random.RandomState, name) or hasattr(np.random.Generator, name)):
            continue

        def call(values: dict[str, Any], name: str = name) -> Any:
            source = values.pop("self")
            return _draw(source._generator, name, values)

        setattr(cls, name, with_signature(name, f"self, {text}", call, f"cupy.random.{cls.__name__}"))


_add_distributions(RandomState, _api.RANDOM_STATE["methods"])
_add_distributions(Generator, _api.GENERATOR["methods"])
for _class in (RandomState, Generator, BitGenerator, XORWOW, MRG32k3a, Philox4x3210):
    _class.__module__ = "cupy.random"

_state = RandomState()
# Functions that are a method of the current `RandomState` under another name.
_SYNONYMS = {"random": "random_sample", "ranf": "random_sample", "sample": "random_sample"}


def _module_function(name: str) -> Any:
    method = _SYNONYMS.get(name, name)

    def call(values: dict[str, Any]) -> Any:
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for key, value in values.items():
            if key.startswith("**"):
                keywords.update(value)
            elif key.startswith("*"):
                positional.extend(value)
            else:
                keywords[key] = value
        return getattr(_state, method)(*positional, **keywords)

    return call


def get_random_state() -> RandomState:
    """Return the state that the module's functions draw from."""
    return _state


def set_random_state(rs: RandomState) -> None:
    """Let the module's functions draw from another state."""
    global _state
    if not isinstance(rs, RandomState):
        raise TypeError(f"Random state must be an instance of RandomState. Actual: {type(rs)}")
    _state = rs


def reset_states() -> None:
    """Let the module's functions draw from a new state."""
    set_random_state(RandomState())


def default_rng(seed: Any = None) -> Generator:
    """Return a new generator."""
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, BitGenerator) else XORWOW(seed))


def multinomial(n: int, pvals: Any, size: Any = None) -> ndarray:
    """Draw counts of a number of experiments."""
    return wrap(_state._generator.multinomial(n, _parameter(pvals, "multinomial"), size))


def random_integers(low: int, high: Any = None, size: Any = None) -> ndarray:
    """Draw integers, the upper bound included."""
    lowest, highest = (1, low) if high is None else (low, high)
    return wrap(_state._generator.randint(lowest, highest + 1, size))


def bytes(length: int) -> Any:
    """Return random bytes, on the host."""
    return _state._generator.bytes(length)


_WRITTEN: dict[str, Any] = {
    "get_random_state": get_random_state,
    "set_random_state": set_random_state,
    "reset_states": reset_states,
    "default_rng": default_rng,
    "multinomial": multinomial,
    "random_integers": random_integers,
    "bytes": bytes,
}


def contents() -> dict[str, Any]:
    """Return the contents of ``cupy.random``."""
    functions: dict[str, Any] = {}
    for name, text in _api.CUPY_RANDOM["functions"].items():
        if name in _WRITTEN:
            functions[name] = _WRITTEN[name]
        elif hasattr(RandomState, _SYNONYMS.get(name, name)):
            functions[name] = with_signature(name, text, _module_function(name), "cupy.random")
    classes = {cls.__name__: cls for cls in (RandomState, Generator, BitGenerator, XORWOW, MRG32k3a, Philox4x3210)}
    return {**functions, **classes}
