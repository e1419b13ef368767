"""Host copies that overlap with device work, and pairs of a host and a device array.

`HostStaging` and ``xp.to_host_async`` look at the array they are given, not at the active backend: with host arrays
they copy at once, so the same program runs without a device. `DeviceMirror` follows the active backend.
"""

from cunumpy.memory._host_copy import HostCopy
from cunumpy.memory._mirror import DeviceMirror
from cunumpy.memory._staging import HostStaging, StagedCopy

__all__ = ["DeviceMirror", "HostCopy", "HostStaging", "StagedCopy"]
