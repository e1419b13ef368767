"""The calls behind `test_array_arguments`: each public function that takes arrays, with an independent definition.

A row gives arrays that fit together; the tests replace one after the other. `expected` gets what the arrays mean, as
plain arrays in native byte order, and raises where they make no sense together.
"""

from array_calls import algorithms, core, kernels, mpi, rng, solvers  # noqa: F401 - each adds its calls
from array_calls.call import CALLS, Call
from array_calls.tried_elsewhere import NO_ARRAYS, TRIED_ELSEWHERE

__all__ = ["CALLS", "NO_ARRAYS", "TRIED_ELSEWHERE", "Call"]
