"""A device array in all that packing needs of one, and a value packed for one parameter."""

from __future__ import annotations

import numpy as np

from cunumpy.arguments import CudaStruct
from cunumpy.arguments._packing import packer
from cunumpy.cuda import parse_cuda_signature

MATRIX = np.arange(12.0).reshape(3, 4)


class Memory:
    def __init__(self, ptr: int) -> None:
        self.ptr = ptr


class Flags:
    def __init__(self, c_contiguous: bool) -> None:
        self.c_contiguous = c_contiguous


class DeviceArray:
    """What packing needs of a device array: nothing that could be read."""

    def __init__(self, values: np.ndarray, address: int = 4096) -> None:
        self.dtype, self.shape, self.strides = values.dtype, values.shape, values.strides
        self.flags, self.ndim = Flags(values.flags.c_contiguous), values.ndim
        self.data = Memory(address)
        self.__cuda_array_interface__ = {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "strides": self.strides,
            "data": (address, not values.flags.writeable),
            "version": 3,
        }


def parameter(declaration: str, **options):
    (found,) = parse_cuda_signature(f"__global__ void f({declaration});", "f", **options)
    return found


def pack(declaration: str, value, **options):
    found = packer(parameter(declaration, **options), "f: argument 'x'").argument(value, None)
    return found[0] if isinstance(found, np.ndarray) else found


def members(value: np.void) -> list:
    """Return what the members of a view hold."""
    return [value[name].tolist() for name in value.dtype.names]


def offsets(struct: CudaStruct) -> list[int]:
    return [struct.dtype.fields[name][1] for name in struct.dtype.names]
