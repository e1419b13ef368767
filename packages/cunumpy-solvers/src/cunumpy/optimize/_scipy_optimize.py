"""SciPy's root finders and minimisers, with callbacks on arrays of either backend."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from cunumpy import _arrays, _conversion, _gate
from cunumpy.optimize._bridge import Bridge

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["curve_fit", "fsolve", "least_squares", "minimize", "root", "root_scalar"]


def fsolve(
    func: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    fprime: Callable[..., Any] | None = None,
    *,
    progress: bool = False,
    **kwargs: Any,
) -> Any:
    """Find a root of a system of equations with `scipy.optimize.fsolve`, callbacks on the backend of the start value.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` gives the residuals. With a device array `x0`, `x` is a device array and the result may be
        one; the CuPy backend is active during the call.
    x0 : array_like
        Start value, 1-D. A device array is solved on the host, with callbacks on the device; lists and numbers belong
        to the active backend.
    args : tuple
        Further arguments of `func` and `fprime`, passed as they are.
    fprime : callable, optional
        ``fprime(x, *args)`` gives the Jacobian matrix, of shape (m, n).
    progress : bool
        Show the number of evaluations.
    **kwargs : Any
        Further arguments of SciPy's function.

    Returns
    -------
    ndarray or tuple
        What SciPy returns, arrays in it on the backend of `x0`.

    Raises
    ------
    MixedBackendError
        A callback returned a device array, and `x0` is on the host.

    Notes
    -----
    Each evaluation on the device records one ``to_device`` and one ``to_host``, at the line of the call.

    Examples
    --------
    >>> import cunumpy as xp
    >>> xp.optimize.fsolve(lambda x: x**2 - xp.asarray([1.0, 4.0]), xp.ones(2)).round(8)
    array([1., 2.])
    """
    bridge = Bridge("optimize", "fsolve", progress, x0=x0)
    return bridge.call(
        bridge.callback(func, "func", counted=True),
        bridge.start(x0, "x0"),
        args,
        bridge.callback(fprime, "fprime"),
        **bridge.host(kwargs),
    )


def root(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    jac: Any = None,
    callback: Callable[..., Any] | None = None,
    *,
    progress: bool = False,
    **kwargs: Any,
) -> Any:
    """Find a root of a system of equations with `scipy.optimize.root`, callbacks on the backend of the start value.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` gives the residuals; with ``jac=True`` a pair of them and the Jacobian matrix. See `fsolve`
        for how arrays are passed.
    x0 : array_like
        Start value.
    args : tuple
        Further arguments of `fun` and `jac`, passed as they are.
    jac : callable or bool, optional
        ``jac(x, *args)`` gives the Jacobian matrix.
    callback : callable, optional
        ``callback(x, f)`` is called after each iteration by some methods.
    progress : bool
        Show the number of evaluations.
    **kwargs : Any
        Further arguments of SciPy's function, such as ``method="krylov"``.

    Returns
    -------
    scipy.optimize.OptimizeResult
        Arrays in it on the backend of `x0`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> solution = xp.optimize.root(lambda x: x**2 - 4.0, xp.ones(1))
    >>> solution.success, float(solution.x[0].round(8))
    (True, 2.0)
    """
    bridge = Bridge("optimize", "root", progress, x0=x0)
    return bridge.call(
        bridge.callback(fun, "fun", counted=True),
        bridge.start(x0, "x0"),
        args,
        jac=bridge.callback(jac, "jac"),
        callback=bridge.callback(callback, "callback", (0, 1)),
        **bridge.host(kwargs),
    )


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    jac: Any = None,
    hess: Any = None,
    hessp: Callable[..., Any] | None = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable[..., Any] | None = None,
    *,
    progress: bool = False,
    **kwargs: Any,
) -> Any:
    """Minimise a function with `scipy.optimize.minimize`, callbacks on the backend of the start value.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` gives a number, which may be a device array of one element; with ``jac=True`` a pair of it and
        the gradient. See `fsolve` for how arrays are passed.
    x0 : array_like
        Start value.
    args : tuple
        Further arguments of the callbacks, passed as they are.
    jac, hess : callable, str, bool or object, optional
        Gradient and Hessian matrix, or how SciPy is to approximate them.
    hessp : callable, optional
        ``hessp(x, p, *args)`` gives the Hessian matrix times `p`.
    bounds : sequence or scipy.optimize.Bounds, optional
        Bounds of the variables.
    constraints : dict, sequence or object of SciPy's, optional
        As in SciPy; functions of constraints are called as `fun` is. The objects are copied, not changed.
    callback : callable, optional
        ``callback(x)`` or ``callback(intermediate_result)``, and for ``method="trust-constr"`` also
        ``callback(x, state)``.
    progress : bool
        Show the number of evaluations.
    **kwargs : Any
        Further arguments of SciPy's function, such as ``method="BFGS"``.

    Returns
    -------
    scipy.optimize.OptimizeResult
        Arrays in it on the backend of `x0`. Numbers stay numbers, and operators such as the ``hess_inv`` of L-BFGS-B
        stay objects of SciPy's for host arrays.

    Examples
    --------
    >>> import cunumpy as xp
    >>> solution = xp.optimize.minimize(lambda x: xp.sum((x - 1.0) ** 2), xp.zeros(2))
    >>> solution.x.round(6)
    array([1., 1.])
    """
    bridge = Bridge("optimize", "minimize", progress, x0=x0)
    return bridge.call(
        bridge.callback(fun, "fun", counted=True),
        bridge.start(x0, "x0"),
        args,
        jac=bridge.callback(jac, "jac"),
        hess=bridge.callback(hess, "hess"),
        hessp=bridge.callback(hessp, "hessp", (0, 1)),
        bounds=bridge.host(bounds),
        constraints=_constraints(bridge, constraints),
        callback=bridge.callback(callback, "callback", (0, 1), keywords=True),
        **bridge.host(kwargs),
    )


def _constraints(bridge: Bridge, constraints: Any) -> Any:
    if isinstance(constraints, (list, tuple)):
        return [_constraint(bridge, each) for each in constraints]
    return _constraint(bridge, constraints)


def _constraint(bridge: Bridge, constraint: Any) -> Any:
    if isinstance(constraint, dict):
        # Arrays in 'args' are the user's own, and stay where they are.
        return constraint | {
            key: bridge.callback(constraint[key], f"constraints[{key!r}]")
            for key in ("fun", "jac")
            if key in constraint
        }
    if hasattr(constraint, "fun"):
        constraint = copy.copy(constraint)
        constraint.fun = bridge.callback(constraint.fun, "constraints.fun")
        constraint.jac = bridge.callback(constraint.jac, "constraints.jac")
        constraint.hess = bridge.callback(constraint.hess, "constraints.hess", (0, 1))
    return constraint


def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = (-np.inf, np.inf),
    *,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    loss: Any = "linear",
    callback: Callable[..., Any] | None = None,
    progress: bool = False,
    **options: Any,
) -> Any:
    """Minimise a sum of squares with `scipy.optimize.least_squares`, callbacks on the backend of the start value.

    For many small problems at once see `least_squares_batched`.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args, **kwargs)`` gives the residuals. See `fsolve` for how arrays are passed.
    x0 : array_like
        Start value, 1-D.
    jac : callable or str
        ``jac(x, *args, **kwargs)`` gives the Jacobian matrix; or how SciPy is to approximate it.
    bounds : pair of array_like or scipy.optimize.Bounds
        Lower and upper bounds, on either backend.
    args, kwargs : tuple, dict
        Further arguments of `fun` and `jac`, passed as they are.
    loss : str or callable
        Name of a loss function, or ``loss(z)`` with an array `z`, which gives the value and two derivatives in rows.
    callback : callable, optional
        Called after each iteration, by versions of SciPy that have it.
    progress : bool
        Show the number of evaluations.
    **options : Any
        Further arguments of SciPy's function; arrays on either backend.

    Returns
    -------
    scipy.optimize.OptimizeResult
        Arrays in it on the backend of `x0`.

    Examples
    --------
    >>> import cunumpy as xp
    >>> t, y = xp.asarray([0.0, 1.0, 2.0]), xp.asarray([1.0, 3.0, 5.0])
    >>> xp.optimize.least_squares(lambda p: p[0] + p[1] * t - y, xp.zeros(2)).x.round(6)
    array([1., 2.])
    """
    bridge = Bridge("optimize", "least_squares", progress, x0=x0)
    if callback is not None:
        options["callback"] = bridge.callback(callback, "callback", keywords=True)
    return bridge.call(
        bridge.callback(fun, "fun", counted=True),
        bridge.start(x0, "x0"),
        bridge.callback(jac, "jac"),
        bridge.host(bounds),
        args=args,
        kwargs={} if kwargs is None else kwargs,
        loss=bridge.callback(loss, "loss"),
        **bridge.host(options),
    )


def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    *,
    bounds: Any = (-np.inf, np.inf),
    jac: Any = None,
    progress: bool = False,
    **kwargs: Any,
) -> Any:
    """Fit a function to data with `scipy.optimize.curve_fit`, evaluated on the backend of the data.

    For many small fits at once see `least_squares_batched`.

    Parameters
    ----------
    f : callable
        ``f(xdata, *parameters)`` gives the values of the model, with `xdata` as it was given and numbers as parameters.
    xdata : array_like
        Where the data were taken; stays where it is. A tuple or list of device arrays is joined to one array.
    ydata : array_like
        The data; of the same backend as `xdata`.
    p0 : array_like, optional
        Start values of the parameters, on either side.
    sigma : array_like, optional
        Errors of the data, or their covariance matrix.
    absolute_sigma : bool
        Whether `sigma` is not to be scaled.
    bounds : pair of array_like or scipy.optimize.Bounds
        Lower and upper bounds of the parameters.
    jac : callable or str, optional
        ``jac(xdata, *parameters)`` gives the Jacobian matrix, of shape (data, parameters).
    progress : bool
        Show the number of evaluations.
    **kwargs : Any
        Further arguments of SciPy's function.

    Returns
    -------
    tuple
        The parameters and their covariance matrix, and more with ``full_output=True``; on the backend of the data.

    Notes
    -----
    Each evaluation on the device records one ``to_host``, of the model's values. Device data is not searched for NaN.

    Examples
    --------
    >>> import cunumpy as xp
    >>> t, y = xp.asarray([0.0, 1.0, 2.0, 3.0]), xp.asarray([1.0, 3.0, 5.0, 7.0])
    >>> xp.optimize.curve_fit(lambda t, a, b: a + b * t, t, y)[0].round(6)
    array([1., 2.])
    """
    absolute_sigma = _gate.as_truth(absolute_sigma, function="curve_fit", argument="absolute_sigma")
    joined = xdata
    if isinstance(xdata, (tuple, list)) and any(map(_arrays.is_device_array, xdata)):
        joined = _conversion.to_cupy(list(xdata))
    _gate.refuse_masked(joined, function="curve_fit", argument="xdata")
    bridge = Bridge("optimize", "curve_fit", progress, xdata=joined, ydata=ydata)
    if bridge.on_device and _arrays.get_array_backend(joined) == "numpy" and isinstance(joined, (tuple, list)):
        joined = _conversion.to_cupy(joined)
    return bridge.call(
        bridge.callback(f, "f", (), counted=True),
        joined,
        bridge.start(ydata, "ydata"),
        bridge.numbers(p0, "p0"),
        bridge.numbers(sigma, "sigma"),
        absolute_sigma,
        bounds=bridge.host(bounds),
        jac=bridge.callback(jac, "jac", ()),
        **bridge.host(kwargs),
    )


def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    *,
    progress: bool = False,
    **kwargs: Any,
) -> Any:
    """Find a root of one scalar function with `scipy.optimize.root_scalar`; callbacks may return device arrays.

    For many equations at once see `newton` and `find_root`.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` gives a number for a number, which may be an array of one element, on the device too.
    args : tuple
        Further arguments of the callbacks, passed as they are.
    method : str, optional
        ``"brentq"``, ``"toms748"``, ``"newton"``, ... By default the best one for what is given.
    bracket : sequence of two numbers, optional
        An interval with a change of sign; numbers or 0-d arrays.
    fprime, fprime2 : callable or bool, optional
        First and second derivative.
    x0, x1 : float, optional
        Start values; numbers or 0-d arrays.
    progress : bool
        Show the number of evaluations.
    **kwargs : Any
        Further arguments of SciPy's function.

    Returns
    -------
    scipy.optimize.RootResults
        Numbers, on the host.

    Notes
    -----
    The active backend during the callbacks is CuPy if `bracket`, `x0` or `x1` is on the device, else the one of the
    call. Each device array that a callback returns is recorded as one ``to_host``.

    Examples
    --------
    >>> import cunumpy as xp
    >>> round(xp.optimize.root_scalar(lambda x: xp.asarray(x * x - 2.0), bracket=(1.0, 2.0)).root, 8)
    1.41421356
    """
    named = {f"bracket[{i}]": end for i, end in enumerate(bracket if np.iterable(bracket) else ())}
    bridge = Bridge("optimize", "root_scalar", progress, x0=x0, x1=x1, **named)
    return bridge.call(
        bridge.callback(f, "f", (), counted=True, scalar=True),
        args,
        method,
        None if bracket is None else bridge.pair(bracket, "bracket"),
        bridge.callback(fprime, "fprime", (), scalar=True),
        bridge.callback(fprime2, "fprime2", (), scalar=True),
        None if x0 is None else bridge.number(x0, "x0", "biufc"),
        None if x1 is None else bridge.number(x1, "x1", "biufc"),
        **bridge.host(kwargs),
    )
