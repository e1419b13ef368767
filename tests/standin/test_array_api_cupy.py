"""Every function of the array API standard on the CuPy backend, by the tests that NumPy's has."""

from __future__ import annotations

from test_array_api import (
    pytestmark,  # noqa: F401
    test_constants_and_dtypes,  # noqa: F401
    test_inspection,  # noqa: F401
    test_known_exceptions_are_still_exceptions,  # noqa: F401
    test_results_are_the_standards,  # noqa: F401
    test_results_are_the_standards_in_many_calls,  # noqa: F401
)
