"""What is no kernel is refused with the Python line, and what to do."""

from __future__ import annotations

import inspect
import linecache
import os
import pickle
import re
import select
import subprocess
import sys
import time

import numpy as np
import pytest

from cunumpy.errors import ArgumentError, ArgumentTypeError, CompileError, KernelError
from cunumpy.kernels import jit
from cunumpy.kernels._rawkernel.to_cuda import translated

GLOBAL_ARRAY = np.zeros(3)


def python_function(x):
    return x + 1


@jit.rawkernel(device=True)
def recursive(x):
    return recursive(x)


@jit.rawkernel(device=True)
def two_results(x):
    if x > 1:
        return 1.0
    return 1


@jit.rawkernel(device=True)  # noqa: RET503
def open_end(x):
    while x > 1:
        return 1.0


@jit.rawkernel(device=True)
def pair(x):
    return x, x + 1


@jit.rawkernel(device=True)
def counted_pair(x):
    x[0] += 1
    return 1, 2


@jit.rawkernel(device=True)
def nothing(x):
    x[0] = 1


@jit.rawkernel()
def other_kernel(x):
    x[0] = 1


# Each is the body of a kernel f(x, n, z), x an array of float32, n an int32, z an array of complex64 with 2 dimensions;
# the text of the error follows, and the column that it points to.
BODIES = [
    ("x[0] = unknown_name", "name 'unknown_name' is not defined", 8),
    ("x[0] = y\ny = 1", "variable 'y' has no value here", 8),
    ("v = 1\nv = 2.0", "the type of variable 'v' changes: it is int32, and is assigned float32 here", 1),
    ("v = 1\nfor i in range(n):\n    v += 0.5", "the result is float32, which can't be kept as int32", 1),
    ("v = x\nv = z", "the type of variable 'v' changes: it is array of float32 with 1 dimension", 1),
    ("x[0] = 1j", "complex64 can't be stored as float32", 1),
    ("n = 1.5", "the type of variable 'n' changes", 1),
    ("i = x[0]\nx[i] = 1", "an index must be an integer, got float32; convert it", 3),
    ("x[-1] = 1", r"an index is -1, and kernels don't count from the end; write x\[len\(x\) - 1\]", 3),
    ("x[1:2] = 1", "arrays can't be sliced in a kernel", 3),
    ("x[...] = 1", "arrays are indexed by integers", 3),
    ("x[0, 1] = 1", r"the array has 1 dimension\(s\), got 2 indices", 1),
    ("z[0] = 1", "can't be assigned; give an index for each dimension", 1),
    ("x[0] = x + 1", "a number is needed here, got array of float32 with 1 dimension.* give an index", 8),
    ("x[0] = GLOBAL_ARRAY[0]", "a global array is not known on the device; pass it as an argument", 8),
    ("x[0] = np.sum(x)", "numpy.sum is not there in kernels", 8),
    ("x[0] = python_function(n)", "'python_function' is a function of Python, .*device=True", 8),
    ("x[0] = recursive(n)", "'recursive' calls itself", 8),
    ("x[0] = two_results(n)", "returns int32 here and float32 before", 1),
    ("x[0] = open_end(n)", "'open_end' returns a value, but can end here without", 1),
    ("x[0] = nothing(x)", "this call has no result", 8),
    ("other_kernel(x)", "'other_kernel' is a kernel, which kernels can't call", 1),
    ("nothing(x, n)", "'nothing' takes 1 arguments", 1),
    ("return n", "a kernel returns nothing; write results to an array", 1),
    ("a, = jit.grid(1)", "only tuples can be unpacked, got uint32", 1),
    ("a, b = jit.grid(3)", "3 values are assigned to 2 targets", 1),
    ("a = jit.grid(2)\nb = np.int64(a)", "a number is needed here, got a tuple of 2", 5),
    ("a = jit.grid(0)", "jit.grid: argument 'ndim' must be 1, 2 or 3, got 0", 14),
    ("a = jit.grid('abc')", "jit.grid: argument 'ndim' must be 1, 2 or 3, got 'abc'", 14),
    ("a = jit.grid(n)", "argument 'ndim' has to be known when the kernel is translated", 14),
    ("jit.thrust.sort(x)", "jit.thrust.sort: algorithms of Thrust are not there in kernels", 1),
    ("a = x.begin()", "iterators are not there in kernels", 5),
    ("a = x.mean", "has no attribute 'mean' in a kernel", 5),
    ("a = jit.threadIdx.w", "members x, y and z, not 'w'", 5),
    ("x[0] = n and 3", "`and` of numbers gives one of them in Python", 8),
    ("for v in x:\n    x[0] = v", "loops of a kernel are over range", 10),
    ("for i in range(n):\n    pass\nelse:\n    x[0] = 1", "has no else", 1),
    ("for i in range(0, n, 0):\n    pass", "range: argument 'step' must not be 0", 10),
    ("for i in range(x[0]):\n    pass", "range: argument 'stop' must be an integer, got float32", 16),
    ("try:\n    x[0] = 1\nfinally:\n    pass", "there are no exceptions in a kernel", 1),
    ("with x:\n    pass", "no context managers", 1),
    ("def g():\n    pass", "functions can't be defined in a kernel", 1),
    ("x[0] = [i for i in range(3)][0]", "there are no lists in a kernel", 8),
    ("x[0] = (lambda: 1)()", "functions can't be defined in a kernel", 9),
    ("print(n)", "print is not there in kernels", 1),
    ("x[0] = 'a'", "a number is needed here, got 'a'", 1),
    ("x[0] = x @ x", "matrices can't be multiplied", 8),
    ("x[0] = z[0, 0] < 1", "there is no x < y for x of type complex64", 8),
    ("x[0] = x[0] << 1", "there is no x << y for x of type float32", 8),
    ("x[0] = np.float32(z[0, 0])", "a complex number can't be converted to float32; take .real", 8),
    ("x[0] = np.cbrt(z[0, 0])", "there is no numpy.cbrt for complex64", 8),
    ("x[0] = 1 // 0", "evaluating it raises ZeroDivisionError", 8),
    ("s = jit.shared_memory(np.float32, n)", "argument 'size' has to be known when the kernel is translated", 35),
    ("s = jit.shared_memory(np.float32, 0)", "jit.shared_memory: argument 'size' must be a positive integer", 35),
    ("s = jit.shared_memory('O', 4)", "argument 'dtype' must be a type of numbers, .* have no type 'O'", 23),
    ("s = jit.shared_memory(np.float32, 4)\ns[4] = 1", "index 4 is out of range for size 4", 1),
    ("x[0] = jit.shared_memory(np.float32, 4)[0]", "is assigned to a variable", 8),
    (
        "jit.atomic_inc(x, 0, 1)",
        "argument 'array' must have one of the types that CUDA has it for, uint32; got float32",
        16,
    ),
    ("jit.atomic_add(n, 0, 1)", "jit.atomic_add: argument 'array' must be an array or shared memory, got int32", 16),
    (
        "jit.shfl_sync(0xffffffff, z[0, 0], 0)",
        "argument 'var' must be no complex number; exchange .real and .imag",
        27,
    ),
    ("jit.syncthreads(3)", "jit.syncthreads takes 0 arguments", 1),
    ("jit.syncwarp(lanes=3)", "jit.syncwarp has no argument 'lanes'", 1),
    ("jit.atomic_add(x, 0)", "jit.atomic_add needs value", 1),
    ("g = jit.cg.this_grid()\ng.thread_index()", "grid_group has no method 'thread_index'", 1),
    ("jit.cg.sync(n)", "jit.cg.sync: argument 'group' must be a cooperative group, got int32; take jit.cg", 13),
    ("W = jit.cub.WarpReduce\nw = W(n)", "jit.cub.WarpReduce is no function", 5),
    ("w = jit.cub.BlockReduce[np.int32]", r"is written jit.cub.BlockReduce\[dtype, threads\]", 5),
    ("w = jit.cub.WarpReduce[np.int32](n)", "argument 'temp_storage' must be shared memory of its TempStorage", 34),
    ("while pair(n)[0] > 0:\n    n -= 1", "this call has several results", 7),
    ("if n > 0 and pair(n)[0] > 0:\n    n -= 1", "this call has several results", 14),
    ("x[0] = pair(n)[0] if n > 0 else 0", "this call has several results", 8),
    ("x[0] = x[1] + counted_pair(x)[0]", "this call has several results", 15),
    ("jit.atomic_add(z, 0, 1)", "argument 'index' must have 2 item.s., one for each dimension of the array, got 1", 19),
    ("jit.atomic_add(x, 0, 1j)", "argument 'value': complex64 can't be stored as float32", 22),
    (
        "jit.atomic_add(x, 0, 1, 2)",
        "jit.atomic_add takes 3 arguments .array, index, value., got 4; leave the others out",
        1,
    ),
    ("a = jit.shfl_sync(0xffffffff, n, 0, width=3)", "argument 'width' must be 1, 2, 4, 8, 16 or 32, got 3", 43),
    ("a = jit.shfl_sync(0xffffffff, n, 0, width=-8)", "argument 'width' must be 1, 2, 4, 8, 16 or 32, got -8", 43),
    (
        "b = jit.cg.this_thread_block()\njit.cg.memcpy_async(b, x, -2**31, x, 0, 4)",
        "argument 'dst_idx' must be an integer from 0 on, got -2147483648",
        27,
    ),
    ("x[0] = np.float32(1, dtype=n)", "float32: argument 'dtype' has to be known when the kernel is translated", 28),
    (
        "for i in jit.range(n, unrolled=2):\n    pass",
        "jit.range takes no keyword 'unrolled'; jit.range has unroll=",
        10,
    ),
    ("a = jit.shfl_sync(0xffffffff, n, 2**40)", "argument 'val_id' must be an integer of 32 bits", 34),
    ("a = jit.popc(x)", "jit.popc: argument 'value' must be an integer, got array of float32.* give an index", 14),
    (
        "x[2**70] = 1",
        "an index must be a number, got [0-9]*. Kernels have integers of up to 64 bits",
        3,
    ),
    (
        "for i in jit.range(n, unroll=-1):\n    pass",
        "argument 'unroll' must be True, False, or how many",
        30,
    ),
    ("w = jit.cub.WarpReduce['two']", r"jit.cub.WarpReduce\[dtype\]: argument 'dtype' must be a type of numbers", 5),
    ("del n", "variables can't be deleted", 1),
    ("global GLOBAL_ARRAY", "a kernel can't assign global variables", 1),
    ("x.size = 3", "attributes can't be assigned", 1),
    ("f = jit.grid\nf = jit.gridsize", "which is known when the kernel is translated", 1),
    ("x[0] = n is None", "`is` and `in` are not there", 8),
    ("x[0] = max(n)", "max takes two or more numbers", 8),
    ("y: int", "a variable gets its type from the first value", 1),
    ("x[0] = jit.warpsize()", "evaluating it raises TypeError: 'int' object is not callable", 8),
]


