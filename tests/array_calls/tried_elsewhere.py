"""Public names without a call here: those that other tests try, and those that take no arrays."""

from __future__ import annotations

# What takes arrays and is driven through the kinds by other tests, since it needs a device, a library, or has no one
# answer. The files are below tests/.
TRIED_ELSEWHERE = {
    "arguments.CudaArguments": "cunumpy-kernels/test_argument_objects.py",
    "arguments.CudaStruct.__call__": "cunumpy-kernels/test_argument_objects.py",
    "arguments.CudaStructArguments": "cunumpy-kernels/test_argument_objects.py",
    "arguments.CudaStructValue": "cunumpy-kernels/test_argument_objects.py",
    "evaluate_on_host": "standin/test_host_call_cupy.py",
    "setup_on_host": "standin/test_host_call_cupy.py",
    "as_device_array": "standin/test_conversion_cupy.py",
    "to_cupy": "standin/test_conversion_cupy.py",
    "kernel_testing.host_buffer": "standin/test_fake_array.py",
    "kernels.CompiledHostKernel.__call__": "cunumpy-kernels/test_host_implementations.py",
    "kernels.HostImplementations.__call__": "cunumpy-kernels/test_host_implementations.py",
    "kernels.CudaKernel.__call__": "standin/test_cuda_kernel_cupy.py",
    "kernels.CudaKernel.launch_shape": "cunumpy-kernels/test_cuda_kernel.py",
    "kernels.CudaKernel.prepare": "standin/test_cuda_kernel_cupy.py",
    "kernels.CudaKernel.prepare_args": "cunumpy-kernels/test_cuda_kernel.py",
    "kernels.PreparedLaunch": "standin/test_cuda_kernel_cupy.py",
    "kernels.PreparedLaunch.set": "standin/test_cuda_kernel_cupy.py",
    "kernels.MetalKernel.__call__": "cunumpy-kernels/test_metal_kernel.py",
    "kernels.RawKernel.__call__": "cunumpy-kernels/test_raw_kernel.py",
    "memory.HostCopy": "cunumpy-core/test_memory.py",
    "mpi.MPIStaging.buffer": "cunumpy-mpi/test_mpi.py",
    "petsc.csr_matrix": "cunumpy-petsc/test_real_solvers.py",
    "petsc.ksp_solve": "cunumpy-petsc/test_real_solvers.py",
    "petsc.petsc_vec": "cunumpy-petsc/test_real_vectors.py",
    "petsc.place_array": "cunumpy-petsc/test_real_vectors.py",
    "petsc.snes_solve": "cunumpy-petsc/test_real_solvers.py",
    "petsc.update_values": "cunumpy-petsc/test_real_solvers.py",
    # mpi4py's API, tried beside mpi4py
    "mpi.SerialComm.*": "mpi/test_messages.py",
    "mpi.SerialMPI.*": "mpi/test_datatypes.py",
    "mpi.SerialRequest.*": "mpi/test_requests.py",
}

