"""Running a program on the stand-in, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping

from cunumpy._gate import as_real, given
from cunumpy._launcher import find_launch
from cunumpy.errors import ArgumentTypeError

MPI_LAUNCHER_PREFIXES = (
    "OMPI_",
    "PMIX_",
    "PMI_",
    "HYDRA_",
    "MPIR_",
    "I_MPI_",
    "SLURM_",
    "MV2_",
    "MVP_",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "MPT_LRANK",
    "ALPS_APP_PE",
    "PALS_",
    "JSM_NAMESPACE_",
    "FLUX_TASK_",
    "FLUX_JOB_",
)
TAIL_LINES = 50


def fake_cupy_environment(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a process that runs on the stand-in, outside of any MPI run.

    Parameters
    ----------
    env : mapping, optional
        Variables that win over the others.

    Raises
    ------
    ArgumentTypeError
        `env` does not map names to values, both strings.
    """
    if env is not None and not (
        isinstance(env, Mapping) and all(isinstance(text, str) for item in env.items() for text in item)
    ):
        raise ArgumentTypeError(
            f"run_in_fake_cupy_subprocess: argument 'env' must map names to values, both str, got {given(env)}."
        )
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(MPI_LAUNCHER_PREFIXES)}
    return {**inherited, "CUNUMPY_FAKE_CUPY": "1", "OMP_NUM_THREADS": "1", "MAYBEMPI": "0", **(env or {})}


def run_in_fake_cupy_subprocess(
    code: str, *, env: Mapping[str, str] | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    r"""Run Python code in a new process on the stand-in for CuPy; fail the test if it fails.

    Parameters
    ----------
    code : str
        The program, as for ``python -c``. The stand-in is there once it has imported `cunumpy`.
    env : mapping, optional
        Environment variables to set in addition. The process gets ``CUNUMPY_FAKE_CUPY=1``, ``OMP_NUM_THREADS=1`` and
        ``MAYBEMPI=0``, and none of an MPI launcher's variables.
    timeout : float, optional
        Seconds after which the process is ended and the test fails; by default it may take any time.

    Returns
    -------
    subprocess.CompletedProcess
        With ``stdout`` and ``stderr`` as text.

    Raises
    ------
    Failed
        pytest's, if the process fails or takes too long, with the end of its output.
    Skipped
        pytest's, in an MPI run on all ranks but the first.
    ArgumentError, ArgumentTypeError
        An argument is not as above.
    ImportError
        If pytest is needed for one of these, and missing.

    Examples
    --------
    >>> from cunumpy.kernel_testing import run_in_fake_cupy_subprocess
    >>> run_in_fake_cupy_subprocess("import cunumpy, cupy; print(cupy.arange(4).sum())").stdout
    '6\n'
    """
    function = "run_in_fake_cupy_subprocess"
    if not isinstance(code, str):
        raise ArgumentTypeError(f"{function}: argument 'code' must be the program as str, got {given(code)}.")
    if timeout is not None:
        timeout = as_real(timeout, function=function, argument="timeout", least=0, most=1e9)
    environment = fake_cupy_environment(env)
    if _rank() > 0:
        import pytest

        pytest.skip("runs on the first MPI rank only")
    command = [sys.executable, "-X", "faulthandler", "-c", code]
    try:
        done = subprocess.run(command, env=environment, timeout=timeout, capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired as error:
        _fail(f"took longer than {timeout} s", error.stdout, error.stderr)
        raise AssertionError from error
    if done.returncode != 0:
        _fail(_ending(done.returncode), done.stdout, done.stderr)
    return done


def _rank() -> int:
    """Return this process's rank in an MPI run; 0 outside of one."""
    launch = find_launch()
    return 0 if launch is None else launch.rank or 0


def _ending(code: int) -> str:
    if code < 0:
        try:
            return f"ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"ended by signal {-code}"
    return f"ended with exit status {code}"


def _tail(output: str | bytes | None) -> str:
    text = output.decode(errors="replace") if isinstance(output, bytes) else output or ""
    lines = text.splitlines()
    skipped = f"... {len(lines) - TAIL_LINES} lines before\n" if len(lines) > TAIL_LINES else ""
    return skipped + "\n".join(lines[-TAIL_LINES:])


def _fail(what: str, stdout: str | bytes | None, stderr: str | bytes | None) -> None:
    import pytest

    pytest.fail(
        f"the process on the CuPy stand-in {what}\n--- stdout ---\n{_tail(stdout)}\n--- stderr ---\n{_tail(stderr)}",
        pytrace=False,
    )