def kernel_of(body, tmp_path, mode="cuda", head="f(x, n, z)"):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"# A kernel.\nfrom cunumpy.kernels import jit\n\n@jit.rawkernel(mode={mode!r})\ndef {head}:\n{lines}"
    path = tmp_path / "kernels.py"
    path.write_text(text)
    linecache.checkcache(str(path))
    scope = dict(globals())
    exec(compile(text, str(path), "exec"), scope)
    return scope["f"], path


@pytest.mark.parametrize(("body", "message", "column"), BODIES, ids=[body.splitlines()[-1] for body, *_ in BODIES])
def test_what_is_no_kernel_is_refused_at_its_line(body, message, column, tmp_path):
    f, path = kernel_of(body, tmp_path)
    x, z = np.zeros(3, "f"), np.zeros((2, 2), "F")
    with pytest.raises(CompileError, match=message) as caught:
        f[1, 1](x, 3, z)
    lines = str(caught.value).splitlines()
    assert re.match(r"(kernel|device function) '\w+': ", lines[0])
    assert lines[0].endswith(".")
    place = re.fullmatch(r"(.*):(\d+)", lines[1])
    text = place[1] == str(path) and path.read_text().splitlines()[int(place[2]) - 1]
    if text:
        assert lines[2].strip() == text.strip()
        assert int(place[2]) >= 6
    assert lines[3].index("^") - 3 == column


