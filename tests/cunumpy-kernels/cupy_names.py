"""Which public names of CuPy the stand-in lacks, and why; how the names of a CuPy are found."""

from __future__ import annotations

# Run with a real CuPy and with the stand-in: the public names of modules, without the modules in them, and for CuPy's
# own classes the names in them.
WALK = '''
import ast
import importlib
import inspect
import sys
import textwrap
import types

MODULES = """
cupy cupy.cuda cupy.cuda.compiler cupy.cuda.device cupy.cuda.driver cupy.cuda.function cupy.cuda.graph cupy.cuda.memory
cupy.cuda.memory_hook cupy.cuda.memory_hooks cupy.cuda.memory_hooks.debug_print cupy.cuda.memory_hooks.line_profile
cupy.cuda.nvtx cupy.cuda.pinned_memory cupy.cuda.profiler cupy.cuda.runtime cupy.cuda.stream cupy.cuda.texture
cupy.exceptions cupy.fft cupy.lib cupy.lib.stride_tricks cupy.linalg cupy.polynomial cupy.polynomial.polynomial
cupy.polynomial.polyutils cupy.random cupy.testing cupy.typing cupyx cupyx.distributed cupyx.distributed.array cupyx.jit
cupyx.jit.cg cupyx.jit.cub cupyx.jit.thrust cupyx.lapack cupyx.linalg cupyx.linalg.sparse cupyx.optimizing
cupyx.profiler cupyx.scipy cupyx.scipy.fft cupyx.scipy.fftpack cupyx.scipy.interpolate cupyx.scipy.linalg
cupyx.scipy.ndimage cupyx.scipy.signal cupyx.scipy.signal.windows cupyx.scipy.sparse cupyx.scipy.sparse.csgraph
cupyx.scipy.sparse.linalg cupyx.scipy.spatial cupyx.scipy.spatial.distance cupyx.scipy.special cupyx.scipy.stats
cupyx.signal cupyx.time
""".split()


def module_of(path):
    try:
        return importlib.import_module(path)
    except ImportError:
        package, _, name = path.rpartition(".")
        found = getattr(sys.modules.get(package), "__dict__", {}).get(name)  # one of CuPy's, under another name
        return found if isinstance(found, types.ModuleType) else None


def public_names():
    """The names of each module, and for CuPy's own classes those in them; None for a module that can't be imported."""
    found = {}
    for path in MODULES:
        module = module_of(path)
        if module is None:
            found[path] = None
            continue
        names = found[path] = {}
        for name in dir(module):
            if name.startswith("_") or name == "annotations":
                continue
            try:
                value = getattr(module, name)
            except ImportError:  # CuPy's, where it needs CUDA's libraries
                names[name] = []
                continue
            except AttributeError:  # the stand-in's, where SciPy has no such function
                continue
            if not isinstance(value, types.ModuleType):
                own = isinstance(value, type) and value.__module__.startswith(("cupy", "cunumpy"))
                names[name] = [one for one in dir(value) if not one.startswith("_")] if own else []
    return found


def set_on_objects():
    """The attributes that methods of the classes set, by the classes' names; a compiled class shows them in itself."""
    found = {}
    for path in MODULES:
        for value in vars(module_of(path) or types).values():
            if isinstance(value, type) and value.__module__.startswith(("cupy", "cunumpy")):
                methods = [one for base in value.__mro__ for one in vars(base).values() if inspect.isfunction(one)]
                names = found.setdefault(value.__name__, [])
                for method in methods:
                    try:
                        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
                    except (OSError, SyntaxError):  # made by a text
                        continue
                    names += [one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute)
                              and isinstance(one.ctx, ast.Store) and getattr(one.value, "id", "") == "self"]
    return found
'''

# Modules that no program of its users has to do with.
MODULES_LEFT_OUT: dict[str, str] = {
    "wrap functions of CUDA's libraries, which are not there": "cupy.cublas cupy.cuda.cub cupy.cuda.cufft "
    "cupy.cuda.cutensor cupy.cuda.jitify cupy.cuda.nccl cupy.cuda.thrust cupyx.cusolver cupyx.cusparse cupyx.cutensor",
    "are CuPy's own: enumerations, triangulation, installation": "cupy.cuda.common cupyx.scipy.spatial.delaunay_2d "
    "cupyx.tools cupyx.tools.install_library",
}

