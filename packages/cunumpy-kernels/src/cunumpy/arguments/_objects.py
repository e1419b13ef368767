"""Objects that stand for kernel arguments, among them structs that are packed from an object's attributes."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cunumpy._gate import describe
from cunumpy.arguments._current_device import device_of_arrays
from cunumpy.arguments._protocol import NUMBER_TYPES
from cunumpy.arguments._struct import CudaStruct, shown
from cunumpy.errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence


class CudaArguments:
    """An object that stands for several arguments of CUDA kernels.

    Any object whose class has a method ``__cuda_args__`` that returns a tuple does; this is the simplest one. A kernel
    puts the values in its place, in order. Host kernels get the object as it is.

    Parameters
    ----------
    *values : Any
        The arguments. They are checked when a kernel is called.

    Attributes
    ----------
    values : tuple

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.arguments.CudaArguments(0.5, 3)
    CudaArguments(0.5, 3)
    """

    def __init__(self, *values: Any) -> None:
        self.values = values

    def __cuda_args__(self) -> tuple[Any, ...]:
        return self.values

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(shown, self.values))})"


class CudaStructArguments(CudaArguments):
    """A class of objects that kernels take as a struct, packed from their attributes.

    A subclass sets `struct_name` and `fields`; its objects have an attribute, or property, for each field. They are
    packed when a kernel takes them, and again when a field has changed.

    Parameters
    ----------
    *values : Any
        As for `CudaArguments`; subclasses usually have an ``__init__`` of their own.

    Attributes
    ----------
    struct_name : str
        The struct's name in C; of the class.
    fields : sequence of (str, str)
        As for `CudaStruct`; of the class.
    struct : CudaStruct
        Made from both when the class is defined, which is when mistakes in them show. Subclasses inherit it. A class
        may set it in their place, for what takes more than fields: nested structs, or an alignment.

    Notes
    -----
    An array counts as changed if its address, shape, strides or dtype has, other values if their packed bytes have;
    each new value is checked. Unchanged, `packed` takes well under a microsecond. Copies and unpickled objects pack
    their own arrays.

    Examples
    --------
    >>> import cunumpy as xp
    >>> class Step(xp.arguments.CudaStructArguments):
    ...     struct_name = "Step"
    ...     fields = [("dt", "double"), ("n", "int")]
    ...
    ...     def __init__(self, dt, n):
    ...         self.dt, self.n = dt, n
    ...         self.pack()
    >>> step = Step(0.5, 3)
    >>> step.n = 4
    >>> step.packed["n"]
    np.int32(4)
    """

    struct_name: ClassVar[str]
    fields: ClassVar[Sequence[tuple[str, str]]]
    struct: ClassVar[CudaStruct]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        given = [name for name in ("struct_name", "fields") if name in cls.__dict__]
        if len(given) == 1:
            other = "fields" if given == ["struct_name"] else "struct_name"
            raise ArgumentTypeError(
                f"CudaStructArguments: class {cls.__name__!r} sets {given[0]!r} and not {other!r}; a struct needs both "
                "in one class body."
            )
        own = cls.__dict__.get("struct")
        if own is not None and (given or not isinstance(own, CudaStruct)):
            raise ArgumentTypeError(
                f"CudaStructArguments: class {cls.__name__!r} sets 'struct' to {describe(own)}"
                + (" and its name and fields too; set one or the other." if given else "; set it to a CudaStruct.")
            )
        if given:
            cls.struct = CudaStruct(cls.struct_name, cls.fields)

    def pack(self) -> None:
        """Pack the fields now, so that mistakes show here; meant for the end of ``__init__``.

        Raises
        ------
        AttributeError
            The object has no attribute for a field.
        ArgumentTypeError
            The class has no struct, or a value does not fit its field.
        ArgumentError
            As for `CudaStruct`.
        """
        self._repack()

    @property
    def packed(self) -> np.void:
        """The struct as a `numpy.void`, packed again if a field has changed since the last time."""
        state = self.__dict__.get("_cunumpy_packed")
        if state is None or state[1] is None:
            return self._repack()
        packed, values, shapes, read, count, _ = state
        try:
            now = read(self)
        except AttributeError:  # a field is gone, or no array any more
            return self._repack()
        if shapes and now[count:] != shapes:
            return self._repack()
        # `map` ends with the values, before the shapes.
        return packed if all(map(operator.is_, values, now)) else self._repack_changed(state, now)

    def _repack_changed(self, state: tuple[Any, ...], now: tuple[Any, ...]) -> np.void:
        """Check and pack the fields that are other objects than before."""
        packed, values, shapes, read, count, before = state
        struct, data, settled = type(self).struct, bytearray(before), True
        for old, new, packing in zip(values, now, struct._packing):  # noqa: B905 - shapes come after the values
            if new is not old:
                pack_into, offset, numbers = packing
                if type(new) in NUMBER_TYPES:  # which are on no device
                    pack_into(data, offset, *numbers(new, None))
                else:
                    pack_into(data, offset, *numbers(new, device_of_arrays()))
                    settled = settled and hasattr(getattr(new, "data", None), "ptr")
        if data != before:
            packed = np.ndarray((), struct.dtype, bytes(data))[()]  # as `_as_void` does, without a call
        known = (now[:count] if shapes else now) if settled else None
        self.__dict__["_cunumpy_packed"] = (packed, known, shapes, read, count, data)
        return packed  # type: ignore[no-any-return]

    def _repack(self) -> np.void:
        cls = type(self)
        struct: CudaStruct | None = getattr(cls, "struct", None)
        if struct is None:
            raise ArgumentTypeError(
                f"{cls.__name__}.pack: the class has no struct; set struct_name = '...' and fields = [...] in its body."
            )
        values = {}
        for field in struct.fields:
            try:
                values[field.name] = getattr(self, field.name)
            except AttributeError as error:
                raise AttributeError(
                    f"{cls.__name__}.pack: the object has no attribute for field {field.name!r} of struct "
                    f"{struct.name} ({error}); set self.{field.name} before."
                ) from error
        data = struct._pack(values)
        state = self.__dict__.get("_cunumpy_packed")
        packed: np.void = state[0] if state is not None and state[5] == data else struct._as_void(data)
        known, shapes = None, ()
        if struct._is_settled(values):
            known = tuple(values.values())
            shapes = tuple([values[field.name].shape for field in struct.fields if field.view_ndim is not None])
        self.__dict__["_cunumpy_packed"] = (packed, known, shapes, struct._read, len(values), data)
        return packed

    def __cuda_args__(self) -> tuple[Any, ...]:
        return (self.packed,)

    def __getstate__(self) -> Any:
        state = object.__getstate__(self)
        if isinstance(state, dict):
            return {name: value for name, value in state.items() if name != "_cunumpy_packed"}
        if isinstance(state, tuple):
            attributes, slots = state
            if attributes is not None:
                attributes = {name: value for name, value in attributes.items() if name != "_cunumpy_packed"}
            return attributes, slots
        return state

    def __repr__(self) -> str:
        struct = getattr(type(self), "struct", None)
        names = [] if struct is None else [field.name for field in struct.fields]
        listed = ", ".join(f"{name}={shown(getattr(self, name, None))}" for name in names)
        return f"{type(self).__name__}({listed})"
