"""Kernels at random, in each way in which the CPU device runs them, against the plainest: every thread by itself.

The environment variable ``FUZZ_BATCHES`` says how many builds of each kind are tried, with some kernels each.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from cpu_device import address, compiled

BATCHES = int(os.environ.get("FUZZ_BATCHES", "1"))
KERNELS = 10
BLOCK = 64
EXACT = ("-ffp-contract=off",)  # products and sums are rounded one by one

HEAD = """
__device__ double bounded(double v) { return v > 100 ? 1 + v * 1e-3 : v < -100 ? -1 + v * 1e-3 : v; }
__device__ void wait() { __syncthreads(); }
__device__ void twist(double& v, int t) { if (t % 3) v = bounded(v * 2 - t); }
struct Pair { double first; int second; };
"""


class Barriers:
    """Writes kernels whose threads exchange values through shared memory, with barriers that all of them reach."""

    def __init__(self, seed: int, odd: bool) -> None:
        self.random = random.Random(seed)
        self.variables: list[str] = []
        self.counters: list[str] = []  # of loops that all threads go through together
        self.uniform: list[str] = []  # numbers that are the same for all threads of a block
        self.odd = odd  # with what the CPU device does not always split
        self.count = 0

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def value(self) -> str:
        """Return an expression of what is the thread's own."""
        values = ["t", "(double)i", "1.5", "(double)n", "s[t]", "x[i]", *self.variables]
        values += [f"(double){number}" for number in self.counters + self.uniform]
        found = self.random.choice(values)
        for _ in range(self.random.randint(0, 3)):
            found = f"({found} {self.random.choice('+-*')} {self.random.choice(values)})"
        return found

    def number(self) -> str:
        """Return an expression that is the same for all threads of the block."""
        return self.random.choice(["n", "n - 1", "(int)blockIdx.x + 1", "3", *self.counters, *self.uniform])

    def some(self, most: int, depth: int, in_loop: bool) -> str:
        """Return statements, in a scope of their own."""
        variables, uniform = list(self.variables), list(self.uniform)
        text = " ".join(self.statement(depth, in_loop) for _ in range(self.random.randint(1, most)))
        self.variables, self.uniform = variables, uniform
        return text

    def statement(self, depth: int, in_loop: bool) -> str:
        return self.other(depth) if self.random.random() < 0.3 else self.usual(depth, in_loop)

    def other(self, depth: int) -> str:
        kind, value = self.random.randrange(10 if self.odd else 6), self.value()
        names = [name for name in self.variables if name[0] == "v"]
        if kind == 0:
            name, number = self.name("m"), self.number()
            self.uniform.append(name)
            return f"const int {name} = ({number}) % 5 + 1;"
        if kind == 1:
            name = self.name("a")
            self.variables += [f"{name}[t % 3]", f"{name}[1]"]
            return f"double {name}[3]; for (int q = 0; q < 3; ++q) {name}[q] = bounded({value} + q);"
        if kind == 2:
            few = self.random.choice(["t == 0", "t < 5", "t % 2", "t >= 32"])
            return f"if ({few}) s[t] = bounded({value}); else y[i] += bounded({self.value()});"
        if kind == 3:
            step = "if (t < d) s[t] = bounded(s[t] + s[t + d]);"
            return f"SYNC; for (int d = blockDim.x / 2; d > 0; d /= 2) {{ {step} SYNC; }}"
        if kind == 4 and names:
            name = self.name("q")
            self.variables.append(f"(*{name})")
            return f"double* {name} = &{self.random.choice(names)}; *{name} = bounded(*{name} + {value});"
        if kind == 5 and names:
            return f"twist({self.random.choice(names)}, t);"
        if kind == 6 and depth < 2:
            name = self.name("w")
            body = self.some(3, depth + 1, True)
            return f"int {name} = 0; do {{ {body} SYNC; }} while (++{name} < {self.number()} % 4);"
        if kind == 7 and names:
            name = self.name("v")
            changed = self.random.choice(names)
            self.variables.append(name)
            return f"double& {name} = {changed}; {name} = bounded({name} + {value});"
        if kind == 8:
            name = self.name("p")
            self.variables += [f"{name}.first", f"{name}.second"]
            cases = f"case 0: {name}.second = 2; break; case 1: {name}.first += 1; default: {name}.second += 3;"
            return f"Pair {name} = {{bounded({value}), t % 9}}; switch (t % 4) {{ {cases} }}"
        if kind == 9 and depth < 2:
            name = self.name("w")
            body = self.some(3, depth + 1, True)
            return f"int {name} = 0; while ({name} < {self.number()} % 4) {{ {body} SYNC; ++{name}; }}"
        return f"y[i] -= bounded({value});"

    def usual(self, depth: int, in_loop: bool) -> str:
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
            counter = self.name("u")
            self.counters.append(counter)
            body = self.some(4, depth + 1, True)
            if self.random.random() < 0.3:
                body += f" if ({counter} == 2) break;"
            if self.random.random() < 0.3:
                body = f"if ({counter} == 1) continue; {body}"
            self.counters.pop()
            return f"for (int {counter} = 0; {counter} < {self.number()}; ++{counter}) {{ {body} SYNC; }}"
        if chance < 0.86 and depth < 2:
            then, other = self.some(3, depth + 1, in_loop), self.some(3, depth + 1, in_loop)
            condition = self.random.choice([f"{self.number()} > 2", f"{self.number()} < 2", "blockIdx.x == 1"])
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

    def other(self, number: int, value: str, variables: list[str]) -> str:
        kind = self.random.randrange(6)
        if kind == 0:  # sums over threads, in whatever order
            return f"atomicAdd(w + 350 + i % {self.random.randint(1, 40)}, 1u + i % 3);"
        if kind == 1:
            cases = f"case 0: y[i] = bounded({value}); break; case 2: z[i] += 1; default: y[i] += 2;"
            return f"switch (i % 4) {{ {cases} }}"
        if kind == 2:
            return f"int c{number} = i % 9; while (c{number} > 0) {{ z[i] = bounded(z[i] + {value}); c{number} -= 2; }}"
        if kind == 3:
            name = f"p{number}"
            variables += [f"{name}.first", f"{name}.second"]
            return f"Pair {name} = {{bounded({value}), (int)(i % 5)}}; if ({name}.second == 2) {name}.first = -1;"
        if kind == 4:
            name = f"v{number}"
            variables.append(name)
            return (
                f"double {name} = bounded({value}); twist({name}, i % 100); double& r{number} = {name}; r{number} += 1;"
            )
        again = f"if (i % 5 == 1) break; y[i] = bounded({value});"
        return f"int d{number} = 0; do {{ {again} }} while (++d{number} < i % 4);"

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
            elif chance < 0.93:
                lines.append("w[i] = (unsigned)(i % 17) + w[i]; y[i] += w[i];")
            else:
                lines.append(self.other(number, value, variables))
        return "\n      ".join([*lines, f"y[i] = bounded(y[i] + {self.value(variables)});"])

    def kernel(self, name: str, place: str, first: str) -> str:
        leave = "continue;" if "stride" in place and self.random.random() < 0.8 else "return;"
        body = PLACES[place][0].replace("BODY", f"\n      {self.body(leave)}\n   ")
        return f"""extern "C" __global__ void {name}(const double* x, double* y, double* z, unsigned* w, int n) {{
    {first} {body}
}}
"""


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("odd", [False, True])
def test_loops_between_barriers(odd: bool, batch: int) -> None:
    seeds = range(batch * KERNELS, batch * KERNELS + (3 if odd else KERNELS))
    text = {f"split{seed}": Barriers(seed, odd).kernel(f"split{seed}", "__syncthreads()") for seed in seeds}
    text |= {f"alone{seed}": Barriers(seed, odd).kernel(f"alone{seed}", "wait()") for seed in seeds}
    run = compiled(HEAD + "".join(text.values()), text, options=EXACT)
    modes = {name: one.mode for name, one in run.items()}
    assert {modes[f"alone{seed}"] for seed in seeds} == {"fibers"}
    assert odd or "loops between barriers" in {modes[f"split{seed}"] for seed in seeds}
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
    run = compiled(HEAD + "".join(text.values()), text, options=EXACT)
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
