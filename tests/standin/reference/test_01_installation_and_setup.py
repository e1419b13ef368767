"""Reference, section 1: is there a GPU, and what is installed."""

import re

import cupy as cp


def test_verify(capsys):
    assert cp.cuda.runtime.getDeviceCount() >= 1
    assert cp.show_config() is None
    printed = capsys.readouterr().out
    for line in (
        r"CuPy Version +: 14\.\d+\.\d+ \(stand-in of cunumpy.kernel_testing\)",
        r"Device 0 Name +: CuPy stand-in",
    ):
        assert re.search(line, printed)
