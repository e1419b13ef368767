"""How objects become messages."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from cunumpy.errors import ArgumentError
from cunumpy.mpi._serial.exceptions import UnpicklableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_UNCHANGING = (int, float, complex, bool, str, bytes, type(None))


class Pickle:
    """Makes bytes of objects and objects of bytes, in the place of ``MPI.Pickle``.

    The one that communicators use is ``MPI.pickle``; calling its ``__init__`` again makes them use other functions,
    such as those of dill.

    Parameters
    ----------
    dumps, loads : callable, optional
        Functions such as `pickle.dumps` and `pickle.loads`, which are the default.
    protocol : int, optional
        The second argument of `dumps`; of other functions than pickle's there is none by default.
    threshold : int, default: 262144
        Bytes from which on `dumps_oob` leaves buffers outside.

    Attributes
    ----------
    PROTOCOL, THRESHOLD : int
        As given.

    Examples
    --------
    >>> import cunumpy as xp
    >>> MPI = xp.mpi.get_mpi(False)
    >>> MPI.pickle.loads(MPI.pickle.dumps([1, 2]))
    [1, 2]
    """

    def __init__(
        self,
        dumps: Callable[..., bytes] | None = None,
        loads: Callable[..., Any] | None = None,
        protocol: int | None = None,
        threshold: int | None = None,
    ) -> None:
        self._dumps: Callable[..., bytes] = pickle.dumps if dumps is None else dumps
        self._loads: Callable[..., Any] = pickle.loads if loads is None else loads
        self.PROTOCOL: int | None = pickle.HIGHEST_PROTOCOL if protocol is None and dumps is None else protocol
        self.THRESHOLD: int = 262144 if threshold is None else threshold

    def dumps(self, obj: Any) -> bytes:
        """Return an object as bytes."""
        return self._dumps(obj) if self.PROTOCOL is None else self._dumps(obj, self.PROTOCOL)

    def loads(self, data: Any) -> Any:
        """Return the object of bytes."""
        return self._loads(data)

    def dumps_oob(self, obj: Any) -> tuple[bytes, list[memoryview]]:
        """Return an object as bytes, and the large buffers in it, such as arrays, by themselves."""
        outside: list[memoryview] = []

        def kept(buffer: pickle.PickleBuffer) -> bool:
            memory = buffer.raw()
            if memory.nbytes < self.THRESHOLD:
                return True
            outside.append(memory)
            return False

        protocol = pickle.HIGHEST_PROTOCOL if self.PROTOCOL is None else max(self.PROTOCOL, 5)
        return self._dumps(obj, protocol, buffer_callback=kept), outside

    def loads_oob(self, data: Any, buffers: Iterable[Any]) -> Any:
        """Return the object of bytes and buffers."""
        return self._loads(data, buffers=buffers)


PICKLE = Pickle()


def pickled(value: Any, function: str, argument: str) -> bytes:
    """Return an object as the bytes that are sent."""
    try:
        return PICKLE.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError, ArgumentError) as caught:
        raise UnpicklableError(
            f"{function}: argument {argument!r} can't be sent, because it can't be pickled: {str(caught).rstrip('.')}. "
            "Send arrays, and objects whose classes and functions a module has at its top level."
        ) from caught


def copied(value: Any, function: str, argument: str = "sendobj") -> Any:
    """Return a copy of an object, as if it had been sent; what can't change is its own copy."""
    if type(value) in _UNCHANGING:
        return value
    return PICKLE.loads(pickled(value, function, argument))
