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


def run(program, variables):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=fake_cupy_environment(variables),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_sources_are_kept_in_the_cache(tmp_path):
    folder = tmp_path / "of" / "kernels"
    run(PROGRAM, {"CUPY_CACHE_DIR": str(folder)})
    assert not folder.exists()
    more = """
source = 'extern "C" __global__ void one(int* x) { *x = 1; }'
for _ in range(2):
    cupy.RawKernel(source, "one").compile()
    cupy.RawModule(code=source).get_function("one").compile()
"""
    run(PROGRAM + more, {"CUPY_CACHE_DIR": str(folder), "CUPY_CACHE_SAVE_CUDA_SOURCE": "1"})
    sources = sorted((file.read_text() for file in folder.iterdir()), key=len)
    assert len(sources) == 2
    assert sources[0] == 'extern "C" __global__ void one(int* x) { *x = 1; }'
    assert "y = 2 * x" in sources[1]
    assert all(file.name.endswith(".cubin.cu") for file in folder.iterdir())


def test_each_thread_has_a_default_stream():
    program = """
import threading
import cunumpy, cupy, numpy as np
print(cupy.cuda.get_current_stream() == cupy.cuda.Stream.ptds)
with cupy.cuda.Stream():
    pass
print(cupy.cuda.get_current_stream().ptr == cupy.cuda.runtime.streamPerThread)
x = cupy.arange(3.0)
seen = []
thread = threading.Thread(target=lambda: seen.append((x + 1).get()))
thread.start()
thread.join()
print(np.isnan(seen[0]).all())  # its stream does not wait for this thread's
"""
    variables = {"CUPY_CUDA_PER_THREAD_DEFAULT_STREAM": "1", "CUNUMPY_FAKE_CUPY_ASYNC": "1"}
    assert run(program, variables) == ["True", "True", "True"]
    assert run(program, variables | {"CUPY_CUDA_PER_THREAD_DEFAULT_STREAM": "0"}) == ["False", "False", "False"]


def test_a_limit_that_is_none_is_told():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=fake_cupy_environment({"CUPY_GPU_MEMORY_LIMIT": "half"}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "CUPY_GPU_MEMORY_LIMIT has an invalid value: 'half'" in done.stderr
