"""The serial stand-in beside mpi4py: each understands what the program took from the other's module."""

from __future__ import annotations

import numpy as np
import pytest

import cunumpy as xp
from mpi_under_test import MPI, REAL

SERIAL = xp.mpi.get_mpi(False)

pytestmark = pytest.mark.skipif(not REAL, reason="this is about mpi4py")


@pytest.fixture
def serial():
    return SERIAL.COMM_SELF.Dup()


def test_which_is_which(comm):
    assert xp.mpi.get_mpi() is MPI
    assert xp.mpi.launched_under_mpi()
    assert not xp.mpi.is_serial(comm)
    assert not xp.mpi.is_serial(MPI)
    assert xp.mpi.is_serial(SERIAL.COMM_WORLD)


# What the stand-in has no use for: other processes, Fortran, C, sessions, failures that are survived.
LEFT_OUT = {
    "the module": """Close_port Get_abi_fortran_info Get_abi_info Get_abi_version Get_hw_resource_info Grequest
        Lookup_name Open_port Publish_name Register_datarep Session Unpublish_name SESSION_NULL ERR_ABI ERR_PROC_ABORTED
        ERR_PROC_FAILED ERR_PROC_FAILED_PENDING ERR_REVOKED F_ERROR F_SOURCE F_STATUS_SIZE F_TAG MAX_PSET_NAME_LEN
        MAX_STRINGTAG_LEN BFLOAT16_T COMBINER_F90_COMPLEX COMBINER_F90_INTEGER COMBINER_F90_REAL COMBINER_VALUE_INDEX
        COMPLEX32 COMPLEX4 INTEGER16 LOGICAL1 LOGICAL2 LOGICAL4 LOGICAL8 LOGICAL16 REAL2 REAL16""",
    "all classes": "f2py fromhandle fromint handle py2f toint",
    "Intracomm": """Accept Ack_failed Agree Connect Create_from_group Get_failed Iagree Is_revoked Ishrink Join
        Precv_init Psend_init Revoke Shrink Spawn_multiple""",
    "Prequest": "Parrived Pready Pready_list Pready_range",
    "Status": "tomemory",
    "Datatype": """Create_f90_complex Create_f90_integer Create_f90_real Get_value_index Pack_external
        Pack_external_size Unpack_external""",
    "Group": "Create_from_session_pset",
}
CLASSES = """Intracomm Cartcomm Graphcomm Distgraphcomm Request Prequest Status Datatype Op Group Win File Info Message
    Errhandler Exception"""


def test_the_names_are_mpi4pys():
    def missing(real, own):
        return {name for name in dir(real) if not name.startswith("_") and not hasattr(own, name)}

    assert missing(MPI, SERIAL) <= set(LEFT_OUT["the module"].split())
    for kind in CLASSES.split():
        base = "Intracomm" if kind.endswith("comm") else kind
        known = {*LEFT_OUT["all classes"].split(), *LEFT_OUT.get(base, "").split()}
        assert missing(getattr(MPI, kind), getattr(SERIAL, kind)) <= known, kind


def test_constants(serial):
    status = MPI.Status()
    serial.Recv(np.zeros(1), source=MPI.PROC_NULL, status=status)
    assert status.Get_source() == MPI.PROC_NULL
    assert status.Get_tag() == MPI.ANY_TAG
    serial.Isend(np.ones(3), dest=0, tag=5)
    serial.Recv(received := np.zeros(3), source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
    assert (status.Get_source(), status.Get_tag(), status.Get_count(MPI.DOUBLE)) == (0, 5, 3)
    serial.Allreduce(MPI.IN_PLACE, received, op=MPI.MAX)
    assert (received == 1).all()
    with pytest.raises(SERIAL.Exception):
        serial.Allreduce(MPI.IN_PLACE, received, op=MPI.BAND)
    assert serial.Split(MPI.UNDEFINED) == SERIAL.COMM_NULL
    assert serial.Get_attr(MPI.TAG_UB) >= 32767
    assert SERIAL.REQUEST_NULL == MPI.REQUEST_NULL


def test_datatypes(serial):
    def types(module):
        double, both = module.DOUBLE, [module.DOUBLE, module.INT]
        return (
            double,
            module.DOUBLE_INT,
            double.Create_vector(3, 1, 4),
            module.INT.Create_subarray([4, 4], [2, 2], [1, 1], module.ORDER_F),
            module.Datatype.Create_struct([1, 1], [0, 8], both),
            double.Create_resized(0, 24),
            double.Create_indexed([2, 1], [3, 0]),
            double.Dup(),
        )

    for real, own in zip(types(MPI), types(SERIAL), strict=True):
        memory = np.arange(16.0)
        results = []
        for datatype in (real, own):
            datatype.Commit()
            serial.Sendrecv([memory, 1, datatype], 0, 0, [packed := np.zeros(128, "u1"), SERIAL.BYTE], 0, 0)
            results.append(packed)
        np.testing.assert_array_equal(*results)
        size = real.Get_size()
        assert results[0][size:].sum() == 0


def test_operations_of_the_program(serial):
    op = MPI.Op.Create(lambda x, y, t: None)
    serial.Allreduce(np.ones(2), received := np.zeros(2), op=op)
    assert (received == 1).all()
    op.Free()


def test_what_the_library_says_of_device_memory():
    report = xp.mpi.cuda_aware_report(MPI.COMM_SELF, probe=False)
    assert report.says is False  # the wheels were built without CUDA
    assert "cuda_support" in report.evidence[0] or "GPU_query_support" in report.evidence[0]
    assert report.library
    assert report.arrives is None


def test_answers_belong_to_communicators(comm):
    xp.mpi.set_mpi_cuda_aware(False, comm)
    copy = comm.Dup()
    assert xp.mpi.get_mpi_cuda_aware(comm) is False
    assert xp.mpi.get_mpi_cuda_aware(copy) is False
    assert xp.mpi.get_mpi_cuda_aware(MPI.COMM_SELF) is None
    copy.Free()
    xp.mpi.set_mpi_cuda_aware(None, comm)
    assert xp.mpi.get_mpi_cuda_aware(comm) is None


def test_exchange(comm):
    received = np.full((5, 2), 9.0)
    (status,) = xp.mpi.exchange(
        comm, sends=[(np.arange(3.0), 0, 4)], receives=[(received[:, 1], MPI.ANY_SOURCE, 4)], return_status=True
    )
    assert received[:, 1].tolist() == [0, 1, 2, 9, 9]
    assert (status.Get_source(), status.Get_tag()) == (0, 4)
