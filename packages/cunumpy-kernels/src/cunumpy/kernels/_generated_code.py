"""CUDA code around the lines of elementwise and reduction kernels: what stands before them, and how it is compiled.

The compiler's messages name the user's argument, and the line in it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from cunumpy.cuda._tokens import words_of
from cunumpy.errors import CompileError, KernelError

if TYPE_CHECKING:
    from collections.abc import Mapping

GENERATED = "<generated loop>"
"""What the compiler calls our code around the user's."""

C_TYPES = {
    np.dtype(code): name
    for code, name in {
        "?": "bool",
        "b": "signed char",
        "B": "unsigned char",
        "h": "short",
        "H": "unsigned short",
        "i": "int",
        "I": "unsigned int",
        "l": "long",
        "L": "unsigned long",
        "q": "long long",
        "Q": "unsigned long long",
        "e": "float16",
        "f": "float",
        "d": "double",
        "F": "complex<float>",
        "D": "complex<double>",
    }.items()
}
"""What C++ calls the dtypes that kernels take."""


HELPERS = r"""
namespace cunumpy_kernel {
// An array with shape and strides; strides are in bytes, as CuPy's.
template <class Type, int dimensions, bool contiguous>
class CArray {
    Type* data_;
    const ptrdiff_t *shape_, *strides_;
    ptrdiff_t size_;
    typedef unsigned char byte;
    Type& at(ptrdiff_t i) const {
        if (contiguous) return data_[i];
        byte* place = (byte*)data_;
        for (int axis = dimensions - 1; axis > 0; --axis) {
            place += i % shape_[axis] * strides_[axis];
            i /= shape_[axis];
        }
        if (dimensions > 0) place += i * strides_[0];
        return *(Type*)place;
    }
    template <class Index>
    Type& at_all(const Index* index) const {
        byte* place = (byte*)data_;
        for (int axis = 0; axis < dimensions; ++axis) place += (ptrdiff_t)index[axis] * strides_[axis];
        return *(Type*)place;
    }

public:
    static const int ndim = dimensions;
    typedef Type value_type;
    __device__ CArray(Type* data, const long long* layout)
        : data_(data), shape_((const ptrdiff_t*)layout), strides_((const ptrdiff_t*)layout + dimensions), size_(1) {
        for (int axis = 0; axis < dimensions; ++axis) size_ *= shape_[axis];
    }
    __device__ ptrdiff_t size() const { return size_; }
    __device__ const ptrdiff_t* shape() const { return shape_; }
    __device__ const ptrdiff_t* strides() const { return strides_; }
    __device__ Type& operator[](int i) const { return at(i); }
    __device__ Type& operator[](unsigned int i) const { return at(i); }
    __device__ Type& operator[](long i) const { return at(i); }
    __device__ Type& operator[](unsigned long i) const { return at((ptrdiff_t)i); }
    __device__ Type& operator[](long long i) const { return at(i); }
    __device__ Type& operator[](unsigned long long i) const { return at((ptrdiff_t)i); }
    template <class Index>
    __device__ Type& operator[](const Index* index) const { return at_all(index); }
};

// The loop's shape, and the place of one element in it.
class CIndexer {
    ptrdiff_t size_, place_;
    int ndim_;
    const ptrdiff_t* shape_;
    mutable ptrdiff_t index_[64];

public:
    __device__ CIndexer(ptrdiff_t size, const long long* layout)
        : size_(size), place_(0), ndim_((int)layout[0]), shape_((const ptrdiff_t*)layout + 1) {}
    __device__ ptrdiff_t size() const { return size_; }
    __device__ const ptrdiff_t* shape() const { return shape_; }
    __device__ void set(ptrdiff_t place) { place_ = place; }
    __device__ const ptrdiff_t* get() const {
        ptrdiff_t rest = place_;
        for (int axis = ndim_ - 1; axis >= 0; --axis) {
            index_[axis] = rest % shape_[axis];
            rest /= shape_[axis];
        }
        return index_;
    }
};
// How far the first element of a row is from that of the array.
__device__ static inline ptrdiff_t row(ptrdiff_t number, int ndim, const long long* shape, const long long* strides) {
    ptrdiff_t offset = 0;
    for (int axis = ndim - 2; axis >= 0; --axis) {
        offset += number % shape[axis] * strides[axis];
        number /= shape[axis];
    }
    return offset;
}
// How far an element is from the first.
__device__ static inline ptrdiff_t place(ptrdiff_t number, int ndim, const long long* shape, const long long* steps) {
    ptrdiff_t offset = 0;
    for (int axis = ndim - 1; axis > 0; --axis) {
        offset += number % shape[axis] * steps[axis];
        number /= shape[axis];
    }
    return offset + number * steps[0];
}
}  // namespace cunumpy_kernel
using cunumpy_kernel::CArray;
using cunumpy_kernel::CIndexer;
"""

_FLOAT16 = r"""
#include <cuda_fp16.h>
// Calculates in float.
class float16 {
    __half value_;

public:
    __device__ float16() = default;
    __device__ float16(float value) : value_(__float2half(value)) {}
    __device__ operator float() const { return __half2float(value_); }
    __device__ float16& operator+=(float other) { return *this = *this + other; }
    __device__ float16& operator-=(float other) { return *this = *this - other; }
    __device__ float16& operator*=(float other) { return *this = *this * other; }
    __device__ float16& operator/=(float other) { return *this = *this / other; }
};
"""


