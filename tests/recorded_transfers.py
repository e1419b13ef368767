"""Transfers as a function of the library makes them, for tests of what counts them; no device is needed."""

import inspect
import os

import cunumpy
from cunumpy import _transfers

_SOURCE = '''
def transfer(kind="to_host", nbytes=8, description="copy", *, implicit=False, **options):
    """Announce and record a transfer, as every function of the library does that copies or waits."""
    if _transfers.watching():
        _transfers.announce(kind, description, nbytes, implicit=implicit)
    if _transfers.watching():
        _transfers.record(kind, description, nbytes, implicit=implicit, **options)


def call(function, *args):
    return function(*args)
'''


def library_code(source, *names, folder=None, **namespace):
    """Compile functions as if they stood in a file of the library, or of another folder."""
    filename = os.path.join(folder or cunumpy.__path__[0], "_example.py")
    exec(compile(source, filename, "exec"), namespace)
    return [namespace[name] for name in names]


transfer, call = library_code(_SOURCE, "transfer", "call", _transfers=_transfers)


def here(offset=0):
    """Give the caller's line, plus an offset, as call sites are written."""
    frame = inspect.currentframe().f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno + offset}"
