"""The native library of this package, where there is one."""

from cunumpy.cuda._host_library import HostLibrary

HOST = HostLibrary("cunumpy.rng")
