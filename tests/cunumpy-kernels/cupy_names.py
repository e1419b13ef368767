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
}
# Attributes that CuPy's objects get when they are made, and the stand-in's classes have.
OF_OBJECTS = {"coo_array.has_canonical_format", "coo_matrix.has_canonical_format"}
# What a real CuPy shows otherwise: a name that it makes when it is asked for, and a module that is refused as a whole.
SHOWN_OTHERWISE = {"cupy.random.Generator", "cupyx.jit.thrust"}
