"""Headers of C structs as files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cunumpy._gate import as_path, describe
from cunumpy.arguments._header_text import header_text, write_text
from cunumpy.arguments._struct import CudaStruct
from cunumpy.errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write_cuda_header(
    path: str | Path, structs: Iterable[CudaStruct], guard: str | None = None, *, includes: Iterable[str] = ()
) -> str:
    """Write a header that declares structs.

    Parameters
    ----------
    path : str or Path
        The file to write.
    structs : iterable of CudaStruct
        They are declared in this order, each after the structs that it is made of.
    guard : str, optional
        The include guard, by default the file's name in capitals, with ``_`` for what no identifier has.
    includes : iterable of str, optional
        Headers to include: names (``"types.cuh"``, ``"<cupy/complex.cuh>"``) or whole ``#include`` lines. The header
        of array views is included by itself, first.

    Returns
    -------
    str
        The text that was written; it depends on the arguments alone, so that a test can compare it with a committed
        file.

    Raises
    ------
    ArgumentError
        Two structs have one name, or the guard is no identifier.
    ArgumentTypeError
        `structs` holds something else.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import cunumpy as xp
    >>> step = xp.arguments.CudaStruct("Step", [("dt", "double")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = xp.arguments.write_cuda_header(pathlib.Path(folder, "step.cuh"), [step])
    >>> text.splitlines()[1]
    '#ifndef STEP_CUH'
    """
    function = "write_cuda_header"
    if isinstance(structs, CudaStruct) or not hasattr(structs, "__iter__"):
        raise ArgumentTypeError(
            f"{function}: argument 'structs' must be a list of CudaStruct, got {describe(structs)}."
        )
    listed = list(structs)
    for one in listed:
        if not isinstance(one, CudaStruct):
            raise ArgumentTypeError(f"{function}: argument 'structs' holds {describe(one)}; pass CudaStruct objects.")
    path = as_path(path, function=function, argument="path")
    if guard is None:
        guard = re.sub(r"\W", "_", path.name, flags=re.ASCII).upper()
        guard = f"_{guard}" if guard[:1].isdigit() else guard
    text = header_text(listed, guard, includes, function)
    write_text(path, text)
    return text
