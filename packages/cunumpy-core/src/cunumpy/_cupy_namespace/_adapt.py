"""The rule that turns one of CuPy's names into the namespace's."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from cunumpy._call_forms import named, numpy_form, standard_keywords
from cunumpy._cupy_namespace._arguments import STANDARD_KEYWORDS, handlers_for
from cunumpy._cupy_namespace._creation import recorded
from cunumpy._cupy_namespace._signatures import SIGNATURES
from cunumpy._cupy_namespace._ufuncs import numpy_ufunc

__all__ = ["adapt"]


def adapt(name: str, value: Any, reference: Any) -> Any:
    """Return CuPy's value itself, or the function with NumPy's call forms and its transfers recorded.

    Parameters
    ----------
    name : str
        Dotted name in the namespace.
    value : Any
        What CuPy has under that name.
    reference : Any
        What NumPy has under it, or None.
    """
    if isinstance(value, cupy.ufunc) and isinstance(reference, np.ufunc):
        return numpy_ufunc(name, value)
    if isinstance(value, (type, cupy.ufunc)) or isinstance(reference, np.ufunc) or not callable(value):
        return value
    function = recorded(name, value)
    reference = SIGNATURES.get(name, reference)
    if callable(reference) and reference is not value and _differs(value, reference):
        function = numpy_form(name, function, reference, handlers_for(name))
    if name in STANDARD_KEYWORDS:
        function = standard_keywords("cupy", name, function, STANDARD_KEYWORDS[name])
    return value if function is value else named("cupy", name, function)


def _differs(value: Any, reference: Any) -> bool:
    """Tell whether the two signatures name other parameters; both unknown counts as no difference.

    NumPy's mark of what is not given, among its defaults, is a difference: CuPy takes it for a true value.
    """
    import inspect

    try:
        ours, theirs = inspect.signature(reference).parameters, inspect.signature(value).parameters
    except (TypeError, ValueError):
        return False
    return list(ours) != list(theirs) or any(p.default is np._NoValue for p in ours.values())
