"""The environment variables of CuNumpy: one table, one parser.

Every part of CuNumpy that heeds a variable lists it in `VARIABLES` and reads it with `read`, so that boolean words,
blanks and case are handled alike, and the documentation, ``python -m cunumpy`` and the code can't disagree.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from cunumpy.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping

TRUE_WORDS = ("1", "true", "yes", "on")
FALSE_WORDS = ("0", "false", "no", "off")


class Variable(NamedTuple):
    """One row of the table: a flag that takes the boolean words, one of `choices`, or a number from `least` on.

    Or a `folder`, which may be turned off by the words for false.
    """

    name: str
    distribution: str
    meaning: str
    when: str
    choices: tuple[str, ...] = ()
    default: str | bool | int | None = False
    default_text: str = "off"
    least: int | None = None
    folder: bool = False

    @property
    def accepted(self) -> str:
        """The accepted values in words."""
        if self.choices:
            return " or ".join(f"`{choice}`" for choice in self.choices)
        if self.least is not None:
            return f"a whole number from {self.least} on"
        if self.folder:
            return f"a folder; {', '.join(f'`{word}`' for word in FALSE_WORDS)} or empty for none"
        return ", ".join(f"`{word}`" for word in TRUE_WORDS) + "; " + ", ".join(f"`{word}`" for word in FALSE_WORDS)


VARIABLES: dict[str, Variable] = {
    variable.name: variable
    for variable in (
        Variable(
            "CUNUMPY_BACKEND",
            "cunumpy-core",
            "the backend that is active after import",
            "once, at import",
            choices=("numpy", "cupy"),
            default="numpy",
            default_text="`numpy`",
        ),
        Variable(
            "CUNUMPY_STRICT",
            "cunumpy-core",
            "a request for CuPy that can't be met raises, instead of warning and using NumPy",
            "at each request",
        ),
        Variable(
            "CUNUMPY_FAKE_CUPY",
            "cunumpy-kernels",
            "the stand-in of `cunumpy.kernel_testing` takes the place of CuPy: GPU programs run, slowly, on the CPU",
            "once, at import",
        ),
        Variable(
            "CUNUMPY_FAKE_CUPY_DEVICES",
            "cunumpy-kernels",
            "the number of devices of the stand-in for CuPy, so that mistakes with devices show",
            "at each question",
            default=1,
            default_text="1",
            least=1,
        ),
        Variable(
            "CUNUMPY_FAKE_CUPY_ASYNC",
            "cunumpy-kernels",
            "the work of the stand-in for CuPy is late: what is not waited for is not seen, so that missing waits show",
            "once, when the stand-in is installed",
        ),
        Variable(
            "CUNUMPY_REQUIRE_CUDA",
            "cunumpy-kernels",
            "tests that need a GPU fail where there is none, instead of being skipped",
            "when such a test is set up",
        ),
        Variable(
            "CUNUMPY_NUM_THREADS",
            "cunumpy-core",
            "how many threads the native code may use",
            "at each call that may use several",
            default=None,
            default_text="the processors that this process may use; in an MPI run its share of the node's",
            least=1,
        ),
        Variable(
            "CUNUMPY_NO_NATIVE",
            "cunumpy-cuda",
            "no native code: none is built, and what was built is not used; NumPy does the same work, more slowly",
            "when a package is built, and when `cunumpy.rng` or `cunumpy.algorithms` is imported",
        ),
        Variable(
            "CUNUMPY_REQUIRE_NATIVE",
            "cunumpy-cuda",
            "native code that can't be built or used is an error",
            "when a package is built, and when `cunumpy.rng` or `cunumpy.algorithms` is imported",
        ),
        Variable(
            "CUNUMPY_CUDA_DEBUG",
            "cunumpy-cuda",
            "CUDA kernels are compiled with bounds checks, and every launch waits for its errors",
            "once, when `cunumpy.cuda` is imported",
        ),
        Variable(
            "CUNUMPY_HOST_KERNEL_IMPLEMENTATION",
            "cunumpy-kernels",
            "which implementation of kernels runs on the host; kernels that lack it raise",
            "once, when `cunumpy.kernels` is imported",
            choices=("pyccel", "numba", "numpy", "cpu", "python"),
            default=None,
            default_text="for each kernel the first of them that can be used",
        ),
        Variable(
            "CUNUMPY_DEVICE_KERNEL_IMPLEMENTATION",
            "cunumpy-kernels",
            "which implementation of kernels runs on the device; kernels that lack it raise",
            "once, when `cunumpy.kernels` is imported",
            choices=("cuda",),
            default=None,
            default_text="as each kernel's `missing_cuda` says",
        ),
        Variable(
            "CUNUMPY_EMULATION_CACHE",
            "cunumpy-kernels",
            "where CUDA kernels that were compiled for the CPU are kept",
            "at each kernel's first launch",
            default=None,
            default_text="`cunumpy/emulation` in `$XDG_CACHE_HOME`, or in `~/.cache`",
            folder=True,
        ),
        Variable(
            "CUNUMPY_CPU_CHECK",
            "cunumpy-kernels",
            "whether CUDA kernels that run on the CPU are checked: every access to memory, races, barriers",
            "at each launch on the CPU",
            default=None,
            default_text="on in `cunumpy.kernel_testing` and in debug mode, else off",
        ),
        Variable(
            "CUNUMPY_CPU_CAPABILITY",
            "cunumpy-kernels",
            "the compute capability whose limits launches of CUDA kernels on the CPU have to keep",
            "when a kernel is loaded",
            choices=("7.0", "7.2", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "12.0"),
            default="9.0",
            default_text="`9.0`",
        ),
        Variable(
            "CUNUMPY_CPU_TIME_LIMIT",
            "cunumpy-kernels",
            "after so many seconds a launch of a CUDA kernel on the CPU is ended with an error; 0 for never",
            "by each launch that takes long",
            default=None,
            default_text="none; 60 for launches with checks",
            least=0,
        ),
        Variable(
            "CUNUMPY_MPI_CUDA_AWARE",
            "cunumpy-mpi",
            "whether the MPI library takes device memory, where a program does not set it",
            "at each question",
            default=None,
            default_text="found out by `mpi_is_cuda_aware`, or unknown",
        ),
        Variable(
            "MAYBEMPI",
            "cunumpy-core",
            "whether this process counts as part of an MPI run, whatever the launcher's variables say",
            "at each question",
            default=None,
            default_text="as the launcher's variables say",
        ),
    )
}


def read(name: str) -> bool | str | int | None:
    """Return the value of an environment variable, or its default where it is unset or empty.

    The environment is read at each call. Blanks around the value and its case do not matter.

    Parameters
    ----------
    name : str
        A variable of the table.

    Returns
    -------
    bool, str, int or None
        A flag's truth, the choice in lower case, the number, or the folder as it is written, False where it is turned
        off; None only where that is the default.

    Raises
    ------
    SettingError
        The variable holds a value that means nothing.
    """
    return parse(VARIABLES[name], os.environ.get(name, ""))


def parse(variable: Variable, text: str) -> bool | str | int | None:
    """Return what `text` means as the value of `variable`; see `read`."""
    value = text.strip().lower()
    if not value:
        return variable.default
    if variable.choices:
        if value in variable.choices:
            return value
    elif variable.least is not None:
        if value.isascii() and value.isdigit() and int(value) >= variable.least:
            return int(value)
    elif variable.folder and value not in FALSE_WORDS:
        return text.strip()
    elif value in TRUE_WORDS:
        return True
    elif value in FALSE_WORDS:
        return False
    accepted = variable.accepted.replace("`", "'" if variable.choices else "")
    raise SettingError(
        f"environment variable {variable.name}={text!r} means nothing; expected {accepted} "
        f"(blanks and case do not matter). Unset it for the default."
    )


def settings() -> dict[str, dict[str, object]]:
    """Return, for every variable of the table that is set, its text and its value or what is wrong with it."""
    found: dict[str, dict[str, object]] = {}
    for name, variable in VARIABLES.items():
        text = os.environ.get(name)
        if text is None:
            continue
        try:
            found[name] = {"text": text, "value": parse(variable, text)}
        except SettingError as error:
            found[name] = {"text": text, "error": str(error)}
    return found


def unknown_variables(environ: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """Return the variables that begin with ``CUNUMPY_`` and are not in the table, each with the likely one or None."""
    from difflib import get_close_matches

    found: dict[str, str | None] = {}
    for name in sorted(os.environ if environ is None else environ):
        # Windows folds the case of names; elsewhere `cunumpy_backend` is another variable, so a likely slip.
        if name.upper().startswith("CUNUMPY_") and name not in VARIABLES:
            likely = get_close_matches(name.upper(), VARIABLES, n=1, cutoff=0.8)
            found[name] = likely[0] if likely else None
    return found


def markdown_table() -> str:
    """Return the table as it stands in the documentation."""
    lines = ["| Variable | Values | Unset | Read | Meaning |", "|---|---|---|---|---|"]
    for variable in VARIABLES.values():
        meaning = f"{variable.meaning} (`{variable.distribution}`)"
        lines.append(
            f"| `{variable.name}` | {variable.accepted} | {variable.default_text} | {variable.when} | {meaning} |"
        )
    return "\n".join(lines) + "\n"
