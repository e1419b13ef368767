"""``python -m cunumpy``: what is installed and active, for bug reports; ``python -m cunumpy cache``: kernel caches."""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import TYPE_CHECKING, NoReturn

from cunumpy import _caches, _info

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (--help lists what there is)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m cunumpy",
        description="Show the packages, compilers, devices and settings that CuNumpy finds, for bug reports.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="write JSON")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    cache = commands.add_parser(
        "cache",
        help="show or clear the kernel caches",
        description="Show the kernel caches on disk: folder, number of files, bytes.",
        allow_abbrev=False,
    )
    removal = cache.add_mutually_exclusive_group()
    removal.add_argument(
        "--clear", action="store_true", help="remove the cached files; they are made again when needed"
    )
    removal.add_argument(
        "--limit",
        type=_bytes,
        metavar="SIZE",
        help="remove from each cache what was not used for the longest time, until no more than SIZE is left, such as "
        "200MB",
    )
    # SUPPRESS: without the option here, the one before the command stays in force.
    cache.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="write JSON")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    options = _parser().parse_args(arguments)
    if options.command == "cache":
        return _cache(clear=options.clear, limit=options.limit, as_json=options.json)
    data = _info.report()
    _write(json.dumps(data, indent=2) + "\n" if options.json else _info.report_text(data))
    return 0


def _write(text: str) -> None:
    """Print; what the output's encoding lacks is escaped, so that a report comes out everywhere."""
    if sys.stdout is not None:  # the caller may have closed it
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _bytes(text: str) -> int:
    """Read a size: a number of bytes, or one with kB, MB or GB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKMG]?)B?", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write it as 500000, 500kB, 200MB or 1GB")
    return int(float(found[1]) * {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}[found[2]])


def _cache(*, clear: bool, limit: int | None, as_json: bool) -> int:
    caches = _caches.trim(limit) if limit is not None else _caches.clear() if clear else _caches.contents()
    removed = clear or limit is not None
    if as_json:
        key = "removed" if removed else "caches"
        _write(json.dumps({key: [cache._asdict() for cache in caches]}, indent=2) + "\n")
    elif not caches:
        _write("no kernel caches: none of the installed packages keeps one\n")
    else:
        for cache in caches:
            amount = f"{cache.files} file{'' if cache.files == 1 else 's'}, {cache.bytes} bytes"
            _write(
                f"{cache.name}: removed {amount} from {cache.folder}\n"
                if removed
                else f"{cache.name}: {amount} in {cache.folder} ({cache.meaning})\n"
            )
    for cache in caches:
        for problem in cache.problems:
            sys.stderr.write(f"{cache.name}: {problem}\n")
    return 1 if any(cache.problems for cache in caches) else 0


if __name__ == "__main__":
    sys.exit(main())
