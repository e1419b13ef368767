"""Names of C++ that no variable of a kernel may have."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RESERVED = _words(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl const
    const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern
    false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or
    or_eq private protected public register reinterpret_cast return short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw true try typedef typeid typename union unsigned using
    virtual void volatile wchar_t while xor xor_eq threadIdx blockIdx blockDim gridDim warpSize half complex dim3
    cub cooperative_groups python cunumpy assert NULL linux unix I EOF INFINITY NAN main major minor printf malloc
    free memcpy memset abs labs div ldiv index rindex read write open close link unlink pipe time clock rand srand
    signal select remove rename exit abort system access y0 y1 yn j0 j1 jn signgam gamma erf erfc exp exp2 expm1 log
    log2 log10 log1p pow powf sqrt cbrt hypot sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh
    floor ceil trunc round rint fabs fmod fmin fmax fma copysign nextafter ldexp frexp modf lgamma tgamma isnan
    isinf isfinite signbit min max conj real imag arg norm sqrtf expf logf sinf cosf tanf atomicAdd atomicSub
    atomicExch atomicMin atomicMax atomicInc atomicDec atomicCAS atomicAnd atomicOr atomicXor clock64 size_t
    ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uint ushort ulong
    """
)


class Names:
    """The names of one function, or of the functions of one source."""

    def __init__(self, outer: Names | None = None) -> None:
        self._taken: set[str] = set()
        self._outer = outer

    def _free(self, name: str) -> bool:
        taken = name in self._taken or name in _RESERVED or name.startswith(("__", "cunumpy_"))
        return not taken and (self._outer is None or name not in self._outer._taken)

    def new(self, wanted: str) -> str:
        """Return a name of C++ that is not taken, the wanted one if it can be."""
        if not wanted.isascii():
            wanted = "".join(char if char.isascii() else f"u{ord(char):x}" for char in wanted)
        wanted = f"u{wanted}" if wanted.startswith("__") else wanted
        name, number = wanted, 1
        while not self._free(name):
            name = f"{wanted}_" if number == 1 else f"{wanted}_{number}"
            number += 1
        self._taken.add(name)
        return name

    def release(self, name: str) -> None:
        """Let a name be used again, whose scope has ended."""
        self._taken.discard(name)
