"""MPI for one process: the names of `mpi4py.MPI`, as strict as MPI, without an MPI library."""