# What has parameters, and none that is an array. Of results' classes it is what the solvers fill in.
_NAMES = """
Array available cupy_available cupy_version_supported require_version set_backend use_backend
scipy.available
use_backend.__call__
arguments.CudaStruct arguments.CudaStruct.check_source arguments.CudaStruct.from_pyccel_class
arguments.CudaStruct.from_signature arguments.CudaStruct.layout_source arguments.CudaStruct.to_header
arguments.CudaStruct.verify_layout arguments.CudaStructValue.__getitem__ arguments.write_cuda_header
cuda.CompileMessage cuda.CompileReport cuda.CudaParameter cuda.DeviceProperties cuda.HostEvent cuda.HostEvent.record
cuda.HostStream.add_callback cuda.HostStream.begin_capture cuda.HostStream.launch_host_func cuda.HostStream.record
cuda.HostStream.wait_event cuda.KernelUsage cuda.check_cuda cuda.create_event cuda.create_stream cuda.ctype_of
cuda.cuda_debug cuda.cuda_kernel_names cuda.device_properties cuda.elapsed cuda.empty_pinned cuda.include_hash
cuda.max_shared_memory_per_block cuda.parse_cuda_signature cuda.record_event cuda.resolve_includes
cuda.set_cuda_debug cuda.set_device cuda.set_device_for_rank cuda.set_memory_limit cuda.stream cuda.wait_event
integrate.BatchedDenseOutput integrate.BatchedOdeResult integrate.FixedStepResult integrate.QuadResult
kernel_testing.assert_kernels_agree kernel_testing.assert_schedule_independent kernel_testing.check_parity
kernel_testing.compile_for_emulation kernel_testing.device_function_kernel kernel_testing.emulated_launches
kernel_testing.fake_cupy_session kernel_testing.parity_cases kernel_testing.run_in_fake_cupy_subprocess
kernels.CompiledHostKernel kernels.CudaKernel kernels.CudaKernel.all_from_file kernels.CudaKernel.check_cuda
kernels.CudaKernel.compile kernels.CudaKernel.from_file kernels.CudaKernel.recompile
kernels.CudaKernel.suggested_block_size kernels.CudaKernelVariants kernels.CudaKernelVariants.compile_all
kernels.CudaKernelVariants.get kernels.ElementwiseKernel kernels.HostImplementations
kernels.HostImplementations.available kernels.HostImplementations.extended kernels.HostImplementations.get
kernels.HostImplementations.of_any kernels.Kernel kernels.Kernel.from_folder kernels.Kernel.selected
kernels.KernelCatalog kernels.KernelCatalog.__getitem__ kernels.KernelCatalog.build_all
kernels.KernelCatalog.check_cuda kernels.KernelCatalog.compile_all kernels.KernelCatalog.from_package
kernels.KernelCatalog.register kernels.KernelCatalog.summary kernels.MetalKernel kernels.PreparedLaunch.__call__
kernels.PyccelCache kernels.PyccelCache.__call__ kernels.PyccelCache.build_key kernels.PyccelCache.compile
kernels.PyccelKernel kernels.RawKernel kernels.RawKernel.compile kernels.RawModule kernels.RawModule.compile
kernels.RawModule.get_function kernels.RawModule.get_global kernels.ReductionKernel kernels.outputs_from_annotations
kernels.set_device_kernel_implementation kernels.set_host_kernel_implementation
kernels.use_device_kernel_implementation kernels.use_host_kernel_implementation kernels.jit.*
memory.DeviceMirror.to_device memory.DeviceMirror.to_host memory.HostStaging memory.StagedCopy
memory.StagedCopy.result
mpi.CudaAwareReport mpi.MPIStaging mpi.PersistentExchange.__call__ mpi.PersistentExchange.start
mpi.PersistentExchange.wait mpi.SerialComm mpi.SerialRequest mpi.SerialStatus mpi.SerialStatus.Get_count
mpi.SerialStatus.Get_elements mpi.SerialStatus.Set_cancelled mpi.SerialStatus.Set_elements
mpi.SerialStatus.Set_error mpi.SerialStatus.Set_source mpi.SerialStatus.Set_tag mpi.cuda_aware_report mpi.get_mpi
mpi.get_mpi_cuda_aware mpi.is_serial mpi.mpi_is_cuda_aware mpi.require_cuda_aware_mpi mpi.set_mpi_cuda_aware
optimize.BracketResult optimize.LeastSquaresResult optimize.LeastSquaresResult.covariance optimize.NewtonResult
optimize.RootResult
petsc.KSPResult petsc.SNESResult petsc.mark_modified petsc.petsc_access petsc.petsc_array petsc.shell_matrix
petsc.shell_preconditioner petsc.write_back
profiling.BenchmarkResult profiling.BenchmarkResult.percentile profiling.BenchmarkResult.plot profiling.Timings.plot
profiling.TransferCounter.plot profiling.benchmark
profiling.Region profiling.Timing profiling.TimingSummary profiling.Timings.__getitem__ profiling.Timings.add
profiling.TransferBudget profiling.TransferBudget.__getitem__ profiling.TransferBudget.count
profiling.TransferBudget.phase profiling.TransferBudget.require profiling.TransferCounter
profiling.TransferCounter.bytes profiling.TransferCounter.count profiling.TransferCounter.to_json
profiling.TransferCounter.write_trace profiling.TransferEvent profiling.allow_transfers.__call__
profiling.assert_no_transfers profiling.assert_no_transfers.__call__ profiling.count_transfers
profiling.count_transfers.__call__ profiling.forbid_transfers profiling.forbid_transfers.__call__
profiling.nvtx_range profiling.nvtx_range.__call__ profiling.timed_region profiling.timed_region.__call__
profiling.watch_array_reads.__call__
rng.PhiloxGenerator rng.PhiloxGenerator.advance rng.RandomStreams.generator rng.RandomStreams.make_generator
rng.RandomStreams.philox rng.RandomStreams.random rng.RandomStreams.seed rng.RandomStreams.standard_normal
rng.stream_number
"""
NO_ARRAYS = set(_NAMES.split())
