"""Places with a number for the width of blocks, and conditions that treat edges apart, on the CPU device."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_device import mode_of, run
from cunumpy.arguments import CudaStruct
from cunumpy.errors import KernelError
from cunumpy.kernels import CudaKernel
from cunumpy.kernels._cpu_device.launch import run_on_cpu

WIDTHS = {
    "number": ("", "int i = blockIdx.x * 16 + threadIdx.x;"),
    "macro": ("#define WIDTH (16u)\n", "unsigned i = threadIdx.x + WIDTH * blockIdx.x;"),
    "shift": ("", "const int i = (blockIdx.x << 4) + threadIdx.x;"),
    "name": ("constexpr int WIDTH = 16;\n", "int t = threadIdx.x, b = blockIdx.x; int i = b * WIDTH + t;"),
    "own_name": ("", "const int WIDTH = 0x10; size_t i = (size_t)blockIdx.x * WIDTH + threadIdx.x;"),
}
NO_WIDTHS = {
    "two_names": ("const int WIDTH = 8;\n", "const int WIDTH = 16; int i = blockIdx.x * WIDTH + threadIdx.x;"),
    "changed": ("", "int width = 8; width *= 2; int i = blockIdx.x * width + threadIdx.x;"),
    "two_widths": ("", "int i = blockIdx.x * 16 + threadIdx.x, far = blockIdx.x * 32 + threadIdx.x; i += far - far;"),
    "sum": ("", "int i = blockIdx.x * 8 * 2 + threadIdx.x;"),
    "member": ("struct S { enum { WIDTH = 16 }; };\n", "int i = S::WIDTH * blockIdx.x + threadIdx.x;"),
}


@pytest.mark.parametrize("way", [*WIDTHS, *NO_WIDTHS])
@pytest.mark.usefixtures("unchecked")  # blocks race with those of the other row
def test_a_number_for_the_width_of_blocks(way):
    before, place = (WIDTHS | NO_WIDTHS)[way]
    source = f"""{before}
extern "C" __global__ void k(int* count, int n) {{
    {place}
    if ((int)i < n) count[i] += 1 + blockIdx.y;
}}"""
    kernel = CudaKernel(source, "k")
    for width in (16, 1, 5, 32):  # those that the kernel is not written for, too
        for blocks in (1, 2, 7):
            for n in (1, 15, 16, 17, 200):
                count, expected = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
                for block in range(blocks):
                    for thread in range(width):
                        if 16 * block + thread < n:
                            expected[16 * block + thread] += 1 + 2
                run_on_cpu(kernel, (count, n), grid=(blocks, 2), block=width)
                np.testing.assert_array_equal(count, expected, err_msg=f"{width} {blocks} {n}")
    assert mode_of(kernel) == ("merged loops" if way in WIDTHS else "loops")


@pytest.mark.parametrize(("width", "block", "thread"), [(16, 2, 5), (8, 4, 5)])
def test_a_trap_tells_block_and_thread_of_a_number_for_the_width(width, block, thread):
    source = """
extern "C" __global__ void k(const int* where) {
    int i = blockIdx.x * 16 + threadIdx.x;
    if (i == where[0]) __trap();
}"""
    where = np.array([16 * block + thread], dtype=np.int32)
    with pytest.raises(KernelError, match=rf"block \({block}, 0, 0\), thread \({thread}, 0, 0\)"):
        run(source, where, grid=10, block=width)


EDGES = {
    "equal": ("i == 0 || i == n - 1", lambda i, n, m: i in (0, n - 1)),
    "unequal": ("i != 0 && n - 1 != i", lambda i, n, m: i not in (0, n - 1)),
    "inequalities": ("i > 0 && i < n - 1 && i < n", lambda i, n, m: 0 < i < n - 1),
    "turned": ("!(n - 2 <= i || 1 >= i || i == m)", lambda i, n, m: 1 < i < n - 2 and i != m),
    "offsets": ("i + 1 == n || i - 2 >= m", lambda i, n, m: i + 1 == n or i - 2 >= m),
    "products": ("i == 2 * m - 1 || i > (n - 1) * 2", lambda i, n, m: i == 2 * m - 1 or i > (n - 1) * 2),
    "members": ("i == s.shape[1] || i >= s.low", lambda i, n, m: i == n - 3 or i >= m),
    "casts": ("(long long)i < n && i != (int)m", lambda i, n, m: i < n and i != m),
    "floats": ("i < f || i == n", lambda i, n, m: i < m + 0.5 or i == n),
}


@pytest.mark.parametrize("ctype", ["int", "long long", "auto"])
def test_conditions_on_edges(ctype):
    kernels = "".join(
        f"""
extern "C" __global__ void {name}(int* out, int len, int n, int m, S s, double f) {{
    {ctype} i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= len) return;
    if ({condition}) out[i] += 1;
}}"""
        for name, (condition, _) in EDGES.items()
    )
    structure = CudaStruct("S", [("low", "int"), ("shape", "int[2]")])
    for name, (_, expected_of) in EDGES.items():
        kernel = CudaKernel(f"struct S {{ int low, shape[2]; }};{kernels}", name, structs=[structure])
        for n in (1, 2, 4, 40, 100):
            for m in (0, 1, 5, 39, 120):
                for length in (1, 2, n, 41, 130):
                    out = np.zeros(length, dtype=np.int32)
                    s = np.array((m, (0, n - 3)), dtype=structure.dtype)[()]
                    run_on_cpu(kernel, (out, length, n, m, s, m + 0.5), grid=5, block=32)
                    expected = [int(expected_of(i, n, m)) for i in range(length)]
                    np.testing.assert_array_equal(out, expected, err_msg=f"{name} {n} {m} {length}")
        assert mode_of(kernel) == "merged loops"


@pytest.mark.parametrize("ctype", ["unsigned", "size_t"])
def test_conditions_on_edges_with_unsigned_indices(ctype):
    """A negative bound is a large number beside them, and what is taken from a small index wraps around."""
    source = f"""
extern "C" __global__ void k(int* out, int len, int n) {{
    {ctype} i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < len && (i - 2 < n || i == n - 1 || i >= n + 3)) out[i] += 1;
}}"""
    kernel, wrap = CudaKernel(source, "k"), 2**32 if ctype == "unsigned" else 2**64
    for n in (-9, -4, -1, 0, 1, 2, 30, 200):
        for length in (1, 2, 3, 40, 130):
            out = np.zeros(length, dtype=np.int32)
            run_on_cpu(kernel, (out, length, n), grid=5, block=32)
            expected = [
                int((i - 2) % wrap < n % wrap or i == (n - 1) % wrap or i >= (n + 3) % wrap) for i in range(length)
            ]
            np.testing.assert_array_equal(out, expected, err_msg=f"{n} {length}")
