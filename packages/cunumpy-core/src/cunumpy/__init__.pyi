# ruff: noqa: F403
# What type checkers and editors see: NumPy's names with NumPy's signatures, and CuNumpy's own.

import builtins as _b
from typing import Any as _Any
from typing import TypeAlias as _TypeAlias

from numpy import *
from numpy import fft as fft
from numpy import linalg as linalg
from numpy import polynomial as polynomial
from numpy import random as random
from numpy.typing import NDArray as _NDArray

from cunumpy import algorithms as algorithms
from cunumpy import arguments as arguments
from cunumpy import cuda as cuda
from cunumpy import errors as errors
from cunumpy import integrate as integrate
from cunumpy import kernel_testing as kernel_testing
from cunumpy import kernels as kernels
from cunumpy import memory as memory
from cunumpy import mpi as mpi
from cunumpy import optimize as optimize
from cunumpy import petsc as petsc
from cunumpy import profiling as profiling
from cunumpy import rng as rng
from cunumpy import xp as xp
from cunumpy._arrays import assert_same_backend as assert_same_backend
from cunumpy._arrays import get_array_backend as get_array_backend
from cunumpy._arrays import get_array_module as get_array_module
from cunumpy._arrays import is_cpu as is_cpu
from cunumpy._arrays import is_gpu as is_gpu
from cunumpy._arrays import same_backend as same_backend
from cunumpy._backend import cupy_available as cupy_available
from cunumpy._backend import get_backend as get_backend
from cunumpy._backend import set_backend as set_backend
from cunumpy._backend import use_backend as use_backend
from cunumpy._conversion import as_device_array as as_device_array
from cunumpy._conversion import synchronize as synchronize
from cunumpy._conversion import to_cunumpy as to_cunumpy
from cunumpy._conversion import to_cupy as to_cupy
from cunumpy._conversion import to_numpy as to_numpy
from cunumpy._host_call import evaluate_on_host as evaluate_on_host
from cunumpy._host_call import host_call as host_call
from cunumpy._host_call import host_call_inplace as host_call_inplace
from cunumpy._host_call import setup_on_host as setup_on_host
from cunumpy._info import backend_info as backend_info
from cunumpy._namespaces import default_float_dtype as default_float_dtype
from cunumpy._namespaces import get_namespace as get_namespace
from cunumpy._scipy_namespace import ScipyNamespace as _ScipyNamespace
from cunumpy._toplevel import available as available
from cunumpy._versions import MIN_CUPY_VERSION as MIN_CUPY_VERSION
from cunumpy._versions import cupy_version_supported as cupy_version_supported
from cunumpy._versions import require_version as require_version
from cunumpy.memory._host_copy import to_host_async as to_host_async

Array: _TypeAlias = _NDArray[_Any]
scipy: _ScipyNamespace
numpy_backend: _b.bool
cupy_backend: _b.bool
__all__: list[str]
