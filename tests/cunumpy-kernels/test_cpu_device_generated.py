"""Kernels at random, in each way in which the CPU device runs them, against the plainest: every thread by itself.

The environment variable ``FUZZ_BATCHES`` says how many builds of each kind are tried, with some kernels each.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from cunumpy.kernels._cpu_device.build import Library, Program

BATCHES = int(os.environ.get("FUZZ_BATCHES", "1"))
KERNELS = 10
BLOCK = 64

HEAD = """
__device__ double bounded(double v) { return v > 100 ? 1 + v * 1e-3 : v < -100 ? -1 + v * 1e-3 : v; }
__device__ void wait() { __syncthreads(); }
"""


class Barriers:
    """Writes kernels whose threads exchange values through shared memory, with barriers that all of them reach."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.variables: list[str] = []
        self.counters: list[str] = []  # of loops that all threads go through together
        self.count = 0

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def value(self) -> str:
        """Return an expression of what is the thread's own."""
        values = ["t", "(double)i", "1.5", "(double)n", "s[t]", "x[i]", *self.variables]
        values += [f"(double){counter}" for counter in self.counters]
        found = self.random.choice(values)
        for _ in range(self.random.randint(0, 3)):
            found = f"({found} {self.random.choice('+-*')} {self.random.choice(values)})"
        return found

    def some(self, most: int, depth: int, in_loop: bool) -> str:
        return " ".join(self.statement(depth, in_loop) for _ in range(self.random.randint(1, most)))

    def statement(self, depth: int, in_loop: bool) -> str:
        chance = self.random.random()
        if chance < 0.2:
            text, name = self.value(), self.name("v")
            self.variables.append(name)
            return f"double {name} = bounded({text});"
        if chance < 0.28:
            name = self.name("k")
            self.variables.append(name)
            return f"int {name} = {self.random.choice(['t * 2', 't + 1', 'i % 7', 'n', 'blockIdx.x * 3 + t'])};"
        if chance < 0.45 and self.variables:
            name = self.random.choice(self.variables)
            return f"{name} = bounded({self.value()});" if name[0] == "v" else f"{name} = {name} + 1;"
        if chance < 0.6:
            return f"s[t] = bounded({self.value()});"
        if chance < 0.72:
            name, distance = self.name("v"), self.random.randint(1, BLOCK - 1)
            self.variables.append(name)
            return f"SYNC; double {name} = s[(t + {distance}) % {BLOCK}]; SYNC; s[t] = {name};"
        if chance < 0.80 and depth < 2:
            counter, known = self.name("u"), list(self.variables)
            self.counters.append(counter)
            body = self.some(4, depth + 1, True)
            if self.random.random() < 0.3:
                body += f" if ({counter} == 2) break;"
            if self.random.random() < 0.3:
                body = f"if ({counter} == 1) continue; {body}"
            self.variables = known
            self.counters.pop()
            end = self.random.choice(["3", "n", "n - 1"])
            return f"for (int {counter} = 0; {counter} < {end}; ++{counter}) {{ {body} SYNC; }}"
        if chance < 0.86 and depth < 2:
            known = list(self.variables)
            then = self.some(3, depth + 1, in_loop)
            self.variables = list(known)
            other = self.some(3, depth + 1, in_loop)
            self.variables = known
            condition = self.random.choice(["n > 2", "n < 2", "blockIdx.x == 1"])
            return f"if ({condition}) {{ {then} SYNC; }} else {{ {other} }}"
        if chance < 0.92:
            more = f" + {self.variables[0]}" if self.variables else ""
            return f"for (int q = 0; q < t % 5; ++q) {{ s[t] = bounded(s[t] + q{more}); if (s[t] > 50) break; }}"
        if chance < 0.94 and not in_loop:
            return f"if (t == {self.random.randint(0, BLOCK - 1)}) {{ y[i] = -1; return; }}"
        return f"y[i] += bounded({self.value()});"

    def kernel(self, name: str, sync: str) -> str:
        body = "\n    ".join(self.statement(0, False) for _ in range(self.random.randint(4, 12)))
        text = f"""extern "C" __global__ void {name}(const double* x, double* y, int n) {{
    __shared__ double s[{BLOCK}];
    const int t = threadIdx.x; int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[t] = x[i];
    SYNC;
    {body}
    SYNC;
    y[i] += s[(t + 5) % {BLOCK}];
}}
"""
        return text.replace("SYNC", sync)


PLACES = {
    "condition": ("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { BODY }", (12,), (32,)),
    "return": ("int i = threadIdx.x + blockIdx.x * blockDim.x; if (i >= n) return; BODY", (12,), (32,)),
    "inner": (
        "long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; if (i > 0 && i < n - 1) { BODY }",
        (12,),
        (32,),
    ),
    "constant width": ("int t = threadIdx.x; int i = blockIdx.x * 32 + t; if (i < n) { BODY }", (12,), (32,)),
    "stride": (
        "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) { BODY }",
        (3,),
        (32,),
    ),
    "stride in a variable": (
        "size_t step = gridDim.x * blockDim.x; "
        "for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) { BODY }",
        (3,),
        (32,),
    ),
    "two dimensions": (
        "int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y; i += j * 37; "
        "if (i < n && j < 9) { BODY }",
        (2, 3),
        (8, 4),
    ),
}


