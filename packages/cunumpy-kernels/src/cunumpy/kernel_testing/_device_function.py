"""A kernel around a device function, so that a test can call the function for many values at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cunumpy._gate import describe
from cunumpy.cuda import parse_cuda_signature
from cunumpy.errors import ArgumentError, ArgumentTypeError
from cunumpy.kernels import CudaKernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cunumpy.cuda import CudaParameter

_QUALIFIERS = re.compile(
    r"\s*(?:\[\[[^\]]*\]\]|(?:__device__|__host__|__forceinline__|__noinline__|inline|static|constexpr|extern)\b)\s*"
)
_PROTOTYPE = re.compile(
    r"(?P<result>[\w:<>,\s*&]*?[\s*&>])(?P<name>[A-Za-z_][\w:]*)\s*\((?P<parameters>.*)\)\s*", re.DOTALL
)


def device_function_kernel(
    header_source: str,
    signature: str,
    *,
    name: str | None = None,
    includes: Sequence[str] = (),
    n_threads_param: str = "n",
    out_param: str = "out",
    **kwargs: Any,
) -> CudaKernel:
    """Make a kernel that calls a device function once in each of its first `n` threads.

    Parameters
    ----------
    header_source : str
        CUDA C++ source code with the function, or ``""`` where a header of `includes` has it.
    signature : str
        Its prototype, such as ``"__device__ double f(double x, const double* table)"``: qualifiers, ``constexpr``,
        ``noexcept``, attributes and a ``;`` are allowed. Of a template write the types that it is to be called with.
    name : str, optional
        Of the kernel; by default the function's with ``_kernel``.
    includes : sequence of str, optional
        Headers to include before the source; ``"<...>"`` keeps its brackets.
    n_threads_param : str, default: "n"
        The kernel's parameter for the number of threads, a ``long long``, its last one.
    out_param : str, default: "out"
        The kernel's parameter for the results, its last but one; there is none for a function that returns ``void``.
    **kwargs
        As for `CudaKernel`.

    Returns
    -------
    CudaKernel
        Its parameters: pointers, array views and structs as the function has them, the same for all threads. For a
        number or vector such as ``double2`` an array, of which thread ``i`` passes element ``i``; for a reference to
        one that is not const, an array that is written to.

    Raises
    ------
    ArgumentError
        A prototype that can't be read, a result that is a pointer or struct, or a parameter named like `out_param` or
        `n_threads_param`.
    ArgumentTypeError
        An argument of a wrong type.

    Examples
    --------
    >>> import numpy as np
    >>> from cunumpy.kernel_testing import device_function_kernel, emulate_cuda_kernel
    >>> header = "__device__ inline double square(double x) { return x * x; }"
    >>> kernel = device_function_kernel(header, "__device__ double square(double x)")
    >>> x, out = np.arange(3.0), np.empty(3)
    >>> emulate_cuda_kernel(kernel, x, out, x.size)
    >>> out
    array([0., 1., 4.])
    """
    function = "device_function_kernel"
    texts = {"header_source": header_source, "signature": signature, "n_threads_param": n_threads_param}
    texts |= {"out_param": out_param} | ({} if name is None else {"name": name})
    for argument, value in texts.items():
        if not isinstance(value, str):
            raise ArgumentTypeError(f"{function}: argument {argument!r} must be a str, got {describe(value)}.")
    if isinstance(includes, str) or not hasattr(includes, "__iter__"):
        raise ArgumentTypeError(
            f"{function}: argument 'includes' must be a sequence of str, got {describe(includes)}; pass [{includes!r}]."
        )
    result, called, parameters = _prototype(signature)
    known = {key: kwargs[key] for key in ("structs",) if key in kwargs}
    read = _read(", ".join(one.replace("&", " ") for one in parameters), signature, known)
    out = None if result == "void" else _result(result, signature, known)
    taken = {parameter.name for parameter in read}
    for reserved, argument in ((out_param, "out_param"), (n_threads_param, "n_threads_param")):
        if reserved in taken:
            raise ArgumentError(
                f"{function}: {signature!r} has a parameter {reserved!r}, which is the kernel's own; pass another "
                f"{argument}=."
            )
    thread = next(one for one in ("i", "thread", "thread_of_test") if one not in {*taken, out_param, n_threads_param})
    declared, passed = [], []
    for text, parameter in zip(parameters, read, strict=True):
        shared = parameter.pointer or parameter.view_ndim is not None or parameter.struct is not None
        if shared:
            declared.append(_named(text.replace("&", " "), parameter))
            passed.append(parameter.name)
        else:
            written = "&" in text and not re.search(r"\bconst\b", text)
            declared.append(f"{'' if written else 'const '}{parameter.ctype}* {parameter.name}")
            passed.append(f"{parameter.name}[{thread}]")
    call = f"{called}({', '.join(passed)})"
    if out is not None:
        declared.append(f"{out}* {out_param}")
        call = f"{out_param}[{thread}] = {call}"
    declared.append(f"long long {n_threads_param}")
    kernel_name = name if name is not None else f"{called.rpartition('::')[2]}_kernel"
    lines = [*(_include_line(one, function) for one in includes), header_source.removeprefix("\ufeff")]
    source = "\n".join(lines) + (
        f'\nextern "C" __global__ void {kernel_name}({", ".join(declared)}) {{\n'
        f"    long long {thread} = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"    if ({thread} < {n_threads_param}) {call};\n"
        "}\n"
    )
    return CudaKernel(source, kernel_name, **kwargs)


def _prototype(signature: str) -> tuple[str, str, list[str]]:
    """Return the result's type, the function's name, and the text of each parameter."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", signature, flags=re.DOTALL).strip().removesuffix(";").strip()
    text = re.sub(r"\)\s*(?:noexcept(?:\s*\([^()]*\))?)\s*$", ")", text)
    while (found := _QUALIFIERS.match(text)) is not None and found.end():
        text = text[found.end() :]
    matched = _PROTOTYPE.fullmatch(text)
    if matched is None or text.startswith("template"):
        raise ArgumentError(
            f"device_function_kernel: can't read the prototype {signature!r}; write the result's type, the function's "
            "name and its parameters with names, as in '__device__ double f(double x)', without template<...>."
        )
    rest = matched["result"]
    while (found := _QUALIFIERS.search(rest)) is not None and found.end() > found.start() and found[0].strip():
        rest = f"{rest[: found.start()]} {rest[found.end() :]}"
    inside = matched["parameters"].strip()
    parameters = [] if inside in ("", "void") else _split(inside)
    return " ".join(rest.split()), matched["name"], parameters


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for char in text:
        depth += (char in "<([") - (char in ">)]")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [" ".join(part.split()) for part in parts]


