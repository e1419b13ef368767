"""The headers that sources include, and the hash of their contents."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

import cunumpy as xp
from cunumpy.cuda import cuda_include_dir, include_hash, resolve_includes
from cunumpy.errors import ArgumentError, ArgumentTypeError


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.cuh").write_text(text)
    return folder


def names(*arguments, **options) -> list[str]:
    return [path.name for path in resolve_includes(*arguments, **options)]


def test_the_shipped_headers_are_found_by_name():
    folder = Path(cuda_include_dir())
    assert {"random.cuh", "morton.cuh"} <= {path.name for path in (folder / "cunumpy").iterdir()}
    assert os.path.isabs(cuda_include_dir())
    assert resolve_includes("#include <cunumpy/morton.cuh>\n", angle_dirs=[folder]) == [folder / "cunumpy/morton.cuh"]


def test_every_shipped_header_has_its_guard():
    for path in Path(cuda_include_dir(), "cunumpy").glob("*.cuh"):
        guard = f"CUNUMPY_{path.stem.upper()}_CUH"
        text = path.read_text()
        assert f"#ifndef {guard}\n#define {guard}\n" in text, path.name


def test_depth_first_in_the_order_of_first_inclusion_each_once(tmp_path):
    write(tmp_path, a='#include "c.cuh"\n#include "b.cuh"', b='#include "c.cuh"', c='#include "a.cuh"', d="")
    assert names('#include "a.cuh"\n#include "d.cuh"\n#include "c.cuh"', base_dir=tmp_path) == [
        "a.cuh",
        "c.cuh",
        "b.cuh",
        "d.cuh",
    ]


def test_quotes_search_beside_the_file_then_include_dirs_then_angle_dirs(tmp_path):
    write(tmp_path / "own", a="", top='#include "a.cuh"')
    write(tmp_path / "include", a="", b="")
    write(tmp_path / "angle", a="", b="", c="")
    where = {"include_dirs": [tmp_path / "include"], "angle_dirs": [str(tmp_path / "angle")]}
    source = '#include "a.cuh"\n#include "b.cuh"\n#include "c.cuh"\n'
    assert [path.parent.name for path in resolve_includes(source, base_dir=tmp_path / "own", **where)] == [
        "own",
        "include",
        "angle",
    ]
    assert [path.parent.name for path in resolve_includes(source, **where)] == ["include", "include", "angle"]
    top = (tmp_path / "own" / "top.cuh").read_text()
    assert [path.parent.name for path in resolve_includes(top, base_dir=tmp_path / "own")] == ["own"]


def test_angles_search_only_the_angle_dirs(tmp_path):
    write(tmp_path, a="")
    assert names("#include <a.cuh>", include_dirs=[tmp_path], base_dir=tmp_path) == []
    assert names("#include <a.cuh>", angle_dirs=[tmp_path]) == ["a.cuh"]


@pytest.mark.parametrize(
    "source",
    [
        '// #include "a.cuh"',
        '// continued \\\n#include "a.cuh"',
        '/* #include "a.cuh" */',
        '/*\n#include "a.cuh"\n*/',
        'const char* s = "/*";  int x; #include "a.cuh"',
        'const char* s = "\\\n#include \\"a.cuh\\"";',
        'const char* s = R"(\n#include "a.cuh"\n)";',
        'const char* s = R"mark(\n)"\n#include "a.cuh"\n)mark";',
        '#define X "#include \\"a.cuh\\""',
        '#includes "a.cuh"',
        "#include HEADER",
        '#include "missing.cuh"',
    ],
)
def test_what_is_no_inclusion(tmp_path, source):
    write(tmp_path, a="")
    assert names(source, base_dir=tmp_path) == []


@pytest.mark.parametrize(
    "source",
    [
        '#include "a.cuh"',
        '  #  include"a.cuh"',
        '#/* why */include /* this */ "a.cuh"',
        '/* why */ #include "a.cuh"',
        '/* why\nnot */ #include "a.cuh"',
        '#include \\\n "a.cuh"',
        '#include \\\r\n "a.cuh"\r\n',
        'const char* s = "/*";\n#include "a.cuh"',
        'char quote = \'"\';\n#include "a.cuh"',
        '// don\'t\n#include "a.cuh"',
        'const char* s = "//";\n#include "a.cuh"\n',
        '#if 0\n#include "a.cuh"\n#endif',
        '#define HEADER "a.cuh"\n#include HEADER',
        '#ifdef X\n#define HEADER "a.cuh"\n#else\n#define HEADER "b.cuh"\n#endif\n# include HEADER // why',
    ],
)
def test_every_spelling_of_an_inclusion(tmp_path, source):
    write(tmp_path, a="")
    assert names(source, base_dir=tmp_path) == ["a.cuh"]


def test_a_header_with_a_byte_order_mark_or_another_encoding_is_read(tmp_path):
    write(tmp_path, b="")
    (tmp_path / "a.cuh").write_bytes(b'\xef\xbb\xbf#include "b.cuh"\n// \xe9\n')
    assert names('#include "a.cuh"', base_dir=tmp_path) == ["a.cuh", "b.cuh"]


def test_links_to_one_file_count_once(tmp_path):
    write(tmp_path, a="")
    (tmp_path / "link.cuh").symlink_to(tmp_path / "a.cuh")
    assert names('#include "a.cuh"\n#include "link.cuh"', base_dir=tmp_path) == ["a.cuh"]


def test_a_source_that_is_no_text_is_refused():
    with pytest.raises(ArgumentTypeError, match=r"resolve_includes: argument 'source' .* as str, got .*; read a file"):
        resolve_includes(Path("kernel.cu"))  # type: ignore[arg-type]


@pytest.mark.parametrize("argument", ["include_dirs", "angle_dirs"])
def test_a_single_folder_is_refused(argument, tmp_path):
    """Its characters would be folders, among them the root."""
    for folder in (str(tmp_path), tmp_path):
        with pytest.raises(ArgumentTypeError, match=f"resolve_includes: argument '{argument}' must be several paths"):
            resolve_includes('#include "etc/hosts"', **{argument: folder})


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "loop"])
def test_names_that_no_file_can_have_are_not_found(name, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    assert resolve_includes(f'#include "{name}"', [tmp_path]) == []


def test_the_hash_is_of_lengths_and_contents(tmp_path):
    write(tmp_path / "one", a="xy", b="z")
    write(tmp_path / "two", c="xy", d="z", e="x", f="yz")
    expected = hashlib.sha256(b"\x02\0\0\0\0\0\0\0xy\x01\0\0\0\0\0\0\0z").hexdigest()[:16]
    assert include_hash([tmp_path / "one/a.cuh", str(tmp_path / "one/b.cuh")]) == expected
    assert include_hash([tmp_path / "two/c.cuh", tmp_path / "two/d.cuh"]) == expected
    assert include_hash([tmp_path / "two/e.cuh", tmp_path / "two/f.cuh"]) != expected
    assert include_hash([tmp_path / "two/d.cuh", tmp_path / "two/c.cuh"]) != expected
    assert xp.cuda.include_hash(iter([])) == hashlib.sha256(b"").hexdigest()[:16]


def test_a_missing_file_raises(tmp_path):
    with pytest.raises(FileNotFoundError):
        include_hash([tmp_path / "missing.cuh"])


def test_a_single_path_for_the_hash_is_refused(tmp_path):
    with pytest.raises(ArgumentTypeError, match=r"include_hash: argument 'paths' .* pass paths=\['"):
        include_hash(str(tmp_path))
    with pytest.raises(ArgumentError, match=r"include_hash: argument 'paths' holds the folder .*; pass files"):
        include_hash([tmp_path])
