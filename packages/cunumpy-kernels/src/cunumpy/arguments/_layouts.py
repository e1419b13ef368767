"""Asking the CUDA compiler for the layout of a struct."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cunumpy import _backend
from cunumpy._gate import as_paths, as_strings, as_truth, describe
from cunumpy.arguments._header_text import VIEW_HEADER, include_line, with_members
from cunumpy.cuda import check_cuda, cuda_include_dir
from cunumpy.errors import ArgumentError, ArgumentTypeError, BackendUnavailableError, MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from cunumpy.arguments._struct import CudaStruct

# Where types are defined that the compiler doesn't know by itself; run-time compilation has no <stdint.h>.
_HEADERS = {
    **dict.fromkeys(("cuComplex", "cuFloatComplex", "cuDoubleComplex"), "#include <cuComplex.h>"),
    **dict.fromkeys(("half", "half2", "__half", "__half2"), "#include <cuda_fp16.h>"),
    **dict.fromkeys(("nv_bfloat16", "__nv_bfloat16"), "#include <cuda_bf16.h>"),
    "complex": "#include <cupy/complex.cuh>",
}
_STANDARD = {
    "int8_t": "signed char",
    "int16_t": "short",
    "int32_t": "int",
    "int64_t": "long long",
    "uint8_t": "unsigned char",
    "uint16_t": "unsigned short",
    "uint32_t": "unsigned int",
    "uint64_t": "unsigned long long",
    "intptr_t": "long long",
    "uintptr_t": "unsigned long long",
}
_OTHER = {"ssize_t": "long long", "uint": "unsigned int", "ushort": "unsigned short", "ulong": "unsigned long"}

_STAND_INS = {
    "complex": "template <class T> struct alignas(2 * sizeof(T)) complex { T re, im; };",
    "cuComplex": "typedef float2 cuComplex;",
    "cuFloatComplex": "typedef float2 cuFloatComplex;",
    "cuDoubleComplex": "typedef double2 cuDoubleComplex;",
    **{name: f"struct alignas(2) {name} {{ unsigned short bits; }};" for name in ("half", "__half")},
    **{name: f"struct alignas(2) {name} {{ unsigned short bits; }};" for name in ("nv_bfloat16", "__nv_bfloat16")},
    **{name: f"struct alignas(4) {name} {{ unsigned short x, y; }};" for name in ("half2", "__half2")},
    "cudaTextureObject_t": "typedef unsigned long long cudaTextureObject_t;",
    "cudaSurfaceObject_t": "typedef unsigned long long cudaSurfaceObject_t;",
}
"""The same types for NVRTC alone, which comes without these headers; sizes and alignments as there."""


def _preamble(struct: CudaStruct, include: str | None, *, stand_in: bool) -> str:
    if include is not None:
        if not isinstance(include, str):
            raise ArgumentTypeError(
                f"CudaStruct.layout_source: argument 'include' must be a header's name, got {describe(include)}."
            )
        return f"{include_line(include)}\n"
    structs = with_members([struct])
    ctypes = " ".join(field.ctype for one in structs for field in one.fields)
    words = dict.fromkeys(re.findall(r"\w+", ctypes))
    lines = [VIEW_HEADER] if any(one.has_views for one in structs) else []
    for word in words:
        line = (_STAND_INS if stand_in else _HEADERS).get(word)
        if word in _STANDARD or word in _OTHER:
            line = f"typedef {_STANDARD.get(word) or _OTHER[word]} {word};"
        if line is not None and line not in lines:
            lines.append(line)
    lines += [f"namespace std {{ using ::{word}; }}" for word in words if f"std::{word}" in ctypes.split()]
    declared = "\n".join(one.declaration for one in structs)
    return "".join(f"{line}\n" for line in lines) + ("\n" if lines else "") + declared


# NVRTC has no offsetof. What stands here in its place is no constant expression for it, and __INTADDR__ is one.
_OFFSET = "(unsigned long long)&(({struct}*)0)->{field}"
_CONSTANT_OFFSET = "__INTADDR__(&(({struct}*)0)->{field})"


def _quantities(struct: CudaStruct, offset: str = _OFFSET) -> dict[str, str]:
    """Return the name of each quantity, and the expression for it."""
    return {
        "sizeof": f"sizeof({struct.name})",
        "alignof": f"alignof({struct.name})",
        **{field.name: offset.format(struct=struct.name, field=field.name) for field in struct.fields},
    }


def layout_source(struct: CudaStruct, include: str | None) -> str:
    written = "".join(f"    out[{index}] = {text};\n" for index, text in enumerate(_quantities(struct).values()))
    return (
        f"{_preamble(struct, include, stand_in=False)}\n"
        f'extern "C" __global__ void cunumpy_layout_{struct.name}(unsigned long long* out) {{\n{written}}}\n'
    )


def verify_layout(
    struct: CudaStruct,
    include: str | None,
    include_dirs: Iterable[str | Path],
    options: Iterable[str],
    *,
    gpu: bool,
) -> dict[str, int]:
    function = "CudaStruct.verify_layout"
    gpu = as_truth(gpu, function=function, argument="gpu")
    if include is not None and not isinstance(include, str):
        raise ArgumentTypeError(f"{function}: argument 'include' must be a header's name, got {describe(include)}.")
    folders = as_paths(include_dirs, function=function, argument="include_dirs")
    words = as_strings(options, function=function, argument="options")
    found = (_of_device if gpu else _of_compiler)(struct, include, folders, words)
    fields: Any = struct.dtype.fields
    expected = {
        "sizeof": struct.dtype.itemsize,
        "alignof": struct.alignment,
        **{field.name: fields[field.name][1] for field in struct.fields},
    }
    differences = [
        f"{_called(name)} is {found[name]} and should be {value}"
        for name, value in expected.items()
        if found[name] != value
    ]
    if differences:
        raise ArgumentError(
            f"{function}: the compiler's layout of struct {struct.name} is not the CudaStruct's: "
            f"{'; '.join(differences)}. Include the header that write_cuda_header generates in the place of the "
            "definition."
        )
    return found


def _called(name: str) -> str:
    return name if name in ("sizeof", "alignof") else f"the offset of field {name!r}"


def _of_device(
    struct: CudaStruct, include: str | None, include_dirs: Sequence[str | Path], options: list[str]
) -> dict[str, int]:
    from cunumpy import to_numpy

    try:
        cupy = _backend.require_cupy("CudaStruct.verify_layout")
    except MissingPackageError as error:
        raise BackendUnavailableError(f"{error} The compiler alone is asked with gpu=False.") from None
    source = layout_source(struct, include)
    folders = [f"-I{folder}" for folder in [*include_dirs, cuda_include_dir()]]
    kernel = cupy.RawModule(code=source, options=("-std=c++14", *options, *folders)).get_function(
        f"cunumpy_layout_{struct.name}"
    )
    names = list(_quantities(struct))
    out = cupy.zeros(len(names), dtype="uint64")
    kernel((1,), (1,), (out,))
    return dict(zip(names, map(int, to_numpy(out)), strict=True))


def _of_compiler(
    struct: CudaStruct, include: str | None, include_dirs: Sequence[str | Path], options: list[str]
) -> dict[str, int]:
    # The compiler writes the value of a template argument into the kernel's name.
    quantities = _quantities(struct, _CONSTANT_OFFSET)
    source = (
        f"{_preamble(struct, include, stand_in=True)}\n"
        f"constexpr unsigned long long cunumpy_values[] = {{{', '.join(quantities.values())}}};\n"
        "template <unsigned long long value> __global__ void cunumpy_layout() {}\n"
    )
    expressions = [f"cunumpy_layout<cunumpy_values[{index}]>" for index in range(len(quantities))]
    report = check_cuda(
        source, archs=["sm_80"], options=options, include_dirs=include_dirs, name_expressions=expressions
    )
    found = {}
    for name, expression in zip(quantities, expressions, strict=True):
        value = re.search(r"ILy(\d+)E", report.lowered_names[expression])
        assert value is not None, report.lowered_names[expression]
        found[name] = int(value[1])
    return found