class Independent:
    """Writes kernels whose threads have nothing to do with each other."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self, variables: list[str], depth: int = 0) -> str:
        chance = self.random.random()
        if depth > 2 or chance < 0.4:
            return self.random.choice(variables)
        first, second = self.value(variables, depth + 1), self.value(variables, depth + 1)
        if chance < 0.55:
            return f"({self.random.choice(variables)} > {self.random.choice(variables)} ? {first} : {second})"
        return f"({first} {self.random.choice('+-*')} {second})"

    def body(self, leave: str) -> str:
        variables, lines = ["x[i]", "1.5", "(double)i", "(double)n", "z[i]"], []
        for number in range(self.random.randint(2, 9)):
            chance, value = self.random.random(), self.value(variables)
            if chance < 0.3:
                lines.append(f"double v{number} = bounded({value});")
                variables.append(f"v{number}")
            elif chance < 0.45:
                lines.append(f"double a{number}[5]; for (int q = 0; q < 5; ++q) a{number}[q] = bounded({value} + q);")
                variables += [f"a{number}[(i * 3) % 5]", f"a{number}[2]"]
            elif chance < 0.6:
                lines.append(f"for (int q = 0; q < i % 7; ++q) {{ y[i] += bounded({value}); if (y[i] > 70) break; }}")
            elif chance < 0.7:
                lines.append(f"if ({value} > {self.random.choice(variables)}) {{ y[i] = bounded({value}); {leave} }}")
            elif chance < 0.8:
                lines.append(f"if (i % 11 == 3) z[i] = bounded({value});")
            elif chance < 0.9:
                lines.append(f"z[i] = bounded({value}); y[i] += z[i];")
            else:
                lines.append("w[i] = (unsigned)(i % 17) + w[i]; y[i] += w[i];")
        return "\n      ".join([*lines, f"y[i] = bounded(y[i] + {self.value(variables)});"])

    def kernel(self, name: str, place: str, first: str) -> str:
        leave = "continue;" if "stride" in place and self.random.random() < 0.8 else "return;"
        body = PLACES[place][0].replace("BODY", f"\n      {self.body(leave)}\n   ")
        return f"""extern "C" __global__ void {name}(const double* x, double* y, double* z, unsigned* w, int n) {{
    {first} {body}
}}
"""


def compiled(source: str, names: list[str]) -> dict[str, Library]:
    """Compile all kernels of a source at once, with products and sums that are rounded one by one."""
    exact = ("-ffp-contract=off",)
    program = Program(source, "generated.cu", "", (), None, "", "generated", tuple(names), host_options=exact)
    opened: dict = {}
    return {name: Library(program._replace(expression=name), None, opened) for name in names}


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


@pytest.mark.parametrize("batch", range(BATCHES))
def test_loops_between_barriers(batch: int) -> None:
    seeds = range(batch * KERNELS, (batch + 1) * KERNELS)
    text = {f"split{seed}": Barriers(seed).kernel(f"split{seed}", "__syncthreads()") for seed in seeds}
    text |= {f"alone{seed}": Barriers(seed).kernel(f"alone{seed}", "wait()") for seed in seeds}
    run = compiled(HEAD + "".join(text.values()), list(text))
    modes = {name: one.mode for name, one in run.items()}
    assert {modes[f"alone{seed}"] for seed in seeds} == {"fibers"}
    assert "loops between barriers" in {modes[f"split{seed}"] for seed in seeds}
    for seed in seeds:
        x, found = np.random.default_rng(seed).random(3 * BLOCK), []
        for name in (f"split{seed}", f"alone{seed}"):
            y = np.zeros_like(x)
            assert run[name].function.launch([address(x), address(y), np.int32(4)], (3,), (BLOCK,), 0) is None
            found.append(y)
        np.testing.assert_array_equal(*found, err_msg=text[f"split{seed}"])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_loops_without_barriers(place: str, batch: int) -> None:
    first = 1000 * list(PLACES).index(place) + batch * KERNELS
    seeds = range(first, first + KERNELS // 3)
    text = {f"loop{seed}": Independent(seed).kernel(f"loop{seed}", place, "") for seed in seeds}
    waits = "if (n < -1000) wait();"  # never, but who knows
    text |= {f"alone{seed}": Independent(seed).kernel(f"alone{seed}", place, waits) for seed in seeds}
    run = compiled(HEAD + "".join(text.values()), list(text))
    modes = {name: one.mode for name, one in run.items()}
    assert {modes[f"alone{seed}"] for seed in seeds} == {"fibers"}
    assert not {"fibers", "loops between barriers"} & {modes[f"loop{seed}"] for seed in seeds}
    _, grid, block = PLACES[place]
    for seed in seeds:
        rng, found = np.random.default_rng(seed), []
        x, start = 3 * rng.random(400), rng.random((2, 400))
        for name in (f"loop{seed}", f"alone{seed}"):
            y, z = start.copy()
            w = (np.arange(400) % 9).astype(np.uint32)
            for _ in range(2):
                packed = [*map(address, (x, y, z, w)), np.int32(333)]
                assert run[name].function.launch(packed, grid, block, 0) is None
            found.append(np.concatenate([y, z, w]))
        np.testing.assert_array_equal(*found, err_msg=text[f"loop{seed}"])
