"""The switch between threads and the end of a launch in aarch64's assembly, on an emulated processor.

Where a cross compiler and QEMU are: on Debian and Ubuntu, packages g++-aarch64-linux-gnu and qemu-user.
"""

from __future__ import annotations

import shutil
import subprocess

import pytest

from cpu_runtime import CONTEXT, INCLUDE

TOOLS = ("aarch64-linux-gnu-g++", "qemu-aarch64")
pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)), reason=f"{' and '.join(TOOLS)} are not on this machine; it emulates aarch64"
)

PROGRAM = """
extern "C" int printf(const char*, ...);
__shared__ double part[256];
static double total;
static int shuffled;

static void body(void* fails) {
    const double v = threadIdx.x * 0.5, w = v * 3;  // in registers that a function preserves
    part[threadIdx.x] = v;
    for (int width = 128; width > 0; width /= 2) {
        __syncthreads();
        if (threadIdx.x < width) part[threadIdx.x] += part[threadIdx.x + width];
    }
    const int other = __shfl_down_sync(0xffffffffu, (int)threadIdx.x, 1);
    if (threadIdx.x == 5) shuffled = other;
    __syncthreads();
    if (w != threadIdx.x * 1.5) __trap();
    if (threadIdx.x == 0) total = part[0];
    if (fails && threadIdx.x == 77) __trap();
}

int main() {
    char message[500];
    void* fibers = nullptr;
    gridDim = dim3(1), blockDim = dim3(256);
    for (int round = 0; round < 4; ++round) {  // a launch that ends early, and one after it
        message[0] = 0;
        const bool ended = cunumpy_cpu::run_guarded([&] {
            cunumpy_cpu::Block block{};
            block.shape = blockDim, block.grid_shape = gridDim, block.fibers = &fibers;
            blockIdx = {};
            cunumpy_cpu::run_block_fibers(body, round % 2 ? message : nullptr, block);
        }, message, sizeof message);
        printf("%d %g %d %s\\n", ended, total, shuffled, message);
    }
}
"""


@pytest.mark.parametrize("options", [[], ["-DCUNUMPY_CPU_UCONTEXT"]], ids=["assembly", "portable"])
def test_threads_take_turns_and_launches_end_early(tmp_path, options):
    source, program = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text(CONTEXT + PROGRAM)
    flags = ["-std=c++17", "-O2", "-w", "-static", *options]
    subprocess.run([TOOLS[0], *flags, "-I", str(INCLUDE), str(source), "-o", str(program)], check=True)
    ended = subprocess.run([TOOLS[1], str(program)], check=True, capture_output=True, text=True, timeout=100)
    well, trapped = "1 16320 6 ", "0 16320 6 __trap() in block (0, 0, 0), thread (77, 0, 0) at kernel.cu:19"
    assert ended.stdout.splitlines() == [well, trapped, well, trapped]
