"""The calls of every function of the array API standard, by its name; dotted for those of the extensions."""

from __future__ import annotations

from hypothesis import strategies as st

from array_api_calls.arguments import Call
from array_api_calls.creation import CREATION, DATA_TYPES
from array_api_calls.elementwise import ELEMENTWISE
from array_api_calls.linear_algebra import IN_BOTH, LINALG
from array_api_calls.manipulation import MANIPULATION
from array_api_calls.selection import REDUCTIONS, SELECTING
from array_api_calls.transforms import FFT

CALLS: dict[str, st.SearchStrategy[Call]] = {
    **ELEMENTWISE,
    **CREATION,
    **DATA_TYPES,
    **SELECTING,
    **MANIPULATION,
    **REDUCTIONS,
    **IN_BOTH,
    **{f"linalg.{name}": calls for name, calls in LINALG.items()},
    **{f"fft.{name}": calls for name, calls in FFT.items()},
}
