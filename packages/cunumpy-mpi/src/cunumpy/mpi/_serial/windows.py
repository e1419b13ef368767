"""Windows: memory that other processes read and write, here those of this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cunumpy.errors import ArgumentError
from cunumpy.mpi._serial import buffers, messages, specs
from cunumpy.mpi._serial.attributes import Attributes
from cunumpy.mpi._serial.checks import integer, text
from cunumpy.mpi._serial.communicators import COMM_SELF, SerialComm, as_comm
from cunumpy.mpi._serial.constants import INTEGERS, PROC_NULL, own, real_mpi
from cunumpy.mpi._serial.datatypes import Datatype, as_datatype, dtype_of
from cunumpy.mpi._serial.error_handlers import Errors
from cunumpy.mpi._serial.exceptions import error, no_pickle
from cunumpy.mpi._serial.groups import Group, members
from cunumpy.mpi._serial.hints import Info, entries_of
from cunumpy.mpi._serial.operations import PREDEFINED_OPS, Op, as_op
from cunumpy.mpi._serial.requests import SerialRequest

if TYPE_CHECKING:
    from types import TracebackType

    from cunumpy.mpi._serial.buffers import Buffer

_SUM, _REPLACE, _NO_OP = (PREDEFINED_OPS[name] for name in ("SUM", "REPLACE", "NO_OP"))


class SerialWin(Attributes, Errors):
    """Memory for `Put`, `Get` and `Accumulate`, in the place of ``MPI.Win``.

    Accesses are allowed in an epoch only: between two fences, under a lock, or between `Start` and `Complete`.
    """

    def __init__(self, win: SerialWin | None = None) -> None:
        self._null = True
        if win is not None:
            self.__dict__.update(win.__dict__)

    @classmethod
    def _make(
        cls, memory: Any, disp_unit: int, flavor: str, comm: SerialComm, info: Info | None, function: str
    ) -> SerialWin:
        as_comm(comm, function)
        disp_unit = integer(disp_unit, function, "disp_unit", least=1, wrong="DISP")
        hints = {} if info is None else entries_of(info, function)
        made = cls()
        made._null = False
        made._given = memory
        made._unit, made._flavor = disp_unit, flavor
        made._name = ""
        made._info = hints
        made._attributes = {}
        made._epoch = ""  # "fence", "lock", "lock_all" or "start"
        made._exposed = False
        made._dynamic = []
        made._memory = np.empty(0, np.uint8)
        made._on_device, made._owner = False, None
        if memory is not None:
            made._memory, _, made._on_device, made._owner = specs.memory_of(memory, function, "memory", write=True)
        return made

    _unit: int
    _flavor: str
    _epoch: str
    _exposed: bool
    _given: Any
    _memory: Any
    _on_device: bool
    _owner: Any
    _dynamic: list[Any]
    _info: dict[str, str]
    _name: str

    @classmethod
    def Create(cls, memory: Any, disp_unit: int = 1, info: Info | None = None, comm: Any = None) -> SerialWin:
        """Make a window of memory of the program; None or MPI.BOTTOM for none."""
        given = None if memory is buffers.BOTTOM else memory
        return cls._make(given, disp_unit, "CREATE", _comm(comm), info, "Win.Create")

    @classmethod
    def Allocate(cls, size: int, disp_unit: int = 1, info: Info | None = None, comm: Any = None) -> SerialWin:
        """Make a window of new memory, of `size` bytes."""
        return cls._make(new_memory(size, "Win.Allocate"), disp_unit, "ALLOCATE", _comm(comm), info, "Win.Allocate")

    @classmethod
    def Allocate_shared(cls, size: int, disp_unit: int = 1, info: Info | None = None, comm: Any = None) -> SerialWin:
        """Make a window of new memory that the processes of a node share."""
        function = "Win.Allocate_shared"
        return cls._make(new_memory(size, function), disp_unit, "SHARED", _comm(comm), info, function)

    @classmethod
    def Create_dynamic(cls, info: Info | None = None, comm: Any = None) -> SerialWin:
        """Make a window that memory is attached to later; displacements are addresses."""
        return cls._make(None, 1, "DYNAMIC", _comm(comm), info, "Win.Create_dynamic")

    def Attach(self, memory: Any) -> None:
        """Attach memory to a dynamic window."""
        self._check("Win.Attach")
        if self._flavor != "DYNAMIC":
            raise error("RMA_FLAVOR", "Win.Attach: only a window made by Create_dynamic takes memory.")
        flat, _, on_device, owner = specs.memory_of(memory, "Win.Attach", "memory", write=True)
        self._dynamic.append((memory, flat, on_device, owner))

    def Detach(self, memory: Any) -> None:
        """Take memory back from a dynamic window."""
        self._check("Win.Detach")
        for entry in self._dynamic:
            if entry[0] is memory:
                self._dynamic.remove(entry)
                return
        raise error("RMA_ATTACH", "Win.Detach: argument 'memory' is not attached to the window.")

    def Shared_query(self, rank: int) -> tuple[Any, int]:
        """Return the memory of a rank in a window of shared memory, and its unit of displacements."""
        self._check("Win.Shared_query")
        if self._flavor != "SHARED":
            raise error("RMA_FLAVOR", "Win.Shared_query: only a window made by Allocate_shared can be asked.")
        messages.checked_dest(rank, "Win.Shared_query", "rank")
        return memoryview(self._given), self._unit

    def Free(self) -> None:
        """Give the window up; its epochs have to be over."""
        self._check("Win.Free")
        if self._epoch in ("lock", "lock_all", "start") or self._exposed:
            raise error("RMA_SYNC", f"Win.Free: an epoch is open ({self._epoch or 'post'}); end it first.")
        self._drop_attributes()
        self._null = True

    def free(self) -> None:
        """Give the window up, unless it is null."""
        if not self._null:
            self.Free()

    def _check(self, function: str) -> None:
        if self._null:
            raise error("WIN", f"{function}: the window is null; was it freed?")

    def __bool__(self) -> bool:
        return not self._null

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SerialWin):
            return NotImplemented
        return self is other or (self._null and other._null)

    __hash__: ClassVar[None]  # type: ignore[assignment]
    __reduce__ = no_pickle

    def __repr__(self) -> str:
        return (
            "SerialMPI.WIN_NULL" if self._null else f"SerialMPI.Win({self._flavor.lower()}, {len(self._memory)} bytes)"
        )

    def __enter__(self) -> SerialWin:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.Free()

    # --- queries

    def Get_group(self) -> Group:
        """Return the group of the processes."""
        self._check("Win.Get_group")
        return Group._make(1)

    def Get_name(self) -> str:
        """Return the name."""
        return "MPI_WIN_NULL" if self._null else self._name

    def Set_name(self, name: str) -> None:
        """Give the window a name."""
        self._check("Win.Set_name")
        self._name = text(name, "Win.Set_name", "name")

    def Get_info(self) -> Info:
        """Return the hints."""
        self._check("Win.Get_info")
        return Info._make(dict(self._info))

    def Set_info(self, info: Info) -> None:
        """Set hints."""
        self._check("Win.Set_info")
        self._info |= entries_of(info, "Win.Set_info")

    def tomemory(self) -> memoryview:
        """Return the memory, as bytes."""
        self._check("Win.tomemory")
        return memoryview(self._memory)

    def _predefined_attribute(self, keyval: int) -> Any:
        self._check("Win.Get_attr")
        values = {
            "WIN_BASE": 0 if self._on_device or not len(self._memory) else self._memory.ctypes.data,
            "WIN_SIZE": len(self._memory),
            "WIN_DISP_UNIT": self._unit,
            "WIN_CREATE_FLAVOR": INTEGERS[f"WIN_FLAVOR_{self._flavor}"],
            "WIN_MODEL": INTEGERS["WIN_UNIFIED"],
        }
        for name, value in values.items():
            if own(keyval, name) == INTEGERS[name]:
                return value
        return NotImplemented

    group: property = property(Get_group)
    group_size: property = property(lambda self: self.Get_group().size)
    group_rank: property = property(lambda self: self.Get_group().rank)
    name: property = property(Get_name, Set_name)
    info: property = property(Get_info, Set_info)
    flavor: property = property(lambda self: INTEGERS[f"WIN_FLAVOR_{self._flavor}"])
    model: property = property(lambda self: INTEGERS["WIN_UNIFIED"])
    attrs: property = property(
        lambda self: (self.Get_attr(INTEGERS["WIN_BASE"]), len(self._memory), self._unit) if self else (0, 0, 0)
    )

    # --- epochs

    def Fence(self, assertion: int = 0) -> None:
        """End an epoch of all processes, and begin the next."""
        self._check("Win.Fence")
        assertion = integer(assertion, "Win.Fence", "assertion")
        if self._epoch in ("lock", "lock_all", "start"):
            raise error("RMA_SYNC", f"Win.Fence: another epoch is open ({self._epoch}); end it first.")
        last = own(INTEGERS["MODE_NOSUCCEED"], "MODE_NOSUCCEED")
        self._epoch = "" if assertion & last or assertion & _real("MODE_NOSUCCEED") else "fence"

    def Lock(self, rank: int, lock_type: int = INTEGERS["LOCK_EXCLUSIVE"], assertion: int = 0) -> None:
        """Begin an epoch of this process alone, on the memory of a rank."""
        self._check("Win.Lock")
        if messages.checked_dest(rank, "Win.Lock", "rank") == PROC_NULL:
            return
        names = ("LOCK_EXCLUSIVE", "LOCK_SHARED")
        if own(integer(lock_type, "Win.Lock", "lock_type"), *names) not in [INTEGERS[name] for name in names]:
            raise error("LOCKTYPE", f"Win.Lock: argument 'lock_type' is {lock_type}, which is no MPI.LOCK_...")
        self._begin("lock", "Win.Lock")

    def Lock_all(self, assertion: int = 0) -> None:
        """Begin an epoch of this process alone, on the memory of all ranks."""
        self._check("Win.Lock_all")
        integer(assertion, "Win.Lock_all", "assertion")
        self._begin("lock_all", "Win.Lock_all")

    def _begin(self, epoch: str, function: str) -> None:
        if self._epoch in ("lock", "lock_all", "start"):
            raise error("RMA_SYNC", f"{function}: an epoch is open already ({self._epoch}); end it first.")
        self._epoch = epoch

    def _end(self, epoch: str, function: str) -> None:
        self._check(function)
        if self._epoch != epoch:
            raise error("RMA_SYNC", f"{function}: no epoch was begun by {epoch.capitalize()}.")
        self._epoch = ""

    def Unlock(self, rank: int) -> None:
        """End the epoch begun by `Lock`."""
        self._check("Win.Unlock")
        if messages.checked_dest(rank, "Win.Unlock", "rank") != PROC_NULL:
            self._end("lock", "Win.Unlock")

    def Unlock_all(self) -> None:
        """End the epoch begun by `Lock_all`."""
        self._end("lock_all", "Win.Unlock_all")

    def Start(self, group: Group, assertion: int = 0) -> None:
        """Begin an epoch of accesses to the processes of a group, which post it."""
        self._check("Win.Start")
        integer(assertion, "Win.Start", "assertion")
        if members(group, "Win.Start") and not self._exposed:
            raise error("RMA_SYNC", "Win.Start: would wait forever: this process did not Post the window first.")
        self._begin("start", "Win.Start")

    def Complete(self) -> None:
        """End the epoch begun by `Start`."""
        self._end("start", "Win.Complete")

    def Post(self, group: Group, assertion: int = 0) -> None:
        """Begin an epoch of accesses by the processes of a group."""
        self._check("Win.Post")
        integer(assertion, "Win.Post", "assertion")
        members(group, "Win.Post")
        if self._exposed:
            raise error("RMA_SYNC", "Win.Post: the window is posted already; Wait first.")
        self._exposed = True

    def Wait(self) -> bool:
        """End the epoch begun by `Post`."""
        self._check("Win.Wait")
        if not self._exposed:
            raise error("RMA_SYNC", "Win.Wait: the window was not posted.")
        if self._epoch == "start":
            raise error("RMA_SYNC", "Win.Wait: would wait forever: this process has to Complete its accesses first.")
        self._exposed = False
        return True

    def Test(self) -> bool:
        """Tell whether the accesses of the epoch begun by `Post` are over; if so, it ends."""
        self._check("Win.Test")
        if not self._exposed:
            raise error("RMA_SYNC", "Win.Test: the window was not posted.")
        if self._epoch == "start":
            return False
        return self.Wait()

    def _passive(self, function: str) -> None:
        self._check(function)
        if self._epoch not in ("lock", "lock_all"):
            raise error("RMA_SYNC", f"{function}: no epoch was begun by Lock or Lock_all.")

    def Flush(self, rank: int) -> None:
        """Finish the accesses to a rank."""
        messages.checked_dest(rank, "Win.Flush", "rank")
        self._passive("Win.Flush")

    def Flush_local(self, rank: int) -> None:
        """Finish the accesses to a rank, so that their buffers can be used again."""
        messages.checked_dest(rank, "Win.Flush_local", "rank")
        self._passive("Win.Flush_local")

    def Flush_all(self) -> None:
        """Finish all accesses."""
        self._passive("Win.Flush_all")

    def Flush_local_all(self) -> None:
        """Finish all accesses, so that their buffers can be used again."""
        self._passive("Win.Flush_local_all")

    def Sync(self) -> None:
        """Make the memory the same for the process and the window."""
        self._check("Win.Sync")

    # --- accesses

    def _target(self, function: str, origin: Buffer, target: Any, argument: str = "target") -> Buffer:
        """Return the memory that an access means: ``displacement``, or ``(displacement, count, type)``."""
        if not self._epoch:
            raise error(
                "RMA_SYNC", f"{function}: no epoch is open; call Fence, Lock, Lock_all or Start before accesses."
            )
        displacement, count, datatype = 0, origin.count, origin.type
        if isinstance(target, (list, tuple)):
            if not 1 <= len(target) <= 3:
                raise ArgumentError(
                    f"{function}: argument 'target' must be (displacement, count, type), got {target!r}."
                )
            displacement = integer(target[0], function, argument)
            if len(target) > 1:
                count = integer(target[1], function, "target")
            if len(target) > 2:
                datatype = as_datatype(target[2], function, argument)
        elif target is not None:
            displacement = integer(target, function, argument)
        if count < 0:
            raise error("COUNT", f"{function}: argument 'target' has the negative count {count}.")
        if not datatype or not datatype._committed:
            raise error("TYPE", f"{function}: argument 'target' has a datatype that is null or not committed.")
        return self._memory_at(function, displacement, count, datatype, argument)

    def _memory_at(self, function: str, displacement: int, count: int, datatype: Datatype, argument: str) -> Buffer:
        low, high = buffers.bounds(datatype, count)
        if self._flavor == "DYNAMIC":
            for _, flat, on_device, owner in self._dynamic:
                base = displacement - (flat.data.ptr if on_device else flat.ctypes.data)
                if 0 <= base + low <= base + high <= len(flat):
                    return buffers.Buffer(flat, base, count, datatype, on_device=on_device, owner=owner, name=argument)
            raise error("RMA_RANGE", f"{function}: no memory is attached at the address {displacement}.")
        base = displacement * self._unit
        if displacement < 0:
            raise error("DISP", f"{function}: argument {argument!r} has the negative displacement {displacement}.")
        if count and datatype._size and not 0 <= base + low <= base + high <= len(self._memory):
            raise error(
                "RMA_RANGE",
                f"{function}: argument {argument!r} means bytes {base + low} to {base + high}, which are not inside "
                f"the window of {len(self._memory)}.",
            )
        return buffers.Buffer(
            self._memory, base, count, datatype, on_device=self._on_device, owner=self._owner, name=argument
        )

    def Put(self, origin: Any, target_rank: int, target: Any = None) -> None:
        """Write to the window: `target` is a displacement, or (displacement, count, type)."""
        self._put("Win.Put", origin, target_rank, target)

    def _put(self, function: str, origin: Any, target_rank: int, target: Any) -> None:
        self._check(function)
        if messages.checked_dest(target_rank, function, "target_rank") == PROC_NULL:
            return
        source = specs.simple(origin, function, "origin", write=False)
        place = self._target(function, source, target)
        buffers.check_move(source, place, function)
        place.store(source.load(), function)

    def Get(self, origin: Any, target_rank: int, target: Any = None) -> None:
        """Read from the window into `origin`."""
        self._get("Win.Get", origin, target_rank, target)

    def _get(self, function: str, origin: Any, target_rank: int, target: Any) -> None:
        self._check(function)
        if messages.checked_dest(target_rank, function, "target_rank") == PROC_NULL:
            return
        result = specs.simple(origin, function, "origin", write=True)
        place = self._target(function, result, target)
        buffers.check_move(place, result, function)
        result.store(place.load(), function)

    def Accumulate(self, origin: Any, target_rank: int, target: Any = None, op: Op = _SUM) -> None:
        """Combine a buffer with what is in the window."""
        self._accumulate("Win.Accumulate", origin, None, target_rank, target, op)

    def Get_accumulate(self, origin: Any, result: Any, target_rank: int, target: Any = None, op: Op = _SUM) -> None:
        """Combine a buffer with what is in the window, and return in `result` what was there before."""
        self._accumulate("Win.Get_accumulate", origin, result, target_rank, target, op)

    def _accumulate(
        self,
        function: str,
        origin: Any,
        result: Any,
        target_rank: int,
        target: Any,
        op: Op,
        argument: str = "target",
    ) -> None:
        self._check(function)
        operation = as_op(op, function)
        if operation._function is not None:
            raise error("OP", f"{function}: argument 'op' must be a predefined operation.")
        if messages.checked_dest(target_rank, function, "target_rank") == PROC_NULL:
            return
        before = None if result is None else specs.simple(result, function, "result", write=True)
        if operation == _NO_OP and before is not None:
            source = before
        else:
            source = specs.simple(origin, function, "origin", write=False)
        place = self._target(function, source, target, argument)
        if before is not None:
            buffers.check_move(place, before, function)
        basic = _basic(source.type)
        operation._check(basic, function, rma=True)
        if source is not before:
            buffers.check_move(source, place, function)
        found = place.load()
        if before is not None:
            before.store(found, function)
        if operation == _NO_OP:
            return
        dtype = dtype_of(basic)
        assert dtype is not None
        content = source.load()
        known = found[: len(content)]
        combined = content if operation == _REPLACE else operation._combine(content.view(dtype), known.view(dtype))
        place.store(combined.view(np.uint8), function)

    def Fetch_and_op(self, origin: Any, result: Any, target_rank: int, target_disp: int = 0, op: Op = _SUM) -> None:
        """Combine one element with that in the window, and return in `result` what was there before."""
        function = "Win.Fetch_and_op"
        for name, value in (("origin", origin), ("result", result)):
            count = specs.simple(value, function, name, write=False).count if value is not None else 1
            if count != 1:
                raise ArgumentError(f"{function}: argument {name!r} must have one element, got {count}.")
        self._accumulate(function, origin, result, target_rank, (target_disp, 1), op, "target_disp")

    def Compare_and_swap(self, origin: Any, compare: Any, result: Any, target_rank: int, target_disp: int = 0) -> None:
        """Write one element if that in the window equals `compare`; return in `result` what was there before."""
        function = "Win.Compare_and_swap"
        self._check(function)
        if messages.checked_dest(target_rank, function, "target_rank") == PROC_NULL:
            return
        new = specs.simple(origin, function, "origin", write=False)
        old = specs.simple(compare, function, "compare", write=False)
        before = specs.simple(result, function, "result", write=True)
        if not new.count == old.count == before.count == 1:
            raise ArgumentError(f"{function}: arguments 'origin', 'compare' and 'result' must have one element each.")
        dtype = dtype_of(new.type)
        if dtype is None or dtype.kind not in "iub":
            raise error("TYPE", f"{function}: argument 'origin' must be of integers or truth values, got {new.type!r}.")
        place = self._target(function, new, (target_disp, 1), "target_disp")
        for each in (old, before):
            buffers.check_types(each, place, function)
        found = place.load()
        before.store(found, function)
        if bool((found == old.load()).all()):
            place.store(new.load(), function)

    def _request(self, function: str) -> SerialRequest:
        if self._epoch not in ("lock", "lock_all"):
            raise error("RMA_SYNC", f"{function}: no epoch was begun by Lock or Lock_all.")
        return SerialRequest()

    def Rput(self, origin: Any, target_rank: int, target: Any = None) -> SerialRequest:
        """Do `Put`, under a lock, with a request."""
        request = self._request("Win.Rput")
        self._put("Win.Rput", origin, target_rank, target)
        return request

    def Rget(self, origin: Any, target_rank: int, target: Any = None) -> SerialRequest:
        """Do `Get`, under a lock, with a request."""
        request = self._request("Win.Rget")
        self._get("Win.Rget", origin, target_rank, target)
        return request

    def Raccumulate(self, origin: Any, target_rank: int, target: Any = None, op: Op = _SUM) -> SerialRequest:
        """Do `Accumulate`, under a lock, with a request."""
        request = self._request("Win.Raccumulate")
        self._accumulate("Win.Raccumulate", origin, None, target_rank, target, op)
        return request

    def Rget_accumulate(
        self, origin: Any, result: Any, target_rank: int, target: Any = None, op: Op = _SUM
    ) -> SerialRequest:
        """Do `Get_accumulate`, under a lock, with a request."""
        request = self._request("Win.Rget_accumulate")
        self._accumulate("Win.Rget_accumulate", origin, result, target_rank, target, op)
        return request


def _basic(datatype: Datatype) -> Datatype:
    """Return the predefined type that a datatype consists of, or itself."""
    kind = datatype
    while kind and not kind._predefined and kind._how[0] != "STRUCT":
        kind = kind._how[1][0]
    return kind


def _real(name: str) -> int:
    return int(getattr(real_mpi(), name, 0))


def _comm(comm: Any) -> SerialComm:
    return COMM_SELF if comm is None else comm


def new_memory(size: int, function: str, wrong: str = "SIZE") -> np.ndarray:
    """Return new memory, of `size` bytes; an error of the class `wrong` where that is negative."""
    number = integer(size, function, "size", least=0, wrong=wrong)
    try:
        return np.zeros(number, np.uint8)
    except (MemoryError, ValueError):
        raise error(
            "NO_MEM", f"{function}: argument 'size' asks for {number} bytes, and there is no memory for them."
        ) from None


WIN_NULL = SerialWin()
