"""Inline PTX on the CPU device, against Python's arithmetic; NVRTC assembles the same statements."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_runtime import cpu_source
from cunumpy.errors import CompileError
from cunumpy.kernels._cpu_device.ptx import replace_inline_ptx

M32 = 2**32 - 1


def s32(x):
    return ((x & M32) ^ 2**31) - 2**31


def lop3(a, b, c, table):
    return sum((table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i for i in range(32))


def bfe(x, first, count, signed):
    bits = [x >> i & 1 for i in range(32)]
    last = bits[min(first + count - 1, 31)] if count and signed else 0
    return sum((bits[first + i] if i < count and first + i < 32 else last) << i for i in range(32)) if count else 0


def bfi(a, b, first, count):
    for i in range(min(count, 32 - first)):
        b = b & ~(1 << (first + i)) | (a >> i & 1) << (first + i)
    return b


def magnitude(x, signed):
    return (~x & M32) if signed and x >> 31 else x


#: Instructions with one result %0 of three words %1, %2, %3 as unsigned x, y, z, and the result modulo 2^32.
INTEGERS = {
    "mov.u32 %0, %1;": lambda x, y, z: x,
    "add.u32 %0, %1, %2;": lambda x, y, z: x + y,
    "sub.s32 %0, %1, %2;": lambda x, y, z: x - y,
    "mul.lo.u32 %0, %1, %2;": lambda x, y, z: x * y,
    "mul.hi.u32 %0, %1, %2;": lambda x, y, z: x * y >> 32,
    "mul.hi.s32 %0, %1, %2;": lambda x, y, z: s32(x) * s32(y) >> 32,
    "mad.lo.u32 %0, %1, %2, %3;": lambda x, y, z: x * y + z,
    "mad.hi.s32 %0, %1, %2, %3;": lambda x, y, z: (s32(x) * s32(y) >> 32) + z,
    "min.s32 %0, %1, %2;": lambda x, y, z: min(s32(x), s32(y)),
    "max.u32 %0, %1, %2;": lambda x, y, z: max(x, y),
    "abs.s32 %0, %1;": lambda x, y, z: abs(s32(x)),
    "neg.s32 %0, %1;": lambda x, y, z: -x,
    "and.b32 %0, %1, %2;": lambda x, y, z: x & y,
    "or.b32 %0, %1, 0x10;": lambda x, y, z: x | 16,
    "xor.b32 %0, %1, %2;": lambda x, y, z: x ^ y,
    "not.b32 %0, %1;": lambda x, y, z: ~x,
    "shl.b32 %0, %1, %3;": lambda x, y, z: x << z if z < 32 else 0,
    "shr.u32 %0, %1, %3;": lambda x, y, z: x >> z,
    "shr.s32 %0, %1, %3;": lambda x, y, z: s32(x) >> min(z, 31),
    "popc.b32 %0, %1;": lambda x, y, z: x.bit_count(),
    "clz.b32 %0, %1;": lambda x, y, z: 32 - x.bit_length(),
    "brev.b32 %0, %1;": lambda x, y, z: int(f"{x:032b}"[::-1], 2),
    "bfind.u32 %0, %1;": lambda x, y, z: x.bit_length() - 1,
    "bfind.s32 %0, %1;": lambda x, y, z: magnitude(x, True).bit_length() - 1,
    "bfind.shiftamt.u32 %0, %1;": lambda x, y, z: 32 - x.bit_length() if x else M32,
    "bfe.u32 %0, %1, 5, 9;": lambda x, y, z: bfe(x, 5, 9, False),
    "bfe.s32 %0, %1, 25, 12;": lambda x, y, z: bfe(x, 25, 12, True),
    "bfi.b32 %0, %1, %2, 4, 7;": lambda x, y, z: bfi(x, y, 4, 7),
    "prmt.b32 %0, %1, %2, 0x7531;": lambda x, y, z: int.from_bytes(
        bytes([*x.to_bytes(4, "little"), *y.to_bytes(4, "little")][i] for i in (1, 3, 5, 7)), "little"
    ),
    "lop3.b32 %0, %1, %2, %3, 0x96;": lambda x, y, z: x ^ y ^ z,
    "lop3.b32 %0, %1, %2, %3, 0xCA;": lambda x, y, z: lop3(x, y, z, 0xCA),
    "shf.l.wrap.b32 %0, %1, %2, %3;": lambda x, y, z: (y << 32 | x) << (z & 31) >> 32,
    "shf.r.clamp.b32 %0, %1, %2, %3;": lambda x, y, z: (y << 32 | x) >> min(z, 32),
    "sad.u32 %0, %1, %2, %3;": lambda x, y, z: abs(x - y) + z,
    "cvt.u32.u8 %0, %1;": lambda x, y, z: x & 255,
    "cvt.s32.s16 %0, %1;": lambda x, y, z: ((x & 0xFFFF) ^ 0x8000) - 0x8000,
    "{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.b32 %0, 7, 9, p; }": lambda x, y, z: 7 if s32(x) < s32(y) else 9,
    "{ .reg .pred %%p<2>;\\n\\t setp.ge.u32 %%p1, %1, %2;\\n\\t mov.u32 %0, 1;\\n\\t @%%p1 mov.u32 %0, 5;\\n\\t "
    "@!%%p1 add.u32 %0, %0, 1; }": lambda x, y, z: 5 if x >= y else 2,
    "{ .reg .u64 t; mul.wide.u32 t, %1, %2; add.u64 t, t, 1; shr.u64 t, t, 7; cvt.u32.u64 %0, t; }": lambda x, y, z: (
        x * y + 1 >> 7
    ),
    "{ .reg .u32 low; add.cc.u32 low, %1, %2; addc.u32 %0, %3, 0; }": lambda x, y, z: z + (x + y >> 32),
    "{ .reg .u32 low; sub.cc.u32 low, %1, %2; subc.u32 %0, %3, 0; }": lambda x, y, z: z - (x < y),
    "{ .reg .u32 low; mad.lo.cc.u32 low, %1, %2, %3; madc.hi.u32 %0, %1, %2, 0; }": lambda x, y, z: (x * y + z) >> 32,
    "{ .reg .f32 f; mov.b32 f, 0f40490fdb; mov.b32 %0, f; }": lambda x, y, z: 0x40490FDB,
}


def integer_source():
    lines = "".join(
        f'    asm("{code}" : "=r"(r) : "r"(x), "r"(y), "r"(z));\n    out[{k} * n + i] = r;\n'
        for k, code in enumerate(INTEGERS)
    )
    return (
        "__global__ void integers(const unsigned* xs, const unsigned* ys, const unsigned* zs, unsigned* out, int n) {\n"
        "    int i = threadIdx.x;\n    if (i >= n) return;\n    unsigned x = xs[i], y = ys[i], z = zs[i], r;\n"
        f"{lines}}}\n"
    )


words = st.one_of(st.integers(0, M32), st.integers(0, 40), st.sampled_from([2**31, M32, 2**31 - 1]))


@given(st.lists(st.tuples(words, words, st.integers(0, 40)), min_size=1, max_size=16))
def test_integer_instructions(rows):
    x, y, z = (np.array(column, np.uint32) for column in zip(*rows, strict=True))
    out = np.zeros((len(INTEGERS), len(rows)), np.uint32)
    cpu_source(integer_source(), "integers")("integers", 1, len(rows), x, y, z, out, np.int32(len(rows)))
    for k, (code, reference) in enumerate(INTEGERS.items()):
        for i, row in enumerate(rows):
            assert out[k, i] == reference(*row) & M32, (code, row)


OTHERS = r"""
__device__ __forceinline__ unsigned lane() {
    unsigned r;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(r));
    return r;
}
__global__ void threads(unsigned* out) {
    unsigned t = threadIdx.x + blockDim.x * threadIdx.y, n = blockDim.x * blockDim.y, r;
    out[t] = lane();
    asm("mov.u32 %0, %%tid.y;" : "=r"(r)); out[t + n] = r;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(r)); out[t + 2 * n] = r;
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(r)); out[t + 3 * n] = r;
    asm("mov.u32 %0, %%ntid.x;" : "=r"(r)); out[t + 4 * n] = r;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
                 : "=r"(r)                      // odd lanes
                 : "r"(t & 1), "r"(0xffffffffu)
                 : "memory");
    out[t + 5 * n] = r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, 3, 0x1f, 0xffffffff;" : "=r"(r) : "r"(t)); out[t + 6 * n] = r;
    asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %1, 1, 0x1807, 0xffffffff; @!p mov.u32 %0, 99; }"
                 : "=r"(r) : "r"(t)); out[t + 7 * n] = r;
    asm volatile("bar.sync 0;");
    asm volatile("activemask.b32 %0;" : "=r"(r)); out[t + 8 * n] = r;
    asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(t)); out[t + 9 * n] = r;
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    asm volatile("membar.gl;");
    unsigned long long time, later;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
    out[t + 10 * n] = later >= time && time > 1000000000000000000ull;
}
__global__ void floats(const double* x, const float* f, double* out, float* single, long long* wide) {
    double r;
    asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(r) : "d"(x[0]), "d"(x[1]), "d"(x[2])); out[0] = r;
    asm("add.rp.f64 %0, %1, %2;" : "=d"(r) : "d"(x[0]), "d"(1e-30)); out[1] = r;
    asm("sqrt.rn.f64 %0, %1;" : "=d"(r) : "d"(x[0])); out[2] = r;
    float s;
    asm("ex2.approx.f32 %0, %1;" : "=f"(s) : "f"(f[0])); single[0] = s;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(s) : "f"(f[0])); single[1] = s;
    asm("mul.rn.f32 %0, %1, 0f40000000;" : "=f"(s) : "f"(f[0])); single[2] = s;
    asm("cvt.rn.f32.f64 %0, %1;" : "=f"(s) : "d"(x[0])); single[3] = s;
    asm("max.f32 %0, %1, %2;" : "=f"(s) : "f"(f[0]), "f"(f[1])); single[4] = s;
    asm("add.sat.f32 %0, %1, %2;" : "=f"(s) : "f"(f[0]), "f"(f[0])); single[5] = s;
    int whole = 40;
    asm("cvt.rzi.s32.f64 %0, %1;" : "=r"(whole) : "d"(-2.75)); wide[0] = whole;
    long long l;
    asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(l) : "r"(-3), "r"(1 << 30), "l"(5ll)); wide[1] = l;
    asm("add.s64 %0, %0, %1;" : "+l"(l) : "n"(7)); wide[2] = l;
}
__global__ void memory(const float* x, float* out, unsigned* count, unsigned long long* total) {
    float a, b, c, d;
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x));
    asm volatile("st.global.v2.f32 [%0 + 8], {%1, %2};" :: "l"(out), "f"(d), "f"(c) : "memory");
    asm volatile("st.global.f32 [%0], %1;" :: "l"(out), "f"(a + b));
    asm volatile("prefetch.global.L2 [%0];" :: "l"(x + 4));
    unsigned old;
    asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(count), "r"(3));
    out[1] = old;
    asm volatile("red.global.add.u64 [%0], %1;" :: "l"(total), "l"(5ull));
    asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "l"(count + 1), "r"(0), "r"(8));
    if (threadIdx.x == 0) asm volatile("red.global.max.u32 [%0], %1;" :: "l"(count + 2), "r"(77)); else out[4] = 1;
    asm volatile("ld.global.ca.u32 %0, [%1+4];" : "=r"(old) : "l"(count));
    out[5] = old;
}
"""


def others():
    return cpu_source(OTHERS, "threads", "floats", "memory", checked=False)  # all threads of "memory" use one array


def test_threads_and_warps():
    out = np.zeros((11, 64), np.uint32)
    others()("threads", 1, (32, 2), out)
    t = np.arange(64)
    down = np.where(t % 8 == 7, 99, t + 1)
    expected = [t % 32, t // 32, 2 ** (t % 32) - 1, (M32 << t % 32) & M32, 0 * t + 32, 0 * t + 0xAAAAAAAA, t ^ 3, down]
    expected += [0 * t + M32, np.repeat([t[:32].sum(), t[32:].sum()], 32), 0 * t + 1]
    for k, row in enumerate(expected):
        assert np.array_equal(out[k], row), k


def test_floats_and_wide_integers():
    x, f = np.array([0.1, 3.0, -0.3]), np.array([0.7, 2.5], np.float32)
    out, single, wide = np.zeros(3), np.zeros(6, np.float32), np.zeros(3, np.int64)
    others()("floats", 1, 1, x, f, out, single, wide)
    assert list(out[1:]) == [math.nextafter(0.1, 1), math.sqrt(0.1)]
    assert out[0] == pytest.approx(2.0**-54 + 2.0**-56, rel=0.5)  # the product is not rounded
    a = float(f[0])
    expected = [2**a, a**-0.5, 2 * a, np.float32(0.1), 2.5, 1]
    assert single.tolist() == pytest.approx(expected, rel=2e-7)
    assert list(wide) == [-2, -3 * 2**30 + 5, -3 * 2**30 + 12]


def test_memory_and_atomics():
    space = np.zeros(16, np.float32)
    x = space[(-space.ctypes.data % 16) // 4 :][:8]
    x[:] = range(8)
    out, count, total = np.zeros(8, np.float32), np.zeros(3, np.uint32), np.zeros(1, np.uint64)
    others()("memory", 1, 4, x, out, count, total)
    assert list(out[:6]) == [1, 9, 3, 2, 1, 8]
    assert list(count) == [12, 8, 77]
    assert total[0] == 20


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            'asm("wmma.load.a.sync.f16 {%0}, [%1];" : "=r"(x) : "l"(p));',
            "the instruction 'wmma.load",
        ),
        ('asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(p));', "the instruction 'ld.shared.u32"),
        ('asm("mov.u32 %0, %%pm0;" : "=r"(x));', "the operand '%pm0'"),
        ('asm("mov.b128 %0, %1;" : "=q"(x) : "q"(p));', "the constraint '=q'"),
        ('asm("bar.sync 1, 64;");', "the instruction 'bar.sync 1, 64'"),
    ],
)
def test_other_instructions_are_refused_with_their_line(code, reason):
    source = f'// asm("not this")\nconst char* text = "asm(nor this)";\n\n__global__ void f() {{\n    {code}\n}}\n'
    with pytest.raises(CompileError) as caught:
        replace_inline_ptx(source, "kernel.cu")
    assert str(caught.value).startswith("kernel.cu:5: the CPU device can't run this inline PTX: ")
    assert reason in str(caught.value)


def test_lines_stay_where_they_are_and_the_rest_is_untouched():
    source = '/* asm */ int asm_x;\nvoid f() {\n    asm volatile(\n "membar.gl;"\n ::: "memory");\n    g();\n}\n'
    found = replace_inline_ptx(source, "k").splitlines()
    assert len(found) == len(source.splitlines())
    assert [found[0], found[5]] == ["/* asm */ int asm_x;", "    g();"]
    assert "__threadfence();" in found[2]