# By reason and module.
LEFT_OUT: dict[str, dict[str, str]] = {
    "for structures in CUDA's layout: take cunumpy.arguments.CudaStruct": {"cupy": "make_aligned_dtype"},
    "for CuPy's own tests of aliases of NumPy": {
        "cupy.testing": "NumpyAliasBasicTestBase NumpyAliasValuesTestBase",
    },
    "its functions take arrays of any dimensions in loops of its own; numpy.vectorize(signature=...) on the host": {
        "cupyx": "GeneralizedUFunc",
    },
    "what is recorded in a graph is not done, and the stand-in's work is done when it is given": {
        "cupy.cuda": "Graph",
        "cupy.cuda.graph": "Graph",
        "cupy.cuda.runtime": "graphDebugDotPrint graphDestroy graphExecDestroy graphInstantiate graphLaunch "
        "graphUpload streamBeginCapture streamEndCapture",
    },
    "handles, plans and settings of CUDA's libraries, which are not there": {
        "cupy.cuda": "get_cublas_handle",
        "cupy.cuda.device": "Handle from_pointer get_cublas_handle get_cusolver_handle get_cusolver_sp_handle "
        "get_cusparse_handle get_cutensor_handle",
        "cupy.fft": "config",
        "cupyx.distributed": "NCCLBackend init_process_group",
        "cupyx.distributed.array": "DistributedArray MAX MIN Mode PROD REPLICA SUM distributed_array make_2d_index_map "
        "matmul",
        "cupyx.jit.thrust": "adjacent_difference binary_search copy count device equal equal_range exclusive_scan "
        "exclusive_scan_by_key fill find gather host inclusive_scan inclusive_scan_by_key inner_product is_sorted "
        "is_sorted_until lower_bound make_constant_iterator make_counting_iterator mismatch reduce reduce_by_key "
        "remove remove_copy replace replace_copy reverse reverse_copy scatter seq sequence set_difference "
        "set_difference_by_key set_intersection set_intersection_by_key set_symmetric_difference "
        "set_symmetric_difference_by_key set_union set_union_by_key sort sort_by_key stable_sort stable_sort_by_key "
        "swap_ranges unique unique_by_key upper_bound",
    },
    "compilers, machine code and memory of C libraries": {
        "cupy.cuda": "CFunctionAllocator Function Module PinnedMemoryPointer",
        "cupy.cuda.compiler": "HIPCCException JitifyException NVCCException compile_using_hipcc compile_using_nvcc "
        "compile_using_nvrtc is_valid_kernel_name",
        "cupy.cuda.driver": "CUDA_ERROR_INVALID_VALUE CU_AD_FORMAT_FLOAT CU_AD_FORMAT_HALF CU_AD_FORMAT_SIGNED_INT16 "
        "CU_AD_FORMAT_SIGNED_INT32 CU_AD_FORMAT_SIGNED_INT8 CU_AD_FORMAT_UNSIGNED_INT16 CU_AD_FORMAT_UNSIGNED_INT32 "
        "CU_AD_FORMAT_UNSIGNED_INT8 CU_FUNC_ATTRIBUTE_BINARY_VERSION CU_FUNC_ATTRIBUTE_CACHE_MODE_CA "
        "CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES "
        "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK "
        "CU_FUNC_ATTRIBUTE_NUM_REGS CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT CU_FUNC_ATTRIBUTE_PTX_VERSION "
        "CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES CU_JIT_CACHE_MODE CU_JIT_ERROR_LOG_BUFFER "
        "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES CU_JIT_FALLBACK_STRATEGY CU_JIT_FAST_COMPILE CU_JIT_FMA CU_JIT_FTZ "
        "CU_JIT_GENERATE_DEBUG_INFO CU_JIT_GENERATE_LINE_INFO CU_JIT_GLOBAL_SYMBOL_ADDRESSES "
        "CU_JIT_GLOBAL_SYMBOL_COUNT CU_JIT_GLOBAL_SYMBOL_NAMES CU_JIT_INFO_LOG_BUFFER "
        "CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES CU_JIT_INPUT_CUBIN CU_JIT_INPUT_FATBINARY CU_JIT_INPUT_LIBRARY "
        "CU_JIT_INPUT_NVVM CU_JIT_INPUT_OBJECT CU_JIT_INPUT_PTX CU_JIT_LOG_VERBOSE CU_JIT_LTO CU_JIT_MAX_REGISTERS "
        "CU_JIT_NEW_SM3X_OPT CU_JIT_NUM_OPTIONS CU_JIT_OPTIMIZATION_LEVEL CU_JIT_PREC_DIV CU_JIT_PREC_SQRT "
        "CU_JIT_TARGET CU_JIT_TARGET_FROM_CUCONTEXT CU_JIT_THREADS_PER_BLOCK CU_JIT_WALL_TIME "
        "CU_TRSA_OVERRIDE_FORMAT CU_TRSF_NORMALIZED_COORDINATES CU_TRSF_READ_AS_INTEGER CU_TRSF_SRGB "
        "CU_TR_ADDRESS_MODE_BORDER CU_TR_ADDRESS_MODE_CLAMP CU_TR_ADDRESS_MODE_MIRROR CU_TR_ADDRESS_MODE_WRAP "
        "CU_TR_FILTER_MODE_LINEAR CU_TR_FILTER_MODE_POINT check_status ctxCreate ctxDestroy ctxGetCurrent "
        "ctxGetDevice ctxSetCurrent devicePrimaryCtxRelease funcGetAttribute funcSetAttribute "
        "launchCooperativeKernel launchKernel linkAddData linkAddFile linkComplete linkCreate linkDestroy "
        "moduleGetFunction moduleGetGlobal moduleLoad moduleLoadData moduleUnload "
        "occupancyMaxActiveBlocksPerMultiprocessor streamGetCtx",
        "cupy.cuda.function": "CIntptr CNumpyArray CPointer CUIntMax Function LinkState Module",
        "cupy.cuda.memory": "CFunctionAllocator CFunctionAllocatorMemory PythonFunctionAllocatorMemory "
        "SingleDeviceMemoryPool SystemMemory malloc_system",
        "cupy.cuda.pinned_memory": "PinnedMemoryPointer PooledPinnedMemory",
    },
    "surfaces, and CUDA arrays and textures without the classes of cupy.cuda.texture": {
        "cupy.cuda.texture": "SurfaceObject",
        "cupy.cuda.runtime": "createSurfaceObject createTextureObject destroySurfaceObject destroyTextureObject "
        "freeArray malloc3DArray mallocArray memcpy2DFromArray memcpy2DFromArrayAsync memcpy2DToArray "
        "memcpy2DToArrayAsync memcpy3D memcpy3DAsync",
    },
    "CUDA's own pools without MemoryAsyncPool, and memory shared between processes, of which each has its own": {
        "cupy.cuda.runtime": "MemPoolProps deviceGetDefaultMemPool deviceGetMemPool deviceSetMemPool "
        "ipcCloseMemHandle ipcGetEventHandle ipcGetMemHandle ipcOpenEventHandle ipcOpenMemHandle "
        "mallocFromPoolAsync memPoolCreate memPoolDestroy memPoolGetAttribute memPoolSetAttribute memPoolTrimTo",
    },
    "signal processing that neither NumPy nor SciPy has, so that nothing says what is right": {
        "cupyx.signal": "ca_cfar cfar_alpha channelize_poly complex_cepstrum convolve1d2o convolve1d3o firfilter "
        "firfilter2 firfilter_zi freq_shift inverse_complex_cepstrum minimum_phase mvdr pulse_compression "
        "pulse_doppler real_cepstrum",
    },
    "SciPy has no plans of transforms": {"cupyx.scipy.fft": "get_fft_plan", "cupyx.scipy.fftpack": "get_fft_plan"},
    "what CuPy's modules have for themselves": {
        "cupy.cuda.memory_hooks.line_profile": "MemoryFrame StackFrame",
        "cupyx.scipy.spatial.distance": "MetricInfo cuvs_available pylibraft_available",
    },
}
# Attributes of CuPy's classes that the stand-in's have not, by reason.
CLASSES_LACK: dict[str, dict[str, str]] = {
    "handles and structures of CUDA's libraries, and machine code, which are not there": {
        "ChannelFormatDescriptor": "ptr",
        "Device": "cublas_handle cusolver_handle cusolver_sp_handle cusparse_handle cutensor_handle",
        "RawModule": "module",
        "ResourceDescriptor": "ptr",
        "TextureDescriptor": "ptr",
    },
    "an array as an argument of CuPy's own kernels": {"ndarray": "cstruct mdspan"},
    "what a pool knows a block by": {"PooledMemory": "identity"},
    "raw words and states of generators that the stand-in has not": {
        "BitGenerator": "random_raw",
        "MRG32k3a": "generator random_raw state",
        "Philox4x3210": "generator random_raw state",
        "XORWOW": "generator random_raw state",
    },
    "a matrix of another kind in SciPy": {"KDTree": "sparse_distance_matrix"},
}
# Attributes that CuPy's objects get when they are made, and the stand-in's classes have.
OF_OBJECTS = {
    "Delaunay.points", "KDTree.boxsize", "KDTree.data", "KDTree.m", "KDTree.maxes", "KDTree.mins", "KDTree.n",
    "coo_array.has_canonical_format", "coo_matrix.has_canonical_format",
}  # fmt: skip
# What a real CuPy shows otherwise: a name that it makes when it is asked for, and a module that is refused as a whole.
SHOWN_OTHERWISE = {"cupy.random.Generator", "cupyx.jit.thrust"}
