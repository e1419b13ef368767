"""Integers of the stand-in, and what real MPI's integers mean to it.

The special ranks and tags have values that no MPI library uses. So an integer that comes from `mpi4py.MPI` is never
taken for another constant of the stand-in: MPICH's ``PROC_NULL`` is Open MPI's ``ANY_SOURCE``.
"""

from __future__ import annotations

import sys
from typing import Any

ANY_SOURCE = -1101
PROC_NULL = -1102
ROOT = -1103
ANY_TAG = -1104
UNDEFINED = -32766  # as everywhere: it is a color, an index and a rank in results
BSEND_OVERHEAD = 128
UB = 2**31 - 1  # of tags

INTEGERS: dict[str, int] = {
    "ANY_SOURCE": ANY_SOURCE,
    "PROC_NULL": PROC_NULL,
    "ROOT": ROOT,
    "ANY_TAG": ANY_TAG,
    "UNDEFINED": UNDEFINED,
    "SUCCESS": 0,
    "IDENT": 0,
    "CONGRUENT": 1,
    "SIMILAR": 2,
    "UNEQUAL": 3,
    "CART": 1,
    "GRAPH": 2,
    "DIST_GRAPH": 3,
    "UNWEIGHTED": -1201,
    "WEIGHTS_EMPTY": -1202,
    "COMM_TYPE_SHARED": 0,
    "COMM_TYPE_HW_UNGUIDED": 1,
    "COMM_TYPE_HW_GUIDED": 2,
    "COMM_TYPE_RESOURCE_GUIDED": 3,
    "THREAD_SINGLE": 0,
    "THREAD_FUNNELED": 1,
    "THREAD_SERIALIZED": 2,
    "THREAD_MULTIPLE": 3,
    "ORDER_C": 0,
    "ORDER_F": 1,
    "ORDER_FORTRAN": 1,
    "DISTRIBUTE_NONE": 0,
    "DISTRIBUTE_BLOCK": 1,
    "DISTRIBUTE_CYCLIC": 2,
    "DISTRIBUTE_DFLT_DARG": -1,
    "MODE_CREATE": 1,
    "MODE_RDONLY": 2,
    "MODE_WRONLY": 4,
    "MODE_RDWR": 8,
    "MODE_DELETE_ON_CLOSE": 16,
    "MODE_UNIQUE_OPEN": 32,
    "MODE_EXCL": 64,
    "MODE_APPEND": 128,
    "MODE_SEQUENTIAL": 256,
    "SEEK_SET": 600,
    "SEEK_CUR": 602,
    "SEEK_END": 604,
    "DISPLACEMENT_CURRENT": -54278278,
    "DISP_CUR": -54278278,
    "MODE_NOCHECK": 1024,
    "MODE_NOSTORE": 2048,
    "MODE_NOPUT": 4096,
    "MODE_NOPRECEDE": 8192,
    "MODE_NOSUCCEED": 16384,
    "LOCK_EXCLUSIVE": 234,
    "LOCK_SHARED": 235,
    "WIN_FLAVOR_CREATE": 1,
    "WIN_FLAVOR_ALLOCATE": 2,
    "WIN_FLAVOR_DYNAMIC": 3,
    "WIN_FLAVOR_SHARED": 4,
    "WIN_SEPARATE": 1,
    "WIN_UNIFIED": 2,
    "KEYVAL_INVALID": -1,
    "TAG_UB": 1001,
    "IO": 1002,
    "WTIME_IS_GLOBAL": 1003,
    "UNIVERSE_SIZE": 1004,
    "APPNUM": 1005,
    "LASTUSEDCODE": 1006,
    "WIN_BASE": 1101,
    "WIN_SIZE": 1102,
    "WIN_DISP_UNIT": 1103,
    "WIN_CREATE_FLAVOR": 1104,
    "WIN_FLAVOR": 1104,
    "WIN_MODEL": 1105,
    "BSEND_OVERHEAD": BSEND_OVERHEAD,
    "MAX_PROCESSOR_NAME": 255,
    "MAX_ERROR_STRING": 1023,
    "MAX_INFO_KEY": 254,
    "MAX_INFO_VAL": 1023,
    "MAX_OBJECT_NAME": 127,
    "MAX_DATAREP_STRING": 127,
    "MAX_PORT_NAME": 1023,
    "MAX_LIBRARY_VERSION_STRING": 8191,
    "VERSION": 4,
    "SUBVERSION": 0,
}
_COMBINERS = (
    "NAMED DUP CONTIGUOUS VECTOR HVECTOR INDEXED HINDEXED INDEXED_BLOCK HINDEXED_BLOCK STRUCT SUBARRAY DARRAY RESIZED"
)
INTEGERS |= {f"COMBINER_{name}": number for number, name in enumerate(_COMBINERS.split(), start=1)}
INTEGERS |= {
    f"TYPECLASS_{name}": number for number, name in enumerate(("INTEGER", "REAL", "COMPLEX", "LOGICAL"), start=1)
}


def real_mpi() -> Any:
    """Return `mpi4py.MPI` if the program has loaded it."""
    return sys.modules.get("mpi4py.MPI")


def own(value: int, *names: str) -> int:
    """Return the stand-in's value where `mpi4py.MPI` has this one under one of the names, else the value itself."""
    real = real_mpi()
    if real is None or any(value == INTEGERS[name] for name in names):
        return value
    for name in names:
        if value == getattr(real, name, None):
            return INTEGERS[name]
    return value