def _read(parameters: str, signature: str, known: dict[str, Any]) -> tuple[CudaParameter, ...]:
    try:
        return parse_cuda_signature(f'extern "C" __global__ void f({parameters});', "f", **known)
    except ArgumentError as error:
        raise ArgumentError(f"device_function_kernel: {signature!r}: {error}") from None


def _result(result: str, signature: str, known: dict[str, Any]) -> str:
    (read,) = _read(f"{result.removeprefix('const ')} result", signature, known)
    if read.pointer or read.view_ndim is not None or read.struct is not None or "&" in result:
        raise ArgumentError(
            f"device_function_kernel: {signature!r} returns {result!r}; it must be a number, a vector such as double2, "
            "or void. Wrap it in a function that returns one, or writes to references."
        )
    return read.ctype


def _named(text: str, parameter: CudaParameter) -> str:
    """Give a parameter without a name the one by which it is passed on."""
    return text if re.search(rf"\b{re.escape(parameter.name)}\b", text) else f"{text} {parameter.name}"


def _include_line(header: Any, function: str) -> str:
    if not isinstance(header, str):
        raise ArgumentTypeError(f"{function}: argument 'includes' must hold str, got {describe(header)}.")
    return f"#include {header}" if header.startswith("<") else f'#include "{header}"'
