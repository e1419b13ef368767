"""Calls of the Fourier transforms."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from array_api_calls.arguments import (
    Call,
    arrays,
    axes,
    device,
    dtypes,
    shapes,
    some,
)

norms = st.sampled_from(["backward", "ortho", "forward"])


@st.composite
def transforms(draw: Any, family: str, *, real_result: bool = False) -> Call:
    x = draw(arrays(draw(dtypes(family)), draw(shapes(1, min_side=2 if real_result else 1)), "moderate"))
    return Call((x,), draw(some(n=st.integers(1, 5), axis=axes(x.ndim, none=False, several=False), norm=norms)))


@st.composite
def transforms_of_several(draw: Any, family: str, *, real_result: bool = False) -> Call:
    x = draw(arrays(draw(dtypes(family)), draw(shapes(1, min_side=2 if real_result else 1)), "moderate"))
    keywords = draw(some(norm=norms))
    chosen_axes = draw(axes(x.ndim).filter(lambda axis: not isinstance(axis, int)))
    if chosen_axes is not None:
        keywords["axes"] = chosen_axes
        sides = st.lists(st.integers(1, 4), min_size=len(chosen_axes), max_size=len(chosen_axes)).map(tuple)
        keywords |= draw(some(s=sides))
    return Call((x,), keywords)


@st.composite
def frequencies(draw: Any) -> Call:
    spacing = st.sampled_from([1.0, 0.5, 0.1, 3.0])
    return Call((draw(st.integers(1, 9)),), draw(some(d=spacing, dtype=dtypes("real float"), device=device)))


@st.composite
def shifted(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes("float")), draw(shapes(1, min_side=1))))
    return Call((x,), draw(some(axes=axes(x.ndim))))


FFT = {
    **{name: transforms("complex") for name in ("fft", "ifft")},
    **{name: transforms("complex", real_result=True) for name in ("irfft", "hfft")},
    **{name: transforms("real float") for name in ("rfft", "ihfft")},
    **{name: transforms_of_several("complex") for name in ("fftn", "ifftn")},
    "irfftn": transforms_of_several("complex", real_result=True),
    "rfftn": transforms_of_several("real float"),
    "fftfreq": frequencies(),
    "rfftfreq": frequencies(),
    "fftshift": shifted(),
    "ifftshift": shifted(),
}
