"""SciPy's quadrature and its solvers of differential equations, with callbacks on arrays of either backend."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from cunumpy import _gate
from cunumpy.errors import ArgumentTypeError
from cunumpy.optimize._bridge import Bridge, all_on_device, all_on_host, check_function, raised_by_scipy

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["odeint", "quad", "solve_ivp"]


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: tuple[Any, ...] = (),
    Dfun: Callable[..., Any] | None = None,
    *,
    tfirst: bool = False,
    progress: bool = False,
    **kwargs: Any,
) -> Any:
    """Integrate a system of differential equations with `scipy.integrate.odeint`, on the backend of the start value.

    Parameters
    ----------
    func : callable
        ``func(y, t, *args)``, or ``func(t, y, *args)`` with ``tfirst=True``, gives the derivative. With a device array
        `y0`, `y` is a device array and the result may be one; `t` is a float. The CuPy backend is active then.
    y0 : array_like
        Start value, 1-D. A device array is solved on the host, with callbacks on the device; lists and numbers belong
        to the active backend.
    t : array_like
        Times of the result, on either backend; the first is that of `y0`.
    args : tuple
        Further arguments of the callbacks, passed as they are.
    Dfun : callable, optional
        The Jacobian matrix, called as `func` is.
    tfirst : bool
        Whether the time comes first.
    progress : bool
        Show the number of evaluations.
    **kwargs : Any
        Further arguments of SciPy's function.

    Returns
    -------
    ndarray or tuple
        Of shape (len(t), len(y0)), on the backend of `y0`; with ``full_output=True`` a pair with a dict.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.integrate.odeint(lambda y, t: -y, xp.ones(1), xp.asarray([0.0, 1.0])).round(6)
    array([[1.      ],
           [0.367879]])
    """
    tfirst = _gate.as_truth(tfirst, function="odeint", argument="tfirst")
    bridge = Bridge("integrate", "odeint", progress, y0=y0)
    position = (1,) if tfirst else (0,)
    return bridge.call(
        bridge.callback(func, "func", position, counted=True),
        bridge.start(y0, "y0"),
        bridge.start(t, "t", "biuf"),
        args,
        bridge.callback(Dfun, "Dfun", position),
        tfirst=tfirst,
        **bridge.host(kwargs),
    )


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    *,
    jac: Any = None,
    progress: bool = False,
    **options: Any,
) -> Any:
    """Integrate a system of differential equations with `scipy.integrate.solve_ivp`, on the backend of the start value.

    For many small systems at once see `solve_ivp_batched`.

    Parameters
    ----------
    fun : callable
        ``fun(t, y, *args)`` gives the derivative. See `odeint` for how arrays are passed.
    t_span : pair of float
        First and last time; numbers or 0-d arrays.
    y0 : array_like
        Start value, 1-D.
    method : str or scipy.integrate.OdeSolver
        Method of integration.
    t_eval : array_like, optional
        Times of the result, on either backend.
    dense_output : bool
        Whether the result has a continuous solution, ``sol(t)``, which gives arrays on the backend of `y0`.
    events : callable or sequence of callables, optional
        ``event(t, y, *args)`` gives a number; the attributes ``terminal`` and ``direction`` are kept.
    vectorized : bool
        Whether `fun` takes `y` of shape (n, k).
    args : tuple, optional
        Further arguments of the callbacks, passed as they are.
    jac : callable or array_like, optional
        ``jac(t, y, *args)`` gives the Jacobian matrix, for implicit methods.
    progress : bool
        Show the number of evaluations.
    **options : Any
        Further arguments of SciPy's function, such as ``rtol=1e-8``.

    Returns
    -------
    scipy.integrate.OdeResult
        What `scipy.integrate.solve_ivp` returns, arrays in it on the backend of `y0`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> solution = xp.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), xp.ones(1), rtol=1e-8)
    >>> solution.success, float(solution.y[0, -1].round(4))
    (True, 0.3679)
    """
    dense_output = _gate.as_truth(dense_output, function="solve_ivp", argument="dense_output")
    vectorized = _gate.as_truth(vectorized, function="solve_ivp", argument="vectorized")
    bridge = Bridge("integrate", "solve_ivp", progress, y0=y0)
    if callable(events):
        events = bridge.callback(events, "events", (1,), scalar=True)
    elif events is not None:
        if not isinstance(events, (list, tuple)):
            raise ArgumentTypeError(
                f"solve_ivp: argument 'events' must be a function or a list of functions, got {_gate.given(events)}."
            )
        events = [bridge.callback(event, f"events[{i}]", (1,), scalar=True) for i, event in enumerate(events)]
    if jac is not None:
        options["jac"] = bridge.callback(jac, "jac", (1,)) if callable(jac) else bridge.host(jac)
    result = bridge.call(
        bridge.callback(fun, "fun", (1,), counted=True),
        bridge.pair(t_span, "t_span"),
        bridge.start(y0, "y0"),
        method,
        bridge.numbers(t_eval, "t_eval", "biuf"),
        dense_output,
        events,
        vectorized,
        args,
        **bridge.host(options),
    )
    if bridge.on_device and result.sol is not None:
        result.sol = DenseOutput(result.sol)
    return result


class DenseOutput:
    """The continuous solution of `solve_ivp` with a device array to start from.

    Its attributes are those of `scipy.integrate.OdeSolution`.
    """

    def __init__(self, solution: Any) -> None:
        self._solution = solution

    def __call__(self, t: Any) -> Any:
        """Return the solution at times, host or device, as a device array."""
        return all_on_device(self._solution(all_on_host(t, "solve_ivp")), "solve_ivp")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._solution, name)


def quad(func: Any, a: Any, b: Any, args: Any = (), *, progress: bool = False, **kwargs: Any) -> Any:
    """Integrate a function of one variable with `scipy.integrate.quad`; `func` may return device arrays.

    For many integrals at once see `quad_batched`.

    Parameters
    ----------
    func : callable or scipy.LowLevelCallable
        ``func(x, *args)`` gives a number for a float; it may be an array of one element, on the device too.
    a, b : float
        The limits; numbers, infinities, or 0-d arrays.
    args : tuple
        Further arguments of `func`, passed as they are.
    progress : bool
        Show the number of evaluations.
    **kwargs : Any
        Further arguments of SciPy's function, such as ``limit=100``.

    Returns
    -------
    tuple
        The integral, an estimate of its error, and more with ``full_output=True``; numbers, on the host.

    Raises
    ------
    ArgumentTypeError
        `func` returned an array of several elements.

    Notes
    -----
    Without CuPy, `func` is passed to SciPy as it is, and called anew from the start if its results turn out to be
    arrays of one element that are not 0-d. Each device array that it returns is recorded as one ``to_host``. The
    active backend during the calls is CuPy if a limit is on the device, else the one of the call.

    Examples
    --------
    >>> import cunumpy as xp
    >>> round(xp.integrate.quad(lambda x: xp.asarray(x * x), 0.0, 3.0)[0], 8)
    9.0
    """
    check_function("quad", "func", func)
    bridge = Bridge("integrate", "quad", progress, a=a, b=b)
    limits = [bridge.number(end, name) for name, end in (("a", a), ("b", b))]
    kwargs = bridge.host(kwargs)
    if "cupy" not in sys.modules and not progress:
        try:
            return bridge.call(func, *limits, args, **kwargs)
        except (TypeError, DeprecationWarning) as error:  # an array in the place of a number?
            if not raised_by_scipy(error):
                raise
    return bridge.call(bridge.callback(func, "func", (), counted=True, scalar=True), *limits, args, **kwargs)