@pytest.mark.parametrize("mode", ["cuda", "numpy"])
def test_numbers_that_are_not_known_may_begin_with_a_minus(mode, tmp_path):
    body = """b = jit.cg.this_thread_block()
jit.cg.memcpy_async(b, x, -1 + n, x, -n + 8, 4)
a = jit.shfl_sync(0xffffffff, n, -n + 1, width=-1 * n)
for i in jit.range(3, unroll=np.True_):
    x[i] += a"""
    kernel, _ = kernel_of(body, tmp_path, mode, head="f(x, n)")
    types = tuple(kernel._type_of(value, place) for place, value in enumerate((np.zeros(9, "f4"), np.int32(2))))
    code = translated(kernel.function_source(), "kernel", types, mode=mode).program.source()
    assert "#pragma unroll\n" in code


def test_errors_in_device_functions_say_where_they_are_called(tmp_path):
    f, path = kernel_of("y = two_results(n)", tmp_path)
    with pytest.raises(CompileError) as caught:
        f[1, 1](np.zeros(3, "f"), 3, np.zeros((2, 2), "F"))
    assert str(caught.value).endswith(f"called at {path}:6\n    y = two_results(n)\n        ^")


def test_a_changed_type_names_both_lines(tmp_path):
    f, path = kernel_of("v = 1\nif n > 2:\n    v = x[0]", tmp_path)
    with pytest.raises(CompileError) as caught:
        f[1, 1](np.zeros(3, "f"), 3, np.zeros((2, 2), "F"))
    assert str(caught.value) == (
        "kernel 'f': the type of variable 'v' changes: it is int32, and is assigned float32 here; convert it, "
        "int32(...), as numpy.int32(value), or use another variable.\n"
        f"{path}:8\n    v = x[0]\n    ^\n"
        f"first: {path}:6\n    v = 1\n    ^"
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("x[0] = n + 300", "300 is out of the range of int8"),
        ("x[0] = n ** -1", "integers to negative integer powers"),
        ("x[0] = True - (n > 1)", "there is no x - y for x of type bool"),
        ("x[0] = -(n > 1)", "there is no -x for x of type bool"),
    ],
)
def test_what_numpy_refuses(body, message, tmp_path):
    f, _ = kernel_of(body, tmp_path, "numpy")
    with pytest.raises(CompileError, match=message):
        f[1, 1](np.zeros(3, "f"), np.int8(3), np.zeros((2, 2), "F"))


