"""Reference, section 1: is there a GPU, and what is installed."""

import cupy as cp


def test_verify(capsys):
    assert cp.cuda.runtime.getDeviceCount() >= 1
    assert cp.show_config() is None
    assert "CuPy stand-in of cunumpy.kernel_testing" in capsys.readouterr().out
