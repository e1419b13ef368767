"""Ghost cells: copies of what the neighbours in a grid of processes hold."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _conversion, _gate
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.mpi._buffers import OF_MPI, refuse_objects, refuse_shared_places
from cunumpy.mpi._collectives import agreed
from cunumpy.mpi._cuda_aware import package_of
from cunumpy.mpi._exchange import exchange, exchange_packed

if TYPE_CHECKING:
    from collections.abc import Sequence


def exchange_ghosts(
    comm: Any,
    array: Any,
    width: int | Sequence[int] = 1,
    *,
    axes: Sequence[int] | None = None,
    cuda_aware: bool | None = None,
    check: bool = False,
) -> None:
    """Fill the ghost cells of a block from the blocks of the neighbours, at faces, edges and corners.

    The axes are exchanged one after the other, each with the ghost cells that came along the axes before: so edges and
    corners arrive without messages to diagonal neighbours, two messages for each axis in all.

    Parameters
    ----------
    comm : communicator
        A Cartesian one, made by ``Create_cart``, of as many dimensions as there are axes.
    array : array
        The block of this process with its ghost cells, `width` of them at both ends of each axis. It is written to.
    width : int or sequence of int, default: 1
        Layers of ghost cells; one number for each axis, or one for all.
    axes : sequence of int, optional
        The axes of the array that the dimensions of the grid belong to; by default the first ones.
    cuda_aware : bool, optional
        Whether MPI takes device memory; by default as recorded.
    check : bool, default: False
        Let all processes agree first that the arguments are in order, and that their messages fit, so that all raise
        where they do not. It costs some small messages.

    Raises
    ------
    ArgumentError
        A block with fewer own cells than layers along an axis, a width that is negative, axes that do not fit the grid.
    ArgumentTypeError
        A communicator that is no grid, what is no array, or widths and axes that are no integers.
    CommunicationError
        With `check`: the arguments of another process are at fault, or blocks of neighbours do not fit.

    Notes
    -----
    At ends of the grid that are not periodic the ghost cells keep their values. All processes have to call this alike.

    Examples
    --------
    >>> import cunumpy as xp
    >>> grid = xp.mpi.get_mpi().COMM_WORLD.Create_cart([1], periods=[True])
    >>> block = xp.asarray([0.0, 1.0, 2.0, 3.0, 0.0])
    >>> xp.mpi.exchange_ghosts(grid, block)
    >>> block
    array([3., 1., 2., 3., 1.])
    """
    function = "exchange_ghosts"
    check = _gate.as_truth(check, function=function, argument="check")
    if not hasattr(comm, "Shift") or not hasattr(comm, "Get_topo"):
        raise ArgumentTypeError(
            f"{function}: argument 'comm' must be a Cartesian communicator, got {_gate.describe(comm)}; make one by "
            "comm.Create_cart(dims, periods)."
        )

    def prepared() -> tuple[Any, tuple[Any, ...]]:
        if cuda_aware is not None:
            _gate.as_optional_truth(cuda_aware, function=function, argument="cuda_aware")
        given = _conversion.wrap_foreign(array, function) if _arrays.is_foreign_device_array(array) else array
        if not hasattr(given, "ndim") or not hasattr(given, "dtype"):
            raise ArgumentTypeError(f"{function}: argument 'array' must be an array, got {_gate.describe(given)}.")
        _gate.refuse_masked(given, function=function, argument="array")
        refuse_objects(given, function, "array")
        if isinstance(given, np.ndarray):
            _gate.check_writable(given, function=function, argument="array")
        refuse_shared_places(given, function, "array")
        chosen = _checked_axes(axes, comm.Get_dim(), given, function)
        layers = _checked_widths(width, chosen, given, function)
        return (given, chosen), (given.dtype.str, *layers)

    (block, chosen), (_, *layers) = agreed(comm, prepared, check, function)
    package = package_of(comm)
    # What is exchanged is in order then, and shares no memory.
    plain = not check and package is not None and type(block) is np.ndarray
    plain = plain and block.dtype in OF_MPI and block.flags.behaved
    for dimension, (axis, count) in enumerate(zip(chosen, layers, strict=True)):
        if not count:
            continue
        below, above = comm.Shift(dimension, 1)

        def part(start: int, stop: int | None, axis: int = axis) -> Any:
            return block[(slice(None),) * axis + (slice(start, stop),)]

        # The tag is the direction: below and above are one process where the grid has one or two along the axis.
        sends = [(part(count, 2 * count), below, 0), (part(-2 * count, -count), above, 1)]
        receives = [(part(-count, None), above, 0), (part(0, count), below, 1)]
        if plain:
            exchange_packed(comm, package, receives, sends)
        else:
            exchange(comm, sends=sends, receives=receives, cuda_aware=cuda_aware, check=check)


def _checked_axes(axes: Sequence[int] | None, number: int, array: Any, function: str) -> list[int]:
    if axes is None:
        chosen = list(range(number))
    elif isinstance(axes, (str, bytes, type)) or not hasattr(axes, "__iter__"):
        raise ArgumentTypeError(f"{function}: argument 'axes' must be a list of axes, got {_gate.given(axes)}.")
    else:
        chosen = [_gate.as_integer(axis, function=function, argument="axes") for axis in axes]
    normal = [axis + array.ndim if axis < 0 else axis for axis in chosen]
    if len(normal) != number or len(set(normal)) != number or any(not 0 <= axis < array.ndim for axis in normal):
        raise ArgumentError(
            f"{function}: argument 'axes' must name {number} different axes, one for each dimension of the grid, got "
            f"{chosen} for {_gate.describe(array)}."
        )
    return normal


def _checked_widths(width: Any, axes: list[int], array: Any, function: str) -> list[int]:
    try:
        each = [width] * len(axes) if not np.iterable(width) else width
        widths = [operator.index(count) for count in each]
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: argument 'width' must be an integer, or one for each axis, got {_gate.given(width)}."
        ) from None
    if len(widths) != len(axes):
        raise ArgumentError(
            f"{function}: argument 'width' must have {len(axes)} items, one for each axis, got {width!r}."
        )
    for axis, count in zip(axes, widths, strict=True):
        if count < 0:
            raise ArgumentError(f"{function}: argument 'width' holds {count}; it must be 0 or more layers.")
        if array.shape[axis] < 3 * count:
            raise ArgumentError(
                f"{function}: argument 'array' has {array.shape[axis]} cells along axis {axis}, {2 * count} of them "
                f"ghost cells; its neighbours need {count} own ones."
            )
    return widths