def test_parameters_without_defaults(tmp_path):
    f, _ = kernel_of("pass", tmp_path, head="f(x, *more)")
    with pytest.raises(CompileError, match="parameters of a kernel have no defaults"):
        f[1, 1](np.zeros(1))


# --- launches ---


@jit.rawkernel()
def store(x, value):
    i = jit.grid(1)
    assert i < 3
    x[i] = value


def test_arguments_that_no_kernel_takes():
    x = np.zeros(4)
    with pytest.raises(ArgumentTypeError, match=r"argument 1 \('value'\) must be an array, or a number.* got a? ?str"):
        store[1, 1](x, "a")
    with pytest.raises(CompileError, match=r"'store' takes 2 arguments \(x, value\), got 1"):
        store[1, 1](x)
    with pytest.raises(ArgumentTypeError, match="has dtype >f8, which kernels do not have"):
        store[1, 1](x.astype(">f8"), 1)
    with pytest.raises(ArgumentTypeError, match="has dtype object"):
        store[1, 1](np.array([None]), 1)
    with pytest.raises(TypeError, match="mask"):
        store[1, 1](np.ma.zeros(3), 1)
    with pytest.raises(ArgumentTypeError, match=r"launched as kernel\[grid, block\]"):
        store[1](x, 1)
    with pytest.raises(ArgumentTypeError, match="argument 'args' must be a tuple"):
        store((1,), (1,), x)
    with pytest.raises(ArgumentError, match=r"kernel 'store'.*1024"):
        store[1, 2048](x, 1.0)
    with pytest.raises(ArgumentTypeError, match="device functions are called in kernels"):
        recursive[1, 1](1)
    with pytest.raises(ArgumentError, match="nothing was translated yet"):
        jit.rawkernel()(python_function).cached_code  # noqa: B018


@pytest.mark.parametrize("wrong", [None, "two", -1, 1.5, 2**70, ("a", "b"), {"a": 1}, object()])
@pytest.mark.parametrize("argument", ["grid", "block", "args", "shared_mem"])
def test_mistakes_in_launches_name_kernel_and_argument(argument, wrong):
    given = {"grid": (1,), "block": (1,), "args": (np.zeros(4), 1.0), "shared_mem": 0}
    named = r"argument 0 \('x'\)|argument 'args'" if argument == "args" else f"argument '{argument}'|shared memory"
    with pytest.raises((ArgumentError, ArgumentTypeError), match=rf"kernel 'store': .*({named})"):
        store(**{**given, argument: wrong})


