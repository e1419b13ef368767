"""Run the tests on a GPU and print the figures, from the sources alone: ``python tests/gpu/run.py``.

Python needs NumPy, CuPy, array-api-compat and pytest; nothing is installed, and no network is used. Arguments go to
pytest. It takes some minutes, most of them for compiling, and a test that hangs is shown after two.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str]) -> int:
    """Say what the machine has, and run the tests; the exit status is theirs."""
    sources = [*map(str, sorted(ROOT.glob("packages/*/src"))), str(ROOT / "tests")]
    variables = {"CUNUMPY_BACKEND": "cupy", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    if "CUNUMPY_FAKE_CUPY" not in os.environ:
        variables["CUNUMPY_REQUIRE_CUDA"] = "1"
    path = os.pathsep.join(filter(None, [*sources, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, **variables, "PYTHONPATH": path}
    about = "import cunumpy; print(cunumpy.cuda.device_properties()); import cupy; cupy.show_config()"
    tests = ["pytest", "-q", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=120", "--durations=10"]
    for command in (["-c", about], ["-m", *tests, str(ROOT / "tests" / "gpu"), *arguments]):
        status = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
