"""Reference, section 14: CuPy's environment variables."""

import subprocess
import sys

import pytest

from cunumpy.kernel_testing._subprocess import fake_cupy_environment

PROGRAM = """
import cunumpy, cupy
x = cupy.arange(10.0)
assert float(cupy.ElementwiseKernel("T x", "T y", "y = 2 * x", "twice")(x).sum()) == 90
print(cupy.get_default_memory_pool().get_limit())
"""


@pytest.mark.parametrize(
    ("variables", "limit"),
    [
        ({"CUPY_ACCELERATORS": "cub"}, 0),
        ({"CUPY_ACCELERATORS": "cub,cutensor"}, 0),
        ({"CUPY_CACHE_SAVE_CUDA_SOURCE": "1"}, 0),
        ({"CUPY_CUDA_PER_THREAD_DEFAULT_STREAM": "1"}, 0),
        ({"CUPY_GPU_MEMORY_LIMIT": "50%"}, 2**33),
        ({"CUPY_GPU_MEMORY_LIMIT": "4294967296"}, 2**32),
    ],
    ids=str,
)
def test_programs_run_with_them(variables, limit):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=fake_cupy_environment(variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == limit


def test_a_limit_that_is_none_is_told():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=fake_cupy_environment({"CUPY_GPU_MEMORY_LIMIT": "half"}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "CUPY_GPU_MEMORY_LIMIT has an invalid value: 'half'" in done.stderr
