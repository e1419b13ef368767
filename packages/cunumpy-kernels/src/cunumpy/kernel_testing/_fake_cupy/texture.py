"""``cupy.cuda.texture``: texture objects, which kernels on the CPU device read through ``tex1Dfetch`` to ``tex3D``.

What can't be made on a GPU is an error when the texture object is made, as there. Surfaces are not there.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

import numpy as np

from .array_base import target, used
from .current_device import CUDARuntimeError
from .ndarray import ndarray

_CONSTANTS = {
    "cudaChannelFormatKind": ("Signed", "Unsigned", "Float", "None"),
    "cudaResourceType": ("Array", "MipmappedArray", "Linear", "Pitch2D"),
    "cudaAddressMode": ("Wrap", "Clamp", "Mirror", "Border"),
    "cudaFilterMode": ("Point", "Linear"),
    "cudaReadMode": ("ElementType", "NormalizedFloat"),
}
CONSTANTS = {
    **{f"{kind}{name}": value for kind, names in _CONSTANTS.items() for value, name in enumerate(names)},
    "cudaArrayDefault": 0,
}
"""Those of ``cupy.cuda.runtime``."""

_DTYPES = {0: "i", 1: "u", 2: "f"}
_ARRAY, _MIPMAPPED, _LINEAR, _PITCH_2D = range(4)
_FLOAT = 2


class ChannelFormatDescriptor:
    """The bits of each channel of a texel, and their kind."""

    def __init__(self, x: int, y: int, z: int, w: int, f: int) -> None:
        self._format = {"x": int(x), "y": int(y), "z": int(z), "w": int(w), "f": int(f)}

    def get_channel_format(self) -> dict[str, int]:
        """Return what it was made of."""
        return dict(self._format)

    def _channels(self) -> tuple[int, int, int]:
        """Return number, bits and kind; raise for what no texture can have."""
        given = [self._format[key] for key in "xyzw"]
        used = [bits for bits in given if bits]
        kind = self._format["f"]
        if (
            kind not in _DTYPES
            or len(used) not in (1, 2, 4)
            or given[: len(used)] != used
            or len(set(used)) != 1
            or used[0] not in ((16, 32) if kind == _FLOAT else (8, 16, 32))
        ):
            raise _invalid(f"channels {self._format}")
        return len(used), used[0], kind


class CUDAarray:
    """Memory of a texture of 1 to 3 dimensions."""

    def __init__(
        self, desc: ChannelFormatDescriptor, width: int, height: int = 0, depth: int = 0, flags: int = 0
    ) -> None:
        if width == 0:
            raise ValueError("To create a CUDA array, width must be nonzero.")
        if height == 0 and depth > 0:
            raise ValueError("To create a 2D CUDA array, height must be nonzero.")
        if flags:
            raise NotImplementedError(f"CUDAarray(flags={flags}): the stand-in has plain arrays only, flags=0")
        channels, bits, kind = desc._channels()
        self.desc, self.width, self.height, self.depth, self.flags = desc, width, height, depth, flags
        self.ndim = 3 if depth > 0 else 2 if height > 0 else 1
        shape = (depth, height, channels * width)[3 - self.ndim :]
        self._memory = np.zeros(shape, f"{_DTYPES[kind]}{bits // 8}")

    @property
    def ptr(self) -> int:
        """The address."""
        address: int = self._memory.__array_interface__["data"][0]
        return address

    def _checked(self, array: Any) -> Any:
        if not isinstance(array, (ndarray, np.ndarray)):
            raise TypeError(f"expected a cupy.ndarray or numpy.ndarray, got {type(array)}")
        host = array
        if host.shape != self._memory.shape:
            raise ValueError("shape mismatch")
        if host.dtype != self._memory.dtype:
            raise ValueError("dtype mismatch")
        return host

    def copy_from(self, in_arr: Any, stream: Any = None) -> None:
        """Copy from an array whose last axis holds the channels of each texel side by side."""
        given = self._checked(in_arr)
        with contextlib.nullcontext() if stream is None else stream:
            self._memory[...] = used(given) if isinstance(given, ndarray) else given

    def copy_to(self, out_arr: Any, stream: Any = None) -> None:
        """Copy to such an array."""
        if not out_arr.flags.c_contiguous:
            raise ValueError("The output array must be C-contiguous")
        given = self._checked(out_arr)
        with contextlib.nullcontext() if stream is None else stream:
            (target(given) if isinstance(given, ndarray) else given)[...] = self._memory


class ResourceDescriptor:
    """Where the texels are."""

    def __init__(
        self,
        restype: int,
        cuArr: CUDAarray | None = None,
        arr: Any = None,
        chDesc: ChannelFormatDescriptor | None = None,
        sizeInBytes: int = 0,
        width: int = 0,
        height: int = 0,
        pitchInBytes: int = 0,
    ) -> None:
        if restype == _MIPMAPPED:
            raise NotImplementedError("cudaResourceTypeMipmappedArray is currently not supported.")
        for name, value, kind in (
            ("cuArr", cuArr, CUDAarray),
            ("arr", arr, ndarray),
            ("chDesc", chDesc, ChannelFormatDescriptor),
        ):
            if value is not None and not isinstance(value, kind):
                raise TypeError(
                    f"Argument '{name}' has incorrect type (expected {kind.__name__}, got {type(value).__name__})"
                )
        self.chDesc, self.cuArr, self.arr = chDesc, cuArr, arr
        self._type = restype
        self._sizes = sizeInBytes, width, height, pitchInBytes

    def get_resource_desc(self) -> dict[str, Any]:
        """Return what it was made of."""
        found: dict[str, Any] = {"resType": self._type}
        size, width, height, pitch = self._sizes
        if self._type == _ARRAY:
            found["array"] = {"array": self._given("cuArr").ptr}
            return found
        where = {"devPtr": self._given("arr").data.ptr, "desc": self._given("chDesc").get_channel_format()}
        if self._type == _LINEAR:
            found["linear"] = {**where, "sizeInBytes": size}
        elif self._type == _PITCH_2D:
            found["pitch2D"] = {**where, "width": width, "height": height, "pitchInBytes": pitch}
        return found

    def _given(self, name: str) -> Any:
        value = getattr(self, name)
        if value is None:
            raise TypeError(f"ResourceDescriptor: {name} is needed for restype={self._type}")
        return value


class TextureDescriptor:
    """How texels are read."""

    def __init__(
        self,
        addressModes: Any = None,
        filterMode: int = 0,
        readMode: int = 0,
        sRGB: Any = None,
        borderColors: Any = None,
        normalizedCoords: Any = None,
        maxAnisotropy: Any = None,
    ) -> None:
        modes, colors = tuple(addressModes or ()), tuple(borderColors or ())
        assert len(modes) <= 3
        assert len(colors) <= 4
        self._given = {
            "addressMode": (*modes, 0, 0, 0)[:3],
            "filterMode": filterMode,
            "readMode": readMode,
            "sRGB": int(sRGB or 0),
            "borderColor": tuple(map(float, (*colors, 0, 0, 0, 0)))[:4],
            "normalizedCoords": int(normalizedCoords or 0),
            "maxAnisotropy": int(maxAnisotropy or 0),
        }

    def get_texture_desc(self) -> dict[str, Any]:
        """Return what it was made of."""
        return dict(self._given)


class _Texture(ctypes.Structure):
    """`Texture` of the CPU device's textures.hpp."""

    _fields_ = (
        ("mark", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("row", ctypes.c_int64),
        ("slice", ctypes.c_int64),
        ("size", ctypes.c_int * 3),
        ("dimensions", ctypes.c_int),
        ("channels", ctypes.c_int),
        ("bits", ctypes.c_int),
        ("kind", ctypes.c_int),
        ("address", ctypes.c_int * 3),
        ("filter", ctypes.c_int),
        ("read", ctypes.c_int),
        ("normalized", ctypes.c_int),
        ("border", ctypes.c_float * 4),
    )


class TextureObject:
    """A texture as an argument of kernels, of parameters of type ``cudaTextureObject_t``."""

    def __init__(self, ResDesc: ResourceDescriptor, TexDesc: TextureDescriptor) -> None:
        self.ResDesc, self.TexDesc = ResDesc, TexDesc
        where, how = ResDesc.get_resource_desc(), TexDesc.get_texture_desc()
        if where["resType"] == _ARRAY:
            array = ResDesc._given("cuArr")
            channels, bits, kind = array.desc._channels()
            address, dimensions = array.ptr, array.ndim
            size = (array.width, max(array.height, 1), max(array.depth, 1))
            row = array.width * channels * bits // 8
        elif where["resType"] in (_LINEAR, _PITCH_2D):
            given = where["linear" if where["resType"] == _LINEAR else "pitch2D"]
            channels, bits, kind = ResDesc._given("chDesc")._channels()
            texel, nbytes = channels * bits // 8, ResDesc.arr.nbytes
            address = given["devPtr"]
            if where["resType"] == _LINEAR:
                dimensions, size, row = 0, (given["sizeInBytes"] // texel, 1, 1), 0
                fits = 0 < given["sizeInBytes"] <= nbytes
            else:
                dimensions, size, row = 2, (given["width"], given["height"], 1), given["pitchInBytes"]
                fits = min(size) > 0 and size[0] * texel <= row and row * (size[1] - 1) + size[0] * texel <= nbytes
            if not fits:
                raise _invalid(f"a texture {given} of an array of {nbytes} bytes")
        else:
            raise _invalid(f"restype {where['resType']}")
        refused = {
            "sRGB": how["sRGB"],
            "an addressMode": not set(how["addressMode"]) <= {0, 1, 2, 3},
            "a filterMode": how["filterMode"] not in (0, 1),
            "a readMode": how["readMode"] not in (0, 1),
            "filterMode linear without floats": how["filterMode"] and kind != _FLOAT and not how["readMode"],
            "readMode normalized of 32 bits": how["readMode"] and kind != _FLOAT and bits > 16,
        }
        for what, wrong in refused.items():
            if wrong:
                raise _invalid(f"{what}: {how}")
        self._texture = _Texture(
            0x5458455459504D55,
            address,
            row,
            row * size[1],
            size,
            dimensions,
            channels,
            bits,
            kind,
            how["addressMode"],
            how["filterMode"],
            how["readMode"] and kind != _FLOAT,
            how["normalizedCoords"],
            how["borderColor"],
        )

    @property
    def ptr(self) -> int:
        """Its handle."""
        return ctypes.addressof(self._texture)


def _invalid(what: str) -> CUDARuntimeError:
    return CUDARuntimeError(1, f"cudaErrorInvalidValue: invalid argument ({what})")


def contents() -> dict[str, Any]:
    """Return the contents of ``cupy.cuda.texture``."""
    kinds = (ChannelFormatDescriptor, CUDAarray, ResourceDescriptor, TextureDescriptor, TextureObject)
    for kind in kinds:
        kind.__module__ = "cupy.cuda.texture"
    return {kind.__name__: kind for kind in (*kinds, CUDARuntimeError)}
