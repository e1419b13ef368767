"""The table of what is measured, against what, and with which target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from benchmarks import algorithms, checked, core, cpu_device, kernels, rng, solvers
from benchmarks._measure import Effort, Rounds


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Parameters
    ----------
    name : str
        What ``--rows`` selects it by.
    what, against : str
        The two sides, in Markdown; ``against`` is empty where there is nothing to compare with.
    target : float or None
        The figure is to be at most this; None if there is no target.
    measure : callable
        Measures it, in a process of its own.
    unit : {"", "ms", "us", "ns", "MB"}
        Unit of the difference between the sides; without one, the figure is their ratio.
    environment : mapping
        Environment variables of that process.
    """

    name: str
    what: str
    against: str
    target: float | None
    measure: Callable[[Effort], Rounds]
    unit: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


STAND_IN = {"CUNUMPY_FAKE_CUPY": "1"}

ROWS = (
    Row("import", "`import cunumpy`, whole process", "`import numpy`", 1.25, core.import_process),
    Row("import-statement", "`import cunumpy`, statement alone", "`import numpy`", None, core.import_statement),
    Row("sum", "`xp.sum(a)`, 1000 elements", "`numpy.sum(a)`", 1.02, core.sum_small),
    Row("set-backend", "`set_backend` there and back (stand-in)", "", 20, core.set_backend, "us", STAND_IN),
    Row(
        "use-other-backend",
        "`use_backend` enter and exit, not the default backend (stand-in)",
        "",
        6,
        core.use_other_backend,
        "us",
        STAND_IN,
    ),
    Row("use-same-backend", "`use_backend` enter and exit, the default backend", "", 6, core.use_same_backend, "us"),
    Row("read-scipy", "`xp.scipy.special.erf` attribute read", "`scipy.special.erf` read", 3, core.read_scipy),
    Row("host-call", "`host_call`, nothing to convert", "the call itself", 0.7, core.host_call, "us"),
    Row(
        "host-call-cupy-loaded",
        "`host_call`, nothing to convert, CuPy loaded (stand-in)",
        "the call itself",
        0.7,
        core.host_call,
        "us",
        STAND_IN,
    ),
    Row(
        "read-split",
        "`xp.sum` attribute read inside `use_backend`, not the default backend (stand-in)",
        "`numpy.sum` read",
        None,
        core.read_split,
        "",
        STAND_IN,
    ),
    Row(
        "read-scipy-split",
        "`xp.scipy.special.erf` attribute read there (stand-in)",
        "`scipy.special.erf` read",
        None,
        core.read_scipy_split,
        "",
        STAND_IN,
    ),
    Row("to-numpy-host", "`to_numpy` of a NumPy array", "`numpy.asarray`", None, core.to_numpy_host),
    Row(
        "record-event",
        "one transfer recorded by `count_transfers` (stand-in)",
        "the transfer, unrecorded",
        None,
        core.record_event,
        "us",
        STAND_IN,
    ),
    Row(
        "cuda-launch",
        "`CudaKernel` launch, four checked arguments (stand-in)",
        "raw kernel that does nothing",
        5,
        kernels.cuda_launch,
        "us",
        STAND_IN,
    ),
    Row(
        "prepared-launch",
        "`PreparedLaunch` of the same (stand-in)",
        "raw kernel that does nothing",
        None,
        kernels.prepared_launch,
        "us",
        STAND_IN,
    ),
    *(
        Row(
            f"kernel-{dispatch}-{arguments}" + "-cupy-loaded" * loaded,
            f'`Kernel` on host arrays, `dispatch="{dispatch}"`, {arguments} argument(s)'
            + ", CuPy loaded (stand-in)" * loaded,
            "calling the host function",
            round(0.3 + 0.04 * arguments, 2) if loaded else 0.3,
            partial(kernels.host_call, dispatch=dispatch, arguments=arguments, loaded=loaded),
            "us",
            STAND_IN if loaded else {},
        )
        for loaded in (False, True)
        for dispatch in ("backend", "arrays")
        for arguments in (1, 4, 12)
    ),
    Row(
        "host-implementations",
        "`HostImplementations`, four arguments",
        "calling the function",
        None,
        kernels.host_implementations,
        "us",
    ),
    Row(
        "struct-launch",
        "`CudaKernel` launch, one object with four fields (stand-in)",
        "raw kernel that does nothing",
        None,
        kernels.struct_launch,
        "us",
        STAND_IN,
    ),
    Row("prepare-args", "`prepare_args`, four arguments (stand-in)", "", 1, kernels.prepare_args, "us", STAND_IN),
    Row(
        "struct-unchanged",
        "`CudaStructArguments.packed`, four fields, unchanged (stand-in)",
        "",
        0.5,
        kernels.struct_unchanged,
        "us",
        STAND_IN,
    ),
    Row(
        "struct-changed",
        "`CudaStructArguments.packed`, four fields, one changed (stand-in)",
        "",
        2,
        kernels.struct_changed,
        "us",
        STAND_IN,
    ),
    Row(
        "cpu-call",
        "`Kernel` with a CUDA kernel on the CPU device, 256 elements, four checked arguments",
        "the compiled function, called from C",
        2,
        cpu_device.call,
        "us",
    ),
    Row("cpu-axpy", "CPU device, axpy, 10^7, one worker", "plain C", 1.1, cpu_device.axpy),
    Row("cpu-stencil", "CPU device, 2-D stencil, 3000^2, blocks of 16 x 16", "plain C", 1.8, cpu_device.stencil),
    Row("cpu-grid-stride", "CPU device, grid-stride axpy, 10^7, 64 blocks", "plain C", 1.5, cpu_device.grid_stride),
    Row("cpu-block-sum", "CPU device, block sum, 9 barriers, as loops, per thread", "", 15, cpu_device.block_sum, "ns"),
    Row(
        "cpu-block-sum-stacks",
        "CPU device, block sum, 9 barriers, threads on stacks, per thread",
        "",
        130,
        cpu_device.block_sum_on_stacks,
        "ns",
    ),
    Row("cpu-shuffle", "CPU device, warp shuffle, per lane", "", 13, cpu_device.shuffle, "ns"),
    Row(
        "elementwise-kernel",
        "`ElementwiseKernel`, `(x-y)*(x-y)+2*x`, 10^7, one worker",
        "the NumPy expression",
        0.35,
        cpu_device.elementwise,
    ),
    Row(
        "elementwise-kernel-workers",
        "`ElementwiseKernel`, `(x-y)*(x-y)+2*x`, 10^7, two workers",
        "the NumPy expression",
        0.25,
        partial(cpu_device.elementwise, workers=2),
    ),
    Row(
        "reduction-kernel",
        "`ReductionKernel`, l2 norm, 10^7, one worker",
        "`numpy.sqrt((x*x).sum())`",
        0.4,
        cpu_device.reduction,
    ),
    Row(
        "fuse",
        "`fuse` of 5 elementwise operations, 10^7, one worker",
        "the same function unfused on NumPy",
        0.35,
        cpu_device.fused,
    ),
    Row("cpu-workers", "CPU device, computing kernel, two workers", "one worker", 0.55, cpu_device.workers),
    *(
        Row(
            f"cpu-checked-{program.replace('_', '-')}",
            f"CPU device, checked, {program}",
            "unchecked",
            None if program == "radix_sort" else 50,  # it is for one block, which takes 25 us
            partial(checked.program, program),
        )
        for program in checked.PROGRAMS
    ),
    Row("cpu-first-build", "CPU device, first build of a kernel", "", 500, cpu_device.first_build, "ms"),
    Row("cpu-cached-build", "CPU device, first use of a kernel built before", "", 10, cpu_device.cached_build, "ms"),
    Row("landau", "`landau_damping.py`, 10^6 markers, 100 steps, per marker and step", "", None, core.landau, "ns"),
    Row(
        "philox-uniform",
        "`philox_uniform`, 10^6 ids",
        "`numpy.random.Generator(Philox).random(10**6)`",
        1.5,
        rng.philox_uniform,
    ),
    Row(
        "philox-normal",
        "`philox_normal`, 10^6 ids",
        "`Generator(Philox).standard_normal`",
        3,
        rng.philox_normal,
    ),
    Row("philox-memory", "memory of `philox_uniform(n)` above its result, 10^7 ids", "", 8, rng.philox_memory, "MB"),
    Row(
        "generator-random",
        "`PhiloxGenerator.random`, 10^6 numbers",
        "`Generator(Philox).random`",
        None,
        rng.generator_random,
    ),
    Row(
        "generator-normal",
        "`PhiloxGenerator.standard_normal`, 10^6 numbers",
        "`Generator(Philox).standard_normal`",
        None,
        rng.generator_normal,
    ),
    Row("morton-keys", "`morton_keys`, 3-D, 21 levels, 10^6", "`positions.copy()`", 3, algorithms.morton_keys),
    Row(
        "sort-wide",
        "`sort_by_key`, 63-bit keys, 10^6, payload (n, 3)",
        "stable argsort and take",
        0.25,
        algorithms.sort_wide,
    ),
    Row(
        "sort-narrow",
        "`sort_by_key`, keys below 2^20, 10^6, payload (n, 3)",
        "stable argsort and take",
        0.15,
        algorithms.sort_narrow,
    ),
    *(
        Row(
            f"sort-{entries}-{name}",
            f"`sort_by_key`, {entries_text} keys, {keys}",
            "stable argsort and take",
            1.0,
            partial(algorithms.sort_of, entries=entries, bits=bits),
        )
        for entries, entries_text in ((1000, "1000"), (1_000_000, "10^6"))
        for name, bits, keys in (
            *((str(bits), bits, f"{bits} bits") for bits in (8, 16, 24, 32, 48, 64)),
            ("float64", None, "float64"),
        )
    ),
    Row("sort-few", "`sort_by_key`, 500 keys of 64 bits", "stable argsort and take", 5, algorithms.sort_few, "us"),
    Row("segment-sum", "`segment_sum`, (n,), 10^6", "`numpy.bincount`", 1.0, algorithms.segment_sum),
    Row(
        "segment-sum-rows",
        "`segment_sum`, (n, 3), 10^6",
        "one `bincount` per column",
        0.4,
        algorithms.segment_sum_rows,
    ),
    Row("cell-offsets", "`cell_offsets`, 10^6 cells", "`bincount` and `cumsum`", 0.8, algorithms.cell_offsets),
    Row("compact", "`compact_by_mask`, 90 % kept, (n, 3), 10^6", "`positions[mask]`", 0.4, algorithms.compact),
    Row(
        "newton",
        "`optimize.newton`, 10^6 roots of x^3 - a, with derivative",
        "`scipy.optimize.newton` on the array",
        0.5,
        partial(solvers.newton, slope=True),
    ),
    Row(
        "secant",
        "`optimize.newton`, 10^6 roots of x^3 - a, without derivative",
        "`scipy.optimize.newton` on the array",
        None,
        partial(solvers.newton, slope=False),
    ),
    Row(
        "newton-loop",
        "`optimize.newton`, 10^5 roots of x^3 - a, with derivative",
        "a loop over `scipy.optimize.newton`",
        None,
        partial(solvers.newton, slope=True, loop=True),
    ),
    *(
        Row(f"find-root-{name}", "`optimize.find_root`, 10^5 roots of x^3 - a", against, None, measured)
        for name, against, measured in (
            ("loop", "a loop over `scipy.optimize.brentq`", partial(solvers.find_root, loop=True)),
            ("scipy", "`scipy.optimize.elementwise.find_root`", partial(solvers.find_root, loop=False)),
        )
    ),
    Row(
        "bracket-root",
        "`optimize.bracket_root`, 10^5 roots of x - a",
        "`scipy.optimize.elementwise.bracket_root`",
        None,
        solvers.bracket_root,
    ),
    *(
        Row(
            f"quad-{name}",
            "`integrate.quad_batched`, 10^4 damped oscillations",
            against,
            None,
            partial(solvers.quad, other=other),
        )
        for name, against, other in (
            ("loop", "a loop over `scipy.integrate.quad`", "loop"),
            ("quad-vec", "`scipy.integrate.quad_vec`", "scipy.integrate.quad_vec(g, 0.0, 3.0)"),
            ("tanhsinh", "`scipy.integrate.tanhsinh`", "scipy.integrate.tanhsinh(f, 0.0, 3.0, args=(w,))"),
        )
    ),
    Row(
        "fixed-quad-loop",
        "`integrate.fixed_quad`, 10^4 damped oscillations, 20 points",
        "a loop over `scipy.integrate.fixed_quad`",
        None,
        solvers.fixed_quad,
    ),
    *(
        Row(
            f"solve-ivp-{name}",
            "`integrate.solve_ivp_batched`, 10^4 oscillators",
            against,
            None,
            partial(solvers.solve_ivp, loop=loop),
        )
        for name, against, loop in (
            ("loop", "a loop over `scipy.integrate.solve_ivp`", True),
            ("scipy", "`scipy.integrate.solve_ivp` of one big system", False),
        )
    ),
    Row(
        "least-squares-loop",
        "`optimize.least_squares_batched`, 10^4 decays of 40 points",
        "a loop over `scipy.optimize.least_squares`",
        None,
        solvers.least_squares,
    ),
)
