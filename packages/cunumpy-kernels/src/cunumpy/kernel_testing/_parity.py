"""Whether a CUDA kernel gives the results of its host kernel, on a GPU and on the CPU device."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cunumpy._backend import cupy_unavailable_reason, use_backend
from cunumpy._gate import as_truth, describe, given
from cunumpy.errors import ArgumentError, ArgumentTypeError, MissingCompilerError
from cunumpy.kernels import Kernel, use_host_kernel_implementation
from cunumpy.kernels._cpu_device.compiler import find_compiler
from cunumpy.kernels._cuda_kernel import CudaKernel
from cunumpy.kernels._emulated import EMULATOR

from ._availability import FAKE_SKIP_REASON, can_launch, cuda_required
from ._closeness import assert_close
from ._emulation import Emulation
from ._made_arguments import arrays_among, checked_args, found_arrays
from ._requirements import require_pytest
from ._stand_in import fake_cupy_active

_RTOL, _ATOL = 1e-12, 0.0
_HOST, _CUDA, _CPU = "host", "GPU", "CPU device"


@dataclass(frozen=True)
class _Output:
    """An argument, or one field of it, whose arrays are compared."""

    index: int
    field: str | None
    given: int | str

    def holds(self, name: str) -> bool:
        """Tell whether an array of this name belongs to it."""
        prefix = f"argument {self.index}" + ("" if self.field is None else f".{self.field}")
        return name == prefix or name.startswith((f"{prefix}.", f"{prefix}["))


def assert_kernels_agree(
    kernel: Kernel,
    make_args: Callable[..., Sequence[Any]],
    *,
    n_threads: Any = None,
    grid: Any = None,
    block: Any = None,
    rtol: float | Mapping[int | str, float] = _RTOL,
    atol: float | Mapping[int | str, float] = _ATOL,
    n_calls: int = 1,
    outputs: Sequence[int | str] | None = None,
    seed: int = 0,
    seeds: Iterable[int] | None = None,
    sizes: Iterable[int] | str | None = None,
    emulate: bool | str = "auto",
    equal_nan: bool = False,
    check_inputs: bool = True,
) -> dict[str, np.ndarray[Any, Any]]:
    """Call both sides of a kernel with equal arguments, and compare the arrays among them afterwards.

    The CUDA side runs on a GPU where there is one, and on the CPU device.

    Parameters
    ----------
    kernel : Kernel
        With a host and a CUDA kernel.
    make_args : callable
        Called with the backend's name (``"numpy"`` or ``"cupy"``) and the seed, with `sizes` also with the size;
        returns the arguments, as arrays of the active backend. It has to make the same numbers for the same seed.
    n_threads, grid, block : optional
        As for a launch; a callable `n_threads` is given the tuple of arguments.
    rtol, atol : float or mapping of int or str to float
        Values may differ by ``atol + rtol * abs(host)``. A mapping has them for entries of the form of `outputs`; the
        others get 1e-12 and 0.
    n_calls : int, default: 1
        How often each side is called, with the same arguments.
    outputs : sequence of int or str, optional
        What is compared: indices of arguments (from the end if negative), names of parameters, or ``"name.field"`` and
        ``"index.field"`` for a field. By default the declared outputs of the host kernel, else all arguments.
    seed : int, default: 0
    seeds : iterable of int, optional
        Several seeds in the place of `seed`.
    sizes : iterable of int or "edges", optional
        Run for each size. ``"edges"`` stands for 0, 1 and the sizes around one and two blocks, where mistakes in
        indices show.
    emulate : bool or "auto", default: "auto"
        Whether the CUDA kernel runs on the CPU device: True for there alone, False for on a GPU alone. ``"auto"`` for
        both, as far as they are there; for the CPU device alone in a block of `emulated_launches`, and for the GPU
        alone where CUDA is required (``CUNUMPY_REQUIRE_CUDA``) and there is no compiler.
    equal_nan : bool, default: False
        Take NaN for equal to NaN, instead of refusing it.
    check_inputs : bool, default: True
        Check that arrays that are no outputs are left as they were, on both sides.

    Returns
    -------
    dict of str to numpy.ndarray
        The host's compared arrays of the last run by name, such as ``"argument 0"`` or ``"argument 1.x"``: arrays
        themselves, and those in tuples, lists, mappings, objects and structs, two levels deep.

    Raises
    ------
    AssertionError
        The sides differ, in values, shapes, dtypes or which arrays there are; there is NaN; an input was changed; the
        host kernel returns what its CUDA version can't; or there was nothing to compare.
    ArgumentError, ArgumentTypeError, KeyError, IndexError
        An argument is not as above.
    MissingCompilerError
        `emulate` is True, and there is no C++ compiler.
    Skipped, Failed
        pytest's, where the CUDA kernel can run nowhere; failed if CUDA is required.

    Examples
    --------
    >>> import numpy as np
    >>> import cunumpy as xp
    >>> from cunumpy.kernel_testing import assert_kernels_agree
    >>> def axpy(a, x, y, n):
    ...     y += a * x
    >>> source = '''
    ... extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) y[i] += a * x[i];
    ... }'''
    >>> kernel = xp.kernels.Kernel(axpy, xp.kernels.CudaKernel(source, "axpy"))
    >>> def make_args(backend, seed, size):
    ...     rng = np.random.default_rng(seed)
    ...     return 0.5, xp.asarray(rng.random(size)), xp.asarray(rng.random(size)), size
    >>> found = assert_kernels_agree(kernel, make_args, outputs=["y"], sizes="edges", seeds=range(2))
    >>> list(found)
    ['argument 2']
    """
    owner = "assert_kernels_agree"
    equal_nan = as_truth(equal_nan, function=owner, argument="equal_nan")
    check_inputs = as_truth(check_inputs, function=owner, argument="check_inputs")
    if not isinstance(kernel, Kernel):
        raise ArgumentTypeError(f"{owner}: argument 'kernel' must be a Kernel, got {describe(kernel)}.")
    what = f"kernel {kernel.name!r}"
    if kernel.cuda_kernel is None or not _references(kernel):
        side = "CUDA" if kernel.cuda_kernel is None else "host"
        raise ArgumentError(f"{owner}: {what} has no {side} kernel, so there is nothing to compare.")
    if isinstance(n_calls, bool) or not isinstance(n_calls, int) or n_calls < 1:
        raise ArgumentError(f"{owner}: argument 'n_calls' must be an integer from 1 on, got {n_calls!r}.")
    if n_threads is None and grid is None and kernel.cuda_kernel.n_threads_from is None:
        raise ArgumentTypeError(
            f"{owner}: the number of threads is not known; pass n_threads or grid, or give the CUDA kernel "
            "n_threads_from."
        )
    if not callable(make_args):
        raise ArgumentTypeError(f"{owner}: argument 'make_args' must be callable, got {describe(make_args)}.")
    compared, declared = _compared(kernel, outputs)
    tolerances = [_tolerances(kernel, *one) for one in (("rtol", rtol, _RTOL), ("atol", atol, _ATOL))]
    if seeds is not None and (isinstance(seeds, (str, bytes, type)) or not hasattr(seeds, "__iter__")):
        raise ArgumentTypeError(
            f"{owner}: argument 'seeds' must be several seeds, as range(3), got {given(seeds)}; for one pass seed=."
        )
    all_seeds = [seed] if seeds is None else list(seeds)
    all_sizes = _sizes(kernel.cuda_kernel, sizes, block)
    if not all_seeds or not all_sizes:
        raise ArgumentError(f"{owner}: argument {'seeds' if not all_seeds else 'sizes'!r} is empty, nothing would run.")
    places = _places(emulate)

    launch = {"n_threads": n_threads, "grid": grid, "block": block}
    n_compared, values = 0, {}
    for size in all_sizes:
        for one_seed in all_seeds:
            made = (one_seed,) if size is None else (one_seed, size)
            run = f"seed {one_seed}" + ("" if size is None else f", size {size}")
            host = _Side(_HOST, kernel, make_args, made, launch, n_calls)
            chosen = {name: array for name, array in host.arrays.items() if _is_compared(name, compared)}
            for output in compared or ():
                if output.field is not None and not any(map(output.holds, host.arrays)):
                    raise KeyError(f"{owner}: {what} has no array {output.given!r} among its arguments ({run}).")
            if check_inputs and declared:
                host.check_inputs(chosen, what, run)
            for place in places:
                other = _Side(place, kernel, make_args, made, launch, n_calls)
                names = [name for name in other.arrays if _is_compared(name, compared)]
                if names != list(chosen):
                    raise AssertionError(
                        f"{what}: other arrays on the {place} ({', '.join(names) or 'none'}) than on the host "
                        f"({', '.join(chosen) or 'none'}); {run}."
                    )
                if check_inputs and declared:
                    other.check_inputs(chosen, what, run)
                for name, array in chosen.items():
                    label = f"{what}: {_labelled(name, kernel)}"
                    limits = [_limit(name, given, default) for given, default in tolerances]
                    assert_close(array, other.arrays[name], limits[0], limits[1], equal_nan, label, place, run)
            n_compared += sum(array.size for array in chosen.values())
            values = chosen
    if not n_compared:
        raise AssertionError(
            f"{what}: nothing was compared, there is no element in any array among the "
            f"{'outputs' if declared else 'arguments'}; let make_args return arrays, or name others in outputs=."
        )
    return values


class _Side:
    """The arrays of one side before and after its calls."""

    def __init__(
        self,
        place: str,
        kernel: Kernel,
        make_args: Callable[..., Sequence[Any]],
        made: tuple[Any, ...],
        launch: Mapping[str, Any],
        n_calls: int,
    ) -> None:
        self.place = place
        on_cupy = place == _CUDA or (place == _CPU and fake_cupy_active())
        backend: Literal["numpy", "cupy"] = "cupy" if on_cupy else "numpy"
        with use_backend(backend, strict=True):
            args = checked_args(make_args(backend, *made), "assert_kernels_agree")
            self.before = arrays_among(args)
            options = {name: value for name, value in launch.items() if value is not None}
            if callable(options.get("n_threads")):
                options["n_threads"] = options["n_threads"](args)
            for _ in range(n_calls):
                if place == _CPU:
                    assert kernel.cuda_kernel is not None
                    emulation = EMULATOR.get() or Emulation(strict=on_cupy)
                    emulation.launch(kernel.cuda_kernel, args, **options)
                    continue
                if place != _HOST:
                    kernel(*args, **options)
                    continue
                with _reference(kernel):
                    result = kernel(*args, **options)
                _check_result(result, args, kernel)
            self.arrays = arrays_among(args)

    def check_inputs(self, outputs: Mapping[str, Any], what: str, run: str) -> None:
        """Raise if an array that is no output was changed."""
        for name, before in self.before.items():
            after = self.arrays.get(name)
            if name not in outputs and after is not None and before.tobytes() != after.tobytes():
                raise AssertionError(
                    f"{what}: {name}, which is no output, was changed on the {self.place} ({run}); name it in "
                    "outputs=, or pass check_inputs=False."
                )


def _references(kernel: Kernel) -> list[str]:
    """Return the host implementations that are not the CUDA kernel itself, compiled for the CPU."""
    return [name for name in kernel.implementations if name not in ("cpu", "cuda")]


def _reference(kernel: Kernel) -> AbstractContextManager[Any]:
    """Let calls on the host run one of these, the one that would run in any case if it is one."""
    if kernel.selected() != "cpu":
        return nullcontext()
    name = _references(kernel)[0]
    return use_host_kernel_implementation(None if name == "host" else name)


def _places(emulate: Any) -> list[str]:
    """Return where the CUDA kernel runs."""
    if not isinstance(emulate, bool) and emulate != "auto":
        raise ArgumentError(f"assert_kernels_agree: argument 'emulate' must be True, False or 'auto', got {emulate!r}.")
    if emulate is True:
        if EMULATOR.get() is None:
            find_compiler()
        return [_CPU]
    if emulate == "auto" and EMULATOR.get() is not None:
        return [_CPU]
    gpu = can_launch()
    if not gpu and cuda_required():
        reason = "CuPy is the stand-in" if fake_cupy_active() else cupy_unavailable_reason()
        require_pytest("parity tests").fail(f"CUNUMPY_REQUIRE_CUDA is set, and there is no GPU: {reason}")
    places = [_CUDA] if gpu else []
    why = FAKE_SKIP_REASON if fake_cupy_active() else "needs CuPy and a GPU"
    if emulate == "auto":
        try:
            find_compiler()
        except MissingCompilerError as error:
            why = f"needs CuPy and a GPU, or a C++ compiler: {error}"
        else:
            places.append(_CPU)
    if not places:
        require_pytest("parity tests").skip(why)
    return places


# --- what is compared -------------------------------------------------------------------------------------------------


def _compared(kernel: Kernel, outputs: Any) -> tuple[list[_Output] | None, bool]:
    """Return the outputs, None for all arguments; and whether they were told."""
    if outputs is None:
        outputs = None if kernel.host_kernel is None else kernel.host_kernel.outputs
        if outputs is None:
            return None, False
    elif isinstance(outputs, str) or not hasattr(outputs, "__iter__"):
        raise ArgumentTypeError(
            f"assert_kernels_agree: argument 'outputs' must be a sequence of int or str, got {describe(outputs)}"
            + (f"; pass [{outputs!r}]." if isinstance(outputs, str) else ".")
        )
    found = [_output(kernel, one) for one in outputs]
    if not found:
        raise ArgumentError(
            f"assert_kernels_agree: kernel {kernel.name!r} has no outputs, so nothing would be compared; name them in "
            "outputs=."
        )
    return found, True


def _output(kernel: Kernel, given: Any) -> _Output:
    names = kernel.host_parameters() or [one.name for one in getattr(kernel.cuda_kernel, "signature", None) or ()]
    if isinstance(given, bool) or not isinstance(given, (int, str, np.integer)):
        raise ArgumentTypeError(
            f"assert_kernels_agree: an output must be an index or a name, got {describe(given)} ({given!r})."
        )
    if not isinstance(given, str):
        given = int(given)
    which, field = given, None
    if isinstance(given, str):
        which, dot, rest = given.partition(".")
        field = rest if dot else None
        if dot and which.lstrip("-").isdigit():
            which = int(which)
    if isinstance(which, str):
        if which not in names:
            raise KeyError(
                f"assert_kernels_agree: kernel {kernel.name!r} has no parameter {which!r}; it has "
                f"{', '.join(names) or 'none that are known by name, so pass indices'}"
            )
        return _Output(names.index(which), field, given)
    index = int(which)
    if names and not -len(names) <= index < len(names):
        raise IndexError(
            f"assert_kernels_agree: kernel {kernel.name!r} has {len(names)} parameters ({', '.join(names)}), and no "
            f"output {index}"
        )
    if index < 0 and not names:
        raise IndexError(
            f"assert_kernels_agree: the parameters of kernel {kernel.name!r} are not known; count the output {index} "
            "from the first one"
        )
    return _Output(index % len(names) if names else index, field, given)


def _is_compared(name: str, outputs: list[_Output] | None) -> bool:
    return outputs is None or any(output.holds(name) for output in outputs)


def _labelled(name: str, kernel: Kernel) -> str:
    """Add the parameter's name to an argument's number."""
    names = kernel.host_parameters() or []
    number = name.removeprefix("argument ").partition(".")[0].partition("[")[0]
    return f"{name} ({names[int(number)]})" if int(number) < len(names) else name


def _tolerances(kernel: Kernel, argument: str, value: Any, default: float) -> tuple[list[tuple[_Output, float]], float]:
    def number(one: Any) -> float:
        if isinstance(one, bool) or not isinstance(one, numbers.Real) or not 0 <= float(one) < np.inf:
            raise ArgumentError(
                f"assert_kernels_agree: argument {argument!r} must be a number from 0 on, or a mapping of outputs to "
                f"such, got {one!r}."
            )
        return float(one)

    if isinstance(value, Mapping):
        return [(_output(kernel, key), number(one)) for key, one in value.items()], default
    return [], number(value)


def _limit(name: str, given: list[tuple[_Output, float]], default: float) -> float:
    found = [(len(output.field or ""), limit) for output, limit in given if output.holds(name)]
    return max(found)[1] if found else default


def _sizes(kernel: CudaKernel, sizes: Any, block: Any) -> list[Any]:
    if sizes is None:
        return [None]
    if sizes == "edges":
        width = block if block is not None else kernel.block_size
        width = int(width[0]) if isinstance(width, Sequence) else int(width)
        return sorted({0, 1, width - 1, width, width + 1, 2 * width + 1})
    if isinstance(sizes, (str, int)) or not hasattr(sizes, "__iter__"):
        raise ArgumentError(
            f"assert_kernels_agree: argument 'sizes' must be several integers or 'edges', got {sizes!r}."
        )
    return list(sizes)


def _check_result(result: Any, args: tuple[Any, ...], kernel: Kernel) -> None:
    """Raise if the host kernel returns arrays or numbers, which a CUDA kernel can't."""
    own = [array for _, array in found_arrays((args,), "")]
    fresh = [array for _, array in found_arrays((result,), "") if not any(_shares(array, one) for one in own)]
    if fresh or isinstance(result, (float, complex, np.inexact)):
        raise AssertionError(
            f"kernel {kernel.name!r}: the host kernel returns {describe(result)}, which no CUDA kernel does, so it is "
            "not compared; let it write to an argument."
        )


def _shares(array: Any, other: Any) -> bool:
    if array is other:
        return True
    both = isinstance(array, np.ndarray) and isinstance(other, np.ndarray)
    return both and bool(np.may_share_memory(array, other))