def test_a_failed_assertion_names_the_python_line():
    x = np.zeros(4)
    store[1, 3](x, 1.0)
    line = store.__wrapped__.__code__.co_firstlineno + 3
    with pytest.raises(KernelError, match=rf"kernel 'store'.*test_python_kernel_errors\.py:{line}"):
        store[1, 4](x, 1.0)


def test_decorator_checks_what_it_is_given():
    with pytest.raises(ArgumentError, match="unknown mode 'c'"):
        jit.rawkernel(mode="c")
    with pytest.raises(ArgumentTypeError, match=r"it decorates a function, got .*write @rawkernel\(\)"):
        jit.rawkernel()(3)
    with pytest.raises(TypeError):
        jit.rawkernel(python_function)


def test_primitives_are_for_kernels_only():
    for use in (jit.syncthreads, lambda: jit.threadIdx[0], lambda: bool(jit.blockDim), lambda: jit.cg.this_grid()):
        with pytest.raises(ArgumentTypeError, match="is there for kernels only"):
            use()
    with pytest.raises(ArgumentTypeError, match=r"jit\.thrust\.sort: algorithms of Thrust are not there"):
        jit.thrust.sort(1)
    assert repr(jit.grid) == "<cunumpy.kernels.jit.grid(ndim)>"
    assert jit.syncthreads.__doc__ == "Wait for all threads of the block: ``__syncthreads()``."


def test_kernels_pickle_by_name():
    assert pickle.loads(pickle.dumps(store)) is store
    for one in (jit.grid, jit.range, jit.cg.sync, jit.cub.WarpReduce):
        assert pickle.loads(pickle.dumps(one)) is one
    assert str(inspect.signature(jit.atomic_cas)) == "(array, index, value, alt_value)"
    assert store.__name__ == "store"
    assert repr(store) == "<kernel 'store' in Python syntax>"


# --- where the source is ---

TEXT = """
from cunumpy.kernels import jit
@jit.rawkernel()
def f(x):
    x[jit.grid(1)] = 7{}
"""


def test_code_that_is_nowhere_is_refused_when_it_is_launched():
    scope = {}
    exec(TEXT.format(""), scope)
    with pytest.raises(
        CompileError, match=r"kernel 'f': the source code of 'f' can't be found \(<string>\)\. Define it in"
    ):
        scope["f"][1, 1](np.zeros(1))
    with pytest.raises(CompileError, match="a lambda can't be a kernel"):
        jit.rawkernel()(lambda x: x)[1, 1](np.zeros(1))


def test_cells_of_notebooks():
    """As IPython has them: in `linecache`, by a name that is no file."""
    for number, extra in enumerate(("", " + 'a'")):
        name = f"<ipython-input-{number}-0123456789ab>"
        text = TEXT.format(extra)
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        scope = {}
        exec(compile(text, name, "exec"), scope)
        x = np.zeros(2)
        if extra:
            with pytest.raises(CompileError, match=rf"{name}:5\n"):
                scope["f"][1, 2](x)
        else:
            scope["f"][1, 2](x)
            np.testing.assert_array_equal(x, 7)


def test_a_file_that_was_changed_is_not_read_again(tmp_path):
    f, path = kernel_of("x[0] = 1", tmp_path, head="f(x)")
    path.write_text("nothing\n")
    linecache.checkcache(str(path))
    x = np.zeros(1)
    f[1, 1](x)
    assert x == 1


def test_python_from_standard_input_is_refused():
    program = (
        TEXT.format("") + "import numpy\ntry:\n    f[1, 1](numpy.zeros(1))\nexcept Exception as e:\n    print(e)\n"
    )
    done = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True, check=True)
    assert "the source code of 'f' can't be found (<stdin>)" in done.stdout


@pytest.mark.skipif(sys.version_info < (3, 13), reason="older interactive interpreters keep no source code")
def test_the_interactive_interpreter():
    import pty

    lines = [*TEXT.format("").strip().splitlines(), "", "import numpy", "x = numpy.zeros(3); f[1, 3](x); print(sum(x))"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(sys.executable, [sys.executable, "-q"])
    shown, end = b"", time.monotonic() + 60
    try:
        for line in lines:
            time.sleep(0.5)
            os.write(terminal, f"{line}\r".encode())
        while b"21.0" not in shown and time.monotonic() < end:
            if select.select([terminal], [], [], 0.5)[0]:
                shown += os.read(terminal, 65536)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)
    assert b"21.0" in shown