def code_of(argument: str, text: str, end: str = ";") -> str:
    """Return code that an argument holds, with line markers by which the compiler's messages name it and its lines.

    Parameters
    ----------
    argument : str
        Its name.
    text : str
    end : str
        What is to follow: on the last line, so that what is missing there is a mistake in the argument.
    """
    if not text.strip():
        return end
    text = text if text.rstrip().endswith("\\") else text.rstrip()
    last = text.rpartition("\n")[2]
    apart = "\n" if "//" in last or last.lstrip().startswith(("#", "%:")) else ""
    return f'\n#line 1 "<{argument}>"\n{text}{apart}{end}\n#line 1 "{GENERATED}"\n'


def prelude(types: dict[str, np.dtype[Any]], preamble: str, body: str) -> str:
    """Return what stands before a kernel: the helpers, what letters mean, and the user's preamble."""
    parts = [HELPERS]
    words = f"{preamble} {body}"
    if "complex" in words or any(dtype.kind == "c" for dtype in types.values()):
        parts.append("#include <cupy/complex.cuh>")
    if "float16" in words or np.dtype("float16") in types.values():
        parts.append(_FLOAT16)
    parts += [f"typedef {C_TYPES[dtype]} {letter};" for letter, dtype in types.items() if len(letter) == 1]
    return "\n".join([*parts, code_of("preamble", preamble, ""), ""])


class Compiled(NamedTuple):
    """A kernel that was compiled for the CPU device.

    Attributes
    ----------
    function : Function
        See `launcher.Function`.
    owner : str
        For error messages.
    """

    function: Any
    owner: str

    def __call__(self, grid: tuple[int, ...], packed: list[Any]) -> None:
        """Launch it, with blocks of one thread."""
        trap = self.function.launch(packed, grid, (1,), 0, False)
        if trap is not None:
            fail(self.owner, trap)


def fail(owner: str, trap: str) -> NoReturn:
    """Raise the error of a launch that a trap ended."""
    raise KernelError(f"{owner}: {trap}; what it wrote before stays.")


def compiled(
    source: str,
    name: str,
    options: tuple[str, ...],
    owner: str,
    arguments: Mapping[str, str | None],
    host_options: tuple[str, ...] = (),
) -> Compiled:
    """Compile a kernel for the CPU device.

    Parameters
    ----------
    source : str
    name : str
        Of the kernel.
    options : tuple of str
        Of CUDA's compiler.
    owner : str
        For error messages.
    arguments : mapping of str to str or None
        The arguments that hold code, for error messages.
    host_options : tuple of str
        Of the C++ compiler.

    Raises
    ------
    CompileError
        It does not compile. The message names the argument, and its line.
    MissingCompilerError, SettingError
        There is no C++ compiler.
    """
    from cunumpy.kernels._builds import HeaderHash
    from cunumpy.kernels._cpu_device.build import Library, Program

    folders = [Path(option[2:].strip()) for option in options if option.startswith("-I") and option[2:]]
    headers = HeaderHash(source, folders, None).digest()
    program = Program(source, GENERATED, name, options, None, headers, owner, host_options=host_options)
    try:
        library = Library(program, None)
    except CompileError as error:
        if not error.log:
            raise
        raise _explained(error, {f"<{word}>": text for word, text in arguments.items() if text}) from None
    return Compiled(library.function, owner)


_PLACE = re.compile(r"(<\w+>):(\d+):(?:(\d+):)? (?:fatal )?(?:error|warning|note): ")


def _explained(error: CompileError, texts: Mapping[str, str]) -> CompileError:
    """Return an error that shows the user's lines, where a compiler does not that looks for them in files."""
    from cunumpy.kernels._cpu_device.compiler import compiler_messages

    lines = error.log.splitlines()
    shown: list[str] = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        shown.append(line)
        place = _PLACE.match(line)
        if place is None or after.startswith(" "):
            continue
        number, column = int(place[2]), int(place[3] or 0)
        text = texts.get(place[1], "").split("\n")[number - 1 : number]
        if text and text[0].strip():
            shown.append(f"{number:5} | {text[0].expandtabs()}")
            shown += [f"      | {' ' * (column - 1)}^"] if column else []
    if not any(one.severity == "error" and one.file in texts for one in error.messages):
        shown += [f"The brackets of {name} do not match." for name, text in texts.items() if not _brackets_match(text)]
    log = "\n".join([*shown, ""])
    found = CompileError(str(error).replace(error.log, log))
    found.log, found.messages = log, tuple(compiler_messages(log))
    return found


_CLOSING = {")": "(", "]": "[", "}": "{"}


def _brackets_match(text: str) -> bool:
    opened: list[str] = []
    for word in words_of(text):
        if word in _CLOSING.values():
            opened.append(word)
        elif word in _CLOSING and (not opened or opened.pop() != _CLOSING[word]):
            return False
    return not opened
