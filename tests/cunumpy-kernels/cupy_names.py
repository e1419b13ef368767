"""Which public names of CuPy the stand-in lacks, and why; how the names of a CuPy are found."""

from __future__ import annotations

# Run with a real CuPy and with the stand-in: the public names of modules, without the modules in them, and for CuPy's
# own classes the names in them.
WALK = '''
import importlib
import types

MODULES = """
cupy cupy.cuda cupy.cuda.compiler cupy.cuda.device cupy.cuda.function cupy.cuda.graph cupy.cuda.memory cupy.cuda.nvtx
cupy.cuda.pinned_memory cupy.cuda.profiler cupy.cuda.runtime cupy.cuda.stream cupy.cuda.texture cupy.exceptions cupy.fft
cupy.lib cupy.lib.stride_tricks cupy.linalg cupy.polynomial cupy.polynomial.polynomial cupy.random cupy.testing
cupy.typing cupyx cupyx.distributed cupyx.jit cupyx.jit.cg cupyx.jit.cub cupyx.jit.thrust cupyx.linalg cupyx.optimizing
cupyx.profiler cupyx.scipy cupyx.scipy.sparse cupyx.time
""".split()


def public_names():
    found = {}
    for path in MODULES:
        try:
            module = importlib.import_module(path)
        except ImportError:
            found[path] = {}
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
            if not isinstance(value, types.ModuleType):
                own = isinstance(value, type) and value.__module__.startswith("cupy")
                names[name] = [one for one in dir(value) if not one.startswith("_")] if own else []
    return found
'''

# By reason and module.
LEFT_OUT: dict[str, dict[str, str]] = {
    "left over from NumPy 1, deprecated in CuPy, or about itself": {
        "cupy": "DataSource disable_experimental_feature_warning disp find_common_type format_parser fromDlpack "
        "get_array_wrap issctype issubclass_ issubsctype make_aligned_dtype obj2sctype safe_eval sctype2char "
        "set_string_function who",
        "cupy.testing": "NumpyAliasBasicTestBase NumpyAliasValuesTestBase",
        "cupyx.profiler": "load_ipython_extension",
        "cupyx.optimizing": "optimize",
    },
    "classes that are rarely used": {
        "cupy": "poly1d vectorize",
        "cupyx": "GeneralizedUFunc",
        "cupyx.linalg": "cho_solve invh",
        "cupy.cuda": "Graph MemoryHook profile",
        "cupy.cuda.graph": "Graph",
    },
    "handles, plans and settings of CUDA's libraries, which are not there": {
        "cupy.cuda": "get_cublas_handle",
        "cupy.cuda.device": "Handle from_pointer get_cublas_handle get_cusolver_handle get_cusolver_sp_handle "
        "get_cusparse_handle get_cutensor_handle",
        "cupy.fft": "config",
        "cupyx.distributed": "NCCLBackend init_process_group",
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
        "cupy.cuda.function": "CIntptr CNumpyArray CPointer CUIntMax Function LinkState Module",
        "cupy.cuda.memory": "CFunctionAllocator CFunctionAllocatorMemory CUDARuntimeError "
        "PythonFunctionAllocatorMemory SingleDeviceMemoryPool SystemMemory malloc_system",
        "cupy.cuda.pinned_memory": "PinnedMemoryPointer PooledPinnedMemory is_memory_pinned",
        "cupy.cuda.texture": "CUDARuntimeError SurfaceObject",
    },
    "the runtime's functions below CuPy's classes: take Device, Event, Stream and the allocators": {
        "cupy.cuda.nvtx": "RangeEnd RangeStart",
        "cupy.cuda.runtime": "MemPoolProps PointerAttributes check_status createSurfaceObject createTextureObject "
        "destroySurfaceObject destroyTextureObject deviceCanAccessPeer deviceDisablePeerAccess deviceEnablePeerAccess "
        "deviceGetAttribute deviceGetByPCIBusId deviceGetDefaultMemPool deviceGetLimit deviceGetMemPool "
        "deviceGetPCIBusId deviceSetLimit deviceSetMemPool eventCreate eventCreateWithFlags eventDestroy "
        "eventElapsedTime eventQuery eventRecord free freeArray freeAsync freeHost graphDebugDotPrint graphDestroy "
        "graphExecDestroy graphInstantiate graphLaunch graphUpload hostAlloc hostRegister hostUnregister "
        "ipcCloseMemHandle ipcGetEventHandle ipcGetMemHandle ipcOpenEventHandle ipcOpenMemHandle launchHostFunc "
        "malloc malloc3DArray mallocArray mallocAsync mallocFromPoolAsync mallocManaged memAdvise memPoolCreate "
        "memPoolDestroy memPoolGetAttribute memPoolSetAttribute memPoolTrimTo memPrefetchAsync memcpy2D memcpy2DAsync "
        "memcpy2DFromArray memcpy2DFromArrayAsync memcpy2DToArray memcpy2DToArrayAsync memcpy3D memcpy3DAsync "
        "memcpyPeer memcpyPeerAsync memset memsetAsync pointerGetAttributes pointerGetMemoryType profilerStart "
        "profilerStop streamAddCallback streamBeginCapture streamCreate streamCreateWithFlags "
        "streamCreateWithPriority streamDestroy streamEndCapture streamGetFlags streamGetPriority streamIsCapturing "
        "streamQuery streamWaitEvent",
    },
}
# Attributes that CuPy's objects get when they are made, and the stand-in's classes have.
OF_OBJECTS = {"coo_array.has_canonical_format", "coo_matrix.has_canonical_format"}
# What a real CuPy shows otherwise: a name that it makes when it is asked for, and a module that is refused as a whole.
SHOWN_OTHERWISE = {"cupy.random.Generator", "cupyx.jit.thrust"}
