"""The CUDA sources of docs/examples/landau_kernels: they fit the host versions, and compile."""

from itertools import product

from landau_damping import KERNELS

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_120")


def test_sources_have_the_parameters_of_the_host_versions():
    KERNELS.check_signatures()
    assert KERNELS.with_cuda == ["deposit", "push"]
    for kernel in KERNELS.values():
        written = [one.name for one in kernel.cuda_kernel.signature if not one.const]
        assert written == list(kernel.host_kernel.outputs) == list(kernel.test_args.OUTPUTS)


def test_sources_compile_for_the_gpus_from_turing_to_blackwell():
    report = KERNELS.check_cuda(archs=ARCHITECTURES)
    assert {(one.name, one.arch) for one in report.kernels} == set(product(KERNELS, ARCHITECTURES))
    assert not any(one.spill_stores or one.local for one in report.kernels)
    assert report.messages == ()
